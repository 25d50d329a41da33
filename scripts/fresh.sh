#!/usr/bin/env bash
# Tries the project as a stranger finds it: makes a minimal root, copies the commit HEAD into it and runs the commands of the
# README there, once as root and once as an ordinary user with sudo. What the machine's own folder holds besides, changes
# that are not committed and packages that happen to be installed, has no part in it. `make fresh` and .ci/run call it.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/fresh.sh [OPTION]...
  --suite NAME      release to make a root of, for example trixie (default: the release of this machine)
  --sources FILE    apt sources of the root, for a distribution that is not this machine's (one-line format; keys by signed-by)
                    (default: the sources of this machine, for the suite)
  --run COMMAND     run COMMAND in the copy of the tree instead of the default; may be given several times
  --as root|user    who runs them (default: root); user is an ordinary one with sudo
  --keep FOLDER     make the root in FOLDER and leave it there; if it is there already, use it as it is
  --cache FOLDER    where downloaded packages are kept (default: ~/.cache/trireme-fresh)
  --verbose         show what the commands print, not only of those that fail
Default: two minimal roots, in one of which root runs `make demo`, `make install` and the program of tests/install against the
installation, and a user with sudo runs the same in another order in the other. The compiler cache of this machine is used.
Examples:
  scripts/fresh.sh --run "make test"
  scripts/fresh.sh --keep /var/tmp/root --run "make demo" --run "make bench SUITES=messages"
  scripts/fresh.sh --suite trixie
TEXT
}

top=$(cd "$(dirname "$0")/.." && pwd)
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
own_suite=$suite
sources=
commands=()
as=root
keep=
cache=${XDG_CACHE_HOME:-$HOME/.cache}/trireme-fresh
verbose=false
arguments=("$@")
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) usage; exit 0 ;;
    --verbose) verbose=true; shift; continue ;;
    --suite | --sources | --run | --as | --keep | --cache)
      if [ $# -lt 2 ]; then echo "scripts/fresh.sh: $1 needs a value" >&2; usage >&2; exit 2; fi ;;
    *) echo "scripts/fresh.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
  esac
  case "$1" in
    --suite) suite=$2 ;;
    --sources) sources=$(realpath "$2") ;;
    --run) commands+=("$2") ;;
    --as) as=$2 ;;
    --keep) keep=$(realpath --canonicalize-missing "$2") ;;
    --cache) cache=$2 ;;
  esac
  shift 2
done
case "$as" in root | user) ;; *) echo "scripts/fresh.sh: --as is '$as'; it must be root or user" >&2; exit 2 ;; esac

skip() { echo "fresh: SKIPPED: $*"; exit 0; }

# The outer half: outside the mounts, so that it can remove the roots without a look at what was mounted there.
if [ -z "${TRIREME_FRESH_WORK:-}" ]; then
  if [ "$(id -u)" != 0 ]; then skip "only root can make a root folder of another system; try sudo make fresh"; fi
  if ! command -v mmdebstrap >/dev/null; then skip "mmdebstrap is not installed (scripts/deps.sh fresh)"; fi
  if ! unshare --mount --pid --fork true 2>/dev/null; then skip "this machine lets root make no mounts of its own"; fi
  work=$(mktemp -d "${TMPDIR:-/var/tmp}/trireme-fresh.XXXXXX")
  # What the inner half mounts and starts ends with it, and it ends with this one. (unshare passes on no other signal.)
  inner=
  trap 'if [ -n "$inner" ]; then kill -KILL "$inner" 2>/dev/null; wait "$inner" 2>/dev/null; fi || true
        rm -rf --one-file-system "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  TRIREME_FRESH_WORK=$work unshare --mount --pid --fork --kill-child --propagation private \
    "$0" ${arguments[@]+"${arguments[@]}"} &
  inner=$!
  status=0
  wait "$inner" || status=$?
  exit $status
fi

