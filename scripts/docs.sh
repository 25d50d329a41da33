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
# Without these files each reader's browser would fetch them: what draws the diagrams, and what lets the search work from
# the file system. fetch NAME@VERSION FILE
fetch() {
  local place=$folder/npm/${1%@*}
  [ ! -f "$place/package/$2" ] || return 0
  echo "fetching $1 from npm"
  mkdir -p "$place"
  (cd "$place" && npm pack --silent "$1" >/dev/null && tar xzf ./*.tgz "package/$2") ||
    { echo "scripts/docs.sh: npm cannot fetch $1" >&2; exit 1; }
}
fetch mermaid@11 dist/mermaid.min.js
fetch iframe-worker@1 shim/index.js

python3 scripts/stage_docs.py "$folder/source"
install -D -m 644 "$folder/npm/mermaid/package/dist/mermaid.min.js" "$folder/source/assets/mermaid.min.js"
install -D -m 644 "$folder/npm/iframe-worker/package/shim/index.js" "$folder/source/assets/iframe-worker.js"
install -D -m 644 docs/site.css "$folder/source/assets/site.css"

{ cat docs/Doxyfile; echo "OUTPUT_DIRECTORY = \"$folder\""; echo "PROJECT_NUMBER = $(sed -n 's/^project(trireme VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)"; } >"$folder/Doxyfile"
rm -rf "$folder/reference"
doxygen "$folder/Doxyfile" >/dev/null
rm -rf "$folder/source/reference"
cp -r "$folder/reference" "$folder/source/reference"

NO_MKDOCS_2_WARNING=1 "$folder/venv/bin/mkdocs" build --strict --config-file docs/mkdocs.yml \
  --site-dir "$folder/site"
# The theme names the second one by its address on the network.
find "$folder/site" -name '*.html' ! -path '*/reference/*' -printf '%P\n' | while read -r page; do
  up=$(sed 's|[^/]*/|../|g; s|[^/]*$||' <<<"$page")
  sed -i "s|https://[^>]*/iframe-worker/shim|${up}assets/iframe-worker.js|" "$folder/site/$page"
done
echo "the site is $folder/site/index.html"
