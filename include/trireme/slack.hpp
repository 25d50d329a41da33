// Predicts how long this process will wait at its next blocking operation. A loop before it may take that much longer
// without delaying the program, so a slack-conscious schedule makes less of it dynamic (V. Kale, PhD dissertation,
// Illinois 2015, chapter 4).
//
// Every blocking operation (a future, a reduction, an MPI call) reports each wait; loops report their end and query
// before they start:
//     tri::slack::predictor& slack = tri::slack::of_this_process();
//     slack.waited({tri::slack::operation_type("reduction"), tri::slack::call_path()}, nanoseconds);
// Times in nanoseconds where processes share a predictor; any unit otherwise. All functions: any thread.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)

namespace tri::slack {

/// The key under which waits are recorded, and thus the basis of predictions.
enum class history : std::uint8_t {
  off,        ///< no slack is ever predicted
  naive,      ///< one number for everything, set_naive()
  operation,  ///< the type of the operation
  call_path   ///< the type and the call site in the program
};

struct settings {
  history by = history::call_path;
  std::uint32_t window = 1;     ///< the prediction is the median of this many last waits; 1: the last one
  bool subtract_least = false;  ///< subtract the shortest wait seen for this key and size: the cost of the operation
};

struct operation {
  std::uint64_t type = 0;       ///< operation_type()
  std::uint64_t call_path = 0;  ///< call_path(), where the history is kept by it
  std::uint64_t bytes = 0;
};

/// A number for the name of an operation, the same in every process; the name can be looked up.
std::uint64_t operation_type(std::string_view name);
std::string operation_name(std::uint64_t type);

/// A number for the chain of calls that leads to the caller of this function. Costs about a microsecond.
[[gnu::noinline]] std::uint64_t call_path();

/// A loop's record of the operation that followed it. Copies share it.
class loop_link {
 public:
  loop_link() : state_(std::make_shared<state>()) {}

 private:
  friend class predictor;
  struct state {
    enum { unknown, another_loop, blocking } followed_by = unknown;
    operation next{};
  };
  std::shared_ptr<state> state_;
};

/// The accuracy of predictions that could be compared with waits.
struct error_report {
  std::uint64_t waits = 0;
  double mean_wait = 0.0;
  double mean_error = 0.0;  ///< of the amount
  double relative() const { return mean_wait > 0.0 ? mean_error / mean_wait : 0.0; }
};

class predictor {
 public:
  /// Throws std::invalid_argument when the window is 0.
  explicit predictor(const settings& how = {});
  predictor(const predictor&) = delete;
  predictor& operator=(const predictor&) = delete;

  /// The mean wait of a trial operation: the prediction for operations not seen yet, or for all.
  void set_naive(double time);
  double naive() const;
  /// Forgets all waits.
  void set(const settings& how);

  /// An operation is over; the process waited for `time` in it. Negative times and NaN count as 0.
  void waited(const operation& which, double time);
  double predicted(const operation& which) const;

  /// A loop has ended: the next operation, if no other loop comes in between, determines its slack.
  void loop_ended(const loop_link& loop);
  /// The slack that the loop may use. Before its first end it is the naive one, as the operation is unknown.
  double before_loop(const loop_link& loop) const;
  /// The operation that followed the loop last time.
  std::optional<operation> after(const loop_link& loop) const;

  error_report errors() const;

 private:
  // Call paths of a recursive program have no end: those beyond are predicted as never seen.
  static constexpr std::size_t most_keys = 65536;
  struct past {
    std::vector<double> waits;  // ring of the last `window`
    std::size_t next = 0;
  };
  std::uint64_t key_of(const operation& which) const;
  double prediction(const operation& which) const;

  mutable std::mutex mutex_;
  settings how_;
  double naive_ = 0.0;
  std::map<std::uint64_t, past> pasts_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> least_;  // by key and size
  std::shared_ptr<loop_link::state> ended_;                          // the last loop, until something follows
  std::uint64_t waits_ = 0;
  double sum_of_waits_ = 0.0;
  double sum_of_errors_ = 0.0;
};

/// The predictor that loops, futures, reductions and the MPI layer of this process share. Off until set.
predictor& of_this_process();

/// Mean of the waits of a trial, for set_naive(). 0 for none.
double naive_slack(std::span<const double> waits);

/// The errors that a predictor would have made on these waits, in this order.
error_report errors_on(std::span<const std::pair<operation, double>> waits, const settings& how, double naive);

}  // namespace tri::slack

#pragma GCC visibility pop
