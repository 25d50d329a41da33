#include "plan/collective_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "command_line.hpp"
#include "duration.hpp"
#include "plan/cost_file.hpp"

namespace tri::tools {

void collective_options::add_to(CLI::App& app, std::int64_t most_hosts, std::int64_t most_ranks,
                                const std::string& without_algorithm) {
  most_ranks_ = most_ranks;
  std::string names;
  for (const coll::collective each : coll::all_collectives())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", coll::name_of(each));
  app.add_option("collective", collective_, names)->required();
  app.add_option("--hosts", hosts_, "number of hosts, 1 by default")
      ->type_name("N")
      ->check(whole_number_between(1, most_hosts));
  app.add_option("--ranks", ranks_, "ranks of each host, 1 by default; or of one host after the other: 4,2,3")
      ->type_name("N")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_number_between(1, 1024));
  size_option_ = app.add_option("--size", size_, "bytes, 8 by default; 64k is 65536")
                     ->type_name("BYTES")
                     ->check(whole_number_between(0, std::int64_t{1} << 40))
                     ->transform(with_byte_units());
  app.add_option("--element", element_, "bytes of an element, 1 by default; no reduction splits one")
      ->type_name("BYTES")
      ->check(whole_number_between(1, 1 << 20));
  app.add_option("--root", root_, "rank of the root, 0 by default")->type_name("RANK");
  app.add_flag("--ordered", ordered_, "the operation is not commutative: combine in the order of ranks");
  app.add_flag("--in-place", in_place_, "input and output are one buffer, as with MPI_IN_PLACE");
  app.add_option("--algorithm", algorithm, "name of an algorithm; " + without_algorithm)->type_name("NAME");
  app.add_option("--tune-file", tune_file_,
                 "costs that `trireme tune --collectives` has measured; the options below go before")
      ->type_name("FILE");
  app.add_option("--latency", latency_, "between hosts (L of LogGP), 10us by default")->type_name("TIME");
  app.add_option("--overhead", overhead_, "of sending and of receiving a message (o), 500ns by default")
      ->type_name("TIME");
  app.add_option("--gap", gap_, "between two messages of a rank (g), 1us by default")->type_name("TIME");
  app.add_option("--bandwidth", bandwidth_, "of a host, in GB/s (1/G), 10 by default")
      ->type_name("X")
      ->check(number_above_zero());
}

coll::shape collective_options::shape_of_job() const {
  if (ranks_.size() > 1 && hosts_ != 0 && hosts_ != static_cast<int>(ranks_.size()))
    throw std::invalid_argument(
        fmt::format("--hosts is {}, and --ranks has those of {} hosts; they must agree", hosts_, ranks_.size()));
  std::int64_t ranks = 0;
  for (const int each : ranks_) ranks += each;
  if (ranks_.size() == 1) ranks *= std::max(hosts_, 1);
  if (ranks > most_ranks_)
    throw std::invalid_argument(fmt::format("{} ranks; it must be up to {}", ranks, most_ranks_));
  if (ranks_.size() == 1) return coll::shape::uniform(std::max(hosts_, 1), ranks_[0]);
  return coll::shape::of_table(ranks_);
}

coll::request collective_options::request() const {
  coll::request asked;
  asked.what = coll::collective_of(collective_ == "bcast" ? "broadcast" : collective_);
  asked.hosts = shape_of_job();
  asked.extent = element_;
  if (size_option_->count() > 0 && asked.what == coll::collective::barrier)
    throw std::invalid_argument(fmt::format("--size is {}, and a barrier moves no bytes", size_));
  if (size_ % element_ != 0)
    throw std::invalid_argument(fmt::format("--size is {}, no multiple of --element, which is {}", size_, element_));
  asked.blocks = coll::block_layout::uniform(size_ / element_);
  asked.root = root_;
  asked.commutative = !ordered_;
  asked.in_place = in_place_;
  if (ordered_ && !coll::reduces(asked.what))
    throw std::invalid_argument(fmt::format("--ordered is for reductions, and {} is none", coll::name_of(asked.what)));
  if (root_ != 0 && !coll::has_root(asked.what))
    throw std::invalid_argument(fmt::format("--root is {}, and {} has no root", root_, coll::name_of(asked.what)));
  asked.check();
  return asked;
}

double length_of(const char* option, const std::string& text) {
  try {
    return parse_duration(text);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("{}: {}", option, problem.what()));
  }
}

namespace {

cost_file named(const std::string& tune_file) {
  try {
    return read_cost_file(tune_file);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("--tune-file: {}", problem.what()));
  }
}

}  // namespace

coll::cost_parameters collective_options::costs() const {
  coll::cost_parameters costs;
  if (!tune_file_.empty()) costs = named(tune_file_).costs;
  if (latency_) costs.latency = length_of("--latency", *latency_);
  if (overhead_) costs.overhead = length_of("--overhead", *overhead_);
  if (gap_) costs.gap = length_of("--gap", *gap_);
  if (bandwidth_) costs.per_byte = 1 / *bandwidth_;
  return costs;
}

std::string collective_options::origin_of_costs() const {
  std::string origin = "assumed, not measured";
  if (!tune_file_.empty()) {
    const cost_file file = named(tune_file_);
    origin = fmt::format("of {}, measured by '{}'", tune_file_, file.measured_by);
    if (!file.assumed.empty()) origin += fmt::format(", but for {}", fmt::join(file.assumed, ", "));
  }
  if (latency_ || overhead_ || gap_ || bandwidth_) origin += "; with options";
  return fmt::format("{} ({})", summary_of(costs()), origin);
}

}  // namespace tri::tools
