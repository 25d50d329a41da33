// `trireme noise`: what disturbs the cores, seen by a fixed quantum of work.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "duration.hpp"
#include "loops/calibration.hpp"
#include "noise/core_sampler.hpp"
#include "noise/noise_report.hpp"
#include "os/clock.hpp"
#include "os/cpu/cpu_list.hpp"
#include "os/cpu/pinning.hpp"
#include "os/output_file.hpp"
#include "subcommands.hpp"
#include "trireme/loops.hpp"

namespace tri::tools {
namespace {

constexpr const char* footer =
    "A thread on each core runs the same piece of arithmetic again and again. On a machine of its own it would always\n"
    "take the same time; any extra time was taken by something else: interrupts, daemons, other programs, "
    "another\n"
    "hardware thread, a hypervisor. All cores run at the same time, as in a loop that is shared out.\n"
    "\n"
    "The undisturbed time is the 10th percentile, not the minimum: a clock that is now and then faster\n"
    "is not a measure for the rest. `lost` is the time beyond it.\n"
    "\n"
    "How to read it: peaks in the histogram are particular daemons; a core whose median is high is slow all the time\n"
    "(weights help); events spread over all cores are noise (a dynamic part of the loop helps). The delay is what a\n"
    "loop schedule has to compensate; it is an upper percentile, because the largest sample is a single outlier.\n"
    "\n"
    "Examples:\n"
    "  trireme noise                                  about two seconds on all cores of this process\n"
    "  trireme noise --samples 100k --quantum 50us    finer and longer\n"
    "  trireme noise --cores 0,2-5 --loop 10ms        these cores; suggestions for a loop of 10 ms\n"
    "  trireme noise --svg noise.svg --json noise.json --csv samples.csv\n"
    "  taskset -c 1 stress & trireme noise            which core is disturbed, and by how much?";

struct request {
  std::string cores = "all";
  std::string quantum = "100us";
  std::string bin = "5us";
  std::string loop = "1ms";
  std::size_t samples = 10000;
  double percent = 99.9;
  bool one_by_one = false;
  bool quiet = false;
  std::string svg;
  std::string json;
  std::string csv;
};

std::vector<int> cores_of(const std::string& wish) {
  const std::vector<int> usable = os::cpus_of_this_thread();
  if (wish == "all") return usable;
  std::vector<int> cores = os::parse_cpu_list(wish);
  for (std::size_t index = 0; index < cores.size(); ++index) {
    if (std::find(usable.begin(), usable.end(), cores[index]) == usable.end()) {
      throw std::invalid_argument(fmt::format("--cores: this process may not use core {}; it may use {}", cores[index],
                                              os::format_cpu_list(usable)));
    }
    if (std::find(cores.begin(), cores.begin() + static_cast<std::ptrdiff_t>(index), cores[index]) !=
        cores.begin() + static_cast<std::ptrdiff_t>(index))
      throw std::invalid_argument(fmt::format("--cores: core {} is named twice", cores[index]));
  }
  if (cores.empty()) throw std::invalid_argument("--cores: the list is empty; `all`, or one such as 0,2-5");
  return cores;
}

double length_of(const char* option, const std::string& text, double least) {
  double length = 0.0;
  try {
    length = parse_duration(text);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("{}: {}", option, problem.what()));
  }
  if (length < least)
    throw std::invalid_argument(fmt::format("{} is {}; it must be at least {}", option, text, format_duration(least)));
  return length;
}

int measure(const request& wanted) {
  const noise_settings settings{.bin = length_of("--bin", wanted.bin, 100.0),
                                .region_time = length_of("--loop", wanted.loop, 1.0),
                                .percent = wanted.percent};
  const double length = length_of("--quantum", wanted.quantum, 1000.0);
  const sampling_plan plan{.cores = cores_of(wanted.cores),
                           .samples = static_cast<std::uint32_t>(wanted.samples),
                           .rounds = static_cast<std::uint32_t>(std::min<std::size_t>(20, wanted.samples)),
                           .together = !wanted.one_by_one};
  const work_quantum quantum = work_quantum::lasting(length);
  const bool shows_progress = isatty(STDERR_FILENO) == 1 && !wanted.quiet;
  const std::vector<schedules::core_samples> samples = sample_cores(plan, quantum, [&](double done) {
    if (shows_progress) fmt::print(stderr, "\r{:3.0f} % of {} samples on each core", done * 100.0, plan.samples);
  });
  if (shows_progress) fmt::print(stderr, "\r{:60}\r", "");
  const noise_report report = report_of(samples, settings);
  // The other number of the models (K42): the cost of dynamic work. With one core there is no competing claimer.
  const double ns = os::ns_per_tick();
  const loops::calibrated_value* const claim = loop_participants() > 1 ? &loops::claim_time_of_this_machine() : nullptr;
  if (!wanted.svg.empty()) os::write_output_file(wanted.svg, to_svg(report));
  if (!wanted.json.empty()) {
    nlohmann::json all = to_json(report);
    all["quantum_us"] = length / 1e3;
    all["roots"] = quantum.roots();
    all["together"] = plan.together;
    if (claim != nullptr) {
      all["claim_ns"] = {{"median", claim->value * ns},
                         {"least", claim->least * ns},
                         {"largest", claim->largest * ns},
                         {"trials", claim->trials}};
    }
    os::write_output_file(wanted.json, all.dump(2) + "\n");
  }
  if (!wanted.csv.empty()) os::write_output_file(wanted.csv, schedules::samples_csv(samples));
  if (wanted.quiet) return 0;
  fmt::print("fixed quantum of {} roots ({} when undisturbed), {} samples on each of {} cores, {}\n\n", quantum.roots(),
             format_duration(length), plan.samples, plan.cores.size(),
             plan.together ? "all at the same time" : "one core after the other");
  fmt::print("{}\n{}\n{}", table_of(report), picture_of(report), suggestions_of(report));
  if (claim != nullptr) {
    fmt::print("claim of a chunk by one of {} threads: {} (median of {} trials, {} to {})\n", loop_participants(),
               format_duration(claim->value * ns), claim->trials, format_duration(claim->least * ns),
               format_duration(claim->largest * ns));
  }
  return 0;
}

}  // namespace

