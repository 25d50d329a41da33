#!/bin/sh
# A thread-local variable of the code that helpers run would be the helper's, not the owner's: none may be named in the
# objects that hold it. arena.cpp has the cache of a PE's thread, which the engine does not use; that it is found shows
# that we would find others.
# usage: no_thread_locals.sh READELF OBJECT...
readelf=$1
shift
faults=0
control=0
for object in "$@"; do
  found=$("$readelf" -sW "$object" | awk '$4 == "TLS" { print $8 }')
  case $object in
    */arena.cpp.o) [ -n "$found" ] && control=1 ;;
    *) [ -z "$found" ] || { echo "$object has or uses thread-local variables: $found"; faults=1; } ;;
  esac
done
[ "$control" = 1 ] || { echo "arena.cpp.o is not among the $# objects, or its thread-local variable was not found"; exit 1; }
exit $faults
