#!/usr/bin/env bash
# md on two hosts that are network namespaces of this machine, with a cable (veth) between them: what they share is the
# file system, as on a cluster. Needs root. Usage: two_hosts.sh <build folder> [options of md ...]
# Status 77, and why, where namespaces cannot be made.
set -euo pipefail
[ $# -ge 1 ] || { sed -n 2,4p "$0" | cut -c3- >&2; exit 2; }
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
shift
[ $# -gt 0 ] || set -- --data "$here/data/melt.data"

skip() { echo "two_hosts.sh: $1" >&2; exit 77; }
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "the command ip is missing (Debian's package iproute2)"
hosts=("trireme-a-$$" "trireme-b-$$")
remove() { for host in "${hosts[@]}"; do ip netns delete "$host" 2>/dev/null || true; done; }
trap remove EXIT
trap 'exit 130' INT TERM
for i in 0 1; do ip netns add "${hosts[i]}" 2>/dev/null || skip "ip netns add is not permitted here"; done
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

"$build/bin/trireme" run -n 2 --pes 1 --rsh "$here/../../tests/support/network_namespace_shell.sh" \
  --hosts "${hosts[0]},${hosts[1]}" "$build/apps/md/md" "$@"
