#!/bin/sh
# Prints how many compilers to run at once: one per core, but no more than memory holds (a large file needs 700 MB).
set -eu
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
fit=$(awk '/^MemAvailable:/ { print int($2 / 716800) }' /proc/meminfo 2>/dev/null || true)
jobs=$cores
[ -n "$fit" ] && [ "$fit" -lt "$jobs" ] && jobs=$fit
[ "$jobs" -ge 1 ] || jobs=1
echo "$jobs"
