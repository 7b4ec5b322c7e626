#!/usr/bin/env bash
# Asks the real server for every refusal that it has, and compares with golden.tsv.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: tests/refusals/run.sh PYTHON FOLDER [--update] [pytest's arguments]

Runs the tests with a virtual environment of PYTHON in FOLDER, into which hpack comes from PyPI on
the first run. $WARPFOLD_SERVER names the server's binary, $WARPFOLD_HELD_SERVER the one of
held_backend.cc. --update writes golden.tsv anew.
Exit code 77: PyPI cannot be reached, and this is not continuous integration ($CI is not set).
HELP
}

case "${1:-}" in
  "" | -h | --help)
    usage
    [ -n "${1:-}" ] && exit 0
    exit 2
    ;;
esac

python=$1
venv=$2
shift 2
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

"$here/../venv.sh" "$python" "$venv" "$here/requirements.txt" -- -B -m pytest -q "$here" "$@"
