#!/usr/bin/env bash
# Two hosts with two ranks each, started by the MPI's own launcher through a remote shell: matching, probes and random
# traffic under the drop-in. All messages must have been intercepted.
# Usage: several_hosts_test.sh openmpi|mpich LAUNCHER TRIREME PROGRAMS   (on the first of network_hosts.sh's hosts)
set -euo pipefail
mpi=$1
launcher=$2
trireme=$3
programs=$4

# Open MPI takes ob1 without looking for fast networks first, which is half of a short job.
export OMPI_MCA_pml=ob1
start=("$(dirname "$0")/../../support/start_on_network_hosts.sh" "$mpi" "$launcher" 2)

fail() { echo "$*" >&2; exit 1; }
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
run() { timeout 300 "${start[@]}" "$trireme" exec --mpi --stats -- "$@" 2> "$errors" || { cat "$errors" >&2; fail "$* failed"; }; }

for group in matching probes collectives progress/any_source; do
  got=$(run "$programs/conformance" --sizes few --hang-limit 60 --only "$group")
  [ -n "$got" ] && ! grep -v ' ok (' <<< "$got" || fail "$group: not all ok"
done
for arguments in "--messages 2000 --largest 2000 --seed 4" "--messages 500 --largest 400000 --seed 4"; do
  # shellcheck disable=SC2086
  got=$(run "$programs/traffic" $arguments)
  # shellcheck disable=SC2086
  expected=$("$programs/traffic" --expected 4 $arguments)
  [ "$got" = "$expected" ] || fail "traffic $arguments: '$got', expected '$expected'"
  read -r intercepted left < <(awk '/^MPI_COMM_WORLD / { print $2, $3 }' "$errors")
  [ "$intercepted" -gt 0 ] && [ "$left" = 0 ] || fail "traffic $arguments: $intercepted calls intercepted, $left not"
done
