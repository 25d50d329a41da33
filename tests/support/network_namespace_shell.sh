#!/bin/sh
# In ssh's place, for `trireme run --rsh`, Open MPI's plm_rsh_agent and hydra's -launcher-exec: the hosts are network namespaces of
# this machine (ip netns add), each with a host name of its own. Options of ssh in front of the host (-x) are passed over. Needs root.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c "hostname '$host' && $*"
