# Compiler flags of every target.
#
# Floating point gives the same bits in every build: no contraction into fused multiply-adds, no -ffast-math, no LTO, and
# one baseline instruction set. Files that need more get it from coli_isa_source (ColibriLibrary.cmake), one at a time.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(COLI_ARCH x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(COLI_ARCH arm)
else()
  set(COLI_ARCH other)
endif()

add_compile_options(-ffp-contract=off)
if(COLI_ARCH STREQUAL "x86")
  add_compile_options(-march=x86-64-v2)
endif()

add_compile_options(
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wswitch -Wunused)
if(COLI_WERROR)
  add_compile_options(-Werror)
endif()

# The fuzzer's own instrumentation is for the libraries only (ColibriLibrary.cmake): tests do not need it.
if(COLI_SANITIZE MATCHES "^(address|fuzzer)$")
  set(coli_sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(COLI_SANITIZE STREQUAL "thread")
  set(coli_sanitize_flags -fsanitize=thread)
elseif(COLI_SANITIZE)
  message(FATAL_ERROR "COLI_SANITIZE: expected address, thread, fuzzer or nothing, found '${COLI_SANITIZE}'")
endif()
add_compile_options(${coli_sanitize_flags})
add_link_options(${coli_sanitize_flags})
if(COLI_SANITIZE)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
