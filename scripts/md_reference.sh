#!/bin/sh
# Regenerates the molecular dynamics inputs and reference values in apps/md/data with LAMMPS (Debian package lammps):
#   melt.data                  the classic melt: 4000 atoms, fcc, density 0.8442, T 3.0
#   melt_reference_thermo.txt  thermo values of steps 0..250 with 15 digits
#   melt_reference_energy.txt  the same over 10000 steps, to compare the energy drift
# Takes about 20 seconds. Usage: scripts/md_reference.sh [--keep-data]   (with it, melt.data stays as it is)
set -eu

data="$(cd "$(dirname "$0")/../apps/md/data" && pwd)"
if ! command -v lmp >/dev/null; then
  echo "md_reference.sh: lmp not found; install it with: apt-get install lammps" >&2
  exit 1
fi
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

if [ "${1:-}" != "--keep-data" ]; then
  cat > "$scratch/in.create" <<'END'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
write_data created.data nocoeff
END
  (cd "$scratch" && lmp -in in.create -log none -screen none)
  # Without the image flags, which are all 0, and with a title of our own.
  awk 'NR == 1 { print "The classic Lennard-Jones melt: fcc, density 0.8442, temperature 3.0 (made by scripts/md_reference.sh)"; next }
       section == "Atoms" && NF == 8 { print $1, $2, $3, $4, $5; next }
       NF && $1 ~ /^[A-Z]/ { section = $1 }
       { print }' "$scratch/created.data" > "$data/melt.data"
fi

# The thermo lines of a log: six numbers each.
thermo() {
  (cd "$data" && lmp -in in.melt -log "$scratch/log" -screen none -var steps "$1" -var every "$2" -var digits %.15g)
  echo "# LAMMPS $(lmp -h | sed -n 's/.*Simulator - //p'), one process; data/in.melt, $1 steps"
  echo "# Step Temp E_pair E_mol TotEng Press"
  awk '/^Step/ { on = 1; next } /^Loop/ { on = 0 } on { $1 = $1; print }' "$scratch/log"
}
thermo 250 50 > "$scratch/thermo"
thermo 10000 100 > "$scratch/energy"
mv "$scratch/thermo" "$data/melt_reference_thermo.txt"
mv "$scratch/energy" "$data/melt_reference_energy.txt"
echo "wrote melt.data, melt_reference_thermo.txt and melt_reference_energy.txt in $data"
