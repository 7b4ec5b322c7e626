#!/usr/bin/env bash
# Builds what the demo runs, and nothing else: the server and the command line client.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
  cat <<'HELP'
Usage: client/demo/build.sh [--plan] BUILD_DIR

Says how long it takes, installs the packages of deploy/packages-build.txt, and builds the server
and the command line client, without tests and benches, into BUILD_DIR, while the demo's checkpoint
and NumPy come from PyPI. The CUDA backend is built
where a GPU is present (/dev/nvidia[0-9]*, /dev/nvidiactl or /dev/dxg exists) and nvcc is found,
otherwise the CPU backend alone. --plan says what would be built and stops.
Environment: JOBS (default: the number of processors), CMAKE_ARGS (more options for CMake), DEV
(where the device nodes are; default /dev), CCACHE_DISABLE=1 (compile without ccache).
HELP
}

plan=
build=
for argument in "$@"; do
  case "$argument" in
    -h | --help)
      usage
      exit 0
      ;;
    --plan) plan=yes ;;
    -*)
      usage >&2
      exit 2
      ;;
    *) build=$argument ;;
  esac
done
if [ -z "$build" ]; then
  usage >&2
  exit 2
fi

# --- which backends ------------------------------------------------------------------------------
dev=${DEV:-/dev}
nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
gpu=
for node in "$dev"/nvidia[0-9]* "$dev/nvidiactl" "$dev/dxg"; do
  if [ -e "$node" ]; then gpu=$node; fi
done
if [ -n "$gpu" ] && [ -x "$nvcc" ]; then
  cuda=ON
  minutes=10
  why="CUDA and CPU backend: a GPU is present ($gpu)"
elif [ -n "$gpu" ]; then
  cuda=OFF
  minutes=5
  why="CPU backend alone: a GPU is present ($gpu), but no nvcc; install the CUDA toolkit to use it"
elif [ -x "$nvcc" ]; then
  cuda=OFF
  minutes=5
  why="CPU backend alone: nvcc is here, but no GPU is present"
else
  cuda=OFF
  minutes=5
  why="CPU backend alone: neither a GPU nor nvcc is here"
fi
echo "demo: builds the server and the command line client: under $minutes minutes on 2 cores"
echo "demo: $why"
if [ -n "$plan" ]; then exit 0; fi

# --- build ---------------------------------------------------------------------------------------
deploy/setup.sh deploy/packages-build.txt
# Beside the compiler. What fails here is tried again, and told, by run.sh.
client/demo/fetch.sh &
fetching=$!
trap 'kill "$fetching" 2>/dev/null || true' EXIT
launchers=()
if [ "${CCACHE_DISABLE:-}" = "" ] && command -v ccache >/dev/null; then
  launchers=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
fi
read -ra more <<<"${CMAKE_ARGS:-}"
mkdir -p "$build"
# Each time: the GPU may have come since, and it takes a second. Nobody edits what is built here, so
# many files are one: most of their compilation is headers that they share.
cmake --preset release -B "$build" -DWARPFOLD_TESTS=OFF -DWARPFOLD_BENCH=OFF \
  -DCMAKE_UNITY_BUILD_BATCH_SIZE=24 \
  "-DWARPFOLD_CUDA=$cuda" "${launchers[@]}" "${more[@]}" >"$build/configure.log" 2>&1 || {
  cat "$build/configure.log" >&2
  exit 1
}
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target warpfold-server warpfold_cli
wait "$fetching" || true
