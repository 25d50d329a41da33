# For scripts that start jobs and kill their processes; to be sourced.

# job "PROCESSES PES HOSTS" ARGUMENTS...: $program under $trireme, as so many processes of so many PEs on emulated hosts.
job() {
  local processes pes hosts
  read -r processes pes hosts <<< "$1"
  shift
  timeout 100 "$trireme" run -n "$processes" --pes "$pes" "$program" --tri-hosts="$hosts" "$@"
}

# children_of PROCESS: nothing without a number, for `pgrep -P 0` names the first processes of the machine.
children_of() { [ -n "${1:-}" ] && pgrep -P "$1"; }

# launcher_of JOB: what `timeout ... trireme run` at JOB has started, as soon as it has. Nothing: the job has ended.
launcher_of() {
  until pgrep -P "$1" | head -1 | grep .; do
    case "$(ps -o stat= -p "$1")" in "" | Z*) return 1 ;; esac
    sleep 0.005
  done
}
