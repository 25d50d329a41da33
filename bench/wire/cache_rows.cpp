// The effect of message handling on the cache of a computation, by the handling thread. See wire/cache_backend.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "framework/process_rows.hpp"
#include "framework/statistics.hpp"
#include "wire/cache_backend.hpp"
#include "wire/rows.hpp"

namespace tri::bench {
namespace {

/// The measurements of one kind of process, of all rounds.
struct side {
  std::vector<double> piece_ns = {}, messages = {}, misses = {};

  void add(const side& more) {
    piece_ns.insert(piece_ns.end(), more.piece_ns.begin(), more.piece_ns.end());
    messages.insert(messages.end(), more.messages.begin(), more.messages.end());
    misses.insert(misses.end(), more.misses.begin(), more.misses.end());
  }
};

side start(const std::string& program, const wire_task& task) {
  side made;
  process_lines(
      {program, "bench", "--wire-competitor", written(task)},
      [&](const std::string& line) {
        const cache_batch batch = read_cache_batch(line);
        made.piece_ns.push_back(batch.piece_ns);
        made.messages.push_back(batch.messages);
        if (batch.misses) made.misses.push_back(*batch.misses);
      },
      60);
  if (made.piece_ns.empty()) throw std::runtime_error("a competitor of the suite wire measured nothing");
  return made;
}

measurement measure_row(context& tools, const std::string& program, wire_task own) {
  const batch_options& method = tools.runner().options();
  const bool in_a_hurry = method.max_time_s <= 2;
  const int rounds = in_a_hurry ? 1 : 5;
  own.seconds = std::max(in_a_hurry ? 0.05 : 0.3, method.min_time_s / rounds);
  wire_task alone = own;
  alone.division = "undisturbed";
  side disturbed, undisturbed;
  comparison beside{.name = "undisturbed", .ratios = {}};
  for (int round = 0; round < rounds; ++round) {
    const side with = start(program, own);
    const side without = start(program, alone);
    beside.ratios.push_back(summarize(with.piece_ns).median / summarize(without.piece_ns).median);
    disturbed.add(with);
    undisturbed.add(without);
  }
  measurement made;
  made.samples.operation_ns = disturbed.piece_ns;
  made.peers["undisturbed"] = nanoseconds_in_unit(summarize(undisturbed.piece_ns).median, "us");
  made.reference = std::move(beside);
  // The mean: on a busy core messages are handled in bursts.
  made.counts["messages"] = std::accumulate(disturbed.messages.begin(), disturbed.messages.end(), 0.0) /
                            static_cast<double>(disturbed.messages.size());
  if (!disturbed.misses.empty() && !undisturbed.misses.empty()) {
    made.counts["cache misses"] = summarize(disturbed.misses).median;
    made.counts["cache misses undisturbed"] = summarize(undisturbed.misses).median;
  } else {
    std::string why;
    static_cast<void>(first_cache_misses(&why));
    made.note = "cache misses are not counted here: " + why;
  }
  return made;
}

}  // namespace

std::vector<row_definition> cache_rows(const std::string& program) {
  std::vector<row_definition> rows;
  const auto add = [&](const char* division, const char* who) {
    const wire_task task{.what = "cache", .bytes = 4096, .in_flight = 16, .division = division};
    rows.push_back(
        {.name = fmt::format("wire/ucx/loopback/cache/{}", division),
         .unit = "us",
         .handoffs = 0,
         .description = fmt::format("1024 accesses to 24 KiB while messages of 4 KiB are handled by {}", who),
         .measure = [=](context& tools) { return measure_row(tools, program, task); }});
  };
  add("mixed", "the same thread, at least one between two such pieces");
  add("separated", "a thread on the other core");
  return rows;
}

}  // namespace tri::bench
