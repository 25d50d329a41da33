#!/usr/bin/env bash
# What `make demo` says of a busy machine. Called by CTest with the file that demo.sh sources.
set -euo pipefail
source "${1:?usage: busy_cores_test.sh BUSY_CORES_SH}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
expect() { # WHAT IS EXPECTED
  if [ "$2" != "$3" ]; then
    echo "$1: '$2' instead of '$3'"
    failed=1
  fi
}

# user nice system idle iowait irq softirq steal guest guest_nice; two cores, 100 ticks each.
printf 'cpu 100 0 50 800 50 0 0 0 7 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\nintr 5\n' >"$work/before"
printf 'cpu 100 0 50 990 60 0 0 0 9 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\nintr 9\n' >"$work/idle"
printf 'cpu 140 5 65 890 60 10 20 10 9 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\nintr 9\n' >"$work/half"
expect "an idle machine" "$(busy_cores "$work/before" "$work/idle")" 0.00
expect "half of it" "$(busy_cores "$work/before" "$work/half")" 1.00
expect "no time between" "$(busy_cores "$work/before" "$work/before")" 0.00

expect "idle" "$(printf '0.10\n0.25\n0.15\n' | busy_warning)" ""
case $(printf '1.00\n0.50\n' | busy_warning) in
  "The machine is busy: other work keeps 0.8 of its "*" cores busy, so times and ratios are doubtful. Run it again when nothing else runs.") ;;
  *) echo "no warning"; failed=1 ;;
esac
case $(busy_cores_now "$work") in
  [0-9]*.[0-9][0-9]) ;;
  *) echo "busy_cores_now gives no number"; failed=1 ;;
esac
exit $failed
