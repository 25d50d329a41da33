// How long messages wait for a thread that sends and receives in turn (Mei 2012, 6.3.2): `sends` and `receives` are
// pending when it begins, it serves a number of one kind, then a number of the other, and changing the kind has a cost.
// Speeding up one kind delays the other.
#pragma once

#include <cstdint>

namespace tri::tools {

/// Costs in any unit of time, the same for all; waits come out in that unit.
struct pending_messages {
  std::int64_t sends = 0;
  std::int64_t receives = 0;
  double send_cost = 0;     // of one message
  double receive_cost = 0;  // of one message
  double switch_cost = 0;   // of a change from one kind to the other; none is charged before the first turn
};

enum class first_served : std::uint8_t { sends, receives };

/// A message waits until its service begins.
struct waits {
  double of_sends = 0;     // all together
  double of_receives = 0;  // all together
  double longest = 0;      // of one message
  double total() const { return of_sends + of_receives; }
};

/// Message by message, with turns of any size (at least 1; capped at the rest).
waits simulate_waits(const pending_messages& pending, first_served first, std::int64_t sends_per_turn,
                     std::int64_t receives_per_turn);

/// The sum of all waits by a closed form: `rounds` turns of each kind, all of a size. Exact where `rounds` divides the
/// number of sends and that of receives.
double total_wait(const pending_messages& pending, first_served first, double rounds);

/// The number of rounds with the smallest total_wait, from 1 (serve everything of one kind first) to that of the kind
/// with fewer messages. More than 1 only if the kind served first costs more than the other. Exact as total_wait is, or
/// by one whole number of rounds beside the best divisor.
std::int64_t best_rounds(const pending_messages& pending, first_served first);

}  // namespace tri::tools
