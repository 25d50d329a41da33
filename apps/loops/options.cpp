// See options.hpp.
#include "options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>

#include "config/suggestion.hpp"
#include "grids/jacobi.hpp"
#include "grids/spectral.hpp"
#include "grids/transport_sweep.hpp"
#include "lu/dense_lu.hpp"
#include "n_body/barnes_hut.hpp"
#include "sparse/conjugate_gradients.hpp"
#include "sparse/finite_elements.hpp"

namespace kernels {
namespace {

constexpr const char* description =
    R"(Seven kernels whose parallel loops are run by any schedule of Trireme, checked and timed.

Each kernel is a kind of loop: jacobi is even and lives on what is still in the caches; barnes_hut is uneven; cg is
uneven and short; lu is a graph of tasks; sweep has many loops of all
lengths; elements jumps about in memory; spectral needs what all others have. Every run gives the same bits, whatever the schedule and the number of
threads, and they are compared with other code for the same problem. Schedules are run in turn, round by round.

  loop_kernels jacobi                                        a few schedules side by side
  loop_kernels barnes_hut --schedule all                     all of them
  loop_kernels cg --schedule dynamic,64 --schedule automatic
  loop_kernels lu --static-fraction sweep --svg lu.svg       time against the static fraction, as a picture
  loop_kernels KERNEL --help                                 all options)";

constexpr const char* schedule_help =
    "how the loops are run: static, dynamic[,CHUNK], guided, trapezoid, factoring, hybrid[,FRACTION], "
    "tasklets[,FRACTION], weighted, staggered[,FRACTION], automatic, ...; `all` for one of each kind; lu also has "
    "tasks[,FRACTION]. May be given again and again";
constexpr const char* fraction_help =
    "run also with this share of the work dealt out in advance, the rest on demand: a number from 0 to 1 (may be given "
    "again and again), or `sweep` for 0 to 1 in steps of --step";

struct common_options {
  std::vector<std::string> schedules;
  std::vector<std::string> fractions;
  double step = 0.05;
  int rounds = 5;
  int threads = 0;
  std::string csv_file;
  std::string svg_file;
  bool quiet = false;
};

void add_common(CLI::App& app, common_options& values) {
  app.add_option("--schedule", values.schedules, schedule_help)->type_name("SCHEDULE");
  app.add_option("--static-fraction", values.fractions, fraction_help)->type_name("F|sweep");
  app.add_option("--step", values.step, "of the sweep")->type_name("F")->capture_default_str();
  app.add_option("--rounds", values.rounds, "timed runs of every method, after one that is not counted")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--threads", values.threads, "threads that share the loops [TRIREME_PES, or all cores]")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  app.add_option("--csv", values.csv_file, "write every single time to this file")->type_name("FILE");
  app.add_option("--svg", values.svg_file, "write a picture of time against static fraction to this file")
      ->type_name("FILE");
  app.add_flag("--quiet", values.quiet, "no progress line");
}

CLI::App* add_kernel(CLI::App& app, common_options& common, const std::string& name, const std::string& what) {
  CLI::App* const added = app.add_subcommand(name, what);
  add_common(*added, common);
  return added;
}

void add_number(CLI::App& app, const std::string& name, int& value, const std::string& help) {
  app.add_option(name, value, help)->type_name("N")->check(CLI::Range(1, 1000000000))->capture_default_str();
}

double fraction_of(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0.0 && value <= 1.0)) {
    throw std::invalid_argument(
        fmt::format("--static-fraction is '{}'; it must be a number between 0 and 1, or sweep", text));
  }
  return value;
}

experiment_plan plan_of(const common_options& common, bool has_task_graph) {
  experiment_plan plan;
  plan.rounds = common.rounds;
  const auto add = [&](const std::string& text) {
    method checked(text);  // throws now rather than after minutes
    if (std::find(plan.methods.begin(), plan.methods.end(), text) == plan.methods.end()) plan.methods.push_back(text);
  };
  for (const std::string& text : common.schedules) {
    if (text == "all") {
      for (const std::string& each : all_schedules()) add(each);
      if (has_task_graph) add("tasks");
    } else {
      add(text);
    }
  }
  if (common.schedules.empty()) {
    for (const char* text : {"static", "dynamic", "guided", "hybrid", "staggered", "automatic"}) add(text);
    if (has_task_graph) add("tasks");
  }
  std::vector<double> fractions;
  for (const std::string& text : common.fractions) {
    if (text == "sweep") {
      for (const double fraction : sweep_fractions(common.step)) fractions.push_back(fraction);
    } else {
      fractions.push_back(fraction_of(text));
    }
  }
  for (const double fraction : fractions) {
    for (const char* kind : {"hybrid", has_task_graph ? "tasks" : "staggered"}) {
      plan.sweep.push_back(fmt::format("{},{:.6g}", kind, fraction));
    }
  }
  return plan;
}

std::string explained(const CLI::App& app, const CLI::ParseError& error, const std::string& first_word) {
  const auto kernels = app.get_subcommands([](const CLI::App*) { return true; });
  std::vector<std::string> kernel_names;
  for (const CLI::App* each : kernels) kernel_names.push_back(each->get_name());
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    return fmt::format("{}; the kernels are {}. See --help",
                       first_word.empty()
                           ? "name a kernel"
                           : fmt::format("'{}' is no kernel{}", first_word,
                                         tri::config::did_you_mean(first_word, kernel_names, ", the nearest is ", "")),
                       fmt::join(kernel_names, ", "));
  }
  std::string text = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return text;
  std::vector<std::string> names;
  for (const CLI::Option* option : chosen.front()->get_options()) names.push_back(option->get_name());
  const std::string word = text.substr(text.find_last_of(' ') + 1);
  return text + tri::config::did_you_mean(word, names, "; the nearest is ", "") + ". See --help";
}

}  // namespace

