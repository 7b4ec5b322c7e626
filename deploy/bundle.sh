#!/usr/bin/env bash
# Makes bundle/: everything that a GPU host needs to check and measure warpfold, and nothing to
# install there.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'HELP'
Usage: deploy/bundle.sh [BUILD [DESTINATION]]

Puts the server, the command line client, the GPU and end-to-end tests and the benches of BUILD
(default: build/release) with the libraries they need into DESTINATION (default: bundle). Copy it
to any x86-64 Linux with glibc 2.36 or later and, for the GPU, an NVIDIA driver; there,
DESTINATION/gpu-check runs the tests on the GPU.
HELP
}

case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
esac
build=${1:-build/release}
destination=${2:-bundle}
size_max_mib=80  # so that growth is noticed: it travels to GPU hosts

server=$build/server/warpfold-server
if [ -x "$server" ] && [ ! -x "$build/bench/kernels/warpfold_bench_kernels" ]; then
  echo "bundle: $build was built without CUDA, and the bundle is for GPU hosts" >&2
  exit 1
fi
rm -rf "$destination"
deploy/stage.sh "$destination" \
  "$server" \
  "$build/client/cpp/warpfold" \
  "$build/tests/gpu/warpfold_gpu_test" \
  "$build/tests/gpu/warpfold_gpu_reduction_test" \
  "$build/tests/gpu/warpfold_gpu_instructions_this_test" \
  "$build/tests/gpu/warpfold_gpu_instructions_oldest_test" \
  "$build/tests/gpu/warpfold_gpu_peer_test" \
  "$build/tests/e2e/warpfold_e2e_test" \
  "$build/bench/kernels/warpfold_bench_kernels" \
  "$build/bench/kernels/warpfold_bench_shapes" \
  "$build/bench/kernels/warpfold_bench_batch" \
  "$build/bench/kernels/warpfold_bench_exact" \
  "$build/bench/kernels/warpfold_bench_library" \
  "$build/bench/kernels/warpfold_bench_ladder" \
  "$build/bench/kernels/libwarpfold_bench_cpu.so" \
  "$build/bench/kernels/libwarpfold_bench_cuda.so" \
  "$build/bench/service/warpfold_null_server" \
  "$build/bench/service/warpfold_open_loop"
install -m 755 deploy/gpu-check.sh "$destination/gpu-check"
install -m 755 deploy/gpu-sanitize.sh "$destination/gpu-sanitize"
# The benches look for bin/ two folders up, as in the tree.
for file in bench/{kernels,quote,service,peers}/*.py client/python/warpfold/*.{py,binpb} \
  tests/deploy/{record,load,processes}.py tests/gpu/*.py tests/client_python/running_server.py \
  examples/gradient_monitor.py; do
  install -D -m 644 "$file" "$destination/$file"
done
chmod 755 "$destination"/bench/service/{run,clients,gpus,cuda_export,overload,beside,shares}.py \
  "$destination/bench/peers/exact_sums.py" \
  "$destination"/bench/kernels/{accuracy,cpu,cpu_sums,hard_data,torch_shapes}.py \
  "$destination/tests/deploy/record.py" "$destination/tests/gpu/python_peer_test.py" \
  "$destination/bench/service/pays.py"
install -m 644 LICENSE "$destination/LICENSE"
git describe --always --dirty --match='v*' >"$destination/VERSION" 2>/dev/null ||
  echo unknown >"$destination/VERSION"

size_mib=$(($(du -sk "$destination" | cut -f1) / 1024 + 1))
if [ "$size_mib" -gt "$size_max_mib" ]; then
  echo "bundle: $destination has $size_mib MiB, more than $size_max_mib" >&2
  exit 1
fi
echo "bundle: $destination, $size_mib MiB; run $destination/gpu-check on a GPU host"
