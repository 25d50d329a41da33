#!/bin/bash
# usage: array_checkpoint_jobs.sh TRIREME PROGRAM
# Global arrays in checkpoints: written by jobs of several processes and hosts, restarted on other numbers of them; and in
# memory, when processes are killed.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../../support/jobs.sh"
trireme=$1 program=$2
place=$(mktemp -d /tmp/trireme_array_checkpoint_XXXXXX)
trap 'rm -rf "$place"' EXIT
RANDOM=77

fail() { echo "FAILED: $*"; [ -e "$place/output" ] && tail -20 "$place/output"; exit 1; }

expected=$("$program" --tri-pes=1 "$place/unused" 30 0) || fail "the undisturbed run"
from=("1 1 1" "1 4 1" "2 2 1" "2 1 2" "4 1 2" "3 2 3")
to=("2 3 2" "2 1 1" "1 3 1" "5 1 5" "1 1 1" "3 2 3")
for i in "${!from[@]}"; do
  rm -rf "$place/ckpt"
  job "${from[i]}" "$place/ckpt" 30 7 15 || fail "writing on ${from[i]}"
  for where in "${to[i]}" "${from[i]}"; do
    found=$(job "$where" --tri-restart="$place/ckpt" "$place/ckpt" 30 9) || fail "restart on $where"
    [ "$(sed 's/ with [0-9]* PEs$//; s/step [0-9]*/step N/' <<< "$found")" = "goes on from step N"$'\n'"$expected" ] ||
      fail "from ${from[i]} to $where: $found; expected $expected"
  done
done

job "2 2 1" --grid "$place/grid" || fail "writing an array over a grid"
job "3 1 1" --tri-restart="$place/grid" --grid "$place/grid" 2> "$place/output" && fail "a grid of 4 PEs on 3"
grep -q 'global array 1 of those made by PE 0 ((8, 8) of double in tiles (4, 4).*) does not fit the PEs of this job: ' \
  "$place/output" || fail "no line for a grid that does not fit"

expected=$("$program" --tri-pes=1 memory 4000 0) || fail "the undisturbed run"
losses=0
for shape in "2 1" "3 1" "2 2"; do
  read -r processes pes <<< "$shape"
  TRIREME_IDLE=sleep timeout 500 "$trireme" run --survive --survive-with fewer -n "$processes" --pes "$pes" "$program" \
    memory 4000 2 > "$place/output" 2>&1 &
  job=$!
  for loss in 1 2; do
    sleep 0.$((2 + RANDOM % 4))$((RANDOM % 10))
    mapfile -t members < <(children_of "$(launcher_of $job)")
    [ ${#members[@]} -gt 0 ] && kill -9 "${members[RANDOM % ${#members[@]}]}" 2> /dev/null
  done
  wait $job || fail "a job that loses processes"
  grep -q "^$expected" "$place/output" || fail "the result after losses; expected $expected"
  losses=$((losses + $(grep -c '(start ' "$place/output")))
done
[ $losses -gt 0 ] || fail "no job has lost a process"
echo "all passed, $losses losses"
