# Short names for what CMake and the scripts do.
.PHONY: build check test format clean

build:
	cmake --preset release
	cmake --build build/release --parallel $$(sh scripts/jobs.sh)

test: build
	ctest --test-dir build/release -L fast --output-on-failure --parallel $$(sh scripts/jobs.sh)

check:
	./check

format:
	find src tests bench -name '*.cc' -o -name '*.h' | xargs clang-format-19 -i

clean:
	rm -rf build
