#!/usr/bin/env bash
# What Slurm starts: an object program on two hosts, and MPI programs under the drop-in; ends by SIGKILL of a process
# and by scancel, after which nothing is left. Runs on the cluster of two hosts that cluster.sh makes.
# Usage: slurm_test.sh BUILD_FOLDER [openmpi] [mpich]     the MPIs whose programs and drop-ins were built
# Status 77, and why, where there can be no such cluster.
set -uo pipefail
here=$(realpath "$(dirname "$0")")
[ $# -ge 1 ] && [ -x "$1/bin/trireme" ] || { sed -n 4p "$0" | cut -c3- >&2; exit 2; }
build=$(realpath "$1")
if [ "${IN_SLURM_CLUSTER:-}" != yes ]; then
  export IN_SLURM_CLUSTER=yes
  exec "$here/cluster.sh" "$here/slurm_test.sh" "$@"
fi
unset IN_SLURM_CLUSTER
shift

ring=$build/examples/example_ring
md=("$build/apps/md/md" --data "$here/../../apps/md/data/melt.data" --steps 10000000)
programs=$build/tests/mpi/conformance
output=/run/output
export TRIREME_PES=1
export TRIREME_AFFINITY=none  # both hosts have the same cores; each would bind its first PE to the first of them
failures=0

fail() {
  echo "FAILED $name: $1"
  sed 's/^/    /' "$output"
  failures=$((failures + 1))
}
passed() { echo "passed $name"; }
run_srun() { timeout --kill-after 10 60 srun "$@" >"$output" 2>&1; }

# Until the condition is true; false after 30 s.
until_true() {
  for _ in {1..600}; do
    if "$@"; then return 0; fi
    sleep 0.05
  done
  return 1
}
# The processes of jobs: what slurmstepd has started, and itself. All processes of the cluster are in this namespace.
processes_of_jobs() {
  local process
  for process in /proc/[0-9]*; do
    # A process may end while it is looked at.
    case $(readlink "$process/exe" 2>/dev/null) in
      "$build"/* | */slurmstepd) echo "${process#/proc/} $(tr '\0' ' ' 2>/dev/null <"$process/cmdline")" ;;
    esac
  done
}
nothing_left() { [ -z "$(processes_of_jobs)" ] && [ -z "$(squeue --noheader)" ]; }
processes_of() {  # a program
  for process in /proc/[0-9]*; do
    [ "$(readlink "$process/exe" 2>/dev/null)" != "$1" ] || echo "${process#/proc/}"
  done
}
runs_on() { [ "$(processes_of "$1" | wc -l)" = "$2" ]; }
expect_nothing_left() {
  until_true nothing_left && return 0
  fail "processes or jobs are left: $(processes_of_jobs) $(squeue --noheader)"
  return 1
}

# NAME PATTERN... -- ARGUMENTS OF SRUN: ends with 0, and each pattern is in a line of its output.
ends_well() {
  name=$1
  shift
  local patterns=() pattern
  while [ "$1" != -- ]; do patterns+=("$1"); shift; done
  shift
  run_srun "$@" || { fail "srun ended with status $?"; return; }
  for pattern in "${patterns[@]}"; do
    grep -Eq -- "$pattern" "$output" || { fail "no line matches: $pattern"; return; }
  done
  expect_nothing_left && passed
}

# NAME PATTERN -- ARGUMENTS OF SRUN: ends with another status, and says the pattern.
ends_badly() {
  name=$1
  local pattern=$2 status=0
  shift 3
  run_srun "$@" || status=$?
  [ $status != 0 ] && [ $status != 124 ] || { fail "srun ended with status $status"; return; }
  grep -Eq -- "$pattern" "$output" || { fail "no line matches: $pattern"; return; }
  expect_nothing_left && passed
}

