#include "loops/comparison.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "framework/cacheline.hpp"
#include "framework/pinned_thread.hpp"
#include "framework/statistics.hpp"
#include "loops/work.hpp"
#include "os/clock.hpp"

namespace tri::bench {
namespace {

// LLVM's OpenMP runtime to be put in the place of libgomp: the one that the user names, or the system's.
struct other_openmp {
  std::string path;
  std::string label;  // "libomp", "libomp(debug)"
};
std::optional<other_openmp> find_libomp() {
  std::string path;
  if (const char* const named = std::getenv("TRIREME_BENCH_LIBOMP"); named != nullptr) {
    path = named;
  } else if (void* const library = dlopen("libomp.so.5", RTLD_LAZY | RTLD_LOCAL); library != nullptr) {
    Dl_info found{};
    if (void* const symbol = dlsym(library, "__kmpc_fork_call");
        symbol != nullptr && dladdr(symbol, &found) != 0 && found.dli_fname != nullptr)
      path = found.dli_fname;
  }
  std::ifstream file(path, std::ios::binary);
  if (path.empty() || !file) return std::nullopt;
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  // A build with KMP_DEBUG formats a trace line at every step; a release build has next to none of their texts.
  std::size_t traces = 0;
  for (std::size_t at = 0; (at = content.find("T#%d", at)) != std::string::npos; at += 4) ++traces;
  return other_openmp{path, traces > 100 ? "libomp(debug)" : "libomp"};
}

struct running_competitor {
  std::string kind;   // "openmp"
  std::string label;  // "libgomp"
  std::unique_ptr<competitor_process> process;
};

struct seat {
  std::size_t competitor;
  std::size_t schedule;
  std::size_t entry;
};

// Two threads on the two cores that pass a cache line back and forth on request.
class handoff_probe {
 public:
  handoff_probe(int first_cpu, int second_cpu) : leader_(first_cpu), follower_(second_cpu) {}
  double measure() {
    constexpr std::uint64_t round_trips = 100;
    double one_way_ns = 0;
    follower_.start([this] { line_.follow(round_trips + 1); });
    leader_.start([&] {
      line_.lead(1);  // until the follower is there
      one_way_ns = line_.lead(round_trips);
    });
    leader_.wait();
    follower_.wait();
    return one_way_ns;
  }

