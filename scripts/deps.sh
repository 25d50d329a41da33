#!/usr/bin/env bash
# Installs the Debian packages that a part of the project needs and that are missing. Safe to call again and again:
# when nothing is missing it asks dpkg once and prints nothing. Called by every target of the Makefile.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/deps.sh [--list] GROUP...
  build   compiler, build tools, and the libraries of all that Trireme consists of (both MPIs with their launchers, UCX,
          PMIx) and of its tests
  test    what the tests need besides: compilers and tools that drop-ins and omp-rewrite are tried with, and OpenBLAS,
          that LU is checked with and dense programs compute with
  bench   the peers that the benchmarks compare with
  demo    LAMMPS, the independent code that the demonstration is verified against
  check   formatter and linter
  results what draws the plots of docs/results.md
  docs    what builds the site of both books: Doxygen, and Python and npm for their packages
  fuzz    clang with libFuzzer, for the fuzz targets
  wheels  Python's pip, which brings the MPI libraries of PyPI
  python  Python with its headers and its pip, which brings what the Python package is built and tested with
  fresh   what makes the minimal root of `make fresh`
  aarch64 cross compiler, emulator and what unpacks the root of `make aarch64`
  slurm   Slurm and munge, which the Slurm test runs in namespaces; not in `all`, because where systemd runs Debian's
          packages start munge of their own
  deb     what makes packages; deb-test what installs them in a minimal root, and checks them
  all     all of these
  --list  print the packages of the groups instead of installing them
TEXT
}

# The names are those of Debian 12; where other releases have another one, it follows after a bar.
packages_of() {
  case "$1" in
    build) echo ninja-build cmake g++ make pkg-config ccache libhwloc-dev libcli11-dev libfmt-dev \
                nlohmann-json3-dev libucx-dev libpmix-dev libopenmpi-dev openmpi-bin libmpich-dev mpich libhdf5-dev libmetis-dev libfftw3-dev \
                libncurses-dev libotf2-trace-dev \
                libgtest-dev libgmock-dev ;;
    test) packages_of build; echo 'clang-16|clang' gfortran iproute2 mount libcereal-dev 'libomp-16-dev|libomp-dev' libopenblas-dev libsodium23 patch python3 python3-h5py python3-numpy otf2-tools git ;;
    bench) packages_of build; echo iproute2 mount libbenchmark-dev libmimalloc-dev libtbb-dev gfortran libarmci-mpi-dev \
                libcoarrays-openmpi-dev libglobalarrays-dev libopenblas-dev libscalapack-openmpi-dev ;;
    demo) packages_of build; echo lammps ;;
    check) packages_of test; packages_of bench; echo clang-format-16 clang-tidy-16 ;;
    results) echo python3 python3-matplotlib ;;
    docs) echo doxygen git python3 python3-venv; command -v npm >/dev/null || echo npm ;;  # others' nodejs brings npm along
    fuzz) packages_of build; echo clang-16 libclang-rt-16-dev ;;
    deb) packages_of build; echo dpkg-dev gzip ;;
    deb-test) packages_of deb; echo lintian mandoc man-db mmdebstrap ;;
    wheels) echo python3 python3-venv ;;
    python) packages_of build; echo python3 python3-dev python3-venv ;;
    fresh) echo mmdebstrap git ;;
    slurm) echo slurmctld slurmd slurm-client munge iproute2 mount ;;
    aarch64) echo ninja-build cmake make pkg-config ccache g++-aarch64-linux-gnu qemu-user mmdebstrap ;;
    all) packages_of test; packages_of bench; packages_of demo; packages_of check; packages_of fuzz; packages_of fresh; packages_of deb-test ;;
    *) echo "scripts/deps.sh: unknown group '$1'" >&2; usage >&2; exit 2 ;;
  esac
}

# Of names with bars between them: the first that can be installed, as far as apt knows any.
choose() {
  local names name
  IFS='|' read -ra names <<<"$1"
  for name in "${names[@]}"; do
    if apt-cache show "$name" >/dev/null 2>&1; then echo "$name"; return; fi
  done
  echo "${names[0]}"
}
choose_all() { local each; for each in "$@"; do choose "$each"; done; }

list_only=false
groups=()
for argument in "$@"; do
  case "$argument" in
    --list) list_only=true ;;
    -h | --help) usage; exit 0 ;;
    *) groups+=("$argument") ;;
  esac
done
if [ ${#groups[@]} -eq 0 ]; then usage >&2; exit 2; fi

wanted=""
for group in "${groups[@]}"; do wanted+=" $(packages_of "$group")"; done
mapfile -t wanted < <(tr ' ' '\n' <<<"$wanted" | sed '/^$/d' | sort -u)
if $list_only; then choose_all "${wanted[@]}"; exit 0; fi

if ! command -v dpkg-query >/dev/null; then
  echo "scripts/deps.sh: this is not a Debian system. Install the equivalents of these Debian packages," >&2
  echo "then call cmake directly (cmake --preset release): $(choose_all "${wanted[@]}" | xargs)" >&2
  exit 1
fi
# dpkg-query exits with 1 when it does not know a package; those are exactly the missing ones.
# shellcheck disable=SC2046
installed=" $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $(tr '|' ' ' <<<"${wanted[@]}") 2>/dev/null |
  sed -n 's/^installed //p' | xargs || true) "
missing=()
for each in "${wanted[@]}"; do
  IFS='|' read -ra names <<<"$each"
  for name in "${names[@]}"; do
    if [[ $installed == *" $name "* ]]; then continue 2; fi
  done
  missing+=("$each")
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

install="apt-get install -y --no-install-recommends"
if [ "$(id -u)" = 0 ]; then
  as_root=()
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
  as_root=(sudo)
else
  packages=$(choose_all "${missing[@]}" | xargs)
  echo "scripts/deps.sh: these Debian packages are missing, and neither root nor sudo is at hand: $packages" >&2
  echo "Have an administrator run:  apt-get update && $install $packages" >&2
  exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" </dev/null >"$log" 2>&1; }
give_up() {
  tail -n 20 "$log" >&2
  echo "scripts/deps.sh: apt-get failed (its last lines are above). By hand:  apt-get update && $install $packages" >&2
  exit 1
}
packages=$(choose_all "${missing[@]}" | xargs)
apt update || give_up
packages=$(choose_all "${missing[@]}" | xargs)  # again: only now apt knows the names
echo "installing missing Debian packages: $packages"
# shellcheck disable=SC2086
apt install --no-install-recommends $packages || give_up
