#!/usr/bin/env bash
# The checks behind `make check`: format, headers that compile alone, documents (links, lines, results, examples, the
# tests that features name), lint. All run, then the exit status says whether one failed. Takes a build folder, for its
# compile_commands.json, its list of tests and its command `trireme`.
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: scripts/check.sh BUILD_FOLDER}
if [ ! -f "$build/compile_commands.json" ]; then
  echo "scripts/check.sh: $build has no compile_commands.json; configure it first (make build)" >&2
  exit 2
fi
failed=()

check() {
  local name=$1
  shift
  echo "== $name"
  if ! "$@"; then failed+=("$name"); fi
}

format() { git ls-files -z '*.hpp' '*.cpp' | xargs -0 -r clang-format-16 --dry-run -Werror; }

# A header must compile as the only thing in a file. The flags are those of any source of the library.
headers_alone() {
  local flags
  flags="-std=c++20 -Iinclude -Isrc -Iapps -Iapps/loops -Ibench -Itools -Itools/trireme -Itests $(pkg-config --cflags hwloc fmt)"
  flags+=" -DOMPI_SKIP_MPICXX $(pkg-config --cflags ompi-c)"  # for those that belong to an ABI, any MPI will do
  flags+=' -DTRIREME_COMMAND=\"\" -DTRIREME_PROGRAM=\"\" -DWATCHED_PROGRAM=\"\"'  # paths, from the build of tests
  local files=('*.hpp') python=build/python-environment/bin/python
  if [ -x "$python" ]; then
    flags+=" -isystem $("$python" -m nanobind --include_dir)"
    flags+=" -isystem $("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')"
  else  # no nanobind (make python)
    files+=(':!python/src/tile_memory.hpp' ':!python/src/transfer.hpp')
  fi
  git ls-files -z "${files[@]}" | xargs -0 -r -P "$(nproc)" -I{} \
    sh -c "g++ $flags -w -fsyntax-only -x c++ '{}' || { echo 'not self-contained: {}' >&2; exit 1; }"
}

# Each source once, and without precompiled headers: clang cannot read those of g++, with which tests compile some sources.
lint() {
  local commands
  commands=$(mktemp -d)
  python3 - "$build/compile_commands.json" "$commands/compile_commands.json" <<'PYTHON'
import json, re, sys
once = {}
for entry in json.load(open(sys.argv[1])):
    entry["command"] = re.sub(r" -include \S*cmake_pch\.h(xx)?\b| -Winvalid-pch\b", "", entry["command"])
    once.setdefault(entry["file"], entry)
json.dump(list(once.values()), open(sys.argv[2], "w"))
PYTHON
  run-clang-tidy-16 -quiet -p "$commands" -j "$(nproc)" "$PWD/src/.*\.cpp" 2>&1 |
    grep -Ev '^(clang-tidy-16 |[0-9]+ warnings? (generated|treated)|Suppressed )' | sed '/^$/d'
  local status=${PIPESTATUS[0]}
  rm -r "$commands"
  return "$status"
}

check "format (clang-format-16)" format
check "every header compiles alone" headers_alone
check "links in the documents" python3 scripts/check_links.py
check "lines of the documents" python3 scripts/check_docs.py
check "words (scripts/words.txt)" python3 scripts/check_words.py
check "tables of results" python3 scripts/results.py --check
check "examples in the documents" python3 scripts/check_examples.py
check "tests that features name" python3 scripts/check_features.py "$build"
check "lint of src/ (clang-tidy-16)" lint

if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
echo "all checks passed"
