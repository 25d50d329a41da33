// See options.hpp.
#include "gravity/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "gravity/bodies/body_files.hpp"
#include "gravity/tree/pull_kernel.hpp"
#include "option_range.hpp"

namespace gravity {
namespace {

using apps::from_to;

constexpr double longest = 1e6;

void add_input_options(CLI::App& app, options& values) {
  app.add_option("--input", values.input, "bodies drawn from a seed: a cube at rest, a cluster, or two that collide")
      ->type_name("NAME")
      ->check(CLI::IsMember({"uniform", "plummer", "collision"}))
      ->capture_default_str();
  app.add_option("--bodies", values.bodies, "bodies to draw")
      ->type_name("N")
      ->check(from_to<std::int64_t>(1, 1 << 28))
      ->capture_default_str();
  app.add_option("--seed", values.seed, "of the random numbers from which they are drawn")
      ->type_name("N")
      ->check(from_to<std::int64_t>(0, std::int64_t{1} << 53))
      ->capture_default_str();
  app.add_option("--distance", values.course.distance, "of the colliding clusters' centres along x")
      ->type_name("L")
      ->check(from_to(0.0, longest))
      ->capture_default_str();
  app.add_option("--impact", values.course.impact, "of the colliding clusters' centres along y")
      ->type_name("L")
      ->check(from_to(0.0, longest))
      ->capture_default_str();
  app.add_option("--speed", values.course.speed, "with which they approach")
      ->type_name("V")
      ->check(from_to(0.0, longest))
      ->capture_default_str();
  app.add_option("--ratio", values.course.ratio,
                 "of the colliding clusters' masses and numbers of bodies, left by right")
      ->type_name("R")
      ->check(from_to(1e-3, 1e3))
      ->capture_default_str();
  app.add_option("--file", values.file,
                 "a file of bodies instead: lines `x y z vx vy vz mass`, or as --write writes it")
      ->type_name("FILE");
}

void add_physics_options(CLI::App& app, options& values) {
  run_settings& s = values.settings;
  app.add_option("--steps", values.steps, "steps of the leapfrog")
      ->type_name("N")
      ->check(from_to<std::int64_t>(0, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--time-step", s.time_step, "in units in which gravitational constant and mass of a cluster are 1")
      ->type_name("T")
      ->check(from_to(1e-12, 1e12))
      ->capture_default_str();
  app.add_option("--softening", s.softening, "length below which attraction ends")
      ->type_name("L")
      ->check(from_to(0.0, longest))
      ->capture_default_str();
  app.add_option("--theta", s.tree.theta, "opening angle: smaller is more exact; 0 adds up all pairs")
      ->type_name("A")
      ->check(from_to(0.0, 1.1))
      ->capture_default_str();
}

void add_tree_options(CLI::App& app, options& values) {
  run_settings& s = values.settings;
  app.add_option("--bucket", s.tree.bucket, "most bodies of a leaf, for which the tree is walked together")
      ->type_name("N")
      ->check(from_to(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--subtree", s.subtree, "most bodies of a subtree, which is not divided between pieces")
      ->type_name("N")
      ->check(from_to(1, 1 << 28))
      ->capture_default_str();
  app.add_option("--fetch-levels", s.tree.fetch_levels, "levels of nodes that are fetched at once")
      ->type_name("N")
      ->check(from_to(1, key_levels))
      ->capture_default_str();
  app.add_option("--pieces", values.pieces, "tree pieces, the objects between which bodies are divided [8 for each PE]")
      ->type_name("N")
      ->check(from_to(1, 1 << 20));
  app.add_option("--deal-every", values.deal_every,
                 "steps between new divisions of space between the pieces; 0: the first one stays")
      ->type_name("N")
      ->check(from_to<std::int64_t>(0, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--kernels", values.kernels, "variant of the force loops: auto, avx2 or generic")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "avx2", "generic"}))
      ->capture_default_str();
}

void add_balance_options(CLI::App& app, options& values) {
  app.add_option("--balance", values.balance,
                 "let pieces migrate as this strategy decides (`trireme balance --list`); without it they stay")
      ->type_name("NAME");
  app.add_option("--balance-every", values.balance_every, "steps between balancings")
      ->type_name("N")
      ->check(from_to<std::int64_t>(1, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--load", values.load, "of a piece for balancing: the measured time, or counted interactions")
      ->type_name("NAME")
      ->check(CLI::IsMember({"measured", "counted"}))
      ->capture_default_str();
}

void add_output_options(CLI::App& app, options& values) {
  app.add_option("--print-every", values.print_every, "steps between lines of the table; 0: first and last only")
      ->type_name("N")
      ->check(from_to<std::int64_t>(0, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--write", values.write, "file for the bodies at the end: text if its name ends in .txt, or binary")
      ->type_name("FILE");
  app.add_option("--snapshots", values.snapshots, "also write PREFIX.<step>.bodies while running, for pictures.py")
      ->type_name("PREFIX");
  app.add_option("--snapshot-every", values.snapshot_every, "steps between snapshots")
      ->type_name("N")
      ->check(from_to<std::int64_t>(1, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_flag("--verify", values.verify, "compare the last forces with direct summation over all pairs");
}

/// How many letters must be changed, added or left out.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
    }
  }
  return row.back();
}

bool given(const CLI::App& app, const char* option) { return app.get_option(option)->count() != 0; }

}  // namespace

void add_options(CLI::App& app, options& values) {
  add_input_options(app, values);
  add_physics_options(app, values);
  add_tree_options(app, values);
  add_balance_options(app, values);
  add_output_options(app, values);
}

void complete(const CLI::App& app, options& values) {
  for (const char* const drawn : {"--input", "--bodies", "--seed"})
    if (!values.file.empty() && given(app, drawn))
      throw std::invalid_argument(fmt::format("{} and --file were both given; the file has the bodies", drawn));
  for (const char* const of_collision : {"--distance", "--impact", "--speed", "--ratio"})
    if (given(app, of_collision) && (values.input != "collision" || !values.file.empty()))
      throw std::invalid_argument(fmt::format("{} is for --input collision only", of_collision));
  for (const char* const of_balance : {"--balance-every", "--load"})
    if (given(app, of_balance) && values.balance.empty())
      throw std::invalid_argument(fmt::format("{} needs --balance NAME, the strategy", of_balance));
  values.settings.counts_loads = values.load == "counted";
  if (given(app, "--snapshot-every") && values.snapshots.empty())
    throw std::invalid_argument("--snapshot-every needs --snapshots PREFIX to say where to write");
  if (values.settings.subtree < values.settings.tree.bucket)
    throw std::invalid_argument(fmt::format("--subtree {}: must be at least as large as --bucket, which is {}",
                                            values.settings.subtree, values.settings.tree.bucket));
  choose_kernels(values.kernels).name.copy(values.settings.kernels.data(), values.settings.kernels.size() - 1);
}

std::vector<body> load_bodies(const options& values) {
  if (!values.file.empty()) return read_bodies(values.file);
  if (values.input == "uniform") return uniform_cube(values.bodies, values.seed);
  if (values.input == "collision") return collision(values.bodies, values.seed, values.course);
  return plummer_sphere(values.bodies, values.seed);
}

std::string describe_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || app.remaining().empty()) return error.what();
  const std::string whole = app.remaining().front();
  const std::string name = whole.substr(0, whole.find('='));
  std::string nearest;
  std::size_t least = 4;  // a larger distance does not help
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    const std::string candidate = "--" + option->get_lnames().front();
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  std::string message = fmt::format("unknown option '{}'", name);
  if (!nearest.empty()) message += fmt::format("; did you mean {}?", nearest);
  return message;
}

}  // namespace gravity
