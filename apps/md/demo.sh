#!/usr/bin/env bash
# Shows the molecular dynamics program at work: the melt on threads and on processes, its numbers beside LAMMPS's, its
# speed beside LAMMPS's where that is installed. Called by `make demo`:  apps/md/demo.sh BUILD_FOLDER
# Exit status 1 if a number is wrong; never because of speed.
set -euo pipefail
export LC_ALL=C

build=$(realpath "${1:?usage: apps/md/demo.sh BUILD_FOLDER}")
data=$(realpath "$(dirname "$0")/data")
md=$build/apps/md/md
trireme=$build/bin/trireme
rounds=5
source "$(dirname "$0")/busy_cores.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -t 1 ]; then bold=$'\e[1m'; green=$'\e[32m'; red=$'\e[31m'; plain=$'\e[0m'; else bold=; green=; red=; plain=; fi
title() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
loop_time() { sed -n 's/^Loop time of \([^ ]*\) .*/\1/p' "$1"; }
rows() { awk '/^Step/ { table = 1; next } /^Loop/ { table = 0 } table' "$1"; }
median() { sort -g | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

# Each way to run the melt: all of them print the same kind of log.
run_one_pe() { "$md" --data "$data/melt.data" --thermo-digits 15 --tri-pes 1 "$@"; }
run_threads() { "$md" --data "$data/melt.data" --thermo-digits 15 --tri-pes 2 "$@"; }
run_processes() { "$trireme" run -n 2 --pes 1 "$md" --data "$data/melt.data" --thermo-digits 15 "$@"; }
run_lammps() {
  (cd "$data" && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none \
    mpirun --oversubscribe -np 2 lmp -in in.melt -log none 2>/dev/null)
}

ways="one_pe threads processes"
if command -v lmp >/dev/null && command -v mpirun >/dev/null && run_lammps >"$work/lammps.first"; then
  ways="lammps $ways"
else
  echo "LAMMPS (lmp, mpirun) is not installed or does not run here: its kept reference values are used, without its speed."
fi

title "The melt: 4000 Lennard-Jones atoms, 250 steps, $rounds rounds of each way in turns"
for round in $(seq "$rounds"); do
  busy_cores_now "$work" >>"$work/busy"
  for way in $ways; do
    printf '\r  round %d of %d: %-10s ' "$round" "$rounds" "$way" >&2
    "run_$way" >"$work/$way.$round"
    loop_time "$work/$way.$round" >>"$work/$way.times"
  done
done
printf '\r%50s\r' '' >&2

failed=0
title "Numbers: md on 2 PEs, and how far from LAMMPS (relative)"
rows "$work/threads.1" >"$work/rows"
awk -v green="$green" -v red="$red" -v plain="$plain" '
  function off(a, b) { return b == 0 ? (a < 0 ? -a : a) : ((a - b) / b < 0 ? (b - a) / b : (a - b) / b) }
  FNR == NR { if ($1 !~ /^#/) { e[$1] = $3; t[$1] = $5; p[$1] = $6 } next }
  FNR == 1 { printf "  %6s  %14s %14s %14s   %8s %8s %8s\n", "step", "E_pair", "TotEng", "Press", "E_pair", "TotEng", "Press" }
  {
    a = off($3, e[$1]); b = off($5, t[$1]); c = off($6, p[$1])
    verdict = ""
    if ($1 == 0 || $1 == 100) {
      limit = $1 == 0 ? 1e-6 : 1e-4
      ok = ($1 in e) && a <= limit && b <= limit && c <= limit
      verdict = sprintf("%s%s%s within %g", ok ? green : red, ok ? "yes" : "NO", plain, limit)
      ++checked
      if (!ok) bad = 1
    }
    printf "  %6d  %14.8f %14.8f %14.8f   %8.1e %8.1e %8.1e   %s\n", $1, $3, $5, $6, a, b, c, verdict
  }
  END { exit bad || checked != 2 }' "$data/melt_reference_thermo.txt" "$work/rows" || failed=1

same=1
for way in one_pe threads processes; do
  for round in $(seq "$rounds"); do
    rows "$work/$way.$round" | cmp -s - "$work/rows" || { same=0; echo "  $way, round $round: other numbers than 2 threads"; }
  done
done
for way in one_pe threads processes; do "run_$way" --steps 50 --restart-out "$work/$way.restart" >/dev/null; done
cmp -s "$work/one_pe.restart" "$work/threads.restart" && cmp -s "$work/threads.restart" "$work/processes.restart" || same=0
if [ $same = 1 ]; then
  echo "  1 PE, 2 threads and 2 processes: ${green}the same, bit for bit${plain} (tables with 15 digits, restart files)"
else
  echo "  1 PE, 2 threads and 2 processes: ${red}NOT THE SAME${plain}"
  failed=1
fi

title "Time of the 250 steps (loop time, median of $rounds)"
busy_warning <"$work/busy" | sed 's/^/  /'
threads=$(median <"$work/threads.times")
for way in $ways; do
  case $way in
    lammps) name="LAMMPS, 2 MPI ranks" ;;
    one_pe) name="md, 1 PE" ;;
    threads) name="md, 2 threads" ;;
    processes) name="md, 2 processes" ;;
  esac
  time=$(median <"$work/$way.times")
  note=""
  if [ $way != lammps ] && [ -f "$work/lammps.times" ]; then
    note="$(ratio "$(median <"$work/lammps.times")" "$time") times the speed of LAMMPS on 2 ranks"
  fi
  printf '  %-22s %8.4f s   %s\n' "$name" "$time" "$note"
done

title "From 1 to 2 PEs with 32000 atoms (100 steps, best of 3 in turns)"
for round in 1 2 3; do
  for pes in 1 2; do
    "$md" --data "$data/melt.data" --replicate 2 2 2 --steps 100 --tri-pes $pes >"$work/large"
    loop_time "$work/large" >>"$work/large.$pes"
  done
done
one=$(sort -g "$work/large.1" | head -1)
two=$(sort -g "$work/large.2" | head -1)
printf '  1 PE %.4f s, 2 PEs %.4f s: efficiency %.2f\n' "$one" "$two" "$(awk -v a="$one" -v b="$two" 'BEGIN { print a / b / 2 }')"

title "Where the time goes (2 threads, the last run of 32000 atoms)"
sed -n '/^Section/,$p' "$work/large" | sed 's/^/  /'

echo
if [ $failed = 0 ]; then
  echo "${green}${bold}VERIFIED${plain}: energies and pressure agree with LAMMPS, threads and processes agree bit for bit."
else
  echo "${red}${bold}NOT VERIFIED${plain}: see above."
fi
exit $failed
