#!/usr/bin/env bash
# md on two hosts that are network namespaces of this machine, with a cable (veth) between them: what they share is the
# file system, as on a cluster. Needs root.
# Usage: two_hosts.sh <build folder> [--launcher trireme|openmpi|mpich] [-n PROCESSES] [--unplug AFTER[,FOR]]
#          [options of md ...]
#   two_hosts.sh build/release --launcher mpich --tri-wire mpi      MPICH starts the processes and carries their messages
#   two_hosts.sh build/release --unplug 2,1 --steps 20000      the cable is out for a second, two seconds after the first
#                                                              1,000 packets have come, so that the simulation runs
# Status 77, and why, where namespaces cannot be made or the launcher is not installed; 1 where the run was over before
# the cable was out and in again.
set -euo pipefail
usage() { sed -n 2,10p "$0" | cut -c3- >&2; exit 2; }
[ $# -ge 1 ] && [ -x "$1/bin/trireme" ] || usage
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
shift
launcher=trireme
processes=2
unplug=
while [ $# -gt 0 ]; do
  case $1 in
    --launcher) launcher=${2:-}; shift 2 || usage ;;
    -n) processes=${2:-}; shift 2 || usage ;;
    --unplug) unplug=${2:-}; shift 2 || usage ;;
    *) break ;;
  esac
done
case " $* " in
  *" --data"* | *" --restart-in"* | *" --help "* | *" -h "*) ;;
  *) set -- --data "$here/data/melt.data" "$@" ;;
esac

skip() { echo "two_hosts.sh: $1" >&2; exit 77; }
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "the command ip is missing (Debian's package iproute2)"
case $launcher in
  trireme) ;;
  openmpi) command -v mpirun.openmpi >/dev/null || skip "the command mpirun.openmpi is missing (Debian's package openmpi-bin)" ;;
  mpich) command -v mpiexec.hydra >/dev/null || skip "the command mpiexec.hydra is missing (Debian's package mpich)" ;;
  *) echo "two_hosts.sh: there is no launcher '$launcher': trireme, openmpi or mpich" >&2; exit 2 ;;
esac

hosts=("trireme-a-$$" "trireme-b-$$")
went_on=$(mktemp)  # not empty: the cable was out for a moment, and then 100 packets have come
watcher=    # the process that counts packets and takes the cable out
remove() {
  if [ -n "$watcher" ]; then
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true  # or it would write its file behind the rm
  fi
  for host in "${hosts[@]}"; do
    # Of Open MPI a daemon may be left that waits for its launcher.
    ip netns pids "$host" 2>/dev/null | xargs -r kill -9 2>/dev/null || true
    ip netns delete "$host" 2>/dev/null || true
    rm -rf "/etc/netns/$host"
  done
  rm -f "$went_on"
}
trap remove EXIT
trap 'exit 130' INT TERM
for i in 0 1; do
  # `ip netns exec` shows the files of this folder in /etc: there the hosts find each other by name.
  mkdir -p "/etc/netns/${hosts[i]}"
  printf '127.0.0.1 localhost\n10.231.7.1 %s\n10.231.7.2 %s\n' "${hosts[@]}" > "/etc/netns/${hosts[i]}/hosts"
  ip netns add "${hosts[i]}" 2>/dev/null || skip "ip netns add is not permitted here"
done
ip link add "tri$$" netns "${hosts[0]}" type veth peer name "tri$$" netns "${hosts[1]}" || skip "veth devices are not to be had here"
for i in 0 1; do
  ip -n "${hosts[i]}" address add "10.231.7.$((i + 1))/24" dev "tri$$"
  ip -n "${hosts[i]}" link set lo up
  ip -n "${hosts[i]}" link set "tri$$" up
done
# A device is there a moment before it can be used.
for host in "${hosts[@]}"; do
  for _ in {1..100}; do ip -n "$host" link show "tri$$" | grep -q "state UP" && break; sleep 0.02; done
done

export TRIREME_AFFINITY=none  # both hosts have the same cores; each would bind its first PE to the first of them
shell=$(realpath "$here/../../tests/support/network_namespace_shell.sh")
each=$(((processes + 1) / 2))
on_first_host() { ip netns exec "${hosts[0]}" unshare --uts sh -c 'hostname "$0" && exec "$@"' "${hosts[0]}" "$@"; }
if [ -n "$unplug" ]; then
  after=${unplug%%,*}
  # Fails when the host is gone again.
  packets() { ip -n "${hosts[0]}" -s link show "tri$$" | awk '/RX:/ { getline; print $2; found = 1 } END { exit !found }'; }
  {
    while n=$(packets) || exit; [ "$n" -lt 1000 ]; do sleep 0.05; done
    sleep "$after"
    ip -n "${hosts[0]}" link set "tri$$" down
    if [ "$unplug" != "$after" ]; then
      sleep "${unplug#*,}"
      before=$(packets)
      ip -n "${hosts[0]}" link set "tri$$" up
      while n=$(packets) || exit; [ "$n" -lt $((before + 100)) ]; do sleep 0.05; done
      echo yes > "$went_on"
    fi
  } > /dev/null 2>&1 &
  watcher=$!
fi
status=0
case $launcher in
  trireme) "$build/bin/trireme" run -n "$processes" --pes 1 --rsh "$shell" --hosts "${hosts[0]},${hosts[1]}" "$build/apps/md/md" "$@" || status=$? ;;
  openmpi)
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    on_first_host mpirun.openmpi -n "$processes" --bind-to none --host "${hosts[0]}:$each,${hosts[1]}:$each" \
      --mca plm_rsh_agent "$shell" "$build/apps/md/md" "$@" --tri-pes 1 || status=$? ;;
  mpich)
    on_first_host mpiexec.hydra -n "$processes" -ppn "$each" -launcher ssh -launcher-exec "$shell" \
      -hosts "${hosts[0]},${hosts[1]}" "$build/apps/md/md" "$@" --tri-pes 1 || status=$? ;;
esac
case $unplug in
  *,*) [ $status != 0 ] || [ -s "$went_on" ] || { echo "two_hosts.sh: the run ended before the cable was in again" >&2; exit 1; } ;;
esac
exit $status
