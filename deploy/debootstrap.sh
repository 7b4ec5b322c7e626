#!/usr/bin/env bash
# A bare root of a distribution, as debootstrap makes it: the base of deploy/prove-image.sh's images
# and of .ci/root.sh's runs.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: deploy/debootstrap.sh SUITE FOLDER [PACKAGE,...]     (as root)

Makes the smallest root of SUITE (bookworm and trixie: Debian 12 and 13; sid: Debian unstable;
noble: Ubuntu 24.04), with the PACKAGES added, in FOLDER, which must not exist. Keeps it as an
archive under ${XDG_CACHE_HOME:-~/.cache}/warpfold for a week. DEBIAN_MIRROR names another mirror.
HELP
}

case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
esac
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  usage >&2
  exit 2
fi
suite=$1
folder=$2
packages=${3:-}
case "$suite" in
  bookworm | trixie | sid) components=main mirror=http://deb.debian.org/debian ;;
  noble) components=main,universe mirror=http://archive.ubuntu.com/ubuntu ;;
  *)
    echo "debootstrap: unknown suite '$suite'; known: bookworm, trixie, sid, noble" >&2
    exit 2
    ;;
esac
mirror=${DEBIAN_MIRROR:-$mirror}
if [ -e "$folder" ]; then
  echo "debootstrap: $folder exists already" >&2
  exit 1
fi

cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/warpfold
key=$(printf '%s\n' "$mirror" "$components" "$packages" | sha256sum | cut -c 1-8)
archive=$cache/$suite-$key.tar.gz
if [ -z "$(find "$archive" -mtime -7 2>/dev/null)" ]; then
  mkdir -p "$cache"
  # Made elsewhere and renamed, so that an interrupted run leaves no half of one.
  work=$(mktemp -d "$cache/$suite.XXXXXX")
  trap 'rm -rf --one-file-system "$work"' EXIT
  debootstrap --variant=minbase --components="$components" ${packages:+--include="$packages"} \
    "$suite" "$work/root" "$mirror" >"$work/log" 2>&1 || {
    tail "$work/log" >&2
    echo "debootstrap: no root of $suite from $mirror" >&2
    exit 1
  }
  rm -f "$work/root/var/cache/apt/archives/"*.deb
  # The device nodes are left out: a root gets its own.
  tar --create --numeric-owner --exclude='./dev/*' --directory "$work/root" . | gzip -1 >"$work/tar"
  mv "$work/tar" "$archive"
fi
mkdir -p "$folder"
tar --extract --gzip --numeric-owner --directory "$folder" --file "$archive"
