#!/usr/bin/env bash
# Checks warpfold on this machine's GPU, with what is in the bundle alone. The last line counts: 'N
# passed, N failed'.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: gpu-check [--backend=cuda|cpu]

Runs the GPU tests and the end-to-end test, which starts the bundle's server on the GPU and sends
it requests. A test that skips counts as failed where its GPU is missing. Exit status: 0 when all
passed, 1 when any failed or none ran. --backend=cpu runs the end-to-end test alone, on the CPU
backend: it checks that the bundle is whole where there is no GPU.
HELP
}

backend=cuda
case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
  "" | --backend=cuda) ;;
  --backend=cpu) backend=cpu ;;
  *)
    usage >&2
    exit 2
    ;;
esac

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
server_pid=
# shellcheck disable=SC2317  # called by the trap
cleanup() {
  if [ -n "$server_pid" ]; then kill "$server_pid" 2>/dev/null || true; fi
  rm -rf "$scratch"
}
trap cleanup EXIT

passed=0
failed=0

finish() {
  echo "$passed passed, $failed failed"
  if [ "$failed" -gt 0 ] || [ "$passed" -eq 0 ]; then exit 1; fi
  exit 0
}

# count WORD FILE: the N of gtest's '[  WORD  ] N tests' line, 0 when it has none.
count() {
  sed -nE "s/^\[ +$1 +\] ([0-9]+) tests?.*/\1/p" "$2" | tail -n 1 | grep . || echo 0
}

# run_tests PROGRAM SKIPPED_IS_FAILED [FILTER]
run_tests() {
  local log=$scratch/$1.log status=0 skipped
  echo "== $1"
  # gtest's lines are read below: neither colours nor a filter from outside.
  env -u GTEST_FILTER GTEST_COLOR=no "$here/bin/$1" ${3:+"--gtest_filter=$3"} 2>&1 |
    tee "$log" || status=$?
  local here_passed here_failed
  here_passed=$(count PASSED "$log")
  here_failed=$(count FAILED "$log")
  skipped=$(count SKIPPED "$log")
  if [ "$skipped" -gt 0 ]; then
    echo "gpu-check: $1 skipped $skipped tests"
    if [ "$2" = yes ]; then here_failed=$((here_failed + skipped)); fi
  fi
  if [ "$status" -ne 0 ] && [ "$here_failed" -eq 0 ]; then
    echo "gpu-check: $1 ended with status $status before it could count" >&2
    here_failed=1
  fi
  passed=$((passed + here_passed))
  failed=$((failed + here_failed))
}

# First the shortest way to a clear answer: does the server start on this backend at all?
"$here/bin/warpfold-server" --backend="$backend" \
  --listen-address=127.0.0.1:0 --metrics-address=127.0.0.1:0 \
  --port-file="$scratch/port" >"$scratch/server.log" 2>&1 &
server_pid=$!
for _ in $(seq 300); do
  if [ -s "$scratch/port" ] || ! kill -0 "$server_pid" 2>/dev/null; then break; fi
  sleep 0.1
done
if [ ! -s "$scratch/port" ]; then
  cat "$scratch/server.log" >&2
  echo "gpu-check: the server does not start with --backend=$backend; its words are above" >&2
  failed=1
  finish
fi
kill "$server_pid"
wait "$server_pid" || true
server_pid=

export WARPFOLD_BACKEND=$backend
export WARPFOLD_SERVER=$here/bin/warpfold-server
export WARPFOLD_CLI=$here/bin/warpfold
if [ "$backend" = cuda ]; then
  filter=
  if [ "$(nvidia-smi -L | grep -c '^GPU')" -lt 2 ]; then
    echo "gpu-check: one GPU here; the tests of several are left out"
    filter='-GpuSplitTest.*'
  fi
  run_tests warpfold_gpu_test yes "$filter"
  run_tests warpfold_gpu_peer_test yes
fi
# Its quotas and queues are counted for a server with one device.
CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0} run_tests warpfold_e2e_test no
finish
