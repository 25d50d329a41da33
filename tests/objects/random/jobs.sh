#!/bin/bash
# usage: jobs.sh TRIREME PROGRAM FIRST_SEED SEEDS
# For each seed a random job in several lives: each on another number of processes, PEs and hosts, with other options, and
# from the last checkpoint of those before. What came after that is lost, as is a life that wrote none.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../../support/jobs.sh"
trireme=$1 program=$2 first=$3 seeds=$4
place=$(mktemp -d /tmp/trireme_random_jobs_XXXXXX)
trap 'rm -rf "$place"' EXIT

shapes=("1 3 1" "2 2 1" "3 1 3" "1 1 1" "4 1 2" "3 1 1" "2 2 2" "1 4 1")
others=("" "--tri-shuffle=SEED" "" "--tri-balance-every-ms=2 --tri-balance=rotate" "--tri-shuffle=SEED --tri-shuffle-delay-us=500"
        "--tri-idle=sleep" "--tri-message-memory=4096")
for ((seed = first; seed < first + seeds; ++seed)); do
  RANDOM=$seed
  rm -rf "$place/ckpt"
  for life in 1 2 3; do
    shape=${shapes[RANDOM % ${#shapes[@]}]}
    options=${others[RANDOM % ${#others[@]}]//SEED/$((seed * 10 + life))}
    [ -e "$place/ckpt/manifest" ] && options="$options --tri-restart=$place/ckpt"
    steps=$((20 + RANDOM % 80))
    # shellcheck disable=SC2086
    job "$shape" $options "$place/ckpt" "$seed" "$steps" > "$place/output" 2>&1
    status=$?
    if [ $status -ne 0 ]; then
      echo "FAILED: seed $seed, life $life on $shape with$options, $steps steps: status $status"
      cat "$place/output"
      exit 1
    fi
    tail -n 1 "$place/output"
  done
done
echo "all passed"
