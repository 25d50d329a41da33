#!/bin/bash
# usage: killed.sh TRIREME PROGRAM [KILLS]
# A job of several processes that writes checkpoints all the time. One of its processes is killed again and again; each
# time a job with another number of PEs goes on from the folder. In the end the result is that of a run without all this.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../../support/jobs.sh"
trireme=$1 program=$2 kills=${3:-60}
place=$(mktemp -d /tmp/trireme_checkpoint_killed_XXXXXX)
trap 'rm -rf "$place"' EXIT
RANDOM=4711

steps=1000000
shapes=("2 1 1" "3 1 1" "2 2 1" "2 1 2")
killed=0
options=()
while [ $killed -lt "$kills" ]; do
  read -r processes pes hosts <<< "${shapes[killed % 4]}"
  timeout 60 "$trireme" run -n "$processes" --pes "$pes" "$program" --tri-hosts="$hosts" "${options[@]}" \
    "$place/ckpt" $steps 1 > "$place/output" 2>&1 &
  job=$!
  sleep 0.$((RANDOM % 6))$((RANDOM % 10))
  launcher=$(launcher_of $job)
  mapfile -t processes_now < <(children_of "$launcher")
  if [ ${#processes_now[@]} -gt 0 ]; then kill -9 "${processes_now[RANDOM % ${#processes_now[@]}]}" 2> /dev/null; else
    kill -9 "${launcher:-$job}" 2> /dev/null; fi
  wait $job
  status=$?
  if [ $status -eq 124 ]; then echo "the job hangs after the loss of a process"; cat "$place/output"; exit 1; fi
  if grep -E 'cannot restart|damaged' "$place/output"; then exit 1; fi
  killed=$((killed + 1))
  [ -e "$place/ckpt/manifest" ] && options=("--tri-restart=$place/ckpt")
done
# How far it has come; then some steps more, and the same in one go.
reached=$("$program" --tri-pes=1 "${options[@]}" "$place/ckpt" 0 0 | sed -n 's/goes on from step \([0-9]*\).*/\1/p')
echo "killed $killed times; reached step ${reached:-0}"
[ -z "$reached" ] && { echo "no checkpoint was completed"; exit 1; }
found=$("$program" --tri-pes=3 "${options[@]}" "$place/ckpt" $((reached + 10)) 0 | grep result)
expected=$("$program" --tri-pes=1 "$place/unused" $((reached + 10)) 0)
[ "$found" = "$expected" ] || { echo "found '$found', expected '$expected'"; exit 1; }
[ "$(find "$place/ckpt" -maxdepth 1 -name 'states-*' | wc -l)" -le 2 ] || { ls "$place/ckpt"; exit 1; }
