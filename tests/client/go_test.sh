#!/usr/bin/env bash
# The Go program of docs/clients.md, as it stands there, against a real server.
set -euo pipefail
# shellcheck source=tests/client/expect_sums.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/expect_sums.sh"

usage() {
  cat <<'HELP'
Usage: tests/client/go_test.sh BUILD FOLDER

Takes the commands and the program out of docs/clients.md, builds them in FOLDER with Debian's
golang-go, golang-google-grpc-dev and golang-goprotobuf-dev, and runs the program against BUILD's
server on a free port. Exit status 0 when it prints the sums, 77 when the packages are not there.
HELP
}

if [ $# -ne 2 ]; then
  usage >&2
  exit 2
fi
build=$(realpath "$1")
folder=$(realpath -m "$2")
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
for needed in golang-go golang-google-grpc-dev golang-goprotobuf-dev; do
  dpkg-query -W -f '${db:Status-Status}' "$needed" 2>/dev/null | grep -qx installed || {
    echo "go_test: no $needed here"
    exit 77
  }
done

rm -rf "$folder"
mkdir -p "$folder/src"
cd "$folder/src"
ln -s "$root/proto" proto
page=$root/docs/clients.md
# The indented lines that begin with protoc, and the block marked go.
eval "$(sed -n '/^### Go/,/^```go/{/^    /p}' "$page")"
# shellcheck disable=SC2016  # backquotes of Markdown
sed -n '/^```go/,/^```$/{/^```/!p}' "$page" >main.go
# Debian's Go libraries lie in a GOPATH, the generated code beside them.
export GO111MODULE=off GOPATH=$folder:/usr/share/gocode GOCACHE=$folder/cache GOFLAGS=-p=2
go build -o "$folder/example" main.go

expect_sums "$build" "$folder" "$folder/example"
