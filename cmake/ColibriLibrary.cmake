# coli_library(<name> [DEPENDS <folder>...] [TEST_DEPENDS <folder>...]
#              [PUBLIC_PACKAGES <target>...] [PRIVATE_PACKAGES <target>...])
#
# The static library coli_<name> (alias coli::<name>) from all .cc files under src/<name>/, and the test program
# <name>_test from its *_test.cc files and src/<name>/testing/. DEPENDS is what the folder may include:
# tools/check_layers.py reads it from here, so that the layering has one home; TEST_DEPENDS is for its tests only.
# PUBLIC_PACKAGES appear in the folder's headers.
# A folder without files yet is skipped, and so is a dependency on one.
function(coli_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;TEST_DEPENDS;PUBLIC_PACKAGES;PRIVATE_PACKAGES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "coli_library(${name}): unknown argument ${arg_UNPARSED_ARGUMENTS}")
  endif()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "${name}/*.cc")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "${name}/*.h")
  foreach(arch IN ITEMS x86 arm)
    if(NOT arch STREQUAL COLI_ARCH)
      list(FILTER sources EXCLUDE REGEX "^kernels/${arch}/")
    endif()
  endforeach()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$|/testing/")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/testing/|/main\\.cc$")
  if(NOT sources AND NOT headers)
    return()
  endif()

  if(sources)
    add_library(coli_${name} STATIC ${sources})
    set(public PUBLIC)
    target_link_libraries(coli_${name} PRIVATE ${arg_PRIVATE_PACKAGES})
    if(COLI_SANITIZE STREQUAL "fuzzer")
      target_compile_options(coli_${name} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
  else()
    add_library(coli_${name} INTERFACE)
    set(public INTERFACE)
  endif()
  add_library(coli::${name} ALIAS coli_${name})
  target_include_directories(coli_${name} ${public} "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(coli_${name} ${public} ${arg_PUBLIC_PACKAGES})
  foreach(folder IN LISTS arg_DEPENDS)
    if(TARGET coli_${folder})
      target_link_libraries(coli_${name} ${public} coli_${folder})
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY COLI_LIBRARIES coli_${name})

  if(COLI_TESTS AND tests)
    coli_test(${name}_test SOURCES ${tests} DEPENDS ${name} ${arg_TEST_DEPENDS})
    target_link_libraries(${name}_test PRIVATE ${arg_PRIVATE_PACKAGES})
  endif()
endfunction()

# coli_test(<name> [LABEL <label>] SOURCES <file>... DEPENDS <folder>...)
# A GoogleTest program; each of its tests is one test of ctest, labelled fast or as given, run in the root of the tree.
function(coli_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "SOURCES;DEPENDS")
  if(NOT arg_LABEL)
    set(arg_LABEL fast)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE GTest::gmock_main GTest::gmock GTest::gtest Threads::Threads)
  foreach(folder IN LISTS arg_DEPENDS)
    if(TARGET coli_${folder})
      target_link_libraries(${name} PRIVATE coli_${folder})
    endif()
  endforeach()
  gtest_discover_tests(${name}
    DISCOVERY_MODE PRE_TEST
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT 120)
endfunction()

# coli_isa_source(<pattern of files, from src/ on> <flag>...)
# Compiles files with more than the baseline instruction set; their tests stay at the baseline. Such a file may include
# only <stdint.h>, intrinsics and kernel headers whose functions have internal linkage: an inline function shared with it
# may be merged by the linker into callers that run on every CPU. tools/check_policy.py looks at the object files.
function(coli_isa_source pattern)
  file(GLOB files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${pattern}")
  list(FILTER files EXCLUDE REGEX "_test\\.cc$")
  set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${ARGN}")
endfunction()

# coli_benchmarks()
# One Google Benchmark program from each bench/<name>_bench.cc, where there is Google Benchmark and no sanitizer.
function(coli_benchmarks)
  find_package(benchmark QUIET)
  if(NOT benchmark_FOUND OR COLI_SANITIZE)
    return()
  endif()
  get_property(libraries GLOBAL PROPERTY COLI_LIBRARIES)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" bench/*_bench.cc)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${name} PRIVATE ${libraries} benchmark::benchmark_main)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  endforeach()
endfunction()
