#!/usr/bin/env bash
# A virtual environment for tests that need what only PyPI has.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: tests/venv.sh PYTHON FOLDER REQUIREMENTS... [-- ARGUMENTS]

Makes a virtual environment of PYTHON in FOLDER with the packages that the files REQUIREMENTS name,
without their dependencies, beside the distribution's; does nothing when it is there already. Then
runs its Python with ARGUMENTS, if there are any.
Exit code 77: PyPI cannot be reached, and this is not continuous integration ($CI is not set).
HELP
}

if [ $# -lt 3 ]; then
  usage
  exit 2
fi
python=$1
venv=$2
shift 2
lists=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  lists+=("$1")
  shift
done

if ! cmp -s <(cat "${lists[@]}") "$venv/installed-requirements.txt"; then
  rm -rf "$venv"
  "$python" -m venv --system-site-packages "$venv"
  if ! "$venv/bin/pip" install --quiet --no-deps --disable-pip-version-check --ignore-installed \
    "${lists[@]/#/--requirement=}"; then
    echo "venv: PyPI does not give what ${lists[*]} name" >&2
    if [ -n "${CI:-}" ]; then exit 1; fi
    exit 77
  fi
  cat "${lists[@]}" >"$venv/installed-requirements.txt"
fi
if [ $# -gt 0 ]; then
  shift
  exec "$venv/bin/python" "$@"
fi
