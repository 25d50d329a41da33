// Snapshots of loads (src/balance) that a user sends, and all strategies on what passes their check.
#include <stdexcept>

#include "balance/made_snapshot.hpp"
#include "balance/snapshot_text.hpp"
#include "fuzz/fuzz_target.hpp"
#include "trireme/balance_strategy.hpp"

namespace tri::fuzz {
namespace {

// Beyond, a run takes more time than the fuzzer gives it.
constexpr std::size_t most_objects = 200;

void balance_by_all(const balancing::snapshot& of) {
  for (const balancing::strategy& by : balancing::all_strategies()) {
    if (by.name == "partition") continue;  // METIS is a library of others, and ends some graphs by a signal
    try {
      const balancing::outcome done = balancing::balance(of, by);
      expect(done.after.longest_ns <= done.before.longest_ns, by.name + " lengthens no makespan");
    } catch (const std::invalid_argument&) {  // no coordinates, no counters
    }
  }
}

}  // namespace

bool read(std::string_view input) {
  try {
    const balancing::snapshot of = balancing::snapshot_from(input, "input");
    const std::string text = balancing::to_text(of);
    expect(balancing::to_text(balancing::snapshot_from(text, "text")) == text, "what is written is read back");
    if (of.objects.size() <= most_objects && of.pes.size() <= most_objects) balance_by_all(of);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

std::vector<std::string> seeds() {
  return {balancing::to_text(balancing::make_snapshot(
              balancing::wish_from("random,objects=6,pes=3,hosts=2,immovable=0.3,speeds=0.5,background=1"))),
          balancing::to_text(balancing::make_snapshot(balancing::wish_from("droplet,objects=9,pes=4,hosts=4"))),
          R"({"format": "trireme load snapshot", "version": 1, "pes": {"host": [0, 7], "cache": [0, 1]},
              "objects": {"load_ns": [5, 6], "pe": [0, 0], "user_data": ["", "0aff"]},
              "traffic": {"from": [0], "to": [1], "messages": [3], "bytes": [10]}})"};
}

}  // namespace tri::fuzz
