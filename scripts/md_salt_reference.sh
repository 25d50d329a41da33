#!/bin/sh
# Regenerates the charged input and reference values in apps/md/data with LAMMPS (Debian package lammps):
#   salt.data                  a molten salt: 480 ions of charge 2 and -2, density 0.6, temperature 1.5, box not a cube
#   salt_reference_thermo.txt  thermo values of steps 0..60 with 15 digits, all long-range forces by Ewald's sum
#   salt_reference_cutoff.txt  the same of steps 0..20 with Coulomb forces up to the cutoff
#   salt_reference_forces.txt  forces on the atoms at step 0, by Ewald's sum
# Takes about two minutes. Usage: scripts/md_salt_reference.sh [--keep-data]   (with it, salt.data stays as it is)
set -eu

data="$(cd "$(dirname "$0")/../apps/md/data" && pwd)"
if ! command -v lmp >/dev/null; then
  echo "md_salt_reference.sh: lmp not found; install it with: apt-get install lammps" >&2
  exit 1
fi
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

if [ "${1:-}" != "--keep-data" ]; then
  cat > "$scratch/in.create" <<'INPUT'
units lj
atom_style charge
lattice fcc 0.3
region box block 0 4 0 3 0 5
create_box 2 box
create_atoms 1 box
lattice fcc 0.3 origin 0.5 0 0
create_atoms 2 box
mass 1 1.0
mass 2 2.0
set type 1 charge 2.0
set type 2 charge -2.0
velocity all create 1.5 4711 loop geom
pair_style lj/cut/coul/long 2.5
pair_coeff 1 1 1.0 1.0
pair_coeff 2 2 0.6 1.2
kspace_style pppm 1e-4
timestep 0.002
fix 1 all nvt temp 1.5 1.5 0.2
run 5000
write_data created.data nocoeff
INPUT
  (cd "$scratch" && lmp -in in.create -log none -screen none)
  # In the order of the ids, and with a title and the coefficients of our own.
  {
    echo "A molten salt: 480 ions of charge 2 and -2, density 0.6, temperature 1.5 (made by scripts/md_salt_reference.sh)"
    sed -n '2,/^Masses/p' "$scratch/created.data"
    printf '\n1 1\n2 2\n\nPair Coeffs\n\n1 1.0 1.0\n2 0.6 1.2\n\nAtoms # charge\n\n'
    sed -n '/^Atoms/,/^Velocities/p' "$scratch/created.data" | grep '^[0-9]' | sort -n
    printf '\nVelocities\n\n'
    sed -n '/^Velocities/,$p' "$scratch/created.data" | grep '^[0-9]' | sort -n
  } > "$data/salt.data"
fi

# The thermo lines of a log: six numbers each.
thermo() {
  (cd "$data" && lmp -in in.salt -log "$scratch/log" -screen none -var digits %.15g "$@")
  echo "# LAMMPS $(lmp -h | sed -n 's/.*Simulator - //p'), one process; data/in.salt $*" | sed "s|$scratch/||"
  echo "# Step Temp E_pair E_mol TotEng Press"
  awk '/^Step/ { on = 1; next } /^Loop/ { on = 0 } on { $1 = $1; print }' "$scratch/log"
}
thermo -var forces "$scratch/dump" > "$scratch/thermo"
thermo -var charges cutoff -var steps 20 > "$scratch/cutoff"
{
  echo "# LAMMPS $(lmp -h | sed -n 's/.*Simulator - //p'), one process; data/in.salt, forces at step 0"
  echo "# Id Fx Fy Fz"
  awk '/^ITEM: TIMESTEP/ { if (++frames > 1) exit } /^ITEM: ATOMS/ { on = 1; next } on' "$scratch/dump"
} > "$scratch/forces"
mv "$scratch/thermo" "$data/salt_reference_thermo.txt"
mv "$scratch/cutoff" "$data/salt_reference_cutoff.txt"
mv "$scratch/forces" "$data/salt_reference_forces.txt"
echo "wrote salt.data and salt_reference_{thermo,cutoff,forces}.txt in $data"
