#!/usr/bin/env bash
# The client library as a package: installed into a folder, found from outside the tree, used
# against a real server, by an example and by README.md's program.
set -euo pipefail
# shellcheck source=tests/client/expect_sums.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/expect_sums.sh"

usage() {
  cat <<'HELP'
Usage: tests/client/package_test.sh BUILD FOLDER

Installs the component `client` of BUILD into FOLDER, builds tests/client/package and the C++
program of README.md with it there ($CMAKE and $CXX, if set), and runs both against a server on a
free port. Exit status 0 when both print the sums.
HELP
}

if [ $# -ne 2 ]; then
  usage >&2
  exit 2
fi
build=$(realpath "$1")
folder=$(realpath -m "$2")
cmake=${CMAKE:-cmake}
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

rm -rf "$folder"
mkdir -p "$folder"
"$cmake" --install "$build" --component client --prefix "$folder/prefix" >"$folder/install.log"
# Nothing of the tree may be needed: not its headers, nor those of the parts that stay inside.
cp -r "$here/package" "$folder/source"
awk '/^```/ { inside = $0 == "```cpp"; next } inside' "$here/../../README.md" \
  >"$folder/source/readme.cc"
"$cmake" -S "$folder/source" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/prefix" \
  ${LAUNCHER:+-DCMAKE_CXX_COMPILER_LAUNCHER="$LAUNCHER"} >"$folder/configure.log"
"$cmake" --build "$folder/build" >"$folder/build.log" || {
  cat "$folder/build.log"
  exit 1
}

expect_sums "$build" "$folder" "$folder/build/example" "$folder/build/readme"
