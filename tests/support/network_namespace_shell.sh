#!/bin/bash
# In ssh's place, for `trireme run --rsh`, Open MPI's plm_rsh_agent and hydra's -launcher-exec: the hosts are those of
# network_hosts.sh. Options of ssh in front of the host (-x) are passed over. Needs root. What is started has the
# host's devices in /sys, where UCX looks for them.
while [ "${1#-}" != "$1" ]; do shift; done
at=/run/netns/$1
shift
enter=(nsenter --net="$at")
if [ -e "$at.uts" ]; then enter+=(--uts="$at.uts"); fi
mounts="mount -t sysfs sysfs /sys"
if [ -e "$at.ipc" ]; then
  enter+=(--ipc="$at.ipc")
  mounts+=" && mount -t tmpfs tmpfs /dev/shm"
fi
exec "${enter[@]}" unshare --mount bash -c "$mounts && $*"
