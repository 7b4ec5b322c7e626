#!/usr/bin/env bash
# Runs the GPU tests under compute-sanitizer's four tools, on this machine's GPU. Works in the tree
# and in the bundle.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: gpu-sanitize [--limit=SECONDS] [--tools=TOOL,...] [--jobs=N] [TEST_PROGRAM]

Runs TEST_PROGRAM (default: warpfold_gpu_test in bin/ beside this script) under memcheck, racecheck,
initcheck and synccheck, on fewer and smaller tensors than a plain run takes. racecheck shares the
tests out over N processes at a time (default: the processors, at most 12). A tool gets SECONDS
(default 300; racecheck took 123 on an H200 with 12 processes, the others up to 15 with their one).
Exit status: 0 when no tool found anything and all tests passed; 1 when one did not, or took longer;
2 when compute-sanitizer is not here.
HELP
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$here/bin/warpfold_gpu_test
limit_s=300
jobs=$(nproc)
jobs=$((jobs < 12 ? jobs : 12))
tools=memcheck,racecheck,initcheck,synccheck
for argument in "$@"; do
  case "$argument" in
    -h | --help)
      usage
      exit 0
      ;;
    --limit=*) limit_s=${argument#*=} ;;
    --jobs=*) jobs=${argument#*=} ;;
    --tools=*) tools=${argument#*=} ;;
    -*)
      usage >&2
      exit 2
      ;;
    *) program=$argument ;;
  esac
done
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ ! -x "$sanitizer" ] || [ ! -x "$program" ]; then
  echo "gpu-sanitize: no compute-sanitizer (it comes with the CUDA toolkit), or no $program" >&2
  exit 2
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export WARPFOLD_BRIEF_TESTS=1
# Left out: what is about large memory or several GPUs, and the second of two sizes of staging
# buffers.
filter='-*FourBillion*:*LargerThanAPiece*:*MemoryThatTheGpuDoesNotHave*:*ScratchMemoryThatIsShort*'
filter+=':GpuSplitTest.*:*/4194304'

# Runs shard $2 of $3 of the tests under tool $1; its log and its exit status go to $scratch.
run_shard() {
  local status=0
  # Tests ask for errors of the driver's on purpose: those are no findings. 9: there were others.
  GTEST_TOTAL_SHARDS=$3 GTEST_SHARD_INDEX=$2 timeout "$limit_s" \
    "$sanitizer" --tool "$1" --report-api-errors no --error-exitcode 9 \
    "$program" --gtest_color=no "--gtest_filter=$filter" >"$scratch/$1.$2.log" 2>&1 || status=$?
  echo "$status" >"$scratch/$1.$2.status"
}

# Says what was wrong with shard $2 of tool $1, if anything was.
check_shard() {
  local log=$scratch/$1.$2.log status
  status=$(<"$scratch/$1.$2.status")
  if [ "$status" -eq 0 ]; then
    return 0
  elif [ "$status" -eq 124 ]; then
    echo "gpu-sanitize: $1 did not end within $limit_s s: $(grep '^\[ RUN ' "$log" | tail -n 1)" >&2
  else
    echo "gpu-sanitize: $1 ended with status $status" >&2
  fi
  grep -E '^=========|FAILED|^\[ RUN ' "$log" | grep -B1 -E '^=========|FAILED' | head -n 80 >&2 ||
    true
  return 1
}

failed=0
for tool in ${tools//,/ }; do
  start=$SECONDS
  shards=1
  if [ "$tool" = racecheck ]; then shards=$jobs; fi
  for ((shard = 0; shard < shards; ++shard)); do
    run_shard "$tool" "$shard" "$shards" &
  done
  wait
  passed=$(cat "$scratch/$tool".*.log | grep -c '^\[       OK' || true)
  echo "== $tool: $((SECONDS - start)) s, $passed tests passed"
  for ((shard = 0; shard < shards; ++shard)); do
    check_shard "$tool" "$shard" || failed=1
  done
  if [ "$passed" -eq 0 ]; then
    failed=1
    echo "gpu-sanitize: $tool: no test ran" >&2
  fi
done
exit "$failed"
