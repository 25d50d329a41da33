#include "slab_options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <stdexcept>

#include "trireme/detail/schedules/loop_schedule.hpp"

namespace kernels {

std::optional<int> read_slab_options(int count, char** arguments, slab_options& options) {
  auto& [whole, schedule] = options;
  std::string loops = "idle";
  CLI::App app("3-D Jacobi in slabs that exchange planes; loops inside a slab are shared with idle PEs, or not.",
               "loop_slabs");
  app.footer(
      "Examples:\n"
      "  loop_slabs --slabs 1 --loops always --tri-pes 4     one object, whose loops use all PEs\n"
      "  loop_slabs --slabs 6 --growth 1 --loops idle        slabs of unequal thickness\n"
      "  trireme run -n 2 --pes 2 loop_slabs --loops off     two processes, one PE for each object");
  const auto number = [&](const char* name, int& value, int least, const char* help) {
    app.add_option(name, value, help)->type_name("N")->check(CLI::Range(least, 1000000))->capture_default_str();
  };
  number("--planes", whole.planes, 1, "planes of the grid");
  number("--side", whole.side, 1, "points along both sides of a plane");
  number("--slabs", whole.slabs, 1, "objects, at most one for each plane");
  number("--steps", whole.steps, 0, "relaxation steps");
  number("--growth", whole.growth, 0, "how much thicker each slab is than the one before, in thicknesses of the first");
  app.add_option("--loops", loops, "share loops with other PEs: off, always, or if one is idle at that moment: idle")
      ->check(CLI::IsMember({"off", "always", "idle"}))
      ->capture_default_str();
  app.add_option("--schedule", schedule, "of shared loops")->capture_default_str();
  try {
    app.parse(count, arguments);
    (void)tri::schedules::parse_schedule(schedule);
    if (whole.slabs > whole.planes)
      throw CLI::ValidationError(
          fmt::format("--slabs is {}; it must be at most the number of planes, {}", whole.slabs, whole.planes));
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : (app.exit(error), 2);
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "loop_slabs: --schedule: {}\n", error.what());
    return 2;
  }
  whole.loops = loops == "off" ? sharing::off : loops == "always" ? sharing::always : sharing::idle;
  return std::nullopt;
}

}  // namespace kernels
