// See lammps_data.hpp. The reader goes through the file once; every number is checked when read, so that each message
// can name its line.
#include "md/files/lammps_data.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "md/system/system_check.hpp"

namespace md {
namespace {

using words = std::vector<std::string_view>;

words split(std::string_view line) {
  line = line.substr(0, line.find('#'));
  constexpr std::string_view blanks = " \t\r\n\v\f";
  words result;
  for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    result.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(blanks, end);
  }
  return result;
}

class reader {
 public:
  reader(std::istream& in, std::string name) : in_(in), name_(std::move(name)) {}

  atom_system read() {
    if (!std::getline(in_, line_)) fail("the file is empty; expected a title line, which LAMMPS ignores");
    ++line_number_;
    read_header();
    while (!words_.empty()) read_section();
    check_complete();
    if (const std::string problem = problem_of(system_); !problem.empty())
      throw data_file_error(fmt::format("{}: {}", name_, problem));
    std::sort(system_.atoms.begin(), system_.atoms.end(),
              [](const atom_record& a, const atom_record& b) { return a.id < b.id; });
    return std::move(system_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw data_file_error(fmt::format("{}:{}: {}", name_, line_number_, what));
  }

  /// The next line with words on it; none at the end of the file.
  void next_line() {
    words_.clear();
    while (words_.empty() && std::getline(in_, line_)) {
      ++line_number_;
      words_ = split(line_);
    }
  }

  template <class T>
  T number(std::string_view word, const char* meaning) const {
    T value{};
    const char* const end = word.data() + word.size();
    const char* const begin = word.data() + (word.size() > 1 && word[0] == '+' ? 1 : 0);
    const auto [stop, error] = std::from_chars(begin, end, value);
    bool good = error == std::errc{} && stop == end;
    if constexpr (std::is_floating_point_v<T>) good = good && std::isfinite(value);
    if (!good) {
      fail(fmt::format("'{}' is not {} ({})", word, std::is_floating_point_v<T> ? "a finite number" : "an integer",
                       meaning));
    }
    return value;
  }

  static bool begins_section(const words& w) {
    static constexpr std::array<std::string_view, 4> names = {"Masses", "Atoms", "Velocities", "Pair"};
    return std::find(names.begin(), names.end(), w[0]) != names.end();
  }

  void read_header() {
    for (next_line(); !words_.empty() && !begins_section(words_); next_line()) {
      const std::size_t n = words_.size();
      if (n == 2 && words_[1] == "atoms") {
        declared_atoms_ = number<std::int64_t>(words_[0], "number of atoms");
        if (declared_atoms_ < 1) fail(fmt::format("{} atoms; at least 1 is needed", declared_atoms_));
      } else if (n == 3 && words_[1] == "atom" && words_[2] == "types") {
        const auto types = number<std::int32_t>(words_[0], "number of atom types");
        if (types < 1 || types > 1000) fail(fmt::format("{} atom types; expected 1 to 1000", types));
        system_.masses.assign(static_cast<std::size_t>(types), 0.0);
        system_.types.assign(static_cast<std::size_t>(types), {});
      } else if (n == 4 && (words_[2] == "xlo" || words_[2] == "ylo" || words_[2] == "zlo")) {
        read_bounds();
      } else {
        unknown_header();
      }
    }
  }

  void read_bounds() {
    const auto d = static_cast<std::size_t>(words_[2][0] - 'x');
    const std::string expected = fmt::format("{}hi", words_[2][0]);
    if (words_[3] != expected) fail(fmt::format("'{}' after '{}'; expected '{}'", words_[3], words_[2], expected));
    system_.box.low[d] = number<double>(words_[0], "lower bound of the box");
    system_.box.high[d] = number<double>(words_[1], "upper bound of the box");
    if (!(system_.box.high[d] > system_.box.low[d])) {
      fail(fmt::format("box bounds {} {}: the upper one must be larger than the lower one", words_[0], words_[1]));
    }
  }

  [[noreturn]] void unknown_header() const {
    if (words_.size() >= 4 && words_[3] == "xy")
      fail("the box is tilted (xy xz yz); only orthogonal boxes are supported");
    fail(
        fmt::format("header line '{}' is not understood; expected 'N atoms', 'N atom types', 'LOW HIGH xlo xhi' (y, "
                    "z), or one of the "
                    "sections Masses, Pair Coeffs, Atoms, Velocities",
                    fmt::join(words_, " ")));
  }

  void read_section() {
    const std::string_view name = words_[0];
    if (system_.masses.empty()) fail(fmt::format("section {} before a line 'N atom types'", name));
    if (name == "Masses" && words_.size() == 1) return read_masses();
    if (name == "Pair" && words_.size() == 2 && words_[1] == "Coeffs") return read_pair_coefficients();
    if (name == "Atoms" && words_.size() == 1) return read_atoms();
    if (name == "Velocities" && words_.size() == 1) return read_velocities();
    fail(
        fmt::format("'{}' where a section should begin; expected Masses, Pair Coeffs, Atoms or Velocities (or the "
                    "section before it "
                    "has more lines than it should)",
                    fmt::join(words_, " ")));
  }

  /// Goes to the next line, which must have at least `least` words.
  void section_line(const char* section, std::int64_t index, std::int64_t count, std::size_t least, std::size_t most,
                    const char* expected) {
    if (!std::exchange(read_again_, false)) next_line();
    if (words_.empty()) {
      fail(fmt::format("the file ends after {} of {} lines of section {}", index, count, section));
    }
    if (words_.size() < least || words_.size() > most) {
      fail(fmt::format("'{}' in section {} (line {} of {}); expected '{}'", fmt::join(words_, " "), section, index + 1,
                       count, expected));
    }
  }

  std::size_t type_index(std::string_view word) const {
    const auto type = number<std::int64_t>(word, "atom type");
    const auto types = static_cast<std::int64_t>(system_.masses.size());
    if (type < 1 || type > types) fail(fmt::format("atom type {}; expected 1 to {}", type, types));
    return static_cast<std::size_t>(type - 1);
  }

  void read_masses() {
    const auto types = static_cast<std::int64_t>(system_.masses.size());
    for (std::int64_t i = 0; i < types; ++i) {
      section_line("Masses", i, types, 2, 2, "TYPE MASS");
      const double mass = number<double>(words_[1], "mass");
      if (!(mass > 0.0)) fail(fmt::format("mass {}; it must be larger than 0", mass));
      system_.masses[type_index(words_[0])] = mass;
    }
    next_line();
  }

  void read_pair_coefficients() {
    const auto types = static_cast<std::int64_t>(system_.masses.size());
    for (std::int64_t i = 0; i < types; ++i) {
      section_line("Pair Coeffs", i, types, 3, 3, "TYPE EPSILON SIGMA");
      type_parameters& parameters = system_.types[type_index(words_[0])];
      parameters.epsilon = number<double>(words_[1], "epsilon");
      parameters.sigma = number<double>(words_[2], "sigma");
      if (parameters.epsilon < 0.0 || !(parameters.sigma > 0.0)) {
        fail(fmt::format("epsilon {} sigma {}; epsilon must be at least 0 and sigma larger than 0", parameters.epsilon,
                         parameters.sigma));
      }
    }
    next_line();
  }

  /// The style that the comment behind `Atoms` names, if it does.
  std::string_view named_style() const {
    const std::size_t comment = line_.find('#');
    if (comment == std::string::npos) return {};
    const words named = split(std::string_view(line_).substr(comment + 1));
    return named.size() == 1 ? named[0] : std::string_view();
  }

  /// The next atom. The first line decides on the style where the comment does not.
  void atom_line(std::int64_t index) {
    if (!charged_ && !atomic_) {
      next_line();
      charged_ = words_.size() == 6 || words_.size() == 9;
      atomic_ = !charged_;
      read_again_ = true;
    }
    const std::size_t least = charged_ ? 6 : 5;
    section_line("Atoms", index, declared_atoms_, least, least + 3,
                 charged_ ? "ID TYPE CHARGE X Y Z' or 'ID TYPE CHARGE X Y Z IX IY IZ"
                          : "ID TYPE X Y Z' or 'ID TYPE X Y Z IX IY IZ");
    if (words_.size() != least && words_.size() != least + 3) {
      fail(fmt::format("{} numbers for an atom; expected {} ({}) or {} (with image flags)", words_.size(), least,
                       charged_ ? "ID TYPE CHARGE X Y Z" : "ID TYPE X Y Z", least + 3));
    }
  }

  /// The charge belongs to the type: the first atom sets it.
  void read_charge(const atom_record& atom) {
    const auto charge = number<double>(words_[2], "charge");
    const auto type = static_cast<std::size_t>(atom.type);
    first_of_type_.resize(system_.types.size());
    if (first_of_type_[type] == 0) {
      first_of_type_[type] = atom.id;
      system_.types[type].charge = charge;
    } else if (system_.types[type].charge != charge) {
      fail(
          fmt::format("atom {} of type {} has charge {}, but atom {} of that type has {}; give atoms with another "
                      "charge a type of their own",
                      atom.id, type + 1, charge, first_of_type_[type], system_.types[type].charge));
    }
  }

  void read_atoms() {
    if (declared_atoms_ == 0) fail("section Atoms before a line 'N atoms'");
    if (!system_.atoms.empty()) fail("a second section Atoms");
    charged_ = named_style() == "charge";
    atomic_ = named_style() == "atomic";
    place_.reserve(static_cast<std::size_t>(std::min<std::int64_t>(declared_atoms_, 1 << 24)));
    for (std::int64_t i = 0; i < declared_atoms_; ++i) {
      atom_line(i);
      atom_record atom;
      atom.id = number<std::int64_t>(words_[0], "atom id");
      if (atom.id < 1) fail(fmt::format("atom id {}; it must be at least 1", atom.id));
      atom.type = static_cast<std::int32_t>(type_index(words_[1]));
      const std::size_t first = charged_ ? 3 : 2;
      if (charged_) read_charge(atom);
      for (std::size_t d = 0; d < 3; ++d) {
        atom.position[d] = number<double>(words_[first + d], "coordinate");
        if (words_.size() == first + 6) atom.image[d] = number<std::int32_t>(words_[first + 3 + d], "image flag");
      }
      if (!place_.emplace(atom.id, system_.atoms.size()).second) {
        fail(fmt::format("atom id {} appears a second time", atom.id));
      }
      system_.atoms.push_back(atom);
    }
    next_line();
  }

  void read_velocities() {
    if (system_.atoms.empty()) fail("section Velocities before section Atoms");
    std::vector<bool> seen(system_.atoms.size());
    for (std::int64_t i = 0; i < declared_atoms_; ++i) {
      section_line("Velocities", i, declared_atoms_, 4, 4, "ID VX VY VZ");
      const auto id = number<std::int64_t>(words_[0], "atom id");
      const auto found = place_.find(id);
      if (found == place_.end()) fail(fmt::format("velocity of atom {}, which is not in section Atoms", id));
      if (seen[found->second]) fail(fmt::format("a second velocity for atom {}", id));
      seen[found->second] = true;
      for (std::size_t d = 0; d < 3; ++d) {
        system_.atoms[found->second].velocity[d] = number<double>(words_[1 + d], "velocity");
      }
    }
    next_line();
  }

  void check_complete() const {
    if (system_.masses.empty()) fail("no line 'N atom types' in the header");
    for (std::size_t d = 0; d < 3; ++d) {
      if (!(system_.box.length(d) > 0.0)) {
        const char axis = static_cast<char>('x' + d);
        fail(fmt::format("no line 'LOW HIGH {}lo {}hi' in the header", axis, axis));
      }
    }
    if (system_.atoms.empty()) fail("no section Atoms");
    for (std::size_t t = 0; t < system_.masses.size(); ++t) {
      if (!(system_.masses[t] > 0.0)) fail(fmt::format("no mass for atom type {} (section Masses)", t + 1));
    }
  }

  std::istream& in_;
  std::string name_;
  std::string line_;
  std::int64_t line_number_ = 0;
  words words_;
  std::int64_t declared_atoms_ = 0;
  bool charged_ = false;                     ///< atom_style charge
  bool atomic_ = false;                      ///< atom_style atomic
  bool read_again_ = false;                  ///< the line is still to be used by section_line
  std::vector<std::int64_t> first_of_type_;  ///< id of the atom that set the type's charge; 0: none yet
  std::unordered_map<std::int64_t, std::size_t> place_;
  atom_system system_;
};

}  // namespace

atom_system read_lammps_data(std::istream& in, const std::string& name) { return reader(in, name).read(); }

atom_system read_lammps_data(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in || std::filesystem::is_directory(file)) {
    throw data_file_error(
        fmt::format("cannot open data file '{}': {}", file.string(), in ? "it is a directory" : std::strerror(errno)));
  }
  return read_lammps_data(in, file.string());
}

