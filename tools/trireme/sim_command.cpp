// `trireme sim`: what does not fit this machine, in virtual time. So far collective operations.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "command_line.hpp"
#include "os/output_file.hpp"
#include "plan/collective_options.hpp"
#include "sim/collective_run_report.hpp"
#include "sim/collective_simulator.hpp"
#include "subcommands.hpp"

namespace tri::tools {
namespace {

constexpr std::int64_t most_hosts = 65'536;
constexpr std::int64_t most_ranks = most_hosts * 64;

constexpr const char* footer =
    "Examples:\n"
    "  trireme sim collective allreduce --hosts 4096 --ranks 16 --algorithm multi_object_bruck\n"
    "  trireme sim collective --help";

constexpr const char* collective_footer =
    "All ranks begin at the same time and run the plans that `trireme plan` shows for few ranks, by the same rules:\n"
    "between hosts LogGP, where the gap is of a rank and the bandwidth of a host; inside copies and signals. Without\n"
    "noise the time is the critical path of `trireme plan`.\n"
    "\n"
    "Noise: --noise is the chance that a step which sends, receives, copies or reduces is held up, by 0 to\n"
    "--noise-length; --jitter is by how much longer a message may be under way. Both follow from --seed alone.\n"
    "\n"
    "Plans are generated when a host has something to do. Beyond --memory those of further hosts are dropped after\n"
    "each turn and generated again: slower, the same result. What is kept of hosts and messages is not in --memory,\n"
    "about 10 to 20 kB for a host of 64 ranks. Algorithms whose plans are as long as the job (rings, pairs) are for\n"
    "small jobs: beyond --most-steps they are refused, with those that are not.\n"
    "\n"
    "Examples:\n"
    "  trireme sim collective allreduce --hosts 4096 --ranks 16 --algorithm multi_object_bruck\n"
    "  trireme sim collective barrier --hosts 1000 --ranks 8 --algorithm single_leader --jitter 20us --seed 3\n"
    "  trireme sim collective bcast --hosts 500 --ranks 64 --size 1M --algorithm multi_object --noise 0.001\n"
    "  trireme sim collective allreduce --hosts 65536 --ranks 64 --algorithm multi_object_bruck   minutes";

struct collective_line {
  collective_options asked;
  double noise = 0.0;
  std::string noise_length = "100us";
  std::string jitter = "0us";
  std::uint64_t seed = 1;
  std::uint64_t most_steps = 1'000'000'000;
  std::uint64_t memory = std::uint64_t{1} << 30;
  std::string json;
};

const coll::algorithm& algorithm_of(const coll::request& asked, const std::string& name) {
  if (!name.empty()) return coll::algorithm_of(asked, name);
  std::string names;
  for (const coll::algorithm* each : coll::algorithms_for(asked))
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each->name);
  throw std::invalid_argument(
      fmt::format("--algorithm is missing; for {} there are {}; `trireme plan {} --compare` "
                  "estimates their costs on few ranks",
                  coll::name_of(asked.what), names, coll::name_of(asked.what)));
}

int simulate(const collective_line& line) {
  sim::simulated_collective wanted;
  wanted.asked = line.asked.request();
  wanted.by = &algorithm_of(wanted.asked, line.asked.algorithm);
  wanted.costs = line.asked.costs();
  wanted.hit_chance = line.noise;
  wanted.longest_hit = length_of("--noise-length", line.noise_length);
  wanted.longest_jitter = length_of("--jitter", line.jitter);
  wanted.seed = line.seed;
  wanted.most_steps = line.most_steps;
  wanted.most_plan_bytes = line.memory;
  std::function<void(double)> progress;
  if (isatty(STDERR_FILENO) == 1)
    progress = [](double part) { fmt::print(stderr, "\r{:5.1f} % of the steps ", 100 * part); };
  const sim::collective_run run = sim::simulate_collective(wanted, progress);
  if (progress) fmt::print(stderr, "\r{:30}\r", "");
  if (!line.json.empty()) os::write_output_file(line.json, to_json(wanted, run).dump(1) + '\n');
  fmt::print("{}", table_of(wanted, run, line.asked.origin_of_costs()));
  return 0;
}

}  // namespace

int sim_command(int argc, char** argv) {
  CLI::App app("Simulates jobs that are larger than this machine, in virtual time.", "trireme sim");
  app.footer(footer);
  app.require_subcommand(0, 1);
  CLI::App* const collective =
      app.add_subcommand("collective", "one collective operation on up to 65536 hosts of 64 ranks, with noise");
  collective->footer(collective_footer);
  collective_line line;
  line.asked.add_to(*collective, most_hosts, most_ranks, "it must be given");
  collective->add_option("--noise", line.noise, "chance that a step is held up, 0 by default")
      ->type_name("X")
      ->check(number_between(0, 1));
  collective->add_option("--noise-length", line.noise_length, "for how long at most, 100us by default")
      ->type_name("TIME");
  collective->add_option("--jitter", line.jitter, "how much longer a message takes at most, 0us by default")
      ->type_name("TIME");
  collective->add_option("--seed", line.seed, "of the noise, 1 by default")->type_name("N");
  collective->add_option("--most-steps", line.most_steps, "of all ranks together, 1000M by default; more are refused")
      ->type_name("N")
      ->check(whole_number_between(1, std::int64_t{1} << 50))
      ->transform(with_thousands());
  collective
      ->add_option("--memory", line.memory, "bytes of plans that are kept between the turns of hosts, 1G by default")
      ->type_name("BYTES")
      ->check(whole_number_between(0, std::int64_t{1} << 50))
      ->transform(with_byte_units());
  collective->add_option("--json", line.json, "write the result, with all rounds")->type_name("FILE");
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  if (!collective->parsed())
    throw std::invalid_argument("a subcommand is missing, `collective`; `trireme sim collective --help` shows more");
  return simulate(line);
}

}  // namespace tri::tools
