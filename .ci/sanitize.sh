#!/usr/bin/env bash
# Builds test programs for a sanitizer and runs each whole.
# Usage: .ci/sanitize.sh asan|ubsan|tsan PROGRAM...     PROGRAM: a path in the build folder
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
deploy/setup.sh deploy/packages.txt
launchers=()
if command -v ccache >/dev/null; then launchers=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake --preset "$preset" "${launchers[@]}"
cmake --build "build/$preset" --target "${@##*/}"
# Tests ask for more memory than there is, and for the error.
export ASAN_OPTIONS=allocator_may_return_null=1
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp"
failed=()
for program in "$@"; do
  echo "== $preset: $program"
  "build/$preset/$program" --gtest_brief=1 || failed+=("$program")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "sanitize: $preset: failed: ${failed[*]}" >&2
  exit 1
fi
