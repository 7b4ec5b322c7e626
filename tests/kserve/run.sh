#!/usr/bin/env bash
# Clients of the Open Inference Protocol, as PyPI has them, against the real server.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: tests/kserve/run.sh PYTHON FOLDER [pytest's arguments]

Runs the tests with tritonclient and, where the C library is new enough, perf_analyzer, which come
from PyPI into a virtual environment of PYTHON in FOLDER on the first run (some 12 and 7 MB).
$WARPFOLD_SERVER names the server's binary. Exit code 77: PyPI cannot be reached, and this is not
continuous integration ($CI is not set).
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

lists=("$here/requirements.txt")
glibc=$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)
if [ "$(printf '%s\n' 2.38 "$glibc" | sort -V | head -n 1)" = 2.38 ]; then
  lists+=("$here/requirements-perf.txt")
fi

"$here/../venv.sh" "$python" "$venv" "${lists[@]}"
"$venv/bin/python" -B -m pytest -q "$here" "$@"
