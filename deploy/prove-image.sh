#!/usr/bin/env bash
# Builds the Dockerfile and runs its server, without a container engine and without a registry.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'HELP'
Usage: deploy/prove-image.sh [cpu|gpu] [TEST]     (as root; Debian or Ubuntu)

Builds the image with buildah, in chroot isolation, on a base that debootstrap makes from this
distribution's packages, and prints the size and the digest of each layer: more than 150 MiB above
the base are too many, and the same commit gives the same layers above the base. Then runs the
server from the built root, read-only and as the image's own user, and checks the health check, a
request and the drain on SIGTERM. With TEST, the end-to-end test's binary
(build/release/tests/e2e/warpfold_e2e_test), all of it runs in there too, against that server.
`gpu` compiles the CUDA backend too, with this machine's toolkit (CUDA_HOME, default
/usr/local/cuda) mounted into the build; its server then has to say that there is no GPU and fall
back to the CPU.

Work is left under WORK (default: build/image; WARPFOLD_KEEP=1 keeps the storage, and with it the
layers that did not change). With ccache here, the build uses its cache. DEBIAN_MIRROR names another
mirror. Exit status 77: this machine cannot do it, and the last line says why.
HELP
}

fail() {
  echo "prove-image: $1" >&2
  exit 1
}
skip() {
  echo "prove-image: skipped: $1" >&2
  exit 77
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
end_to_end=${2:-}
if [ -n "$end_to_end" ] && [ ! -x "$end_to_end" ]; then fail "no test at $end_to_end"; fi

# All mounts are made in a namespace of this script's own, and end with it.
if [ "${WARPFOLD_OWN_MOUNTS:-0}" != 1 ]; then
  if [ "$(id -u)" -ne 0 ]; then skip "buildah's chroot isolation and debootstrap need root"; fi
  if ! unshare --mount true 2>/dev/null; then skip "no mounts may be made here"; fi
  WARPFOLD_OWN_MOUNTS=1 exec unshare --mount "$PWD/deploy/prove-image.sh" "$@"
fi

# shellcheck source=/dev/null
. /etc/os-release
suite=${VERSION_CODENAME:-none}
case "$suite" in
  bookworm | trixie | noble) ;;
  *) skip "deploy/debootstrap.sh does not know $ID $suite" ;;
esac
deploy/setup.sh deploy/packages-image.txt deploy/packages-root.txt
work=${WORK:-$PWD/build/image}
mkdir -p "$work"
base=localhost/warpfold-base:$suite
build_base=$base
image=localhost/warpfold:$variant
above_base_mib_max=150

image_tool() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
# configured TEMPLATE: what the built image says about itself, a value a line.
configured() {
  image_tool inspect --type image --format "$1" "$image" | sed '/^$/d'
}
has_image() { image_tool inspect --type image "$1" >/dev/null 2>&1; }

server=
cleanup() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  if [ "${WARPFOLD_KEEP:-0}" != 1 ]; then
    image_tool rm --all >/dev/null || true
    image_tool rmi --all --force >/dev/null || true
    rm -rf --one-file-system "$work/storage" "$work/run" "$work/base" "$work/layers"
  fi
}
trap cleanup EXIT

make_base() {
  echo "== base: debootstrap $suite"
  rm -rf "$work/base"
  deploy/debootstrap.sh "$suite" "$work/base" || fail "no base"
  local container
  container=$(image_tool from scratch)
  image_tool add --quiet "$container" "$work/base" / >/dev/null
  image_tool commit --quiet --rm "$container" "$base" >/dev/null
  rm -rf "$work/base"
}