int noise_command(int argc, char** argv) {
  CLI::App app("Shows what disturbs the cores: how long a fixed quantum of work takes on each, again and again.",
               "trireme noise");
  app.footer(footer);
  request wanted;
  app.add_option("--cores", wanted.cores, "all that this process may use (all), or a list such as 0,2-5");
  app.add_option("--quantum", wanted.quantum, "length of a quantum, 100us by default")->type_name("TIME");
  app.add_option("--samples", wanted.samples, "quanta on each core, 10000 by default; 100k is 100000")
      ->type_name("N")
      ->check(whole_number_between(1, 1 << 28))
      ->transform(with_thousands());
  app.add_option("--bin", wanted.bin, "width of the bins of the histogram, 5us by default")->type_name("TIME");
  app.add_option("--loop", wanted.loop, "length of the loop that suggestions are for, 1ms by default")
      ->type_name("TIME");
  app.add_option("--percent", wanted.percent, "the percentile that the delay is, 99.9 by default")
      ->type_name("X")
      ->check(number_between(0, 100));
  app.add_flag("--one-by-one", wanted.one_by_one, "one core after the other, instead of all at the same time");
  app.add_option("--svg", wanted.svg, "write a picture")->type_name("FILE");
  app.add_option("--json", wanted.json, "write all figures and the histogram of each core")->type_name("FILE");
  app.add_option("--csv", wanted.csv, "write every sample")->type_name("FILE");
  app.add_flag("-q,--quiet", wanted.quiet, "only the files");
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  return measure(wanted);
}

}  // namespace tri::tools
