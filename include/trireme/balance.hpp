// Load balancing: the loads of elements are measured, a strategy decides which of them migrate, and they do.
//
//   for (int step = 0; step < steps; ++step) {
//     co_await cells.reduce<&Cell::advance>(tri::sum);
//     if (step % 20 == 0) co_await tri::balance();
//   }
//
// Elements need not stop for it: what is sent to them meanwhile follows them. Where all elements take part by
// themselves, array_element::balance() and balance_then() wait for all of them first.
//
// A program that calls one of them measures its loads from the start; `--tri-balance-every-ms` balances programs that
// do not. Options: --tri-balance (the strategy, or off), --tri-balance-when, --tri-balance-every-ms,
// --tri-balance-snapshots; docs/user/balancing.md. Strategies of a program's own: balance_strategy.hpp.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <string>

#include "trireme/detail/objects/balance_call.hpp"
#include "trireme/future.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// Measures loads, decides, and migrates. On any PE, in main programs and coroutines; the future is ready when all
/// elements that could migrate have arrived. Elements that wait for a result, and those that would leave their process
/// with a suspended coroutine, follow as soon as they can. Calls during a balancing are one balancing after it.
/// The future fails with remote_error when there is no strategy of that name, or when it lacks what it needs (as
/// coordinates), or throws: then nothing has moved.
template <class Options = balance_options>
  requires std::is_same_v<Options, balance_options>
future<balance_report> balance(const Options& options = {}) {
  static_cast<void>(&objects::uses_balancing<Options>::is_noted);
  return objects::begin_balancing(options);
}

/// The loads of all elements that are not yet part of a balancing, as JSON: what `trireme balance` reads. Begins no
/// balancing, and the loads go on adding up.
template <class Result = std::string>
future<Result> load_snapshot() {
  static_cast<void>(&objects::uses_balancing<Result>::is_noted);
  return objects::collect_snapshot();
}

}  // namespace tri

#pragma GCC visibility pop