# The base with ccache in it, whose cache is this machine's; the Dockerfile knows nothing of it.
make_build_base() {
  echo "== build base: with ccache"
  local container
  container=$(image_tool from --pull-never "$base")
  image_tool run --isolation chroot "$container" -- \
    sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends ccache' \
    >"$work/ccache.log" 2>&1 || { tail "$work/ccache.log" >&2; fail "no ccache"; }
  # ccache takes the language of the compiler's messages into account.
  image_tool config --env CCACHE_DIR=/ccache --env CCACHE_BASEDIR=/src --env CCACHE_NOHASHDIR=1 \
    --env CMAKE_CXX_COMPILER_LAUNCHER=ccache --env CMAKE_CUDA_COMPILER_LAUNCHER=ccache \
    ${LANG:+--env "LANG=$LANG"} "$container"
  image_tool commit --quiet --rm "$container" "$build_base" >/dev/null
}

build() {
  local arguments=(--build-arg "RUNTIME_BASE=$base" --build-arg "WARPFOLD_CUDA=$cuda"
    --timestamp "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}")
  if [ "$variant" = gpu ]; then
    arguments+=(--volume "$(readlink -f "${CUDA_HOME:-/usr/local/cuda}"):/usr/local/cuda:ro")
  fi
  has_image "$base" || make_base
  if command -v ccache >/dev/null; then
    build_base=$base-ccache
    has_image "$build_base" || make_build_base
    local cache
    cache=$(ccache --get-config cache_dir)
    mkdir -p "$cache"
    arguments+=(--volume "$cache:/ccache")
  fi
  echo "== build: Dockerfile, WARPFOLD_CUDA=$cuda"
  image_tool bud --isolation chroot --format docker --layers --pull-never --tag "$image" \
    --build-arg "BUILD_BASE=$build_base" "${arguments[@]}" . >"$work/build.log" 2>&1 ||
    { tail -n 40 "$work/build.log" >&2; fail "the build failed"; }
  grep -E 'warpfold: ' "$work/build.log" || true
}

# The size and digest of each layer, in the order of the Dockerfile; the base's is the first.
print_layers() {
  rm -rf "$work/layers"
  image_tool push --quiet --disable-compression "$image" "dir:$work/layers"
  python3 - "$work/layers" "$above_base_mib_max" <<'PYTHON'
import json, pathlib, sys
NOISE = "/bin/sh -c #(nop) "  # before each step that runs nothing
folder, most = pathlib.Path(sys.argv[1]), int(sys.argv[2])
manifest = json.loads((folder / "manifest.json").read_text())
config = json.loads((folder / manifest["config"]["digest"].removeprefix("sha256:")).read_text())
steps = [step.get("created_by", "") for step in config["history"] if not step.get("empty_layer")]
sizes = [layer["size"] / 2**20 for layer in manifest["layers"]]
digests = [layer["digest"].removeprefix("sha256:")[:12] for layer in manifest["layers"]]
for step, size, digest in zip(steps, sizes, digests, strict=True):
    print(f"layer: {size:7.1f} MiB  {digest}  {step.removeprefix(NOISE)[:70]}")
above = sum(sizes[1:])
print(f"above the base: {above:.1f} MiB, of {most} at most")
if above > most:
    sys.exit("prove-image: the image is too large")
PYTHON
  rm -rf "$work/layers"
}

# The built root as a container sees it: read-only, with /proc, /dev, and empty /tmp and /dev/shm.
enter_root() {
  local container
  container=$(image_tool from --pull-never "$image")
  root=$(image_tool mount "$container")
  mount --bind "$root" "$root"
  mount --bind /proc "$root/proc"  # the loader finds $ORIGIN through it
  mount --bind /dev "$root/dev"
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
  mount -o remount,bind,ro "$root"
  mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  local user environment
  user=$(configured '{{.OCIv1.Config.User}}')
  mapfile -t environment < <(configured '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' |
    sed '/^$/d')
  # The image's own user and variables; `env -i`: nothing of this shell's environment helps.
  inside=(chroot --userspec="$user" "$root" /usr/bin/env -i "${environment[@]}")
  mapfile -t command < <(configured '{{range .OCIv1.Config.Entrypoint}}{{println .}}{{end}}'
    configured '{{range .OCIv1.Config.Cmd}}{{println .}}{{end}}')
  mapfile -t health < <(configured '{{range .Docker.Config.Healthcheck.Test}}{{println .}}{{end}}' |
    sed '1{/^CMD$/d}')
  echo "user: $user; stop signal: $(configured '{{.OCIv1.Config.StopSignal}}'); ${command[*]}"
  if ! grep -q '^lib/.*: ' "$root/opt/warpfold/THIRD_PARTY_LICENSES"; then
    fail "the image does not name the licences of its libraries"
  fi
  local files
  files=$(cd "$root/opt/warpfold" && find . -type f -print0 | sort -z | xargs -0 sha256sum)
  echo "contents of /opt/warpfold: sha256 $(sha256sum <<<"$files" | cut -d' ' -f1)"
}

