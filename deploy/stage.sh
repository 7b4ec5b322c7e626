#!/usr/bin/env bash
# Lays programs and the shared libraries that they need into one relocatable folder. The image and
# the bundle are made of it: neither needs gRPC's packages installed, nor to know what the
# distribution calls them.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: deploy/stage.sh DESTINATION PROGRAM...

Copies each PROGRAM to DESTINATION/bin and every shared library that one of them needs to
DESTINATION/lib, stripped, with run paths relative to themselves. Left to the host: glibc's own
libraries, and the GPU driver's (libcuda, libnvidia-*), which have to match its kernel.
DESTINATION/THIRD_PARTY_LICENSES gets the licences of all that was copied (deploy/licenses.py); a
library without one ends this with exit code 1. DESTINATION should be empty or not be there.
HELP
}

case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
esac
if [ $# -lt 2 ]; then
  usage >&2
  exit 2
fi
destination=$1
shift

for tool in dpkg ldd nm patchelf python3 strip; do
  command -v "$tool" >/dev/null || {
    echo "stage: $tool is missing: run deploy/setup.sh" >&2
    exit 1
  }
done

# The host's: the loader, glibc, the driver.
is_host_library() {
  case "$1" in
    linux-vdso.so.* | ld-linux*.so.* | libc.so.* | libm.so.* | libmvec.so.* | libpthread.so.* | \
      libdl.so.* | librt.so.* | libresolv.so.* | libutil.so.* | libanl.so.*) return 0 ;;
    libcuda.so.* | libnvidia-*.so.*) return 0 ;;
  esac
  return 1
}

mkdir -p "$destination/bin" "$destination/lib"
copied=()  # NAME<TAB>PATH, for licenses.py
for program in "$@"; do
  if [ ! -x "$program" ]; then
    echo "stage: $program is not a program; build first" >&2
    exit 1
  fi
  needed=$(ldd "$program")
  if grep 'not found' <<<"$needed" >&2; then
    echo "stage: $program needs libraries that are not here" >&2
    exit 1
  fi
  copied+=("$(basename "$program")"$'\t'"$program")
  staged=$destination/bin/$(basename "$program")
  install -m 755 "$program" "$staged"
  strip "$staged"
  # RPATH, not RUNPATH: it also serves the libraries' own needs, and LD_LIBRARY_PATH does not
  # override it.
  patchelf --force-rpath --set-rpath "\$ORIGIN/../lib" "$staged"
  while read -r name _ path _; do
    if [ -z "$path" ] || is_host_library "$name"; then
      continue
    fi
    copied+=("$name"$'\t'"$path")
    if [ -e "$destination/lib/$name" ]; then
      continue
    fi
    install -m 644 "$path" "$destination/lib/$name"
    strip --strip-unneeded "$destination/lib/$name"
    patchelf --force-rpath --set-rpath "\$ORIGIN" "$destination/lib/$name"
  done < <(grep '=>' <<<"$needed")
done
printf '%s\n' "${copied[@]}" | "$(dirname "$0")/licenses.py" "$destination"
