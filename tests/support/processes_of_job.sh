# For scripts that kill processes of jobs; to be sourced.

# children_of PROCESS: nothing without a number, for `pgrep -P 0` names the first processes of the machine.
children_of() { [ -n "${1:-}" ] && pgrep -P "$1"; }

# launcher_of JOB: what `timeout ... trireme run` at JOB has started, as soon as it has. Nothing: the job has ended.
launcher_of() {
  until pgrep -P "$1" | head -1 | grep .; do
    case "$(ps -o stat= -p "$1")" in "" | Z*) return 1 ;; esac
    sleep 0.005
  done
}
