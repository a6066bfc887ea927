#!/bin/sh
# Runs a program of the aarch64 build under qemu, as a CPU with every extension that qemu knows: run_aarch64.sh PROGRAM [ARGUMENT...]
root=$(dirname "$(readlink -f "$0")")/..
sysroot=$root/build/aarch64-sysroot
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || { echo "run_aarch64.sh: no qemu-aarch64 on this system" >&2; exit 127; }
exec "$qemu" -cpu max -L /usr/aarch64-linux-gnu \
  -E "LD_LIBRARY_PATH=$sysroot/usr/lib/aarch64-linux-gnu:$sysroot/lib/aarch64-linux-gnu" "$@"
