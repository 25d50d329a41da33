#!/bin/bash
# usage: hosts.sh TRIREME PROGRAM REMOTE_SHELL
# A job under --survive on three hosts that share no folder (a script stands for the remote shell; the hosts share a
# kernel, so that one folder in /dev/shm is the memory of all): it survives the loss of a process, and of a host with its
# memory. Nothing is left, also when the launcher is killed.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../../support/jobs.sh"
trireme=$1 program=$2
export TRIREME_RSH=$3 TRIREME_IDLE=sleep
place=$(mktemp -d /tmp/trireme_survive_hosts_XXXXXX)
trap 'rm -rf "$place"' EXIT

fail() { echo "FAILED: $*"; tail -20 "$place/output"; [ -n "${launcher:-}" ] && kill -9 $launcher 2> /dev/null; exit 1; }
memory() { find /dev/shm -maxdepth 1 -name "trireme-memory-$launcher-*"; }
start() {
  "$trireme" run --survive --hosts a,b,c -n 3 --pes 1 "$program" memory $1 1 > "$place/output" 2>&1 &
  launcher=$!
}
until_true() {  # a command, for a minute
  for ((i = 0; i < 600; ++i)); do eval "$1" && return; sleep 0.1; done
  fail "never: $1"
}
starts() { grep -c 'goes on from step' "$place/output"; }
nothing_left() { until_true '[ -z "$(memory)" ]'; [ -z "$(find /dev/shm -maxdepth 1 -name "trireme-survive-*-$launcher")" ]; }

start 1000000000
until_true '[ -n "$(memory)" ] && [ -e "$(memory)/last" ]'
"$trireme" resize $launcher 2 2> "$place/resize" && fail "a request that reaches nothing was taken"
grep -q 'can be resized when it is started with --survive-folder' "$place/resize" || fail "the line of resize"

# A process: one of the children of the agents.
agent_of() { grep "agent of $1: " "$place/output" | tail -1 | sed 's/.*: //'; }
kill -9 "$(children_of "$(agent_of c)" | head -1)"
until_true '[ $(starts) -eq 1 ]'
until_true '[ "$(find "$(memory)" -name last -newer "$place/output" | wc -l)" -gt 0 ]'

# A host with its memory, before the launcher can hear of it.
kill -STOP $launcher
kill -9 "$(agent_of b)"
rm -rf "$(memory)/host-1"
kill -CONT $launcher
until_true '[ $(starts) -eq 2 ]'
grep -q 'host b: the connection to its agent was lost' "$place/output" || fail "no line for the host"
grep -q 'the job goes on from its last checkpoint (start 3)' "$place/output" || fail "not from its last checkpoint"
until_true '[ -e "$(memory)/host-1/slot-0/manifest" ]'
[ -e "$(memory)/host-2" ] && until_true '[ ! -e "$(memory)/host-2" ]'  # there are two hosts now
kill -TERM $launcher
wait $launcher
[ $? -eq 143 ] || fail "the status after SIGTERM"
nothing_left || fail "left after SIGTERM: $(memory)"

# A host that cannot be reached any more when the job starts again.
export REACHED_MARK=$place/reached
"$trireme" run --survive --hosts a,reached_once,c -n 3 --pes 1 "$program" memory 1000000000 1 > "$place/output" 2>&1 &
launcher=$!
until_true '[ -n "$(memory)" ] && [ -e "$(memory)/last" ]'
kill -9 "$(children_of "$(agent_of c)" | head -1)"
until_true '[ $(starts) -ge 1 ]'
grep -q 'host reached_once: cannot be reached: .*: No route to host' "$place/output" || fail "no line for the host"
grep -q 'the job goes on from its last checkpoint (start 3)' "$place/output" || fail "not on the other hosts"
kill -TERM $launcher
wait $launcher
[ $? -eq 143 ] || fail "the status after SIGTERM"
nothing_left || fail "left after SIGTERM: $(memory)"

# The same result as elsewhere, after a loss.
expected=$("$program" --tri-pes=1 memory 3000 0 | grep result) || fail "the undisturbed run"
start 3000
until_true '[ -n "$(memory)" ] && [ -e "$(memory)/last" ]'
kill -9 "$(agent_of a)" 2> /dev/null
wait $launcher
status=$?
[ $status -eq 0 ] && [ "$(grep result "$place/output")" = "$expected" ] || fail "status $status"
nothing_left || fail "left at the end: $(memory)"

start 1000000000
until_true '[ -n "$(memory)" ] && [ -e "$(memory)/last" ]'
kill -9 $launcher
wait $launcher 2> /dev/null
until_true '[ -z "$(memory)" ]'
rm -rf /dev/shm/trireme-survive-*-$launcher
echo "all passed"
