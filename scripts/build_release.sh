#!/bin/sh
# Builds build/release/coli and shows how far it is on stderr. The whole story is in build/release.log.
set -eu
root=$(dirname "$(dirname "$(readlink -f "$0")")")
cd "$root"
mkdir -p build
log=$root/build/release.log

give_up() {
  echo "coli: $1; the last lines of $log:" >&2
  grep -E -A5 'CMake Error|error:|FAILED|fatal' "$log" | tail -n 25 >&2 || tail -n 25 "$log" >&2
  exit 1
}

# Standard input: what the build says, a line for each finished step: "[37/142] ...".
show_progress() {
  shown=0
  while IFS= read -r line; do
    steps=${line%%]*}
    case $steps in
      "["[0-9]*/[0-9]*) steps=${steps#"["} ;;
      *) continue ;;
    esac
    percent=$((100 * ${steps%/*} / ${steps#*/}))
    if [ "$terminal" = 1 ]; then
      printf '\r  %3d %%  ' "$percent"
    elif [ "$percent" -ge $((shown + 25)) ]; then
      shown=$percent
      printf '  %3d %%\n' "$percent"
    fi
  done
  [ "$terminal" = 0 ] || printf '\r         \r'
}

# Two first starts at once would build in the same folder.
exec 9>build/release.lock
if command -v flock >/dev/null; then
  flock 9
  [ ! -x build/release/coli ] || exit 0
fi

status=0
sh scripts/setup.sh || status=$?
case $status in
  0 | 3) ;;
  *)
    echo "coli: the packages above are needed to build" >&2
    exit 1
    ;;
esac

echo "coli: first start, building the program (once; log: $log)" >&2
# Tests and warnings as errors are the business of ./check.
cmake --preset release -DCOLI_TESTS=OFF -DCOLI_WERROR=OFF >"$log" 2>&1 </dev/null || give_up "configuring failed"

terminal=0
[ ! -t 2 ] || terminal=1
{ cmake --build build/release --target coli --parallel "$(sh scripts/jobs.sh)" 2>&1 </dev/null || echo "FAILED: build"; } |
  tee -a "$log" | show_progress >&2
[ -x build/release/coli ] || give_up "the build failed"
