#!/usr/bin/env bash
# Unpacks a Debian root for arm64 into FOLDER, with the libraries that the preset aarch64 builds against (`make
# aarch64`). Nothing in it is run, and nothing of this host changes. Safe to call again: an existing root stays while
# the list of packages is the same.
set -euo pipefail

if [ $# -ne 1 ] || [ "$1" = --help ]; then
  echo "usage: scripts/aarch64_sysroot.sh FOLDER"
  exit $(($# == 1 ? 0 : 2))
fi
folder=$1

cd "$(dirname "$0")/.."
packages=$(scripts/deps.sh --list build | grep -e '-dev$' | grep -v -e openmpi -e mpich | xargs)
packages="libc6-dev libstdc++-12-dev $packages"
release=bookworm  # of the cross compiler that scripts/deps.sh installs: their C libraries have to agree
if [ "$(cat "$folder/packages" 2>/dev/null)" = "$release $packages" ]; then exit 0; fi

if [ "$(id -u)" = 0 ]; then mode=root; else mode=unshare; fi
rm -rf "$folder" "$folder.part"
mkdir -p "$(dirname "$folder")"
echo "unpacking a Debian root for arm64 into $folder"
mmdebstrap --quiet --mode=$mode --arch=arm64 --variant=extract --include="${packages// /,}" "$release" "$folder.part"
echo "$release $packages" >"$folder.part/packages"
mv "$folder.part" "$folder"
