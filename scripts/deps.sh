#!/usr/bin/env bash
# Installs the Debian packages that a part of the project needs and that are missing. Safe to call again and again:
# when nothing is missing it asks dpkg once and prints nothing. Called by every target of the Makefile.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/deps.sh [--list] GROUP...
  build   compiler, build tools, libraries of Trireme and of its tests
  test    what the tests need besides: what the OpenMP drop-in and omp-rewrite are tried with (clang, gfortran, two MPIs),
          and OpenBLAS, that LU is checked with
  bench   the peers that the benchmarks compare with
  demo    LAMMPS, the independent code that the demonstration is verified against
  check   formatter and linter
  all     all of these
  --list  print the packages of the groups instead of installing them
TEXT
}

packages_of() {
  case "$1" in
    build) echo ninja-build cmake g++ make pkg-config ccache libhwloc-dev libcereal-dev libcli11-dev libfmt-dev \
                nlohmann-json3-dev libucx-dev libpmix-dev libgtest-dev libgmock-dev ;;
    test) packages_of build; echo clang-16 gfortran iproute2 libomp-16-dev libopenblas-dev patch \
                libopenmpi-dev openmpi-bin libmpich-dev mpich ;;
    bench) packages_of build; echo libbenchmark-dev libmimalloc-dev libtbb-dev ;;
    demo) packages_of build; echo lammps ;;
    check) packages_of test; packages_of bench; echo clang-16 clang-format-16 clang-tidy-16 python3 git ;;
    all) packages_of test; packages_of bench; packages_of demo; packages_of check ;;
    *) echo "scripts/deps.sh: unknown group '$1'" >&2; usage >&2; exit 2 ;;
  esac
}

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
wanted=$(tr ' ' '\n' <<<"$wanted" | sed '/^$/d' | sort -u)
if $list_only; then echo "$wanted"; exit 0; fi

if ! command -v dpkg-query >/dev/null; then
  echo "scripts/deps.sh: this is not a Debian system. Install the equivalents of these Debian packages," >&2
  echo "then call cmake directly (cmake --preset release): $(xargs <<<"$wanted")" >&2
  exit 1
fi
# dpkg-query exits with 1 when it does not know a package; those are exactly the missing ones.
# shellcheck disable=SC2086
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p' | sort -u || true)
missing=$(comm -23 <(echo "$wanted") <(echo "$installed") | xargs)
if [ -z "$missing" ]; then exit 0; fi

command="apt-get install -y --no-install-recommends $missing"
if [ "$(id -u)" = 0 ]; then
  as_root=()
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
  as_root=(sudo)
else
  echo "scripts/deps.sh: these Debian packages are missing, and neither root nor sudo is at hand: $missing" >&2
  echo "Have an administrator run:  apt-get update && $command" >&2
  exit 1
fi

echo "installing missing Debian packages: $missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" </dev/null >"$log" 2>&1; }
# shellcheck disable=SC2086
if ! { apt update && apt install --no-install-recommends $missing; }; then
  tail -n 20 "$log" >&2
  echo "scripts/deps.sh: apt-get failed (its last lines are above). By hand:  apt-get update && $command" >&2
  exit 1
fi
