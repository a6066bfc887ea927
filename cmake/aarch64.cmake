# Toolchain: aarch64 Linux from another machine, with Debian's cross compiler, the libraries of scripts/aarch64_sysroot.sh and
# tests that run under qemu.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(coli_sysroot "${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-sysroot" ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH "${coli_sysroot}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${coli_sysroot}")
set(ENV{PKG_CONFIG_LIBDIR} "${coli_sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig:${coli_sysroot}/usr/share/pkgconfig")

# Where native compilers look by themselves.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${coli_sysroot}/usr/include/aarch64-linux-gnu")
# Libraries that our libraries need.
foreach(folder IN ITEMS usr/lib lib)
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,-rpath-link,${coli_sysroot}/${folder}/aarch64-linux-gnu")
endforeach()

set(CMAKE_CROSSCOMPILING_EMULATOR "${CMAKE_CURRENT_LIST_DIR}/../scripts/run_aarch64.sh")
