#!/usr/bin/env bash
# Runs a command on a Slurm cluster of two hosts, slurm-a (where it runs) and slurm-b: network namespaces of this
# machine with a cable (veth) between them, a host name each, and the daemons of Debian's packages. Needs root.
# Usage: cluster.sh COMMAND [ARGUMENT...]
#   cluster.sh srun --mpi=pmix -N 2 -n 4 build/release/examples/example_ring --tri-pes 1
# Daemons, mounts and networks live in namespaces that end with the first process in them, so nothing is left however
# this ends, and the machine's own Slurm and munge, their settings and their logs are neither seen nor touched.
# Status 77, and why, where a package is missing or namespaces cannot be made.
set -euo pipefail

fail() { echo "cluster.sh: $1" >&2; exit 1; }
skip() { echo "cluster.sh: $1" >&2; exit 77; }

if [ "${IN_NAMESPACES_OF_SLURM:-}" != yes ]; then
  [ $# -gt 0 ] || { sed -n 2,8p "$0" | cut -c3- >&2; exit 2; }
  [ "$(id -u)" = 0 ] || skip "a Slurm cluster of namespaces needs root"
  for each in slurmctld:slurmctld slurmd:slurmd srun:slurm-client munged:munge ip:iproute2; do
    PATH=$PATH:/usr/sbin command -v "${each%:*}" >/dev/null ||
      skip "the command ${each%:*} is missing (Debian's package ${each#*:}); scripts/deps.sh slurm installs all"
  done
  namespaces=(unshare --mount --pid --fork --kill-child --mount-proc --net --uts --ipc)
  refusal=$("${namespaces[@]}" true 2>&1) || skip "namespaces cannot be made here: $refusal"
  # When this process ends, by whatever signal, the first process in the namespaces is killed, and with it all of them.
  export IN_NAMESPACES_OF_SLURM=yes
  exec 3<&0
  setpriv --pdeathsig KILL "${namespaces[@]}" "$0" "$@" <&3 &
  child=$!
  trap 'kill -KILL $child 2>/dev/null || true' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  status=0
  wait $child || status=$?
  trap - EXIT
  exit $status
fi

unset IN_NAMESPACES_OF_SLURM
export PATH=$PATH:/usr/sbin:/sbin
for folder in /run /etc/slurm /etc/munge /var/spool /var/log /var/lib/munge /var/lib/slurm /dev/shm; do
  [ -d "$folder" ] || continue
  mount -t tmpfs -o mode=755 none "$folder" 2>/run/refusal || skip "a tmpfs cannot be mounted here: $(cat /run/refusal)"
done
mkdir -m 1777 /run/tmp /run/tmp-slurm-a /run/tmp-slurm-b
export TMPDIR=/run/tmp

hosts=(slurm-a slurm-b)
address=10.231.8.
{
  echo 127.0.0.1 localhost
  for i in 0 1; do echo "$address$((i + 1)) ${hosts[i]}"; done
} >/run/hosts
mount --bind /run/hosts /etc/hosts
for host in "${hosts[@]}"; do ip netns add "$host" || skip "ip netns add is not permitted here"; done
ip link add cable netns "${hosts[0]}" type veth peer name cable netns "${hosts[1]}" ||
  skip "veth devices are not to be had here"
for i in 0 1; do
  ip -n "${hosts[i]}" address add "$address$((i + 1))/24" dev cable
  ip -n "${hosts[i]}" link set lo up
  ip -n "${hosts[i]}" link set cable up
done

# No control groups and no accounting: both would reach out of the namespaces. The hosts have the cores of this machine,
# so Slurm is told how many there are.
cat >/etc/slurm/slurm.conf <<CONF
ClusterName=trireme
SlurmctldHost=${hosts[0]}(${address}1)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd-%n
TmpFS=/run/tmp-%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd-%n.pid
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd-%n.log
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
NodeName=${hosts[0]} NodeAddr=${address}1 CPUs=4
NodeName=${hosts[1]} NodeAddr=${address}2 CPUs=4
PartitionName=all Nodes=ALL Default=YES
CONF
# slurmd insists on a control group plug-in; that of version 1 does nothing unless a part of Slurm asks it to.
echo CgroupPlugin=cgroup/v1 >/etc/slurm/cgroup.conf
install -m 600 /dev/null /etc/munge/munge.key
head -c 128 /dev/urandom >/etc/munge/munge.key
mkdir /run/munge /var/spool/slurmctld
for folder in /run/munge /var/lib/munge /var/log; do chmod 755 "$folder"; done

on() {
  local host=$1
  shift
  # shellcheck disable=SC2016
  ip netns exec "$host" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$host" "$@"
}
# Waits for a daemon, which has no other way of saying that it is ready; after half a minute the logs say why it is not.
until_true() {
  for _ in {1..300}; do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  tail -n 30 /var/log/*.log >&2
  fail "after 30 s this still fails: $*"
}
munged --foreground >/var/log/munged.log 2>&1 &
until_true sh -c 'munge -n | unmunge'
on "${hosts[0]}" slurmctld -D >/dev/null 2>&1 &
for host in "${hosts[@]}"; do on "$host" slurmd -D >/dev/null 2>&1 & done
all_idle() { [ "$(on "${hosts[0]}" sinfo --noheader --states idle --format %D)" = 2 ]; }
until_true all_idle

status=0
on "${hosts[0]}" "$@" || status=$?
exit $status
