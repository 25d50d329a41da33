// See balancing.hpp.
#include "md/parallel/balancing.hpp"

#include <algorithm>

#include "os/clock.hpp"
#include "trireme/balance.hpp"
#include "trireme/balance_strategy.hpp"

namespace md {
namespace {

constexpr const char* scatter = "scatter";

// What a pure strategy would not do: everything moves, wherever.
std::int64_t scatter_objects(const run_objects& all, std::int64_t round) {
  all.pairs.broadcast<&pair_compute::scatter>(round);
  all.patches.broadcast<&patch_object::scatter>(round);
  if (the_world->has_long_range()) {
    all.slabs.broadcast<&pme_slab::scatter>(round);
    all.rows.broadcast<&pme_rows::scatter>(round);
  }
  tri::quiescence().get();
  return the_world->grid().size() * (1 + pair_kinds);
}

}  // namespace

void balance_objects(const run_objects& all, const std::string& strategy, balancing_record& record) {
  const std::int64_t start = tri::os::now_ns();
  all.allow_moves(true);
  if (strategy == scatter) {
    record.moved += scatter_objects(all, record.times);
  } else {
    const tri::balance_report report = tri::balance({.strategy = strategy}).get();
    record.moved += report.moved;
    record.last_before = report.level_ns > 0.0 ? report.longest_ns / report.level_ns : 1.0;
    record.last_after = report.level_ns > 0.0 ? report.predicted_ns / report.level_ns : 1.0;
    if (report.waiting > 0) tri::quiescence().get();
  }
  all.allow_moves(false);
  all.reconnect();
  ++record.times;
  record.seconds += static_cast<double>(tri::os::now_ns() - start) * 1e-9;
}

void check_strategy(const std::string& strategy) {
  if (!strategy.empty() && strategy != scatter) tri::balancing::find_strategy(strategy);
}

}  // namespace md
