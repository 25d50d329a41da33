# How many cores are busy, for programs that time something; sourced by demo.sh. The load average would not do: it still
# counts the compilation that came before.

# busy_cores BEFORE AFTER: two copies of /proc/stat. Time that the hypervisor gave to others (steal) is busy, too.
busy_cores() {
  awk '
    FNR == 1 { ++file }
    $1 == "cpu" { for (i = 2; i <= 9; ++i) total[file] += $i; idle[file] = $5 + $6 }
    /^cpu[0-9]/ && file == 2 { ++cores }
    END {
      passed = total[2] - total[1]
      printf "%.2f\n", (passed > 0 ? cores * (1 - (idle[2] - idle[1]) / passed) : 0)
    }' "$1" "$2"
}

# busy_cores_now FOLDER: during a third of a second in which the caller does nothing. The folder is for two files.
busy_cores_now() {
  cp /proc/stat "$1/stat.before"
  sleep 0.3
  cp /proc/stat "$1/stat.after"
  busy_cores "$1/stat.before" "$1/stat.after"
}

# busy_warning: reads numbers of busy cores; one line when they are so many that times are doubtful.
busy_warning() {
  awk -v cores="$(grep -c '^cpu[0-9]' /proc/stat)" '
    { sum += $1 }
    END {
      if (NR > 0 && sum / NR >= 0.2)
        printf "The machine is busy: other work keeps %.1f of its %d cores busy, so times and ratios are doubtful. Run it again when nothing else runs.\n", sum / NR, cores
    }'
}