# NAME PROGRAM PROCESSES READY END PATTERN -- ARGUMENTS OF SRUN: END is called when all processes run and the output has
# the pattern READY; then the job ends with a status that is not 0 and the pattern.
ends_when() {
  name=$1
  local program=$2 processes=$3 ready=$4 end=$5 pattern=$6 status=0 started
  shift 7
  run_srun "$@" &
  started=$!
  all_run() { runs_on "$program" "$processes" && grep -Eq -- "$ready" "$output"; }
  until_true all_run || { fail "the job does not run"; scancel --user root; wait $started; return; }
  "$end" "$program"
  wait $started || status=$?
  [ $status != 0 ] && [ $status != 124 ] || { fail "srun ended with status $status"; return; }
  grep -Eq -- "$pattern" "$output" || { fail "no line matches: $pattern"; return; }
  expect_nothing_left && passed
}
kill_one() { kill -KILL "$(processes_of "$1" | tail -n 1)"; }
cancel() { scancel --user root; }

ring_lines=("the token ended at station 0" "1001 visits on 4 PEs")
for protocol in pmix pmi2; do
  ends_well "object program on two hosts, $protocol" "${ring_lines[@]}" -- --mpi=$protocol -N 2 -n 4 "$ring"
  ends_well "object program on two hosts, ranks dealt out in turn, $protocol" "${ring_lines[@]}" -- \
    --mpi=$protocol -N 2 -n 4 --distribution=cyclic "$ring"
  ends_well "object program on one host, $protocol" "${ring_lines[@]}" -- --mpi=$protocol -N 1 -n 4 "$ring"
  ends_when "a killed process of an object program, $protocol" "${md[0]}" 4 '^ +50 ' kill_one \
    '^srun: error: slurm-[ab]: task [0-3]: Killed' -- --mpi=$protocol -N 2 -n 4 "${md[@]}"
  ends_when "scancel of an object program, $protocol" "${md[0]}" 4 '^ +50 ' cancel 'CANCELLED' -- \
    --mpi=$protocol -N 2 -n 4 "${md[@]}"
done
# With --mpi=none Slurm sets no variable of these protocols, and each process is a job of its own; where there is
# PMI_RANK but no connection it must not be.
ends_well "object programs of one process each" "1001 visits on 1 PEs" -- --mpi=none -N 2 -n 2 "$ring"
ends_badly "an object program whose launcher speaks nothing that it knows" 'trireme does not speak its protocol' -- \
  --mpi=none -N 1 -n 2 env PMI_RANK=0 "$ring"

# What each library speaks: Debian's Open MPI PMIx alone, its MPICH PMI-1. When a rank of MPICH dies, srun waits for the
# others unless it is told otherwise.
for mpi in "$@"; do
  case $mpi in
    openmpi) options=(--mpi=pmix) ;;
    mpich) options=(--mpi=pmi2 --kill-on-bad-exit=1) ;;
  esac
  # Of the line of all ranks: messages sent inline, eager, by rendezvous, and received by the rank itself.
  ends_well "drop-in on one host, $mpi" 'traffic/2_ranks ok' '^ +all +[1-9][0-9]+ +[1-9][0-9]+ +[1-9][0-9]+ ' -- \
    "${options[@]}" -N 1 -n 2 "$build/bin/trireme" exec --stats "$programs/$mpi/traffic"
  # The library spins, two ranks to a core: few messages.
  ends_well "drop-in on two hosts, $mpi" 'traffic/4_ranks ok' '^MPI_COMM_WORLD +[1-9][0-9]+ +0 ' -- \
    "${options[@]}" -N 2 -n 4 "$build/bin/trireme" exec --stats "$programs/$mpi/traffic" --messages 2000
  ends_badly "a killed rank, $mpi" '^srun: error: slurm-a: task 1: Killed' -- \
    "${options[@]}" -N 1 -n 2 "$build/bin/trireme" exec "$programs/$mpi/endings" killed
  # Rank 0 kills the process of this number, and then all wait for messages that nobody sends.
  sleep infinity &
  disown  # or the shell says that it was killed
  CONFORMANCE_LAUNCHER=$! \
    ends_when "scancel of ranks, $mpi" "$programs/$mpi/deaths" 2 'some die: launcher' cancel 'CANCELLED' -- \
    "${options[@]}" -N 1 -n 2 "$build/bin/trireme" exec "$programs/$mpi/deaths" launcher
done
echo "$failures failed"
[ $failures = 0 ]
