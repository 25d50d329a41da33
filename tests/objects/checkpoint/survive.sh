#!/bin/bash
# usage: survive.sh TRIREME PROGRAM [JOBS]
# Jobs under --survive whose processes are killed at random moments, one after another: each ends with the result of an
# undisturbed run, or, when they were killed faster than they could write a checkpoint, with a line that says
# so. None hangs, and nothing is left. Then other numbers of processes while a job runs.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../../support/jobs.sh"
trireme=$1 program=$2 jobs=${3:-30}
place=$(mktemp -d /tmp/trireme_survive_XXXXXX)
trap 'rm -rf "$place"' EXIT
RANDOM=1234

fail() { echo "FAILED: $*"; [ -e "$place/output" ] && tail -20 "$place/output"; exit 1; }
folders() { find /dev/shm -maxdepth 1 -name "trireme-survive-$(id -u)-$1" | wc -l; }

# The number of steps decides how long a job takes; twice as many as a run of about a second has.
steps=400
expected=$("$program" --tri-pes=1 memory $steps 0 | grep result) || fail "the undisturbed run"

shapes=("2 1 1" "1 2 1" "3 1 1" "2 2 2" "4 1 2")
survived=0 given_up=0 losses=0
for ((number = 0; number < jobs; ++number)); do
  read -r processes pes hosts <<< "${shapes[number % 5]}"
  TRIREME_IDLE=sleep timeout 120 "$trireme" run --survive -n "$processes" --pes "$pes" "$program" --tri-hosts="$hosts" \
    memory $steps $((1 + RANDOM % 5)) > "$place/output" 2>&1 &
  job=$!
  for ((kills = RANDOM % 4; kills >= 0; --kills)); do
    sleep 0.$((RANDOM % 4))$((RANDOM % 10))
    launcher=$(launcher_of $job)
    mapfile -t members < <(children_of "$launcher")
    [ ${#members[@]} -gt 0 ] && kill -9 "${members[RANDOM % ${#members[@]}]}" 2> /dev/null
  done
  wait $job
  status=$?
  losses=$((losses + $(grep -c '(start ' "$place/output")))
  if [ $status -eq 0 ]; then
    [ "$(grep result "$place/output")" = "$expected" ] || fail "job $number has another result"
    survived=$((survived + 1))
  else
    # Of two pretended hosts each loses its memory with its processes: the second one, perhaps, before the state was
    # written anew.
    grep -q 'the job is given up: processes were lost' "$place/output" ||
      { [ "$hosts" -gt 1 ] && grep -q 'the last checkpoint in memory is lost: the hosts that are left' "$place/output"; } ||
      fail "job $number ended with $status"
    given_up=$((given_up + 1))
  fi
  [ -n "$launcher" ] && [ "$(folders "$launcher")" -ne 0 ] && fail "job $number has left its folder"
done
echo "$survived jobs survived $losses losses, $given_up were given up"
[ $survived -gt 0 ] && [ $losses -gt 0 ] || fail "no job had to survive"

# A program that always crashes ends, with its status.
"$trireme" run --survive -n 2 --pes 1 /bin/sh -c 'kill -SEGV $$' > "$place/output" 2>&1
status=$?
[ $status -eq 139 ] || fail "a crashing program ended with $status"
[ "$(grep -c 'the job begins again' "$place/output")" -eq 3 ] || fail "a crashing program was not started four times"
# One that fails by itself is not started again.
"$trireme" run --survive /bin/sh -c 'exit 3' > "$place/output" 2>&1
[ $? -eq 3 ] && ! grep -q start "$place/output" || fail "a failed program was started again"

# ---- other numbers of processes
"$trireme" run --survive --resize-file "$place/size" -n 1 --pes 1 "$program" memory 1000000000 1 > "$place/output" 2>&1 &
launcher=$!
wait_for() {  # a line of the output
  for ((i = 0; i < 600; ++i)); do grep -q "$1" "$place/output" && return; sleep 0.1; done
  kill $launcher
  fail "no line: $1"
}
sleep 0.3
for processes in 3 2 4; do
  "$trireme" resize $launcher $processes | grep -q "from its next checkpoint on, job $launcher has $processes processes" ||
    fail "resize"
  wait_for "with $processes PEs"
done
# The same by a signal, as a batch system sends it.
kill -USR1 $launcher
wait_for "SIGUSR1: $place/size: has no first line with a number of processes; the job stays as it is"
echo many > "$place/size"
kill -USR1 $launcher
wait_for "SIGUSR1: $place/size: 'many' in its first line is not a number of processes, 1 .. 4096"
echo 5 > "$place/size"
kill -USR1 $launcher
wait_for "SIGUSR1: from its next checkpoint on, the job has 5 processes"
wait_for "with 5 PEs"
kill -9 "$(pgrep -P $launcher | tail -1)"
wait_for "the job goes on from its last checkpoint"
# A wish of just before a loss is kept: the processes are stopped, so that they cannot fulfil it before.
mapfile -t members < <(pgrep -P $launcher)
kill -STOP "${members[@]}"
"$trireme" resize $launcher 3 > /dev/null || fail "resize before a loss"
: > "$place/output"
kill -9 "${members[@]}"
wait_for "with 3 PEs"
kill -TERM $launcher
wait $launcher
[ $? -eq 143 ] || fail "the status after SIGTERM"
[ "$(folders $launcher)" -eq 0 ] || fail "the folder is left"

# A signal between two lives of a job is one to the next life.
for ((number = 0; number < 20; ++number)); do
  "$trireme" run --survive -n 2 --pes 1 "$program" memory 1000000000 1 > "$place/output" 2>&1 &
  launcher=$!
  until [ "$(pgrep -P $launcher | wc -l)" -eq 2 ]; do sleep 0.01; done
  sleep 0.1
  kill -9 "$(pgrep -P $launcher | tail -1)" 2> /dev/null
  sleep 0.0$((RANDOM % 3))$((RANDOM % 10))
  kill -TERM $launcher
  wait $launcher
  [ $? -eq 143 ] || fail "the status after SIGTERM in between"
  [ "$(folders $launcher)" -eq 0 ] || fail "the folder is left after SIGTERM in between"
done
"$trireme" resize $launcher 2 2> "$place/output" && fail "a job that is no more got another number of processes"
grep -q "is not a 'trireme run --survive' of yours" "$place/output" || fail "the line for a job that is no more"
"$trireme" run --survive-folder "$place" true 2> "$place/output"
[ $? -eq 2 ] && grep -q 'for jobs that --survive' "$place/output" || fail "a folder without --survive"

# What a killed launcher has left goes with the next one.
"$trireme" run --survive -n 1 "$program" memory 1000000000 1 > "$place/output" 2>&1 &
launcher=$!
sleep 0.5
kill -9 $launcher
wait $launcher 2> /dev/null
[ "$(folders $launcher)" -eq 1 ] || fail "a killed launcher has removed its folder"
"$trireme" run --survive true
[ "$(folders $launcher)" -eq 0 ] || fail "the folder of a killed launcher is left"

# A folder that the user names, and a checkpoint on disk instead of one in memory.
"$trireme" run --survive --survive-folder "$place/shared" -n 2 --pes 1 "$program" "$place/ckpt" 60 20 > "$place/output" 2>&1
[ $? -eq 0 ] || fail "a named folder"
[ -z "$(ls "$place/shared")" ] || fail "left in the named folder: $(ls "$place/shared")"
echo "all passed"
