#!/bin/sh
# For `trireme run --rsh`: the hosts are network namespaces of this machine (ip netns add). Needs root.
host=$1
shift
exec ip netns exec "$host" sh -c "$*"
