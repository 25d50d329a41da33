#!/usr/bin/env bash
# Every way in, on one screen: message-driven objects beside LAMMPS, an unmodified MPI program and an unmodified OpenMP
# program, each verified, with its time without and with Trireme. Called by `make demo`.
# usage: scripts/demo.sh BUILD_FOLDER
# Exit status 1 if a result is wrong or a part does not run; never because of speed.
set -euo pipefail
export LC_ALL=C
build=$(realpath "${1:?usage: scripts/demo.sh BUILD_FOLDER}")
cd "$(dirname "$0")/.."
source apps/md/busy_cores.sh
trireme=$build/bin/trireme
data=$PWD/apps/md/data
rounds=3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -t 1 ]; then bold=$'\e[1m'; green=$'\e[32m'; red=$'\e[31m'; plain=$'\e[0m'; else bold=; green=; red=; plain=; fi
progress() { [ ! -t 2 ] || printf '\r%-78s\r' "${1:+  $1 ...}" >&2; }
median() { sort -g | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
failed=0
row() {  # what, program, time without, time with, verdict
  local ratio='-'
  # A part that failed has no time: the row still stands, and the verdict says so.
  if [ "$3" != - ] && [ "$4" != - ]; then ratio=$(awk -v a="$3" -v b="$4" 'BEGIN { if (b > 0) printf "%.2f", a / b; else printf "-" }'); fi
  printf '  %-28s %-38s %9s %9s %8s  %s\n' "$1" "$2" "$3" "$4" "$ratio" "$5"
}
yes() { printf '%s%s%s' "$green" "$1" "$plain"; }
no() { failed=1; printf '%s%s%s' "$red" "$1" "$plain"; }

busy_cores_now "$work" >"$work/busy"
busy_warning <"$work/busy"
printf '%s  %-28s %-38s %9s %9s %8s  %s%s\n' "$bold" "way in" "program" "without" "with" "ratio" "result" "$plain"

# Objects: md beside LAMMPS, with all its checks.
progress "message-driven objects: md on threads and processes, beside LAMMPS"
if apps/md/demo.sh "$build" >"$work/md" 2>/dev/null; then verdict=$(yes "energies as LAMMPS's"); else verdict=$(no "WRONG"); fi
time_of() { sed -n "s/^  $1  *\([0-9.]*\) s .*/\1/p" "$work/md" | head -1; }
lammps=$(time_of "LAMMPS, 2 MPI ranks")
progress
row "message-driven objects" "md, 4,000 atoms, 2 threads | LAMMPS" "${lammps:--}" "$(time_of 'md, 2 threads')" "$verdict"
row "" "md, 2 processes | LAMMPS" "${lammps:--}" "$(time_of 'md, 2 processes')" "$verdict"

# MPI: LAMMPS with twice as many ranks as cores, as it is.
ranks=$((2 * $(nproc)))
melt() {  # words before the program
  (cd "$data" && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -np "$ranks" "$@" \
    lmp -in in.melt -log none)
}
thermo() { awk '/^ *Step/ { table = 1; next } /^Loop/ { table = 0 } table' "$1"; }
if command -v lmp >/dev/null && command -v mpirun >/dev/null; then
  for round in $(seq $rounds); do
    progress "unmodified MPI program: LAMMPS on $ranks ranks, round $round of $rounds"
    for way in without with; do
      words=(); [ $way = without ] || words=("$trireme" exec)
      if ! melt "${words[@]}" >"$work/$way" 2>"$work/$way.errors"; then failed=1; cat "$work/$way.errors" >&2; fi
      sed -n 's/^Loop time of \([^ ]*\) .*/\1/p' "$work/$way" >>"$work/$way.times"
      thermo "$work/$way" >"$work/$way.rows"
    done
  done
  if [ -s "$work/with.rows" ] && cmp -s "$work/without.rows" "$work/with.rows"; then verdict=$(yes "the same table"); else verdict=$(no "DIFFERENT"); fi
  progress
  row "unmodified MPI program" "LAMMPS, $ranks ranks on $(nproc) cores" "$(median <"$work/without.times")" "$(median <"$work/with.times")" "$verdict"
else
  row "unmodified MPI program" "LAMMPS (lmp, mpirun) is not installed" - - "not run"
fi

# OpenMP: a program of gcc that asks for schedule(dynamic).
rows_program=$build/examples/example_openmp_rows
for round in $(seq $rounds); do
  progress "unmodified OpenMP program, round $round of $rounds"
  for way in without with; do
    words=(); [ $way = without ] || words=("$trireme" exec --omp)
    "${words[@]}" "$rows_program" >"$work/omp.$way" 2>"$work/omp.errors" || { failed=1; cat "$work/omp.errors" >&2; }
    sed -n 's/.* sweeps in \([0-9.]*\) s/\1/p' "$work/omp.$way" >>"$work/omp.$way.times"
    sed -n '/^norm/p' "$work/omp.$way" >>"$work/omp.norms"
  done
done
if [ "$(sort -u "$work/omp.norms" | wc -l)" = 1 ]; then verdict=$(yes "the same norm"); else verdict=$(no "DIFFERENT"); fi
progress
row "unmodified OpenMP program" "examples/openmp_rows.c, dynamic rows" "$(median <"$work/omp.without.times")" "$(median <"$work/omp.with.times")" "$verdict"

cat <<TEXT

  Times in seconds, medians; a ratio above 1 means faster with Trireme. LAMMPS's two ranks stand beside md.
  All numbers of md, and where its time goes: apps/md/demo.sh ${build#"$PWD"/}
  Read on: README.md, docs/user/README.md (the book), docs/results.md (every measured figure)

TEXT
if [ $failed = 0 ]; then
  echo "${green}${bold}VERIFIED${plain}: all results agree."
else
  echo "${red}${bold}NOT VERIFIED${plain}: see above; apps/md/demo.sh ${build#"$PWD"/} shows the numbers of md."
fi
exit $failed
