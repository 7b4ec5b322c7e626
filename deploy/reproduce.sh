#!/usr/bin/env bash
# Builds what the image is made of twice, and compares the bits.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'HELP'
Usage: deploy/reproduce.sh [cpu|gpu]

Builds the server and the command line client of the commit that is checked out as the Dockerfile
does, and stages them with their libraries; then again in a folder of another name, at another time,
in another time zone and language, with another umask and another number of jobs, both without
ccache. Compares every file, and prints a sum over all: who builds the same commit with the same
packages gets the same. JOBS (default: the number of processors) are at work in the first build.
Exit status: 0 the same to the bit, else 1. Takes two clean builds.
HELP
}

case "${1:-cpu}" in
  cpu) cuda=OFF ;;
  gpu) cuda=ON ;;
  -h | --help)
    usage
    exit 0
    ;;
  *)
    usage >&2
    exit 2
    ;;
esac

commit=$(git rev-parse --short HEAD)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build FOLDER JOBS: the commit's files, built and staged in FOLDER.
build() {
  echo "reproduce: $1, $2 jobs"
  mkdir -p "$work/$1/source"
  git archive "$commit" | tar -x -C "$work/$1/source"
  (
    cd "$work/$1/source"
    export CCACHE_DISABLE=1
    cmake --preset release -DWARPFOLD_CUDA=$cuda -DWARPFOLD_TESTS=OFF -DWARPFOLD_BENCH=OFF
    cmake --build --preset release -j "$2"
    deploy/stage.sh "$work/$1/staged" build/release/server/warpfold-server \
      build/release/client/cpp/warpfold
  ) >"$work/$1/log" 2>&1 || {
    tail -n 40 "$work/$1/log" >&2
    exit 1
  }
}

# sums FOLDER: mode and sha256 of each staged file.
sums() {
  (
    cd "$work/$1/staged"
    find . -type f -printf '%m %p\n' | sort -k 2
    find . -type f -print0 | sort -z | xargs -0 sha256sum
  )
}

jobs=${JOBS:-$(nproc)}
build first "$jobs"
(umask 077 && TZ=Pacific/Auckland LC_ALL=C.UTF-8 build another-folder/further-down $((jobs + 1)))
if ! diff <(sums first) <(sums another-folder/further-down); then
  echo "reproduce: these files differ" >&2
  exit 1
fi
count=$(find "$work/first/staged" -type f | wc -l)
echo "reproduce: $commit: $count files, the same twice: sha256" \
  "$(sums first | sha256sum | cut -d' ' -f1)"
