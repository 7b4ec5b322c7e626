#!/usr/bin/env bash
# Runs a command in a root, with a /proc, a /sys and a /dev of its own. For .ci/root.sh, which starts
# this in namespaces of mounts and processes that end with it.
# Usage: .ci/enter-root.sh ROOT COMMAND
set -euo pipefail

root=$1
mount --make-rprivate /
mount --bind "$root" "$root" # "/" has to be a mount for namespaces of mounts within
mount -t proc proc "$root/proc"
# Containers have one, too. Without it glibc's count of processors leaves an error in errno.
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for node in null zero full random urandom tty; do
  touch "$root/dev/$node"
  mount --bind "/dev/$node" "$root/dev/$node"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for link in 0:stdin 1:stdout 2:stderr; do ln -s "fd/${link%:*}" "$root/dev/${link#*:}"; done
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
settings=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL CI; do
  if [ -n "${!name:-}" ]; then settings+=("$name=${!name}"); fi
done
exec chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb \
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${settings[@]}" \
  sh -ec "$2"
