#!/usr/bin/env bash
# Checks the GPU code of a build against what was asked for.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

usage() {
  cat <<'HELP'
Usage: tests/kernels/code/run.sh BUILD [PYTHON]

Lists the machine code and the PTX of BUILD's kernels, a line for each GPU that they are compiled
for, with their size in the file, and fails where anything differs from WARPFOLD_CUDA_ARCHITECTURES,
where a kernel declares more shared memory than the launch plan counts on, where the kernels are
larger than their budget, or where a program holds a second CUDA runtime or is linked against
the driver. Takes cuobjdump from PyPI (requirements.txt) into BUILD; exit code 77 where PyPI cannot
be reached.
HELP
}

case "${1:-}" in
  "" | -h | --help)
    usage
    [ -n "${1:-}" ] && exit 0
    exit 2
    ;;
esac
build=$1
python=${2:-python3}
exec "$here/../../venv.sh" "$python" "$build/tests-venv/code" "$here/requirements.txt" -- \
  -B "$here/check.py" "$build"
