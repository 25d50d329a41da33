#!/bin/sh
# Stands for ssh in tests: runs the command here, whatever the host is called. Some names behave as hosts in trouble do.
host=$1
shift
case $host in
  unreachable) echo "connect to host unreachable port 22: No route to host" >&2; exit 255 ;;
  reached_once)
    [ -e "$REACHED_MARK" ] && { echo "connect to host reached_once port 22: No route to host" >&2; exit 255; }
    true > "$REACHED_MARK" ;;
  silent) exec sleep 1000 ;;
  talkative) echo "Welcome! trireme-agent 0 is not installed here."; echo "Last login: yesterday" ;;
  surviving)
    sh -c 'echo "agent of surviving: $$" >&2; exec sh -c "$0"' "$*"
    exec 0<&- 1>&-; echo "the agent of surviving has ended" >&2; sleep 1000 & wait ;;
  shut) exec 0<&- 1>&-; sleep 1000 & wait ;;
  elsewhere) cd / && exec sh -c "PATH=/nowhere; $*" ;;
esac
echo "agent of $host: $$" >&2
exec sh -c "$*"
