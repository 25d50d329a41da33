#!/bin/sh
# `trireme top` beside a job on hosts that are network namespaces (support/network_hosts.sh): all of it is shown.
# Usage: top_namespaces.sh TRIREME WATCHED_PROGRAM
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" run -n 4 --pes 1 --hosts "$HOSTS" --rsh "$HOST_SHELL" -- "$2" traffic "$folder" >"$folder/out" 2>&1 &
job=$!
while [ ! -e "$folder/ready" ] && kill -0 $job 2>/dev/null; do sleep 0.05; done
# A host whose agent has no core for 2 s is left out of a look.
until "$1" top $job --once --interval 0.2 >"$folder/shown" || { cat "$folder/out"; exit 1; }
  grep -q "4 processes on 2 hosts, 4 PEs" "$folder/shown" && test "$(grep -c '^ *[0-3]  *[0-3] ' "$folder/shown")" -eq 4
do cat "$folder/shown"; done
touch "$folder/go"
wait $job
cat "$folder/shown"
