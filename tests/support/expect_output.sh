#!/usr/bin/env bash
# Runs a command, and passes when its exit status is the expected one and its output has what is expected. CTest's
# PASS_REGULAR_EXPRESSION would pass whatever the status is.
# Usage: expect_output.sh [--status N] EXPRESSION COMMAND [ARGUMENT ...]
#   --status N   the expected exit status (0)
#   EXPRESSION   a POSIX extended regular expression over all lines of standard output and standard error together: as
#                in CMake's, '.' is a newline too, and ^ and $ are the ends of all of it
# Ends with 1, and says why, when the command does not do so.
set -uo pipefail
expected=0
if [ "${1-}" = --status ]; then
  expected=${2-}
  shift 2
fi
[ $# -ge 2 ] && [[ $expected =~ ^[0-9]+$ ]] || { sed -n 4,7p "$0" | cut -c3- >&2; exit 2; }
expression=$1
shift

# Seen at once, also of a command that is ended for its time. Nothing is left, also when this is.
kept=$(mktemp)
exec 3>"$kept"
rm "$kept"
"$@" 2>&1 | tee /dev/fd/3
status=${PIPESTATUS[0]}
LC_ALL=C
[[ $(tr -d '\0' </dev/fd/3) =~ $expression ]]
found=$?
[ "$found" != 2 ] || { echo "expect_output.sh: '$expression' is no regular expression" >&2; exit 2; }
[ "$found" = 0 ] || echo "expect_output.sh: the output does not have '$expression'" >&2
[ "$status" = "$expected" ] || echo "expect_output.sh: the exit status is $status; it must be $expected" >&2
[ "$found" = 0 ] && [ "$status" = "$expected" ]
