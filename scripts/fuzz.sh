#!/usr/bin/env bash
# Runs the fuzz targets of tests/fuzz (build folder of the preset fuzz, build/fuzz by default): each SECONDS long, JOBS at a time.
# One line for each: inputs tried, edges of the program reached, inputs kept. What the fuzzer found interesting
# stays in <folder>/corpus and is where the next run begins; inputs that show a fault are in <folder>/crashes.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/fuzz.sh [FOLDER] [TARGET...]
  FOLDER   of the build, build/fuzz by default
  TARGET   such as trace; all by default
environment: SECONDS_EACH (60), JOBS (number of CPUs)
exit status: 0, or 1 when a target found a fault (its report and the path of the input are printed)
TEXT
}
case "${1:-}" in -h | --help) usage; exit 0 ;; esac

folder=$(realpath -m "${1:-build/fuzz}")
shift || true
seconds=${SECONDS_EACH:-60}
jobs=${JOBS:-$(nproc)}
case "$seconds$jobs" in *[!0-9]*) echo "scripts/fuzz.sh: SECONDS_EACH is '$seconds' and JOBS is '$jobs'; both must be whole numbers" >&2; exit 2 ;; esac
sources=$(cd "$(dirname "$0")/../tests/fuzz" && pwd)

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for program in "$folder"/targets/fuzz_*; do targets+=("${program##*/fuzz_}"); done
fi
for target in "${targets[@]}"; do
  if [ ! -x "$folder/targets/fuzz_$target" ]; then
    echo "scripts/fuzz.sh: there is no program $folder/targets/fuzz_$target; 'make fuzz' builds all targets" >&2
    exit 2
  fi
done

# Files of the readers under test; in memory where that can be.
scratch=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")" trireme_fuzz.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$folder/crashes" "$folder/logs"

# What turns addresses of a report into lines of the sources.
for symbolizer in llvm-symbolizer-16 addr2line; do
  if [ -z "${ASAN_SYMBOLIZER_PATH:-}" ] && command -v "$symbolizer" >/dev/null; then
    ASAN_SYMBOLIZER_PATH=$(command -v "$symbolizer")
    export ASAN_SYMBOLIZER_PATH
  fi
done

# Numbers of the last line of statistics of libFuzzer: "#123 DONE cov: 45 ft: 67 corp: 8/9b ..."
run_target() {
  local name=$1 program="$folder/targets/fuzz_$1" corpus="$folder/corpus/$1" log="$folder/logs/$1.log"
  local options=(-max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=256 -print_final_stats=1
    -max_len=4096 -artifact_prefix="$folder/crashes/$name-")
  if [ -f "$sources/$name.dict" ]; then options+=(-dict="$sources/$name.dict"); fi
  export TMPDIR="$scratch"
  local status=0
  { "$program" -write_seeds="$folder/seeds/$name" && mkdir -p "$corpus" &&
      "$program" "${options[@]}" "$corpus" "$folder/seeds/$name"; } >"$log" 2>&1 </dev/null || status=$?
  local inputs edges kept
  inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
  edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
  kept=$(find "$corpus" -type f 2>/dev/null | wc -l)
  if [ "$status" = 0 ]; then
    printf '%-14s %10s inputs  %6s edges  %5s kept\n' "$name" "${inputs:-0}" "${edges:-0}" "$kept"
  else
    printf '%-14s FAULT after %s inputs; input: %s; report: %s\n' "$name" "${inputs:-?}" \
      "$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)" "$log"
    grep -a -m 1 -A 12 -E 'ERROR: |runtime error: |broken promise: ' "$log" | cut -c 1-200 || tail -n 12 "$log"
  fi
  return "$status"
}

failed=0
running=0
for target in "${targets[@]}"; do
  if [ "$running" -ge "$jobs" ]; then wait -n || failed=1; running=$((running - 1)); fi
  run_target "$target" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do wait -n || failed=1; running=$((running - 1)); done
exit "$failed"
