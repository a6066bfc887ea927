#!/bin/sh
# Installs what is missing to build and run colibri: setup.sh [--check]
#
# --check adds what ./check needs. Knows Debian 12, Debian 13 and Ubuntu 24.04; does nothing when everything is there.
# Exit status: 0 all is there; 1 something is missing; 3 not a system with apt, the list was printed instead.
set -eu

need="g++ cmake ninja-build pkg-config libfmt-dev libexpected-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev \
  libxxhash-dev libsqlite3-dev libhwloc-dev liburing-dev libpcre2-dev libutf8proc-dev libedit-dev"
# Without these the steps of ./check that use them are left out.
wish=""

case "${1-}" in
  "") ;;
  --check)
    need="$need python3 binutils libgtest-dev libgmock-dev libbenchmark-dev"
    wish="clang-19 libclang-rt-19-dev clang-format-19 g++-aarch64-linux-gnu qemu-user-static"
    ;;
  *)
    echo "setup.sh: unknown argument '$1'; usage: setup.sh [--check]" >&2
    exit 1
    ;;
esac

say() { echo "setup: $*" >&2; }

# Prints those of the packages that are not installed.
missing() {
  # shellcheck disable=SC2016
  installed=$(dpkg-query -W -f='${Package}=${db:Status-Status}\n' "$@" 2>/dev/null) || true
  for package in "$@"; do
    printf '%s\n' "$installed" | grep -qxF -e "$package=installed" || printf '%s ' "$package"
  done
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  say "this system has no apt; please install what these Debian packages hold:"
  # shellcheck disable=SC2086
  printf '  %s\n' $need $wish >&2
  exit 3
fi

# shellcheck disable=SC2086
need=$(missing $need)
# shellcheck disable=SC2086
[ -z "$wish" ] || wish=$(missing $wish)
[ -n "$need$wish" ] || exit 0

as_root=""
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    if [ -z "$need" ]; then
      say "not installed, so the checks that need them are left out: $wish"
      exit 0
    fi
    say "these packages are missing, and there is no sudo; as root: apt-get install $need$wish"
    exit 1
  fi
  as_root="sudo"
  [ -t 2 ] || as_root="sudo -n"
fi

if [ -n "$need" ] || ! apt-cache show g++ >/dev/null 2>&1; then
  say "reading the package lists (${as_root:+$as_root }apt-get update)"
  $as_root apt-get -qq update >&2 </dev/null || { say "apt-get update failed"; exit 1; }
fi

install() {
  say "installing (${as_root:+$as_root }apt-get install): $*"
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 \
    install "$@" >&2 </dev/null
}

# shellcheck disable=SC2086
[ -z "$need" ] || install $need || { say "apt-get install failed"; exit 1; }
# One by one: what this system does not offer must not keep the others away.
for package in $wish; do
  install "$package" || say "could not install $package: the checks that need it are left out"
done
