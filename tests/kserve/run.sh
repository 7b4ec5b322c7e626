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

if ! cmp -s <(cat "${lists[@]}") "$venv/installed-requirements.txt"; then
  rm -rf "$venv"
  "$python" -m venv --system-site-packages "$venv"
  if ! "$venv/bin/pip" install --quiet --no-deps --disable-pip-version-check --ignore-installed \
    "${lists[@]/#/--requirement=}"; then
    echo "kserve: tritonclient cannot be had from PyPI" >&2
    [ -n "${CI:-}" ] && exit 1
    exit 77
  fi
  cat "${lists[@]}" >"$venv/installed-requirements.txt"
fi

"$venv/bin/python" -B -m pytest -q "$here" "$@"
