#!/usr/bin/env bash
# One hostile client against the real server.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: tests/attacks/run.sh PYTHON FOLDER [pytest's arguments]

Runs the attacks with PYTHON in a virtual environment in FOLDER, which gets a small package from
PyPI on the first run. $WARPFOLD_SERVER names the server's binary. Exit code 77: PyPI cannot be
reached, and this is not continuous integration ($CI is not set).
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

"$here/../venv.sh" "$python" "$venv" "$here/requirements.txt"
"$venv/bin/python" -B -m pytest -q "$here" "$@"