work=$TRIREME_FRESH_WORK
begin=$SECONDS
mkdir -p "$cache/$suite" "$cache/base-$suite"
cache=$(realpath "$cache")
git() { command git -c safe.directory='*' -C "$top" "$@"; }
say() { echo "fresh: $*"; }

# The sources of this machine with the name of the suite in place of its own.
list_sources() {
  if [ -n "$sources" ]; then cat "$sources"; return; fi
  # shellcheck disable=SC2016
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u |
    sed -n "s/^\(deb [^ ]*\) $own_suite\(-[a-z]*\)\? /\1 $suite\2 /p"
}
# Proxies, certificates and tolerances of this machine's apt.
list_apt_settings() {
  apt-config dump | grep -E '^Acquire::([a-z]+::(Proxy|Timeout|Verify-Peer|Verify-Host|CaInfo)|Check-Valid-Until|Check-Date|Retries|ForceIPv[46]|Languages)' || true
}

make_base() {
  local base=$1 keys
  list_sources >"$work/sources.list"
  if [ ! -s "$work/sources.list" ]; then
    echo "scripts/fresh.sh: this machine has no apt sources of $own_suite; --sources FILE names some" >&2
    exit 1
  fi
  list_apt_settings >"$work/apt.conf"
  # Packages are kept from one run to the next, outside the root. `make` is what a stranger types; passwd and sudo are for the user.
  if ! mmdebstrap --mode=root --variant=apt --include=make,passwd,sudo --aptopt="$work/apt.conf" \
    --skip=essential/unlink \
    --setup-hook="mkdir -p \"\$1/var/cache/apt\" && cp -a '$cache/base-$suite' \"\$1/var/cache/apt/archives\"" \
    --customize-hook="cp -u \"\$1\"/var/cache/apt/archives/*.deb '$cache/base-$suite/'" \
    "$suite" "$base" "$work/sources.list" >"$work/log" 2>&1; then
    tail -n 30 "$work/log" >&2
    echo "scripts/fresh.sh: mmdebstrap failed (its last lines are above)" >&2
    exit 1
  fi
  # shellcheck disable=SC2013
  for keys in $(sed -n 's/.*signed-by=\([^], ]*\).*/\1/p' "$work/sources.list"); do
    mkdir -p "$base$(dirname "$keys")" && cp "$keys" "$base$keys"
  done
  if grep -q 'https:' "$work/sources.list" "$work/apt.conf" && [ ! -e "$base/etc/ssl/certs/ca-certificates.crt" ]; then
    mkdir -p "$base/etc/ssl/certs" && cp -L /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/"
  fi
  # Certificate authorities that this machine trusts besides Debian's; `ca-certificates` in the root takes them in.
  if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
    mkdir -p "$base/usr/local/share/ca-certificates" && cp -L /usr/local/share/ca-certificates/*.crt "$base/usr/local/share/ca-certificates/"
  fi
  echo force-unsafe-io >"$base/etc/dpkg/dpkg.cfg.d/fast"
  chroot "$base" useradd --create-home --shell /bin/bash stranger
  echo 'stranger ALL=(ALL) NOPASSWD: ALL' >"$base/etc/sudoers.d/stranger"
  git bundle create --quiet "$work/tree.bundle" HEAD
  for home in root home/stranger; do
    command git -c advice.detachedHead=false clone --quiet "$work/tree.bundle" "$base/$home/trireme"
  done
  chroot "$base" chown -R stranger: /home/stranger/trireme
}

# Downloaded packages, as links where that can be. A folder that all roots mount would let one apt lock out the others.
copy_packages() {
  find "$1" -maxdepth 1 -name '*.deb' -exec cp --link --no-clobber -t "$2" {} + 2>/dev/null ||
    find "$1" -maxdepth 1 -name '*.deb' -exec cp --no-clobber -t "$2" {} +
}

mount_all() {
  local root=$1
  mount --bind "$root" "$root"  # its / is a mount, as a system's is: programs that want mounts of their own need that
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
  mkdir -p "$root/var/cache/apt/archives" "$root/var/cache/ccache"
  copy_packages "$cache/$suite" "$root/var/cache/apt/archives"
  # Compilers of the root may be newer than ccache's files; ccache sees that by itself.
  if command -v ccache >/dev/null; then
    ccache_folder=$(ccache --get-config cache_dir)
    mkdir -p "$ccache_folder" && mount --bind "$ccache_folder" "$root/var/cache/ccache"
  fi
  for file in resolv.conf hosts; do cp -L "/etc/$file" "$root/etc/$file"; done
}

# in_root ROOT WHO COMMAND: runs it in the copy of the tree.
in_root() {
  local root=$1 who=$2 command=$3 home=/root start=$SECONDS status=0
  local variables=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CCACHE_DIR=/var/cache/ccache)
  local change=()
  for variable in http_proxy https_proxy no_proxy PIP_CERT NODE_EXTRA_CA_CERTS SSL_CERT_FILE; do
    if [ -n "${!variable:-}" ]; then variables+=("$variable=${!variable}"); fi
  done
  if [ "$who" = user ]; then
    home=/home/stranger
    change=(--userspec=stranger:stranger)
    # The files of the cache belong to somebody else.
    variables+=(USER=stranger CCACHE_READONLY=1 CCACHE_NOSTATS=1 CCACHE_TEMPDIR=/tmp/ccache)
  fi
  printf 'fresh: %-4s  %-60s' "$who" "$command"
  if $verbose; then
    echo
    chroot "${change[@]}" "$root" env -i "HOME=$home" "${variables[@]}" bash -c "cd ~/trireme && $command" </dev/null || status=$?
  else
    chroot "${change[@]}" "$root" env -i "HOME=$home" "${variables[@]}" bash -c "cd ~/trireme && $command" \
      </dev/null >"$work/log" 2>&1 || status=$?
  fi
  copy_packages "$root/var/cache/apt/archives" "$cache/$suite"
  if [ $status != 0 ]; then
    echo " FAILED ($status, $((SECONDS - start)) s)"
    if ! $verbose; then tail -n 60 "$work/log" >&2; fi
    echo "fresh: failed: '$command' as $who on a minimal $suite" >&2
    exit 1
  fi
  echo " $((SECONDS - start)) s"
}

say "commit $(git rev-parse --short HEAD) on a minimal $suite"
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
  say "what is changed and not committed here takes no part"
fi

if [ -n "$keep" ] && [ -e "$keep/etc/debian_version" ]; then
  base=$keep
  say "using the root in $keep as it is, with the tree that it has"
else
  base=${keep:-$work/base}
  make_base "$base"
  say "made a root of $(du -sm --one-file-system "$base" | cut -f1) MB in $((SECONDS - begin)) s"
fi

if [ ${#commands[@]} -gt 0 ]; then
  mount_all "$base"
  for command in "${commands[@]}"; do in_root "$base" "$as" "$command"; done
else
  # What find_package finds, and that nothing is missing in an installation.
  program='cmake -S tests/install/program -B ~/program -DCMAKE_PREFIX_PATH=$PREFIX && cmake --build ~/program && ~/program/program'
  complete='$PREFIX/bin/trireme info && ls $PREFIX/lib/trireme/libtrireme-{mpi-openmpi,mpi-mpich,omp}.so'
  for who in root user; do
    cp -a "$base" "$work/$who"
    mount_all "$work/$who"
    prefix=/opt/trireme
    if [ $who = user ]; then prefix=/home/stranger/installed; fi
    if [ $who = root ]; then in_root "$work/$who" $who "make demo"; fi
    in_root "$work/$who" $who "make install PREFIX=$prefix"
    in_root "$work/$who" $who "PREFIX=$prefix; $complete"
    in_root "$work/$who" $who "PREFIX=$prefix; $program"
    if [ $who = user ]; then in_root "$work/$who" $who "make demo"; fi
  done
fi
say "passed in $((SECONDS - begin)) s"
