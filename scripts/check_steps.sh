# The steps of ./check, which sources this file in the root of the tree.

logs=build/check
mkdir -p "$logs"
jobs=$(sh scripts/jobs.sh)
passed=0
failed=0

# The preset that the last build step built, or nothing when it failed.
built=""

# Set by a step: what it counted when it is made of tests, or why it was left out.
step_passed=""
step_failed=""
step_skipped=0
skipped=""

# step NAME COMMAND...: runs it in this shell, its output into a log that is shown when it fails.
step() {
  name=$1
  shift
  log=$logs/$(printf '%s' "$name" | tr ' ' '_').log
  step_passed="" step_failed="" step_skipped=0 skipped=""
  started=$(date +%s)
  printf '%-28s ' "$name"
  if "$@" >"$log" 2>&1 </dev/null; then word=ok; else word=FAILED; fi
  seconds=$(($(date +%s) - started))
  if [ -n "$skipped" ]; then
    echo "skipped: $skipped"
    return
  fi
  if [ -z "$step_passed" ]; then
    step_passed=0 step_failed=0
    if [ "$word" = ok ]; then step_passed=1; else step_failed=1; fi
  fi
  passed=$((passed + step_passed))
  failed=$((failed + step_failed))
  left_out=""
  [ "$step_skipped" = 0 ] || left_out=", $step_skipped skipped"
  echo "$word ($step_passed passed, $step_failed failed$left_out, $seconds s)"
  if [ "$word" = FAILED ]; then
    tail -n 60 "$log" | cut -c 1-200 | sed 's/^/    /'
    echo "    (all of it: $log)"
  fi
}

summary() {
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}

install_packages() {
  sh scripts/setup.sh --check
  case $? in
    0 | 3) return 0 ;;
    *) return 1 ;;
  esac
}

# Without npm or the network the tests that need vocabularies are skipped.
fetch_vocabularies() {
  sh scripts/vocabularies.sh >"$logs/vocabularies.out" 2>&1
  status=$?
  cat "$logs/vocabularies.out"
  [ "$status" != 3 ] || skipped=$(tail -n 1 "$logs/vocabularies.out")
  return "$status"
}

check_format() {
  if ! command -v clang-format-19 >/dev/null; then
    skipped="no clang-format-19 on this system"
    return
  fi
  folders=""
  for folder in src tests bench; do
    [ ! -d "$folder" ] || folders="$folders $folder"
  done
  # shellcheck disable=SC2086
  find $folders \( -name '*.cc' -o -name '*.h' \) -print0 | xargs -0 clang-format-19 --dry-run -Werror
}

# build PRESET: everything of that preset, going on after errors so that all of them are seen.
# A build that ./coli began keeps its flags, so that nothing is compiled twice: warnings are no errors there.
build() {
  built=""
  began=""
  grep -qs '^COLI_WERROR:BOOL=OFF' "build/$1/CMakeCache.txt" && began=-DCOLI_WERROR=OFF
  # shellcheck disable=SC2086
  cmake --preset "$1" $began && cmake --build "build/$1" --parallel "$jobs" -- -k 0 && built=$1
}

# run_tests PRESET [CTEST-ARGUMENT...]: no tests at all is a failure.
run_tests() {
  preset=$1
  shift
  if [ "$built" != "$preset" ]; then
    skipped="its build failed"
    return
  fi
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --parallel "$jobs" "$@" >"$logs/ctest.out" 2>&1
  status=$?
  cat "$logs/ctest.out"
  counts=$(sed -n 's/.*, \([0-9]*\) tests* failed out of \([0-9]*\)$/\1 \2/p' "$logs/ctest.out")
  if [ -n "$counts" ]; then
    step_failed=${counts% *}
    step_skipped=$(grep -c '(Skipped)$' "$logs/ctest.out")
    step_passed=$((${counts#* } - step_failed - step_skipped))
  fi
  return "$status"
}

# The program and the tests of its kernels, cross-compiled.
build_aarch64() {
  built=""
  if ! command -v aarch64-linux-gnu-g++ >/dev/null || ! command -v qemu-aarch64-static >/dev/null; then
    skipped="no aarch64-linux-gnu-g++ or no qemu-aarch64-static on this system"
    return
  fi
  sh scripts/aarch64_sysroot.sh build/aarch64-sysroot >"$logs/sysroot.out" 2>&1
  status=$?
  cat "$logs/sysroot.out"
  if [ "$status" = 3 ]; then
    skipped=$(tail -n 1 "$logs/sysroot.out")
    return
  fi
  [ "$status" = 0 ] && cmake --preset aarch64 &&
    cmake --build build/aarch64 --parallel "$jobs" --target kernels_test coli && built=aarch64
}

# All kernels, and models from file to logits, under qemu: the same bits as the release build gives here.
run_aarch64() {
  if [ "$built" != aarch64 ]; then
    skipped="there is no aarch64 build"
    return
  fi
  sh scripts/run_aarch64.sh build/aarch64/src/kernels_test --gtest_brief=1 || return 1
  for model in "$@"; do
    there=$(sh scripts/run_aarch64.sh build/aarch64/coli validate "tests/golden/$model") &&
      here=$(build/release/coli validate "tests/golden/$model") || return 1
    printf '%s\n%s\n' "$here" "$there"
    [ "$here" = "$there" ] || return 1
  done
}

# fuzz SECONDS: shared by all targets, each from its committed corpus. New inputs stay in build/.
fuzz() {
  if ! command -v clang++-19 >/dev/null; then
    skipped="no clang++-19 on this system"
    return
  fi
  if [ "$built" != fuzz ]; then
    skipped="its build failed"
    return
  fi
  targets=$(find build/fuzz/tests/fuzz -maxdepth 1 -type f -name '*_fuzz' -perm -u+x | sort)
  count=$(printf '%s' "$targets" | grep -c .)
  if [ "$count" = 0 ]; then
    echo "no fuzz target was built"
    return 1
  fi
  each=$(($1 / count))
  [ "$each" -ge 2 ] || each=2
  step_passed=0 step_failed=0
  for target in $targets; do
    target_name=$(basename "$target" _fuzz)
    found=build/fuzz/found/$target_name
    mkdir -p "$found"
    if "$target" -max_total_time="$each" -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=512 -verbosity=0 -print_final_stats=1 \
      -artifact_prefix="$found.crash-" "$found" "tests/fuzz/corpus/$target_name"; then
      step_passed=$((step_passed + 1))
    else
      echo "fuzz target $target_name failed"
      step_failed=$((step_failed + 1))
    fi
  done
  [ "$step_failed" = 0 ]
}