void write_lammps_data(std::ostream& out, const atom_system& system) {
  const bool charged =
      std::any_of(system.types.begin(), system.types.end(), [](const auto& type) { return type.charge != 0.0; });
  const char* const style = charged ? "charge" : "atomic";
  fmt::print(out, "LAMMPS data file, atom_style {}, units lj\n\n{} atoms\n{} atom types\n\n", style,
             system.atoms.size(), system.masses.size());
  for (std::size_t d = 0; d < 3; ++d) {
    const char axis = static_cast<char>('x' + d);
    fmt::print(out, "{} {} {}lo {}hi\n", system.box.low[d], system.box.high[d], axis, axis);
  }
  fmt::print(out, "\nMasses\n\n");
  for (std::size_t t = 0; t < system.masses.size(); ++t) fmt::print(out, "{} {}\n", t + 1, system.masses[t]);
  fmt::print(out, "\nPair Coeffs\n\n");
  for (std::size_t t = 0; t < system.types.size(); ++t) {
    fmt::print(out, "{} {} {}\n", t + 1, system.types[t].epsilon, system.types[t].sigma);
  }
  fmt::print(out, "\nAtoms # {}\n\n", style);
  for (const atom_record& atom : system.atoms) {
    fmt::print(out, "{} {} ", atom.id, atom.type + 1);
    if (charged) fmt::print(out, "{} ", system.types[static_cast<std::size_t>(atom.type)].charge);
    fmt::print(out, "{} {}\n", fmt::join(atom.position, " "), fmt::join(atom.image, " "));
  }
  fmt::print(out, "\nVelocities\n\n");
  for (const atom_record& atom : system.atoms) {
    fmt::print(out, "{} {}\n", atom.id, fmt::join(atom.velocity, " "));
  }
}

}  // namespace md
