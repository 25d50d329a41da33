#!/bin/bash
# usage: buddies.sh TRIREME PROGRAM [JOBS]
# Jobs under --survive on emulated hosts, of which each has the state of the one before in its memory as well. With a
# process its host loses its memory. Random processes are killed, or all of a host: the job ends with the result of a run
# that nothing disturbed, or with a line that says why not. None hangs, and nothing is left in /dev/shm and /tmp.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../../support/jobs.sh"
trireme=$1 program=$2 jobs=${3:-24}
place=$(mktemp -d /tmp/trireme_buddies_XXXXXX)
trap 'rm -rf "$place"' EXIT
RANDOM=20

fail() { echo "FAILED: $*"; [ -e "$place/output" ] && tail -20 "$place/output"; exit 1; }
folders() { find /dev/shm -maxdepth 1 -name "trireme-survive-$(id -u)-$1" | wc -l; }


steps=400
expected=$("$program" --tri-pes=1 memory $steps 0 | grep result) || fail "the undisturbed run"

# processes, PEs of each, hosts, how many go on
shapes=("2 1 2 same" "4 1 2 same" "3 1 3 same" "4 1 2 fewer" "2 2 2 same" "3 1 3 fewer" "6 1 3 same" "2 1 2 fewer")
survived=0 given_up=0 lost=0 losses=0 from_memory=0
for ((number = 0; number < jobs; ++number)); do
  read -r processes pes hosts with <<< "${shapes[number % 8]}"
  TRIREME_IDLE=sleep timeout 120 "$trireme" run --survive --survive-with $with -n "$processes" --pes "$pes" \
    --hosts "$hosts" "$program" memory $steps $((1 + RANDOM % 5)) > "$place/output" 2>&1 &
  job=$!
  launcher=
  for ((kills = RANDOM % 3; kills >= 0; --kills)); do
    sleep 0.$((2 + RANDOM % 4))$((RANDOM % 10))
    launcher=$(launcher_of $job)
    mapfile -t members < <(children_of "$launcher")
    [ ${#members[@]} -eq 0 ] && continue
    if [ $((RANDOM % 3)) -eq 0 ]; then  # all processes of the first host, or of the last one
      of_host=$((processes / hosts))
      [ $((RANDOM % 2)) -eq 0 ] && victims=("${members[@]:0:of_host}") || victims=("${members[@]: -of_host}")
    else
      victims=("${members[RANDOM % ${#members[@]}]}")
    fi
    kill -9 "${victims[@]}" 2> /dev/null
  done
  wait $job
  status=$?
  losses=$((losses + $(grep -c '(start ' "$place/output")))
  from_memory=$((from_memory + $(grep -c 'goes on from step' "$place/output")))
  if [ $status -eq 0 ]; then
    [ "$(grep result "$place/output")" = "$expected" ] || fail "job $number has another result"
    survived=$((survived + 1))
  elif grep -q 'the last checkpoint in memory is lost: the hosts that are left' "$place/output"; then
    lost=$((lost + 1))
  else
    grep -q 'the job is given up: processes were lost' "$place/output" || fail "job $number ended with $status"
    given_up=$((given_up + 1))
  fi
  [ -n "$launcher" ] && [ "$(folders "$launcher")" -ne 0 ] && fail "job $number has left its folder"
done
echo "$survived jobs survived $losses losses ($from_memory restarts from memory); $given_up given up, $lost lost both copies"
[ $survived -gt 0 ] && [ $from_memory -gt 0 ] || fail "no job had to survive"

# ---- one loss after a checkpoint, of each host in turn, all its processes at once
wait_for() {  # a line of the output
  for ((i = 0; i < 600; ++i)); do grep -q "$1" "$place/output" && return; sleep 0.1; done
  kill -TERM $launcher
  fail "no line: $1"
}
for with in same fewer; do
  TRIREME_IDLE=sleep "$trireme" run --survive --survive-with $with -n 6 --pes 1 --hosts 3 "$program" memory 1000000000 1 \
    > "$place/output" 2>&1 &
  launcher=$!
  for ((i = 0; i < 600; ++i)); do [ -e "/dev/shm/trireme-survive-$(id -u)-$launcher/last" ] && break; sleep 0.1; done
  for host in 0 1 2; do
    [ $with = fewer ] && [ $host -eq 2 ] && break
    : > "$place/output.before"; cp "$place/output" "$place/output.before"
    starts=$(grep -c 'goes on from step' "$place/output")
    mapfile -t members < <(pgrep -P $launcher)
    kill -9 "${members[@]:2 * host:2}"
    for ((i = 0; i < 600; ++i)); do [ "$(grep -c 'goes on from step' "$place/output")" -gt "$starts" ] && break; sleep 0.1; done
    [ "$(grep -c 'goes on from step' "$place/output")" -gt "$starts" ] || { kill -TERM $launcher; fail "host $host, $with"; }
    # Its own next checkpoint, so that the launcher does not give up.
    last=$(stat -c %y "/dev/shm/trireme-survive-$(id -u)-$launcher/last")
    for ((i = 0; i < 600; ++i)); do
      [ "$(stat -c %y "/dev/shm/trireme-survive-$(id -u)-$launcher/last")" != "$last" ] && break
      sleep 0.1
    done
  done
  kill -TERM $launcher
  wait $launcher
  [ $? -eq 143 ] || fail "the status after SIGTERM"
  [ "$(folders $launcher)" -eq 0 ] || fail "the folder is left"
  if [ $with = fewer ]; then
    grep -q "with [45] processes" "$place/output" || fail "not with fewer processes"
  else
    [ "$(grep -c 'goes on from step.*with 6 PEs' "$place/output")" -eq 3 ] || fail "not with as many processes"
  fi
done

# ---- all hosts at once: both copies are lost, and the job ends with a line, or had only one loss seen
TRIREME_IDLE=sleep "$trireme" run --survive -n 2 --pes 1 --hosts 2 "$program" memory 1000000000 1 > "$place/output" 2>&1 &
launcher=$!
for ((i = 0; i < 600; ++i)); do [ -e "/dev/shm/trireme-survive-$(id -u)-$launcher/last" ] && break; sleep 0.1; done
kill -STOP $launcher
mapfile -t members < <(pgrep -P $launcher)
kill -9 "${members[@]}"
kill -CONT $launcher
wait $launcher
status=$?
[ $status -eq 1 ] || fail "the loss of all hosts ended with $status"
grep -q 'cannot restart: the last checkpoint in memory is lost' "$place/output" || fail "no line for the loss of all hosts"
[ "$(folders $launcher)" -eq 0 ] || fail "the folder is left"

"$trireme" run --survive-with fewer true 2> "$place/output"
[ $? -eq 2 ] && grep -q 'for jobs that --survive' "$place/output" || fail "--survive-with without --survive"
echo "all passed"
