#!/usr/bin/env bash
# Builds the Dockerfile and runs its server, without a container engine and without a registry.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'HELP'
Usage: deploy/prove-image.sh [cpu|gpu]     (as root; Debian or Ubuntu)

Builds the image with buildah, in chroot isolation, on a base that debootstrap makes from Debian's
packages; then runs the server from the built root and checks it: it runs as nobody, answers the
image's own health check and a request, and drains on SIGTERM. `gpu` compiles the CUDA backend
too, with this machine's toolkit (CUDA_HOME, default /usr/local/cuda) mounted into the build; its
server then has to say that there is no GPU and fall back to the CPU. Leaves its work under WORK
(default: build/image; WARPFOLD_KEEP=1 keeps the storage).
HELP
}

variant=${1:-cpu}
case "$variant" in
  cpu) cuda=OFF ;;
  gpu) cuda=ON ;;
  -h | --help)
    usage
    exit 0
    ;;
  *)
    usage >&2
    exit 2
    ;;
esac
if [ "$(id -u)" -ne 0 ]; then
  echo "prove-image: buildah's chroot isolation and debootstrap need root" >&2
  exit 1
fi

work=${WORK:-$PWD/build/image}
suite=bookworm
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
base=localhost/warpfold-base:$suite
image=localhost/warpfold:$variant
deploy/setup.sh deploy/packages-image.txt
mkdir -p "$work"

# configured TEMPLATE: what the built image says about itself, a value a line.
configured() {
  image_tool inspect --type image --format "$1" "$image" | sed '/^$/d'
}
image_tool() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }

container=
root=
server=
cleanup() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  if [ -n "$root" ]; then umount "$root/proc" 2>/dev/null || true; fi
  if [ -n "$container" ]; then image_tool rm "$container" >/dev/null || true; fi
  if [ "${WARPFOLD_KEEP:-0}" != 1 ]; then
    image_tool rm --all >/dev/null || true
    image_tool rmi --all --force >/dev/null || true
    rm -rf --one-file-system "$work/storage" "$work/run" "$work/base"
  fi
}
trap cleanup EXIT

if ! image_tool inspect --type image "$base" >/dev/null 2>&1; then
  echo "== base: debootstrap $suite"
  rm -rf "$work/base"
  debootstrap --variant=minbase "$suite" "$work/base" "$mirror" >"$work/debootstrap.log" ||
    { tail "$work/debootstrap.log" >&2; exit 1; }
  container=$(image_tool from scratch)
  image_tool add --quiet "$container" "$work/base" / >/dev/null
  image_tool commit --quiet "$container" "$base" >/dev/null
  image_tool rm "$container" >/dev/null
  container=
  rm -rf "$work/base"
fi

echo "== build: Dockerfile, WARPFOLD_CUDA=$cuda"
arguments=(--build-arg "BUILD_BASE=$base" --build-arg "RUNTIME_BASE=$base"
  --build-arg "WARPFOLD_CUDA=$cuda")
if [ "$variant" = gpu ]; then
  arguments+=(--volume "$(readlink -f "${CUDA_HOME:-/usr/local/cuda}"):/usr/local/cuda:ro")
fi
image_tool bud --isolation chroot --format docker --layers=false --pull-never --tag "$image" \
  "${arguments[@]}" . >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log" >&2; exit 1; }
grep -E 'warpfold: ' "$work/build.log" || true

echo "== run: from the built root"
container=$(image_tool from --pull-never "$image")
root=$(image_tool mount "$container")
mount --bind /proc "$root/proc"  # as in any container; the loader finds $ORIGIN through it
user=$(configured '{{.OCIv1.Config.User}}')
path=$(configured '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' | sed -n 's/^PATH=//p')
mapfile -t command < <(configured '{{range .OCIv1.Config.Entrypoint}}{{println .}}{{end}}'
  configured '{{range .OCIv1.Config.Cmd}}{{println .}}{{end}}')
mapfile -t health < <(configured '{{range .Docker.Config.Healthcheck.Test}}{{println .}}{{end}}' |
  sed '1{/^CMD$/d}')
echo "user: $user; stop signal: $(configured '{{.OCIv1.Config.StopSignal}}'); ${command[*]}"
# The image's own user, path and arguments; `env -i`: nothing of this shell's environment helps.
inside=(chroot --userspec="$user" "$root" /usr/bin/env -i PATH="$path")

if "${inside[@]}" "${health[@]}" >/dev/null 2>&1; then
  echo "prove-image: another server answers here already; stop it first" >&2
  exit 1
fi
"${inside[@]}" "${command[@]}" >"$work/server.log" 2>&1 &
server=$!
for attempt in $(seq 100); do
  sleep 0.1
  # Alive first: an answer that is not this server's proves nothing.
  if kill -0 "$server" 2>/dev/null && "${inside[@]}" "${health[@]}" >"$work/health.log" 2>&1; then
    break
  fi
  if [ "$attempt" = 100 ] || ! kill -0 "$server" 2>/dev/null; then
    cat "$work/server.log" >&2
    echo "prove-image: the server never became healthy" >&2
    exit 1
  fi
done
echo "health check: ${health[*]}"
cat "$work/health.log"

uid=$(awk '/^Uid:/ { print $2 }' "/proc/$server/status")
echo "the server runs as uid $uid"
if [ "$uid" -eq 0 ]; then
  echo "prove-image: the server runs as root" >&2
  exit 1
fi

# One real request: a NumPy file made by hand, 1 + 2 + 3 + 4 as float32.
python3 - "$root/tmp/ten.npy" <<'PYTHON'
import struct, sys
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
with open(sys.argv[1], "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    f.write(struct.pack("<4f", 1, 2, 3, 4))
PYTHON
answer=$("${inside[@]}" warpfold reduce /tmp/ten.npy --op sum --server=127.0.0.1:50051)
echo "warpfold reduce: $answer"
if ! grep -qw 10 <<<"$answer"; then
  echo "prove-image: 1 + 2 + 3 + 4 is not in the answer" >&2
  exit 1
fi
if [ "$variant" = gpu ]; then
  grep -i 'no CUDA\|no GPU\|cpu' "$work/server.log" || {
    cat "$work/server.log" >&2
    echo "prove-image: the server does not say that it fell back to the CPU" >&2
    exit 1
  }
fi

kill -TERM "$server"
status=0
wait "$server" || status=$?
server=
if [ "$status" -ne 0 ]; then
  cat "$work/server.log" >&2
  echo "prove-image: the server ended with status $status on SIGTERM" >&2
  exit 1
fi
echo "drained on SIGTERM with status 0"
umount "$root/proc"
size() { du -sm "$1" | cut -f1; }
echo "image: $(size "$root") MiB, of which /opt/warpfold $(size "$root/opt/warpfold") MiB"
echo "prove-image: $variant passed"
