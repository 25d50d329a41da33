#!/usr/bin/env bash
# Installs the Debian packages (`make deb`) in a minimal root, as a stranger would, and tries them there: the command, its
# manual, completion in bash, MPI programs of both MPIs under the drop-in, object programs, a program built by
# find_package(trireme) and one by pkg-config; then removes the packages again. Needs root and the network; skipped (77)
# without. Nothing remains: the mounts are those of a namespace that ends with this script.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 2 ] || { echo "usage: scripts/deb_test.sh LIBTRIREME-DEV.deb TRIREME.deb" >&2; exit 2; }
skip() { echo "SKIPPED: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "scripts/deb_test.sh makes a root file system and enters it; run it as root"
for tool in mmdebstrap unshare lintian; do
  command -v $tool >/dev/null || skip "$tool is not installed; \`scripts/deps.sh deb-test\` installs it"
done

echo "== lintian"
lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$@"

# shellcheck source=/dev/null
. /etc/os-release
work=$(mktemp -d)
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
echo "== a minimal root of $VERSION_CODENAME"
sources=(/etc/apt/sources.list.d/debian.sources)
[ -f "${sources[0]}" ] || sources=(/etc/apt/sources.list)
mmdebstrap --quiet --mode=root --variant=apt --include=ca-certificates "$VERSION_CODENAME" "$root" "${sources[@]}"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mkdir "$root/try"
cp "$@" "$root/try"
cp -r tests/install/program "$root/try/program"
cp examples/ring.cpp "$root/try"
# A root without compilers of MPI: programs come from elsewhere, as the users' do.
for mpi in openmpi mpich; do
  mpicc.$mpi tests/mpi/conformance/programs/bootstrap.c -o "$root/try/bootstrap_$mpi"
done

cat >"$root/try/inside.sh" <<'INSIDE'
set -euo pipefail
cd /try
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
# Minimal roots leave out manuals; those of Trireme are looked at.
printf 'path-include=/usr/share/man/*/*trireme*\n' >/etc/dpkg/dpkg.cfg.d/zz-trireme
quiet() { "$@" >log 2>&1 || { tail -n 40 log; exit 1; }; }
quiet apt-get -q update
says() {  # WORDS COMMAND...: the command succeeds and prints the words
  local words=$1; shift
  "$@" >log 2>&1 || { echo "failed ($?): $*"; cat log; exit 1; }
  grep -qF -- "$words" log || { echo "'$words' is not in what this printed: $*"; cat log; exit 1; }
  echo "ok: $*"
}

echo "== the package trireme alone, with its dependencies only"
quiet apt-get -q -y install --no-install-recommends ./trireme_*.deb
for absent in libopenmpi3 libmpich12 libtbb12 g++; do
  ! dpkg-query -W -f '${db:Status-Status}' $absent 2>/dev/null | grep -qx installed || { echo "$absent was installed, too"; exit 1; }
done
says "trireme 0" trireme --version
says "Topology" trireme info
says "libucp.so.0" ldconfig -p
says "libpmix.so.2" ldconfig -p

echo "== manual and completion"
quiet apt-get -q -y install --no-install-recommends man-db bash-completion
says "trireme run [options] [--] program [arguments]" env MANWIDTH=120 man -P cat trireme-run
says "message-driven objects, parallel loops, accelerators for MPI and OpenMP programs" man -P cat trireme
says "TRIREME_PES" man -P cat 7 trireme-config
cat >completion.bash <<'BASH'
. /usr/share/bash-completion/bash_completion
_completion_loader trireme
COMP_WORDS=(trireme ru); COMP_CWORD=1; COMP_LINE='trireme ru'; COMP_POINT=10
_trireme
echo "offers ${COMPREPLY[*]}"
BASH
says "offers run" bash --norc completion.bash

echo "== MPI programs"
quiet apt-get -q -y install --no-install-recommends openmpi-bin mpich
for mpi in openmpi mpich; do
  says "messages" mpirun.$mpi -n 2 trireme exec --mpi --stats -- ./bootstrap_$mpi
done

echo "== programs that use the library"
quiet apt-get -q -y install --no-install-recommends ./libtrireme-dev_*.deb g++ cmake ninja-build
quiet cmake -G Ninja -S program -B build
quiet cmake --build build
says "trireme 0" build/program
# shellcheck disable=SC2046
quiet g++ -std=c++20 program/program.cpp -o by_pkg_config $(pkg-config --cflags --libs trireme)
says "trireme 0" ./by_pkg_config
quiet g++ -std=c++20 -O1 ring.cpp -o ring $(pkg-config --cflags --libs trireme)
for program in build/program by_pkg_config ring; do
  ! readelf -d $program | grep -E 'R(UN)?PATH' || { echo "$program has a search path for libraries"; exit 1; }
done
says "visits" trireme run -n 2 --pes 1 ./ring
says "visits" mpirun.openmpi -n 2 ./ring --tri-pes 1
says "visits" mpirun.mpich -n 2 ./ring --tri-pes 1 --tri-hosts 2 --tri-wire mpi

printf 'int main() { double sum = 0;\n#pragma omp parallel for schedule(dynamic) reduction(+ : sum)\n%s\n' \
  'for (int i = 0; i < 1000; ++i) sum += i; return sum != 499500; }' >loop.c
quiet g++ -fopenmp loop.c -o loop
says "loops intercepted 1" trireme exec --omp --report -- ./loop

echo "== removed again"
quiet apt-get -q -y purge trireme libtrireme-dev
remaining=$(find / -xdev \( -path /try -o -path /proc -o -path /var/cache/man -o -path /etc/dpkg/dpkg.cfg.d \) -prune \
  -o -name '*trireme*' -print)
[ -z "$remaining" ] || { echo "these files remained: $remaining"; exit 1; }
INSIDE
# Processes, mounts and System V segments of its own: all of it ends with this.
unshare --mount --pid --ipc --fork --kill-child --mount-proc=/proc bash -euc '
  root=$1
  mount -t proc proc "$root/proc"
  mount --rbind --make-rslave /sys "$root/sys"
  mount -t tmpfs tmpfs "$root/dev"
  for each in null zero full random urandom tty; do touch "$root/dev/$each"; mount --bind "/dev/$each" "$root/dev/$each"; done
  mkdir "$root/dev/shm" "$root/dev/pts"; mount -t tmpfs tmpfs "$root/dev/shm"
  ln -s /proc/self/fd "$root/dev/fd"; ln -s fd/0 "$root/dev/stdin"; ln -s fd/1 "$root/dev/stdout"; ln -s fd/2 "$root/dev/stderr"
  exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root bash /try/inside.sh' bash "$root"
echo "the packages work in a minimal root of $VERSION_CODENAME"
