#!/usr/bin/env bash
# Runs a command beside hosts that are network namespaces of this machine: what they share is the file system, as on a
# cluster. Needs root. In the environment of the command, which runs on the first of them:
#   HOSTS        their names, with commas between
#   HOST_SHELL   a remote shell for them (network_namespace_shell.sh)
# Usage: network_hosts.sh COUNT COMMAND [ARGUMENT ...]
# Status 77, and why, where namespaces cannot be made.
set -euo pipefail
[ $# -ge 2 ] || { sed -n 2,7p "$0" | cut -c3- >&2; exit 2; }
count=$1
shift

skip() { echo "network_hosts.sh: $1" >&2; exit 77; }
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "the command ip is missing (Debian's package iproute2)"

net="trireme-$$"
hosts=()
for ((i = 1; i <= count; ++i)); do hosts+=("$net-$i"); done
remove() {
  for name in "${hosts[@]}" "$net"; do
    # Of Open MPI a daemon may be left that waits for its launcher.
    ip netns pids "$name" 2>/dev/null | xargs -r kill -9 2>/dev/null || true
    ip netns delete "$name" 2>/dev/null || true
    rm -rf "/etc/netns/$name"
  done
}
trap remove EXIT
trap 'exit 130' INT TERM

# A namespace of its own is the switch: the machine's own network sees nothing of it.
ip netns add "$net" 2>/dev/null || skip "ip netns add is not permitted here"
ip -n "$net" link add switch type bridge 2>/dev/null || skip "bridges are not to be had here"
ip -n "$net" link set switch up
for ((i = 1; i <= count; ++i)); do
  host=${hosts[i - 1]}
  # `ip netns exec` shows the files of this folder in /etc: there the hosts find each other by name.
  mkdir -p "/etc/netns/$host"
  { echo "127.0.0.1 localhost"; for ((j = 1; j <= count; ++j)); do echo "10.231.8.$j ${hosts[j - 1]}"; done; } > "/etc/netns/$host/hosts"
  ip netns add "$host"
  ip link add eth0 netns "$host" type veth peer name "port$i" netns "$net" || skip "veth devices are not to be had here"
  ip -n "$net" link set "port$i" master switch up
  ip -n "$host" address add "10.231.8.$i/24" dev eth0
  ip -n "$host" link set lo up
  ip -n "$host" link set eth0 up
done
# A device is there a moment before it can be used.
for host in "${hosts[@]}"; do
  for _ in {1..100}; do ip -n "$host" link show eth0 | grep -q "state UP" && break; sleep 0.02; done
done

HOSTS=$(IFS=,; echo "${hosts[*]}")
HOST_SHELL=$(realpath "$(dirname "$0")/network_namespace_shell.sh")
export HOSTS HOST_SHELL
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ip netns exec "${hosts[0]}" unshare --uts sh -c 'hostname "$0" && exec "$@"' "${hosts[0]}" "$@"
