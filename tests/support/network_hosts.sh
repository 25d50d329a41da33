#!/usr/bin/env bash
# Runs a command beside hosts that are network namespaces of this machine: what they share is the file system, as on a
# cluster. Needs root. In the environment of the command, which runs on the first of them:
#   HOSTS        their names, with commas between
#   HOST_SHELL   a remote shell for them (network_namespace_shell.sh)
# Usage: network_hosts.sh [--apart] [--delay-us N --switch PROGRAM [--counters FILE]] COUNT COMMAND [ARGUMENT ...]
# With --delay-us each message takes so much longer one way: PROGRAM (bench/network/delay_switch.cpp) is the switch then,
# in the place of the kernel's, also with 0. The hosts have System V IPC and /dev/shm of their own then, and with --apart:
# UCX, and so MPICH, would find the processes of the others through them. Ranks of MPICH that share a core take
# milliseconds for each message that goes over a network, so without the options that stays as it is, for tests.
# Status 77, and why, where namespaces cannot be made.
# All of it is in a mount and a PID namespace: when they end, however that comes, the kernel removes what is left.
set -euo pipefail

skip() { echo "network_hosts.sh: $1" >&2; exit 77; }

if [ "${1-}" != --inside ]; then
  [ $# -ge 2 ] || { sed -n 2,14p "$0" | cut -c3- >&2; exit 2; }
  [ "$(id -u)" = 0 ] || skip "network namespaces need root"
  command -v ip >/dev/null || skip "the command ip is missing (Debian's package iproute2)"
  command -v mount >/dev/null || skip "the command mount is missing (Debian's package mount)"
  apart=(unshare --mount --pid --fork --kill-child --mount-proc)
  "${apart[@]}" true 2>/dev/null || skip "mount and PID namespaces are not permitted here"
  # PIDs repeat inside; hosts of two jobs have different names, by which MPI libraries name their files. unshare blocks the
  # signals that would end it, so it is killed with its parent, and all that is inside with it.
  setpriv --pdeathsig KILL "${apart[@]}" "$0" --inside "trireme-$$" "$@" <&0 &
  trap 'kill -KILL $!; exit 130' INT TERM HUP
  wait $! && exit 0 || exit $?
fi
net=$2
shift 2
delay="" switch="" counters="" own_ipc=""
while :; do
  case $1 in
    --apart) own_ipc=yes; shift; continue ;;
    --delay-us) delay=$2 ;;
    --switch) switch=$2 ;;
    --counters) counters=$2 ;;
    *) break ;;
  esac
  shift 2
done
[ -z "$delay" ] || own_ipc=yes
count=$1
shift

mkdir -p /run/netns
mount -t tmpfs tmpfs /run/netns
hosts=()
for ((i = 1; i <= count; ++i)); do hosts+=("$net-$i"); done
# The hosts find each other by name.
{ echo "127.0.0.1 localhost"; for ((i = 1; i <= count; ++i)); do echo "10.231.8.$i ${hosts[i - 1]}"; done; } > /run/netns/hosts
mount --bind /run/netns/hosts /etc/hosts
# A namespace stays as long as a file of it is mounted; `ip netns` knows those of the network by these files, too.
make_namespace() {
  touch "/run/netns/$2"
  unshare "--$1=/run/netns/$2" true 2>/dev/null || skip "$1 namespaces are not permitted here"
}
for host in "${hosts[@]}"; do
  make_namespace net "$host"
  [ -z "$own_ipc" ] || make_namespace ipc "$host.ipc"
  make_namespace uts "$host.uts"
  nsenter --uts="/run/netns/$host.uts" hostname "$host"
done

connect_by_bridge() {
  # A namespace of its own is the switch: the machine's own network sees nothing of it.
  make_namespace net "$net"
  ip -n "$net" link add switch type bridge 2>/dev/null || skip "bridges are not to be had here"
  ip -n "$net" link set switch up
  for ((i = 1; i <= count; ++i)); do
    ip link add eth0 netns "${hosts[i - 1]}" type veth peer name "port$i" netns "$net" || skip "veth devices are not to be had here"
    ip -n "$net" link set "port$i" master switch up
  done
}
connect_by_delay_switch() {
  [ -c /dev/net/tun ] || skip "there is no /dev/net/tun, which a switch with delay needs"
  coproc SWITCH { exec "$switch" --delay-us "$delay" ${counters:+--counters "$counters"} "${hosts[@]}"; }
  read -r said <&"${SWITCH[0]}" && [ "$said" = ready ] || skip "the switch did not start"
}
if [ -n "$delay" ]; then connect_by_delay_switch; else connect_by_bridge; fi

for ((i = 1; i <= count; ++i)); do
  host=${hosts[i - 1]}
  ip -n "$host" address add "10.231.8.$i/24" dev eth0
  ip -n "$host" link set lo up
  ip -n "$host" link set eth0 up
done
# A device is there a moment before it can be used.
for host in "${hosts[@]}"; do
  for _ in {1..100}; do ip -n "$host" link show eth0 2>/dev/null | grep -q LOWER_UP && break; sleep 0.02; done
done

HOSTS=$(IFS=,; echo "${hosts[*]}")
HOST_SHELL=$(realpath "$(dirname "$0")/network_namespace_shell.sh")
export HOSTS HOST_SHELL
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
status=0
"$HOST_SHELL" "${hosts[0]}" "$(printf '%q ' "$@")" || status=$?
if [ -n "$delay" ]; then
  kill "$SWITCH_PID"
  wait "$SWITCH_PID" || { echo "network_hosts.sh: the switch failed" >&2; status=1; }
fi
exit $status
