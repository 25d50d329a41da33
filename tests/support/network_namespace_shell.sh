#!/bin/bash
# In ssh's place, for `trireme run --rsh`, Open MPI's plm_rsh_agent and hydra's -launcher-exec: the hosts are those of
# network_hosts.sh, or any network namespaces (ip netns add), each with a host name of its own. Options of ssh in front
# of the host (-x) are passed over. Needs root. What is started has the host's devices in /sys, where UCX looks for them.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
at=/run/netns/$host
shift
# Of a process of that host itself: it has all of it, and /sys cannot be mounted a second time.
[ "$(stat -Lc %i /proc/self/ns/net)" != "$(stat -Lc %i "$at")" ] || exec bash -c "$*"
enter=(nsenter --net="$at")
apart=(unshare --mount)
before="mount -t sysfs sysfs /sys"
# A command that runs on the host starts another there: its devices are seen already, and the kernel mounts them once.
[ "$(stat -Lc %i /proc/self/ns/net)" != "$(stat -Lc %i "$at")" ] || before=true
if [ -e "$at.uts" ]; then
  enter+=(--uts="$at.uts")
else
  apart+=(--uts)
  before+=" && hostname '$host'"
fi
if [ -e "$at.ipc" ]; then
  enter+=(--ipc="$at.ipc")
  before+=" && mount -t tmpfs tmpfs /dev/shm"
fi
exec "${enter[@]}" "${apart[@]}" bash -c "$before && $*"
