#!/usr/bin/env bash
# The switch with delay between network namespaces (network_hosts.sh --delay-us): no round trip is shorter than two
# delays, by the clock of the hosts and by the switch's own counters, nothing is dropped or changed, and nothing is left
# behind when it ends or is killed.
# Usage: network_hosts_test.sh SUPPORT SWITCH PYTHON
set -euo pipefail
support=$1
switch=$2
python=$3
fail() { echo "$*" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

value() { "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$folder/counters" "$1"; }
for delay in 0 700; do
  status=0
  said=$("$support/network_hosts.sh" --delay-us "$delay" --switch "$switch" --counters "$folder/counters" 3 \
    "$python" "$support/network_round_trips.py") || status=$?
  [ "$status" -ne 77 ] || exit 77
  [ "$status" -eq 0 ] || fail "delay of $delay us: status $status: $said"
  read -r shortest _ <<< "$said"
  [ "${shortest%.*}" -ge $((2 * delay)) ] || fail "a round trip took $shortest us, with a delay of $delay us each way"
  [ "$(value least_held_ns)" -ge $((1000 * delay)) ] || fail "a frame was held for $(value least_held_ns) ns only"
  [ "$(value dropped)" -eq 0 ] || fail "$(value dropped) frames were dropped"
  # Both transfers passed it, in segments and not in packets of 1500 bytes.
  [ "$(value bytes)" -ge $((64 << 20)) ] || fail "the switch forwarded $(value bytes) bytes only"
  [ "$(value frames)" -le $(((64 << 20) / 3000)) ] || fail "large segments were cut: $(value frames) frames"
done

# A name that no other process has: what runs inside is found by it.
cp "$(command -v sleep)" "$folder/asleep"
started() { pgrep -f "^$folder/asleep" > /dev/null; }
for signal in TERM KILL; do
  "$support/network_hosts.sh" --delay-us 50 --switch "$switch" 2 "$folder/asleep" 1000 & job=$!
  for _ in {1..500}; do ! started || break; sleep 0.02; done
  started || fail "the command did not start"
  switches() { pgrep -f "delay-switch .* trireme-$job-1" > /dev/null; }
  switches || fail "there is no switch beside the command"
  kill -"$signal" $job
  wait $job 2>/dev/null && fail "status 0 after SIG$signal"
  for _ in {1..500}; do started || switches || break; sleep 0.02; done
  ! started || fail "SIG$signal left the command behind"
  ! switches || fail "SIG$signal left the switch behind"
done
[ ! -e "/run/netns/trireme-$job-1" ] || fail "a namespace is left behind"
