#!/usr/bin/env bash
# Runs one of the README's commands as a new user does: in a bare root of a distribution, from a
# clone of this commit, on two processors.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'HELP'
Usage: .ci/root.sh [--limit=SECONDS] [--grpc=VERSION] SUITE [demo|test]     (as root)

Makes a bare root of SUITE (bookworm, trixie, sid or noble; deploy/debootstrap.sh) with git and make,
clones the commit that is checked out, runs `make demo` (default) or `make test` there, and prints
how long the clone and the command took together, and how many seconds of processor time. Only 2
processors are used (CORES=N: others), no ccache, and nothing of this machine but its network, its
CA certificates, its settings of proxies and of pip's index, and whether its apt takes an archive
whose date has passed. --grpc=1.83 of sid: gRPC 1.83 from Debian's experimental, with the protobuf
that it needs; an archive without it is a failure. The root is removed afterwards;
KEEP=1 leaves it and says where it is. DEBIAN_MIRROR names another mirror.
Exit status: the command's; 1 too when it took longer than SECONDS; 2 for bad arguments.
HELP
}

# shellcheck source=.ci/machine.sh
. .ci/machine.sh

limit_s=
grpc=
arguments=()
for argument in "$@"; do
  case "$argument" in
    -h | --help)
      usage
      exit 0
      ;;
    --limit=*) limit_s=${argument#*=} ;;
    --grpc=*) grpc=${argument#*=} ;;
    -*)
      usage >&2
      exit 2
      ;;
    *) arguments+=("$argument") ;;
  esac
done
suite=${arguments[0]:-}
target=${arguments[1]:-demo}
if [ -z "$suite" ] || [ ${#arguments[@]} -gt 2 ] || [[ ! "$target" =~ ^(demo|test)$ ]] ||
  [[ ! "$limit_s" =~ ^[0-9]*$ ]] || [[ ! "$grpc" =~ ^([0-9]+\.[0-9]+)?$ ]] ||
  { [ -n "$grpc" ] && [ "$suite" != sid ]; }; then
  usage >&2
  exit 2
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "root: debootstrap and mounts need root" >&2
  exit 1
fi

deploy/setup.sh deploy/packages-root.txt
work=$(mktemp -d "${TMPDIR:-/var/tmp}/warpfold-root.XXXXXX")
# shellcheck disable=SC2317  # called by the trap
cleanup() {
  if [ "${KEEP:-0}" = 1 ]; then
    echo "root: left in $work/root" >&2
  else
    rm -rf --one-file-system "$work"
  fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

deploy/debootstrap.sh "$suite" "$work/root" git,make,ca-certificates
cp --dereference /etc/resolv.conf "$work/root/etc/resolv.conf"
cp --dereference /etc/hosts "$work/root/etc/hosts"
if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
  cp /usr/local/share/ca-certificates/*.crt "$work/root/usr/local/share/ca-certificates/"
  chroot "$work/root" update-ca-certificates >"$work/certificates.log" 2>&1
fi
apt-config dump --format '%f "%v";%n' Acquire::Check-Valid-Until \
  >"$work/root/etc/apt/apt.conf.d/90valid-until"
if [ -n "$grpc" ]; then .ci/root-grpc.sh "$work/root" "$grpc"; fi
git clone --quiet --bare . "$work/root/srv/warpfold.git"

cores=$(first_processors "${CORES:-2}")
echo "root: $suite, make $target, $(git describe --always --dirty), processors $cores of $(cpu_model)," \
  "load $(load)"
status=0
TIMEFORMAT='%R %U %S'
exec 3>&1 4>&2
# A namespace of mounts and processes of its own: whatever the command leaves behind ends with it.
times=$({ time unshare --mount --pid --fork --kill-child taskset --cpu-list "$cores" \
  .ci/enter-root.sh "$work/root" \
  "trap 'exit 143' TERM; cd; git clone --quiet /srv/warpfold.git warpfold; cd warpfold; make $target" \
  >&3 2>&4; } 2>&1) || status=$?
read -r wall_s user_s system_s <<<"${times##*$'\n'}"
wall_s=${wall_s%.*}
printf 'root: %s, git clone and make %s: %d min %02d s, %d s of processor time, status %d, load %s\n' \
  "$suite" "$target" $((wall_s / 60)) $((wall_s % 60)) $((${user_s%.*} + ${system_s%.*})) \
  "$status" "$(load)"
if [ "$status" -eq 0 ] && [ -n "$limit_s" ] && [ "$wall_s" -ge "$limit_s" ]; then
  echo "root: that is more than $limit_s s" >&2
  exit 1
fi
exit "$status"
