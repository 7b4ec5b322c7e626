#!/usr/bin/env bash
# Builds the container image with whichever engine is here.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'HELP'
Usage: deploy/image.sh [gpu|cpu]

Builds warpfold:gpu or warpfold:cpu from the Dockerfile with docker, podman or buildah, the first
one found. Without any of them, and without a registry, deploy/prove-image.sh builds the same
Dockerfile.
HELP
}

variant=${1:-gpu}
case "$variant" in
  gpu) arguments=() ;;
  cpu)
    arguments=(--build-arg BUILD_BASE=debian:12.12-slim --build-arg RUNTIME_BASE=debian:12.12-slim
      --build-arg WARPFOLD_CUDA=OFF)
    ;;
  -h | --help)
    usage
    exit 0
    ;;
  *)
    usage >&2
    exit 2
    ;;
esac

# One commit, one image: podman and buildah give every file the commit's time. docker does so from
# BuildKit 0.13 on, with --output type=image,rewrite-timestamp=true and SOURCE_DATE_EPOCH.
committed=(--timestamp "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}")

# docker may be there as a client alone: only one that answers counts.
if command -v docker >/dev/null && docker info >/dev/null 2>&1; then
  exec docker build -t "warpfold:$variant" "${arguments[@]}" .
elif command -v podman >/dev/null; then
  exec podman build --format docker "${committed[@]}" -t "warpfold:$variant" "${arguments[@]}" .
elif command -v buildah >/dev/null; then
  exec buildah bud --format docker "${committed[@]}" -t "warpfold:$variant" "${arguments[@]}" .
fi
echo "image: no docker daemon, podman or buildah here; see docs/operations.md" >&2
exit 1
