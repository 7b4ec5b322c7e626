#!/usr/bin/env bash
# Checks warpfold on this machine's GPU, with what is in the bundle alone. The last line counts: 'N
# passed, N failed'.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: gpu-check [--backend=cuda|cpu] [--warm] [--part=PART]...

Runs the GPU tests and the end-to-end test, which starts the bundle's server on the GPU and sends
it requests. A test that skips counts as failed where its GPU is missing. Exit status: 0 when all
passed, 1 when any failed or none ran, 2 for a wrong option.

  --warm         first loads all kernels, an element type a process, side by side: where the bundle
                 has only PTX for the GPU, the driver compiles them into its cache (CUDA_CACHE_PATH,
                 or else a folder that ends with this script), which takes minutes
  --part=PART    only this part; may be given several times. kernels: the kernels against the CPU's
                 bits. serial: the same, passes one after another, as GPUs before Hopper run them.
                 peer: memory of other processes. e2e: the server. Without it: kernels, peer and e2e
  --backend=cpu  runs the end-to-end test alone, on the CPU backend: it checks that the bundle is
                 whole where there is no GPU
HELP
}

backend=cuda
warm=no
parts=()
for argument in "$@"; do
  case "$argument" in
    -h | --help)
      usage
      exit 0
      ;;
    --backend=cuda) ;;
    --backend=cpu) backend=cpu ;;
    --warm) warm=yes ;;
    --part=kernels | --part=serial | --part=peer | --part=e2e) parts+=("${argument#--part=}") ;;
    *)
      echo "gpu-check: unknown option '$argument': --help lists them; parts are kernels, serial," \
        "peer and e2e" >&2
      exit 2
      ;;
  esac
done
if [ "$backend" = cpu ]; then
  parts=(e2e)
elif [ ${#parts[@]} -eq 0 ]; then
  parts=(kernels peer e2e)
fi

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

# warm_up: loads every module, each in a process of its own, and says how long that took.
warm_up() {
  export CUDA_CACHE_PATH=${CUDA_CACHE_PATH:-$scratch/cache} CUDA_CACHE_MAXSIZE=4294967295
  local start=$SECONDS loaders=() test status=0
  local loads=DTypes/GpuLoadTest
  for test in $("$here/bin/warpfold_gpu_test" --gtest_list_tests --gtest_filter="$loads.*" |
    sed -nE 's|^  ([^ ]+).*|\1|p'); do
    "$here/bin/warpfold_gpu_test" --gtest_filter="$loads.$test" >>"$scratch/warm.log" 2>&1 &
    loaders+=($!)
  done
  for loader in "${loaders[@]}"; do wait "$loader" || status=1; done
  if [ "$status" -ne 0 ] || [ ${#loaders[@]} -eq 0 ]; then
    grep -E 'Failure|error|SKIPPED' "$scratch/warm.log" >&2 || true
    echo "gpu-check: the kernels could not be loaded" >&2
    failed=1
    finish
  fi
  echo "gpu-check: loaded the kernels of ${#loaders[@]} element types in $((SECONDS - start)) s"
}

# has_part NAME
has_part() { printf '%s\n' "${parts[@]}" | grep -qx "$1"; }

if [ "$warm" = yes ]; then warm_up; fi

# First the shortest way to a clear answer: does the server start on this backend at all?
"$here/bin/warpfold-server" --backend="$backend" \
  --listen-address=127.0.0.1:0 --metrics-address=127.0.0.1:0 \
  --port-file="$scratch/port" >"$scratch/server.log" 2>&1 &
server_pid=$!
for _ in $(seq 9000); do  # 15 minutes, where the driver has to compile
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
filter=
if [ "$backend" = cuda ] && [ "$(nvidia-smi -L | grep -c '^GPU')" -lt 2 ]; then
  echo "gpu-check: one GPU here; the tests of several are left out"
  filter='-GpuSplitTest.*'
fi
if has_part kernels; then
  run_tests warpfold_gpu_test yes "$filter"
  run_tests warpfold_gpu_reduction_test yes
  run_tests warpfold_gpu_instructions_this_test yes
  run_tests warpfold_gpu_instructions_oldest_test yes
fi
if has_part serial; then
  WARPFOLD_TEST_OVERLAPS_PASSES=0 run_tests warpfold_gpu_test yes "$filter"
fi
if has_part peer; then run_tests warpfold_gpu_peer_test yes; fi
# Its quotas and queues are counted for a server with one device.
if has_part e2e; then
  CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0} run_tests warpfold_e2e_test no
fi
finish
