#!/usr/bin/env bash
# The array API's own test suite against the Python client.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: tests/client_python/array_api/run.sh CHECKOUT [pytest's arguments]

Runs the statistical, searching and utility parts of github.com/data-apis/array-api-tests, of which
CHECKOUT is a working tree, against a server on a free port ($WARPFOLD_SERVER names its binary).
The arrays are NumPy's, and so is every function that the client has not; shim.py says which it has.
The suite's packages come from PyPI into build/array-api-tests on the first run ($PYTHON, 3.10 or
later, makes it). Complex numbers are left out. The last line is the suite's count.
HELP
}

case "${1:-}" in
  "" | -h | --help)
    usage
    [ -n "${1:-}" ] && exit 0
    exit 2
    ;;
esac

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../../.." && pwd)
checkout=$(realpath -m -- "$1")
shift
parts=()
for part in statistical searching utility; do
  file=array_api_tests/test_${part}_functions.py
  if [ ! -f "$checkout/$file" ]; then
    echo "array_api: $checkout is no checkout of array-api-tests: it has no $file" >&2
    exit 2
  fi
  parts+=("$file")
done
: "${WARPFOLD_SERVER:?names the binary of the server}"
WARPFOLD_SERVER=$(realpath -- "$WARPFOLD_SERVER")
export WARPFOLD_SERVER

export ARRAY_API_TESTS_MODULE=shim
export ARRAY_API_TESTS_SKIP_DTYPES=complex64,complex128
export PYTHONPATH="$here:$root/tests/client_python:$root/client/python"
python=${PYTHON:-python3}
venv=$root/build/array-api-tests
cd -- "$checkout"
exec "$root/tests/venv.sh" "$python" "$venv" "$root/tests/client_python/requirements.txt" \
  "$here/requirements.txt" -- -B -m pytest -q -p no:cacheprovider "$@" "${parts[@]}"
