#!/usr/bin/env bash
# Runs the GPU tests under compute-sanitizer's four tools, on this machine's GPU. Works in the tree
# and in the bundle.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: gpu-sanitize [--limit=SECONDS] [--tools=TOOL,...] [TEST_PROGRAM]

Runs TEST_PROGRAM (default: warpfold_gpu_test in bin/ beside this script) under memcheck, racecheck,
initcheck and synccheck, on fewer and smaller tensors than a plain run takes. A tool gets SECONDS
(default 90). Exit status: 0 when no tool found anything and all tests passed; 1 when one did not,
or took longer; 2 when compute-sanitizer is not here.
HELP
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$here/bin/warpfold_gpu_test
limit_s=90
tools=memcheck,racecheck,initcheck,synccheck
for argument in "$@"; do
  case "$argument" in
    -h | --help)
      usage
      exit 0
      ;;
    --limit=*) limit_s=${argument#*=} ;;
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
# Left out: what is about large memory or several GPUs, and the second of two sizes of slabs.
filter='-*FourBillion*:*LargerThanAPiece*:*MemoryThatTheGpuDoesNotHave*:*ScratchMemoryThatIsShort*'
filter+=':GpuSplitTest.*:*/4194304'
failed=0
for tool in ${tools//,/ }; do
  log=$scratch/$tool.log
  start=$SECONDS
  status=0
  # Tests ask for errors of the driver's on purpose: those are no findings. 9: there were others.
  timeout "$limit_s" "$sanitizer" --tool "$tool" --report-api-errors no --error-exitcode 9 \
    "$program" --gtest_color=no "--gtest_filter=$filter" >"$log" 2>&1 || status=$?
  echo "== $tool: $((SECONDS - start)) s, $(grep -c '^\[       OK' "$log" || true) tests passed"
  grep '^========= .*SUMMARY' "$log" || true
  if [ "$status" -ne 0 ] || ! grep -q '^\[  PASSED  \] [1-9]' "$log"; then
    failed=1
    case "$status" in
      0) echo "gpu-sanitize: $tool: no test ran" >&2 ;;
      124) echo "gpu-sanitize: $tool did not end within $limit_s s" >&2 ;;
      *) echo "gpu-sanitize: $tool ended with status $status" >&2 ;;
    esac
    grep -E '^=========|FAILED|^\[ RUN ' "$log" | grep -B1 -E '^=========|FAILED' |
      head -n 80 >&2 || true
  fi
done
exit "$failed"