std::vector<double> sweep_fractions(double step) {
  if (!(step > 0.0 && step <= 1.0)) {
    throw std::invalid_argument(fmt::format("--step is {}; it must be larger than 0 and at most 1", step));
  }
  std::vector<double> fractions;
  for (int number = 0; number * step < 1.0 - 1e-9; ++number) fractions.push_back(number * step);
  fractions.push_back(1.0);
  return fractions;
}

request read_command_line(int argc, const char* const* argv) {
  CLI::App app(description, "loop_kernels");
  app.require_subcommand(1);
  common_options common;

  jacobi_size grid;
  CLI::App* const jacobi_app = add_kernel(app, common, "jacobi", "3-D relaxation with 7 points, cut into slabs");
  add_number(*jacobi_app, "--size", grid.planes, "planes, which are the iterations of the loop");
  add_number(*jacobi_app, "--plane", grid.side, "points along both sides of a plane");
  add_number(*jacobi_app, "--steps", grid.steps, "relaxation steps of a run");

  barnes_hut_size cluster;
  CLI::App* const cluster_app = add_kernel(app, common, "barnes_hut", "gravity in a star cluster by a tree");
  add_number(*cluster_app, "--size", cluster.bodies, "bodies, which are the iterations of the loop");
  add_number(*cluster_app, "--steps", cluster.steps, "time steps of a run");
  cluster_app->add_option("--theta", cluster.theta, "cubes that look smaller than this count as points")
      ->type_name("T")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();

  dense_lu_size matrix;
  CLI::App* const lu_app = add_kernel(app, common, "lu", "LU factorization of a dense matrix, cut into tiles");
  add_number(*lu_app, "--size", matrix.size, "rows and columns");
  add_number(*lu_app, "--tile", matrix.tile, "rows and columns of a tile");

  conjugate_gradients_size network;
  CLI::App* const cg_app = add_kernel(app, common, "cg", "conjugate gradients, sparse matrix with very uneven rows");
  add_number(*cg_app, "--size", network.rows, "rows, which are the iterations of the loops");
  add_number(*cg_app, "--shortest", network.shortest_row, "entries of the shortest rows, about");
  add_number(*cg_app, "--steps", network.steps, "steps of a run");

  transport_sweep_size box;
  CLI::App* const sweep_app = add_kernel(app, common, "sweep", "transport through a box, diagonal by diagonal");
  add_number(*sweep_app, "--size", box.side, "cells along each side; the longest loop has about 3/4 of its square");
  add_number(*sweep_app, "--steps", box.steps, "sweeps of a run");

  finite_elements_size mesh;
  CLI::App* const mesh_app = add_kernel(app, common, "elements", "diffusion on an unstructured mesh of triangles");
  add_number(*mesh_app, "--size", mesh.side, "squares along both sides, of two triangles each");
  add_number(*mesh_app, "--steps", mesh.steps, "steps of a run");

  spectral_size field;
  CLI::App* const field_app = add_kernel(app, common, "spectral", "Fourier transform in two dimensions, and back");
  add_number(*field_app, "--size", field.side, "points along both sides, a power of two");
  add_number(*field_app, "--steps", field.steps, "steps of a run");

  try {
    app.parse(argc, argv);
    request made;
    made.threads = common.threads;
    made.csv_file = common.csv_file;
    made.svg_file = common.svg_file;
    made.quiet = common.quiet;
    made.plan = plan_of(common, lu_app->parsed());
    if (!made.svg_file.empty() && made.plan.sweep.size() < 4) {
      throw std::invalid_argument("--svg draws time against static fraction; give --static-fraction sweep as well");
    }
    made.kernel_name = app.get_subcommands().front()->get_name();
    if (jacobi_app->parsed()) made.make = [grid] { return std::make_unique<jacobi>(grid); };
    if (cluster_app->parsed()) made.make = [cluster] { return std::make_unique<barnes_hut>(cluster); };
    if (lu_app->parsed()) made.make = [matrix] { return std::make_unique<dense_lu>(matrix); };
    if (cg_app->parsed()) made.make = [network] { return std::make_unique<conjugate_gradients>(network); };
    if (sweep_app->parsed()) made.make = [box] { return std::make_unique<transport_sweep>(box); };
    if (mesh_app->parsed()) made.make = [mesh] { return std::make_unique<finite_elements>(mesh); };
    if (field_app->parsed()) made.make = [field] { return std::make_unique<spectral>(field); };
    return made;
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    throw exit_request{0, chosen.empty() ? app.help() : chosen.front()->help("loop_kernels")};
  } catch (const CLI::ParseError& error) {
    throw exit_request{2, fmt::format("loop_kernels: {}\n", explained(app, error, argc > 1 ? argv[1] : ""))};
  } catch (const std::invalid_argument& error) {
    throw exit_request{2, fmt::format("loop_kernels: {}\n", error.what())};
  }
}

}  // namespace kernels
