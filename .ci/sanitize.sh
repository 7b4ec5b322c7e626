#!/usr/bin/env bash
# Builds test programs for a sanitizer and runs each whole, its tests in as many processes as there
# are processors.
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
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# run_shards PROGRAM: prints what each has said, one after another.
run_shards() {
  local shards i pids=() status=0
  shards=$(nproc)
  for ((i = 0; i < shards; i++)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i "build/$preset/$1" --gtest_brief=1 \
      >"$logs/$i" 2>&1 &
    pids+=($!)
  done
  for i in "${!pids[@]}"; do
    wait "${pids[$i]}" || status=1
    cat "$logs/$i"
  done
  return "$status"
}

failed=()
for program in "$@"; do
  echo "== $preset: $program"
  run_shards "$program" || failed+=("$program")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "sanitize: $preset: failed: ${failed[*]}" >&2
  exit 1
fi