start_server() {
  if "${inside[@]}" "${health[@]}" >/dev/null 2>&1; then
    fail "another server answers here already; stop it first"
  fi
  "${inside[@]}" "${command[@]}" >"$work/server.log" 2>&1 &
  server=$!
  local attempt
  for attempt in $(seq 100); do
    sleep 0.1
    # Alive first: an answer that is not this server's proves nothing.
    if kill -0 "$server" 2>/dev/null && "${inside[@]}" "${health[@]}" >"$work/health.log" 2>&1; then
      break
    fi
    if [ "$attempt" = 100 ] || ! kill -0 "$server" 2>/dev/null; then
      cat "$work/server.log" >&2
      fail "the server never became healthy"
    fi
  done
  echo "health check: ${health[*]}"
  cat "$work/health.log"
  local uid
  uid=$(awk '/^Uid:/ { print $2 }' "/proc/$server/status")
  echo "the server runs as uid $uid"
  if [ "$uid" -eq 0 ]; then fail "the server runs as root"; fi
}

ask_server() {
  # A NumPy file made by hand, 1 + 2 + 3 + 4 as float32.
  python3 - "$root/tmp/ten.npy" <<'PYTHON'
import struct, sys
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
with open(sys.argv[1], "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    f.write(struct.pack("<4f", 1, 2, 3, 4))
PYTHON
  local answer
  answer=$("${inside[@]}" warpfold reduce /tmp/ten.npy --op sum --server=127.0.0.1:50051)
  echo "warpfold reduce: $answer"
  if ! grep -qw 10 <<<"$answer"; then fail "1 + 2 + 3 + 4 is not in the answer"; fi
  if [ "$variant" = gpu ]; then
    grep -i 'no CUDA\|no GPU\|cpu' "$work/server.log" || {
      cat "$work/server.log" >&2
      fail "the server does not say that it fell back to the CPU"
    }
  fi
}

stop_server() {
  kill -TERM "$server"
  local status=0
  wait "$server" || status=$?
  server=
  if [ "$status" -ne 0 ]; then
    cat "$work/server.log" >&2
    fail "the server ended with status $status on SIGTERM"
  fi
  echo "drained on SIGTERM with status 0"
}

# The test brings its libraries, starts the image's server, and is nobody too.
run_end_to_end() {
  echo "== end to end: $(basename "$end_to_end") against the image's server"
  deploy/stage.sh "$root/tmp/test" "$end_to_end"
  "${inside[@]}" WARPFOLD_SERVER=/opt/warpfold/bin/warpfold-server \
    "/tmp/test/bin/$(basename "$end_to_end")" >"$work/end-to-end.log" 2>&1 ||
    { grep -E '^\[  FAILED|Failure' "$work/end-to-end.log" >&2; fail "see $work/end-to-end.log"; }
  grep -E '^\[==========\]|^\[  (PASSED|SKIPPED)' "$work/end-to-end.log" | tail -n 3
}

build
print_layers
echo "== run: from the built root"
enter_root
start_server
ask_server
stop_server
if [ -n "$end_to_end" ]; then run_end_to_end; fi
echo "prove-image: $variant passed"
