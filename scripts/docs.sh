#!/usr/bin/env bash
# Builds the site of `make docs`: the user's and the developers' book with search (MkDocs Material), and a reference of
# the public headers (Doxygen). It works without a network once it is built, also from the file system.
# usage: scripts/docs.sh FOLDER     the site is FOLDER/site; FOLDER also keeps the tools, which come from PyPI and npm
# A dead link or anchor ends it with status 1.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:?usage: scripts/docs.sh FOLDER}
mkdir -p "$folder"
folder=$(realpath "$folder")
python=/usr/bin/python3
[ -x "$python" ] || python=python3

if [ ! -x "$folder/venv/bin/mkdocs" ]; then
  echo "installing MkDocs Material into $folder/venv"
  "$python" -m venv "$folder/venv"
  "$folder/venv/bin/pip" --quiet --disable-pip-version-check install -r docs/requirements.txt ||
    { rm -rf "$folder/venv"; echo "scripts/docs.sh: PyPI cannot be reached; the site needs mkdocs-material from it" >&2; exit 1; }
fi
# Without this file the drawings would be fetched by each reader's browser.
if [ ! -f "$folder/mermaid/package/dist/mermaid.min.js" ]; then
  echo "fetching mermaid, which draws the diagrams"
  mkdir -p "$folder/mermaid"
  (cd "$folder/mermaid" && npm pack --silent mermaid@11 >/dev/null && tar xzf mermaid-*.tgz package/dist/mermaid.min.js) ||
    { echo "scripts/docs.sh: npm cannot fetch mermaid, which draws the diagrams" >&2; exit 1; }
fi

python3 scripts/stage_docs.py "$folder/source"
install -D -m 644 "$folder/mermaid/package/dist/mermaid.min.js" "$folder/source/assets/mermaid.min.js"

{ cat docs/Doxyfile; echo "OUTPUT_DIRECTORY = \"$folder\""; echo "PROJECT_NUMBER = $(sed -n 's/^project(trireme VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)"; } >"$folder/Doxyfile"
rm -rf "$folder/reference"
doxygen "$folder/Doxyfile" >/dev/null
rm -rf "$folder/source/reference"
cp -r "$folder/reference" "$folder/source/reference"

NO_MKDOCS_2_WARNING=1 "$folder/venv/bin/mkdocs" build --quiet --strict --config-file docs/mkdocs.yml \
  --site-dir "$folder/site"
echo "the site is $folder/site/index.html"
