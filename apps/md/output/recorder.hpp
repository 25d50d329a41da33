// Everything that a run writes: thermo table, trajectory, restart files, progress line. One object on PE 0, to which
// the patches and pairs send what belongs to a step; they never wait for it. Steps are completed in any order and
// written in theirs.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "md/files/restart.hpp"
#include "md/files/trajectory.hpp"
#include "md/output/thermo.hpp"
#include "md/parallel/patch_object.hpp"

namespace md {

/// A sum over all patches or pairs, and the step it belongs to.
template <class T>
struct step_value {
  std::int64_t step = 0;
  T value{};
  friend step_value operator+(const step_value& a, const step_value& b) {
    step_value sum = a;
    sum.value += b.value;
    return sum;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(step, value);
  }
};

struct step_maximum {
  std::int64_t step = 0;
  double value = 0.0;
  friend bool operator<(const step_maximum& a, const step_maximum& b) { return a.value < b.value; }
};

/// Where the output goes.
struct output_files {
  std::string trajectory;
  trajectory_format format = trajectory_format::xyz;
  std::string restart;
  int thermo_digits = 8;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(trajectory, format, restart, thermo_digits);
  }
};

class recorder : public tri::object<recorder> {
 public:
  explicit recorder(output_files files);
  /// From PE 0. Throws std::runtime_error if a file cannot be opened.
  void open_files();

  // Entry methods.
  int connect(const tri::array<patch_object>& patches, std::int64_t atoms);
  void kinetic_total(const step_value<double>& total);
  void pair_total(const step_value<pair_sums>& total);
  /// Energy and virial of some rows of the charge mesh.
  void reciprocal_sums(std::int64_t step, int first_row, const tri::buffer<pair_sums>& sums);
  /// Every patch has done the step: the next one may begin.
  void step_ended(const step_maximum& step);
  /// The atoms of one patch; with where they were held at the last list build if the step writes a restart.
  void snapshot(std::int64_t step, std::int32_t steps_since_build, const tri::buffer<atom_record>& atoms,
                const tri::buffer<vec3>& held);
  /// The largest displacement of all atoms: decides on a list build.
  void displacement(const step_maximum& largest);
  void progress(std::int64_t step);
  /// It has the files.
  void describe_load(tri::load_description& load);
  /// Ends the progress line.
  int finish();

 private:
  struct thermo_parts {
    std::optional<double> mass_velocity_squared;
    std::optional<pair_sums> pairs;
    std::vector<pair_sums> mesh_rows;
    std::size_t rows_there = 0;
  };
  struct snapshot_parts {
    int patches = 0;
    std::int32_t steps_since_build = 0;
    std::vector<atom_record> atoms;
    std::vector<vec3> held;
  };
  void print_complete_rows();
  void answer_patches(std::int64_t step, int answer);
  void write_frame(std::int64_t step, const std::vector<atom_record>& atoms);
  void write_restart_file(std::int64_t step, snapshot_parts& parts);
  void erase_progress();

  output_files files_;
  tri::array<patch_object> patches_;
  std::size_t atom_count_ = 0;
  std::optional<trajectory_writer> trajectory_;
  std::map<std::int64_t, thermo_parts> rows_;
  std::map<std::int64_t, snapshot_parts> snapshots_;
  std::int64_t progress_shown_ns_ = 0;
  bool progress_line_ = false;
};

}  // namespace md
