// What a call of a balancing says and returns; calls of the library behind trireme/balance.hpp and array_element.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "trireme/detail/sched/priority.hpp"

#pragma GCC visibility push(default)

namespace tri {

template <class T>
class future;

/// Without destructors: gcc 12 destroys what `co_await balance()` and `co_await balance({.strategy = "greedy"})` make
/// twice (docs/user/objects.md, Cancelling).
struct balance_options {
  /// Name of a strategy (`trireme balance --list`); empty: that of --tri-balance. The call copies it.
  std::string_view strategy = {};
  /// True: this call ends an iteration, and elements move only if what was lost in the iterations so far pays for it;
  /// see --tri-balance-when.
  bool only_if_it_pays = false;
};
static_assert(std::is_trivially_destructible_v<balance_options>);

struct balance_report {
  std::string strategy = {};        ///< that decided; empty: none did, because it would not have paid, or it is off
  std::int64_t objects = 0;         ///< elements whose loads were measured, all of the job
  std::int64_t moved = 0;           ///< that have migrated
  std::int64_t waiting = 0;         ///< that will migrate as soon as they can
  std::int64_t withdrawn = 0;       ///< that the program has deleted or sent elsewhere meanwhile
  double longest_ns = 0.0;          ///< time of the PE that was busy longest since the last balancing
  double level_ns = 0.0;            ///< that of all PEs if the load could be divided at will
  double predicted_ns = 0.0;        ///< longest time after the moves, by the measured loads
  std::int64_t messages_of_pe = 0;  ///< most messages of this balancing that a PE sent or received, elements aside
  std::int64_t decided_ns = 0;      ///< time for collecting the loads and deciding
  std::int64_t took_ns = 0;         ///< time of all of it
  template <class Archive>
  void serialize(Archive& archive) {
    archive(strategy, objects, moved, waiting, withdrawn, longest_ns, level_ns, predicted_ns, messages_of_pe,
            decided_ns, took_ns);
  }
};

namespace objects {

/// Notes before main that a program balances: its loads are measured from the start. Instantiated by the calls alone:
/// the argument depends on a parameter of theirs, or the mere definition of their templates would do it.
void note_balancing();
template <class ParameterOfCall>
struct uses_balancing {
  static inline const bool is_noted = (note_balancing(), true);
};

future<balance_report> begin_balancing(const balance_options& options);
future<std::string> collect_snapshot();
/// All elements of a collection have called balance_then or balance: balances, then sends a broadcast without arguments
/// to the collection. Its messages name the collection, and the handler of the broadcast as an element.
extern const std::uint32_t collection_is_ready_handler;

}  // namespace objects
}  // namespace tri

#pragma GCC visibility pop
