#include "model/waiting_time.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace tri::tools {
namespace {

// The same case with the kind that is served first in the place of the sends.
pending_messages seen_from(const pending_messages& pending, first_served first) {
  if (first == first_served::sends) return pending;
  return {pending.receives, pending.sends, pending.receive_cost, pending.send_cost, pending.switch_cost};
}

}  // namespace

waits simulate_waits(const pending_messages& pending, first_served first, std::int64_t sends_per_turn,
                     std::int64_t receives_per_turn) {
  waits found;
  double now = 0;
  std::int64_t left[2] = {pending.sends, pending.receives};
  const std::int64_t per_turn[2] = {sends_per_turn, receives_per_turn};
  const double cost[2] = {pending.send_cost, pending.receive_cost};
  double* const sum[2] = {&found.of_sends, &found.of_receives};
  int last = -1;
  for (int kind = first == first_served::sends ? 0 : 1; left[0] + left[1] > 0; kind = 1 - kind) {
    if (left[kind] == 0) continue;
    if (last >= 0 && last != kind) now += pending.switch_cost;
    last = kind;
    for (std::int64_t served = std::min(per_turn[kind], left[kind]); served > 0; --served, --left[kind]) {
      *sum[kind] += now;
      found.longest = now;
      now += cost[kind];
    }
  }
  return found;
}

double total_wait(const pending_messages& pending, first_served first, double rounds) {
  const pending_messages by = seen_from(pending, first);
  const auto m = static_cast<double>(by.sends);
  const auto n = static_cast<double>(by.receives);
  return (m + n) * by.switch_cost * rounds + m * n * (by.send_cost - by.receive_cost) / (2 * rounds) +
         (m + n - 1) * (m * by.send_cost + n * by.receive_cost) / 2 - m * by.switch_cost;
}

// The part that depends on the rounds is a * rounds + b / rounds: with b > 0 it has one valley, at sqrt(b / a).
std::int64_t best_rounds(const pending_messages& pending, first_served first) {
  const pending_messages by = seen_from(pending, first);
  const std::int64_t most = std::max<std::int64_t>(std::min(by.sends, by.receives), 1);
  const double gain =
      static_cast<double>(by.sends) * static_cast<double>(by.receives) * (by.send_cost - by.receive_cost);
  if (gain <= 0) return 1;
  const double price = 2 * static_cast<double>(by.sends + by.receives) * by.switch_cost;
  const double valley = price > 0 ? std::sqrt(gain / price) : static_cast<double>(most);
  std::int64_t best = 1;
  for (const double candidate : {std::floor(valley), std::ceil(valley)}) {
    const auto rounds = static_cast<std::int64_t>(std::clamp(candidate, 1.0, static_cast<double>(most)));
    if (total_wait(pending, first, static_cast<double>(rounds)) < total_wait(pending, first, static_cast<double>(best)))
      best = rounds;
  }
  return best;
}

}  // namespace tri::tools
