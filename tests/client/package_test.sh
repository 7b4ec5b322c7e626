#!/usr/bin/env bash
# The client library as a package: installed into a folder, found from outside the tree, used by the
# programs of docs/clients.md and README.md, with a real server and without one.
set -euo pipefail
# shellcheck source=tests/client/expect_sums.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/expect_sums.sh"

usage() {
  cat <<'HELP'
Usage: tests/client/package_test.sh BUILD FOLDER

Installs the component `client` of BUILD into FOLDER, builds the C++ programs of docs/clients.md and
README.md with it there ($CMAKE and $CXX, if set), and runs them against a server on a free port and
against none. Exit status 0 when they print the sums, and without a server an error.
HELP
}

if [ $# -ne 2 ]; then
  usage >&2
  exit 2
fi
build=$(realpath "$1")
folder=$(realpath -m "$2")
cmake=${CMAKE:-cmake}
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)

rm -rf "$folder"
mkdir -p "$folder"
"$cmake" --install "$build" --component client --prefix "$folder/prefix" >"$folder/install.log"

# block LANGUAGE PAGE: the one block of the page that is marked so.
block() {
  awk -v start="\`\`\`$1" '/^```/ { inside = $0 == start; next } inside' "$2"
}

# Nothing of the tree may be needed: not its headers, nor those of the parts that stay inside.
programs=()
for page in docs/clients.md README.md; do
  source=$folder/$(basename "$page" .md)
  mkdir "$source"
  block cmake "$root/docs/clients.md" >"$source/CMakeLists.txt"
  block cpp "$root/$page" >"$source/printed.cc"
  # The address alone differs from what is printed.
  sed 's/"localhost:50051"/argv[1]/; s/int main()/int main(int, char** argv)/' \
    "$source/printed.cc" >"$source/example.cc"
  "$cmake" -S "$source" -B "$source/build" -DCMAKE_PREFIX_PATH="$folder/prefix" \
    ${LAUNCHER:+-DCMAKE_CXX_COMPILER_LAUNCHER="$LAUNCHER"} >"$source/configure.log"
  "$cmake" --build "$source/build" >"$source/build.log" || {
    cat "$source/build.log"
    exit 1
  }
  programs+=("$source/build/example")
done

for program in "${programs[@]}"; do
  status=0
  said=$("$program" 127.0.0.1:1 2>&1) || status=$?
  if [ "$status" -ne 1 ] || [[ $said != *UNAVAILABLE* ]]; then
    echo "$program without a server: exit status $status, $said"
    exit 1
  fi
done

expect_sums "$build" "$folder" "${programs[@]}"
