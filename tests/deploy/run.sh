#!/usr/bin/env bash
# A test of deploy/ with what it takes from PyPI (requirements.txt).
# Usage: tests/deploy/run.sh PYTHON FOLDER SCRIPT ARGUMENTS...     FOLDER: for a virtual environment
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
"$here/../venv.sh" "$1" "$2" "$here/requirements.txt"
exec "$2/bin/python" -B "$here/$3" "${@:4}"