 private:
  cacheline_handoff line_;
  pinned_thread leader_;
  pinned_thread follower_;
};

bool starts_with_runtime(const std::string& entry, const std::string& kind) { return entry.starts_with(kind + '/'); }

bool wanted(const comparison_plan& plan, const std::string& kind) {
  return std::any_of(plan.entries.begin(), plan.entries.end(),
                     [&](const std::string& entry) { return starts_with_runtime(entry, kind); });
}

std::vector<running_competitor> start_competitors(const comparison_plan& plan, const std::string& program,
                                                  const comparison_setup& setup, std::vector<std::string>& notes) {
  const std::vector<std::string> known = competitors();
  const auto built = [&](const std::string& kind) {
    return std::find(known.begin(), known.end(), kind) != known.end();
  };
  std::vector<running_competitor> running;
  for (const char* kind : {"trireme", "openmp", "tbb", "steps"}) {
    if (!wanted(plan, kind)) continue;
    if (!built(kind)) {
      notes.emplace_back(std::string(kind) == "tbb" ? "without oneTBB: libtbb-dev was not found by cmake"
                                                    : "without OpenMP: the compiler has none");
      continue;
    }
    auto process = std::make_unique<competitor_process>(program, kind, setup);
    std::string label = process->name();
    running.push_back({kind, std::move(label), std::move(process)});
  }
  if (!wanted(plan, "openmp") || !built("openmp")) return running;
  const auto first =
      std::find_if(running.begin(), running.end(), [](const auto& each) { return each.kind == "openmp"; });
  if (first->label != "libgomp") return running;  // clang: it is libomp itself
  if (const std::optional<other_openmp> other = find_libomp()) {
    auto process = std::make_unique<competitor_process>(program, "openmp", setup, other->path);
    if (process->name() == first->label) {
      notes.push_back(fmt::format("without libomp: {} does not answer to libgomp's names", other->path));
    } else {
      running.push_back({"openmp", other->label, std::move(process)});
    }
  } else {
    notes.emplace_back("without libomp: none was found; TRIREME_BENCH_LIBOMP names one");
  }
  return running;
}

}  // namespace

const comparison_entry& comparison_result::entry(const std::string& name) const {
  for (const comparison_entry& each : entries_) {
    if (each.name == name) return each;
  }
  throw std::logic_error(fmt::format("the comparison has no entry '{}'", name));
}

std::vector<std::size_t> comparison_result::rounds_of(const std::vector<const comparison_entry*>& together) const {
  const std::size_t rounds = together.front()->rounds.size();
  std::vector<std::size_t> clean;
  std::vector<std::size_t> all;
  for (std::size_t round = 0; round < rounds; ++round) {
    all.push_back(round);
    const bool disturbed =
        std::any_of(together.begin(), together.end(), [&](const auto* each) { return each->rounds[round].disturbed; });
    if (!disturbances_count_ || !disturbed) clean.push_back(round);
  }
  return 3 * clean.size() >= rounds ? clean : all;
}

double comparison_result::median_ns(const comparison_entry& of) const {
  std::vector<double> values;
  for (const std::size_t round : rounds_of({&of})) values.push_back(of.rounds[round].loop_ns);
  return summarize(std::move(values)).median;
}

std::vector<double> comparison_result::pairs(const comparison_entry& first, const comparison_entry& second,
                                             const std::function<double(double, double)>& value) const {
  std::vector<double> values;
  for (const std::size_t round : rounds_of({&first, &second}))
    values.push_back(value(first.rounds[round].loop_ns, second.rounds[round].loop_ns));
  return values;
}

comparison_result run_comparison(const comparison_plan& plan, const batch_options& method, const std::string& program,
                                 std::vector<std::string>& notes) {
  const cpu_pair cpus = two_cpus();
  static const double steps_per_us = steps_per_microsecond();
  const comparison_setup setup{.steps_per_us = steps_per_us, .first_cpu = cpus.first, .second_cpu = cpus.second};
  std::vector<running_competitor> running = start_competitors(plan, program, setup, notes);

  std::vector<comparison_entry> entries;
  std::vector<seat> seats;
  for (std::size_t which = 0; which < running.size(); ++which) {
    const running_competitor& each = running[which];
    for (std::size_t schedule = 0; schedule < each.process->schedules().size(); ++schedule) {
      const std::string& name = each.process->schedules()[schedule];
      if (std::find(plan.entries.begin(), plan.entries.end(), each.kind + '/' + name) == plan.entries.end()) continue;
      seats.push_back({which, schedule, entries.size()});
      entries.push_back({.name = each.kind == "trireme" ? name : each.label + '/' + name});
    }
  }

  const auto run = [&](const seat& who, std::uint32_t warm_up) {
    return running[who.competitor].process->run({.which = plan.which,
                                                 .schedule = who.schedule,
                                                 .warm_up = warm_up,
                                                 .loops = plan.loops,
                                                 .first = plan.first_executions});
  };
  // With little time only the function is checked.
  const bool in_a_hurry = method.max_time_s <= 2;
  const std::uint32_t learning = std::min(plan.learning, in_a_hurry ? 2U : plan.learning);
  for (const seat& who : seats) {
    if (learning > 0) run(who, learning);
    if (plan.ask_who_shared) entries[who.entry].shared = running[who.competitor].process->shared_part(who.schedule);
  }

  handoff_probe probe(cpus.first, cpus.second);
  std::vector<double> handoff_ns;
  const std::size_t least_rounds = std::max<std::size_t>(3, method.repetitions / plan.batches_per_round);
  const std::int64_t start_ns = os::now_ns();
  const auto seconds = [start_ns] { return static_cast<double>(os::now_ns() - start_ns) * 1e-9; };
  const int attempts = in_a_hurry ? 1 : 3;
  for (std::size_t round = 0; round < least_rounds || seconds() < method.min_time_s; ++round) {
    if (round >= 3 && seconds() > method.max_time_s) break;
    handoff_ns.push_back(probe.measure());
    for (std::size_t turn = 0; turn < seats.size(); ++turn) {
      const seat& who = seats[(turn + round) % seats.size()];
      batch_reply reply = run(who, plan.warm_up);
      for (int again = 1; again < attempts && plan.disturbances_count && reply.disturbed; ++again)
        reply = run(who, plan.warm_up);
      entries[who.entry].rounds.push_back(reply);
    }
  }
  return {std::move(entries), std::move(handoff_ns), plan.disturbances_count};
}

}  // namespace tri::bench
