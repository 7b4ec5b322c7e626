#!/usr/bin/env bash
# Installs what package lists name, on Debian 12, Debian 13 and Ubuntu 24.04.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: deploy/setup.sh [LIST...]

Installs the packages named in each LIST (default: deploy/packages.txt) with apt-get, as root or
through sudo. Packages that are already there cost nothing: when none is missing, apt-get is not
called at all. In a list, '#' starts a comment, and a line `-r OTHER` takes in the list OTHER, which
lies in the same folder.
HELP
}

case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
esac

lists=("$@")
if [ ${#lists[@]} -eq 0 ]; then
  lists=("$(dirname "$0")/packages.txt")
fi

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian or Ubuntu system; install the equivalents of ${lists[*]} yourself" >&2
  exit 0
fi

# packages LIST: the names in it and in the lists that it takes in, one a line.
packages() {
  local line other folder
  folder=$(dirname "$1")
  while read -r line other; do
    case "$line" in
      '' | '#'*) ;;
      -r) packages "$folder/$other" || return 1 ;;
      *) echo "$line" ;;
    esac
  done <"$1"
}

names=$(for list in "${lists[@]}"; do packages "$list" || exit 1; done)
mapfile -t wanted < <(sed '/^$/d' <<<"$names" | sort -u)
if [ ${#wanted[@]} -eq 0 ]; then
  echo "setup: ${lists[*]} names no package" >&2
  exit 1
fi

# dpkg-query fails when it has never heard of a package: that is an answer here, not an error.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
mapfile -t missing < <(
  comm -23 <(printf '%s\n' "${wanted[@]}") <(sed -n 's/^installed //p' <<<"$installed" | sort -u)
)
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: these packages are missing: ${missing[*]}" >&2
    echo "setup: run this as root, or install sudo" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "setup: installing ${#missing[@]} packages: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
echo "setup: done"
