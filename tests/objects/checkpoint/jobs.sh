#!/bin/bash
# usage: jobs.sh TRIREME PROGRAM OTHER_PROGRAM
# Jobs of several processes and hosts: the same bits after restarts on other numbers of them, and a line for each folder
# that cannot be used.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../../support/jobs.sh"
trireme=$1 program=$2 other=$3
place=$(mktemp -d /tmp/trireme_checkpoint_jobs_XXXXXX)
trap 'rm -rf "$place"' EXIT
failures=0

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
came_from() { sed 's/ with [0-9]* PEs$//' <<< "$found"; }

steps=60
expected=$("$program" --tri-pes=1 "$place/unused" $steps 0) || fail "the run without checkpoints"
echo "expected: $expected"

from=("1 1 1" "1 3 1" "2 2 1" "2 1 2" "4 1 2" "3 2 3")
to=("2 2 2" "2 1 1" "1 3 1" "4 2 2" "1 1 1" "3 2 3")
for i in "${!from[@]}"; do
  job "${from[i]}" "$place/ckpt" $steps 8 30 || fail "writing on ${from[i]}"
  found=$(job "${to[i]}" --tri-restart="$place/ckpt" "$place/ckpt" $steps 7) || fail "restart on ${to[i]}"
  [ "$(came_from)" = "goes on from step 24"$'\n'"$expected" ] || fail "from ${from[i]} to ${to[i]}: $found"
  # Those of the restarted job.
  found=$(job "${from[i]}" --tri-restart="$place/ckpt" "$place/ckpt" $steps 0)
  [ "$(came_from)" = "goes on from step 56"$'\n'"$expected" ] || fail "from ${to[i]} back to ${from[i]}: $found"
done

# refused "PROCESSES PES HOSTS" TEXT ARGUMENTS...: ends with status 1 and one line that has the text
refused() {
  local where=$1 text=$2 output status
  shift 2
  output=$(job "$where" "$@" 2>&1)
  status=$?
  [ $status -eq 1 ] || fail "status $status instead of 1 with: $text"
  [[ $output == *"$text"* ]] || fail "no '$text' in: $output"
  [ "$(grep -c 'cannot restart' <<< "$output")" -le 1 ] || fail "more than one line: $output"
}

job "2 2 1" "$place/ckpt" 20 20 > /dev/null || fail "writing"
states=$(echo "$place"/ckpt/states-*)
refused "1 1 1" "cannot restart: $place/none: cannot be read: No such file or directory" --tri-restart="$place/none" x 1 1
mkdir "$place/empty"
refused "2 1 2" "has no checkpoint: there is no file 'manifest' in it" --tri-restart="$place/empty" x 1 1
own=$program program=$other
refused "1 1 1" "was written by another program, or by another version of this one" --tri-restart="$place/ckpt" x 1 1
program=$own

cp -r "$place/ckpt" "$place/damaged"
damaged="$place/damaged/$(basename "$states")"
printf 'x' | dd of="$damaged/pe-2" bs=1 seek=200 conv=notrunc status=none
refused "2 2 1" "$damaged/pe-2: is damaged: the checksum of record 0 is wrong" --tri-restart="$place/damaged" x 1 1
refused "3 1 3" "$damaged/pe-2: is damaged: the checksum of record 0 is wrong" --tri-restart="$place/damaged" x 1 1
truncate -s -1 "$damaged/pe-2"
refused "1 2 1" "the manifest says" --tri-restart="$place/damaged" x 1 1
rm "$damaged/pe-2"
refused "1 2 1" "$damaged/pe-2: cannot be read: No such file or directory" --tri-restart="$place/damaged" x 1 1
rm "$damaged/job"
refused "1 2 1" "$damaged/job: cannot be read: No such file or directory" --tri-restart="$place/damaged" x 1 1
head -c 100 "$place/ckpt/manifest" > "$place/damaged/manifest"
refused "1 2 1" "manifest: is damaged: its end is missing" --tri-restart="$place/damaged" x 1 1

job "1 3 1" --no-shrink "$place/members" || fail "writing a group"
refused "1 2 1" "counter has the state of 3 PEs, and this job has only 2: its class must say" \
  --tri-restart="$place/members" --no-shrink x
job "1 4 1" --tri-restart="$place/members" --no-shrink x || fail "a group on more PEs"
job "1 3 1" --fixed-map "$place/map" || fail "writing an array with a map"
refused "1 1 1" "block: placement map: element (1) was put on PE 1; there are PEs 0..0" \
  --tri-restart="$place/map" --fixed-map x
for i in 1 2 3 4 5; do
  job "3 1 2" --seeds "$place/seeds" || fail "while PEs ask for seeds"
done
refused "2 1 1" "only for programs of tri::run" --everywhere "$place/everywhere"
refused "2 1 1" "only programs of tri::run can be restarted" --tri-restart="$place/ckpt" --everywhere x

# Nothing of all that has changed the checkpoint.
found=$(job "2 1 2" --tri-restart="$place/ckpt" "$place/ckpt" $steps 0)
[ "$(came_from)" = "goes on from step 20"$'\n'"$expected" ] || fail "at the end: $found"

# A full disk, for which a limit on the size of files stands.
output=$(CHECKPOINT_TEST_FILE_BYTES=1000 job "1 2 1" --tri-restart="$place/ckpt" "$place/ckpt" $steps 1 2>&1)
[[ $output == *"cannot be written: File too large"* ]] || fail "no line for a full disk: $output"
[ "$(ls "$place/ckpt")" = "manifest"$'\n'"$(basename "$states")" ] || fail "left in the folder: $(ls "$place/ckpt")"

[ $failures -eq 0 ] && echo "all passed"
exit $((failures != 0))
