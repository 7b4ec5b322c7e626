#!/usr/bin/env bash
# Has apt in a root of sid take one version of gRPC, from Debian's experimental where sid has
# another. For .ci/root.sh.
# Usage: .ci/root-grpc.sh ROOT VERSION     (such as 1.83; fails where the archive does not have it)
set -euo pipefail

root=$1
version=$2
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
# What the builds install of it, directly.
packages=(libgrpc++-dev libgrpc-dev protobuf-compiler-grpc)

echo "deb $mirror experimental main" >"$root/etc/apt/sources.list.d/experimental.list"
# Nothing else of experimental is taken unless one of these needs it: apt's priority of it is 1.
# Python's packages stay sid's: experimental's cannot be imported (grpcio 1.83.0-2+b1 lacks a library,
# protobuf 7.36.2-3 a module).
cat >"$root/etc/apt/preferences.d/grpc" <<PINS
Package: python3-grpcio python3-protobuf
Pin: release a=unstable
Pin-Priority: 995

Package: src:grpc
Pin: version $version.*
Pin-Priority: 990

Package: src:protobuf
Pin: release a=experimental
Pin-Priority: 990
PINS
chroot "$root" apt-get update -qq

missing=()
for package in "${packages[@]}"; do
  policy=$(chroot "$root" apt-cache policy "$package")
  candidate=$(sed -n 's/^ *Candidate: //p' <<<"$policy")
  if [[ "$candidate" != "$version".* ]]; then missing+=("$package (${candidate:-none})"); fi
done
if [ ${#missing[@]} -gt 0 ]; then
  list=$(printf ', %s' "${missing[@]}")
  echo "root: neither sid nor experimental has gRPC $version; what they have: ${list#, }" >&2
  exit 1
fi
echo "root: gRPC $candidate"
