#!/usr/bin/env bash
# Starts a command as an MPI job on all of network_hosts.sh's hosts, by the MPI's own launcher through a remote shell.
# Usage: start_on_network_hosts.sh openmpi|mpich LAUNCHER RANKS_OF_A_HOST COMMAND [ARGUMENT ...]
set -euo pipefail
mpi=$1 launcher=$2 ranks=$3
shift 3
IFS=, read -ra hosts <<< "$HOSTS"
all=$((ranks * ${#hosts[@]}))
case $mpi in
  openmpi) exec "$launcher" -n "$all" --bind-to none --host "${HOSTS//,/:$ranks,}:$ranks" --mca plm_rsh_agent "$HOST_SHELL" "$@" ;;
  mpich) exec "$launcher" -n "$all" -ppn "$ranks" -bind-to none -launcher ssh -launcher-exec "$HOST_SHELL" -hosts "$HOSTS" "$@" ;;
  *) echo "start_on_network_hosts.sh: '$mpi' is neither openmpi nor mpich" >&2; exit 2 ;;
esac
