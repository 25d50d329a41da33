#!/usr/bin/env bash
# Makes FOLDER a virtual environment of Python with what builds and tests the Python package: nanobind and
# scikit-build-core, numpy and pytest, all of PyPI. Called by `make python`; one that is there already stays.
set -euo pipefail
if [ $# -ne 1 ] || [[ $1 == -* ]]; then
  echo "usage: scripts/python_environment.sh FOLDER    (PYTHON=FILE for another interpreter than python3)" >&2
  [ "${1:-}" = --help ] || [ "${1:-}" = -h ] && exit 0
  exit 2
fi
folder=$1
if [ -f "$folder/made" ]; then exit 0; fi
echo "installing nanobind, numpy, pytest into $folder"
rm -rf "$folder"
"${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check "nanobind>=2.4" "scikit-build-core>=0.10" numpy pytest ||
  { rm -rf "$folder"; echo "scripts/python_environment.sh: PyPI cannot be reached" >&2; exit 1; }
touch "$folder/made"  # python/CMakeLists.txt looks at it
