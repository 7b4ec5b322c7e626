#!/usr/bin/env bash
# The client library as a package: installed into a folder, found from outside the tree, used
# against a real server.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: tests/client/package_test.sh BUILD FOLDER

Installs the component `client` of BUILD into FOLDER, builds tests/client/package with it there
($CMAKE and $CXX, if set), and runs it against a server on a free port. Exit status 0 when it
prints the sums.
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
"$cmake" -S "$folder/source" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/prefix" \
  ${LAUNCHER:+-DCMAKE_CXX_COMPILER_LAUNCHER="$LAUNCHER"} >"$folder/configure.log"
"$cmake" --build "$folder/build" >"$folder/build.log" || {
  cat "$folder/build.log"
  exit 1
}

"$build/server/warpfold-server" --backend=cpu --listen-address=127.0.0.1:0 \
  --metrics-address=127.0.0.1:0 --port-file="$folder/port" >"$folder/server.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" || true' EXIT
while [ ! -s "$folder/port" ]; do
  kill -0 "$server" || {
    cat "$folder/server.log"
    exit 1
  }
  sleep 0.05
done
sums=$("$folder/build/example" "127.0.0.1:$(cut -d ' ' -f 1 "$folder/port")")
echo "sums: $sums"
[ "$sums" = "6 15" ]
