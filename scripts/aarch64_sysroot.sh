#!/bin/sh
# Puts the libraries that colibri is built on, for aarch64, into a folder: aarch64_sysroot.sh FOLDER
#
# They are Debian's packages, unpacked and not installed: the packages of this system stay as they are, and no root is needed.
# Does nothing when the folder is complete. Exit status: 0 it is there; 3 it cannot be had here, the last line says why.
set -eu

packages="libfmt-dev libfmt9 libexpected-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libtomlplusplus3 \
  libxxhash-dev libxxhash0 libsqlite3-dev libsqlite3-0 libhwloc-dev libhwloc15 libudev1 liburing-dev liburing2 libpcre2-dev libpcre2-8-0 libutf8proc-dev libutf8proc2 \
  libedit-dev libedit2 libbsd0 libmd0 libtinfo6 libgtest-dev libgmock-dev"

[ $# = 1 ] || { echo "usage: aarch64_sysroot.sh FOLDER" >&2; exit 1; }
folder=$1
complete=$folder/complete
[ "$(cat "$complete" 2>/dev/null)" != "$packages" ] || exit 0

absent() {
  echo "no aarch64 libraries: $*"
  exit 3
}
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || absent "this system has no apt"

rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/apt/packages"
folder=$(cd "$folder" && pwd)
# This system's sources with lists of our own, for the other architecture.
apt() {
  apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= \
    -o Dir::State="$folder/apt" -o Dir::State::lists="$folder/apt/lists" -o Dir::State::status=/dev/null \
    -o Dir::Cache="$folder/apt/cache" "$@"
}
apt update || absent "the package lists for arm64 could not be read"
# shellcheck disable=SC2086
(cd "$folder/apt/packages" && apt download $packages) || absent "some of the packages could not be fetched"
for package in "$folder"/apt/packages/*.deb; do
  dpkg-deb --extract "$package" "$folder"
done
rm -rf "$folder/apt"
printf '%s' "$packages" >"$complete"
