// Completion detection (Charm++: CompletionDetector): when all messages of a named set have been handled, whatever else
// goes on in the job; tri::quiescence() waits for all messages there are.
//
// The program counts: `produce` before it sends messages of the set, `consume` when one was handled, after it has
// produced what that one causes. A number of producers, given at the start, say `done` when they send no more on their
// own account. Complete: all producers are done, and as many were consumed as produced.
//
// The counters of all PEs are added up in two waves, as for quiescence: all consumed first, all produced afterwards
// (detail/objects/completion_waves.hpp).
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>

#include "trireme/detail/objects/completion_waves.hpp"
#include "trireme/group.hpp"
#include "trireme/reducers.hpp"
#include "trireme/run.hpp"
#include "trireme/task.hpp"

#pragma GCC visibility push(default)

namespace tri {

namespace objects {

/// The counters of one PE.
class local_completion : public group_member<local_completion> {
 public:
  using sums = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

  void produce(std::uint64_t messages) { produced_ += messages; }
  void consume(std::uint64_t messages) { consumed_ += messages; }
  void done(std::uint64_t producers) { done_ += producers; }
  sums counts() const { return {produced_, consumed_, done_}; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(produced_, consumed_, done_, producers_);
  }
  void on_shrink(const local_completion& leaving) {
    produced_ += leaving.produced_;
    consumed_ += leaving.consumed_;
    done_ += leaving.done_;
  }

  /// On PE 0.
  task<> detect(std::uint64_t producers, promise<void> complete) {
    if (is_detecting_) {
      complete.fail("tri::completion_detector::begin: the detection that began before has not ended");
      co_return;
    }
    is_detecting_ = true;
    producers_ += producers;  // counters go on where the last detection ended
    const group<local_completion> all{this->this_array()};
    constexpr std::chrono::microseconds longest_pause{2000};
    for (std::chrono::microseconds pause{20};; pause = pause < longest_pause ? 2 * pause : longest_pause) {
      future<sums> first_wave = all.reduce<&local_completion::counts>(several(sum, sum, sum));
      const completion_counts first = as_counts(co_await std::move(first_wave));
      future<sums> second_wave = all.reduce<&local_completion::counts>(several(sum, sum, sum));
      const completion_counts second = as_counts(co_await std::move(second_wave));
      const completion_verdict verdict = judge_waves(first, second, producers_);
      if (verdict == completion_verdict::complete) break;
      if (verdict == completion_verdict::overdrawn) {
        is_detecting_ = false;
        complete.fail("tri::completion_detector: " + std::to_string(first.consumed) + " messages were consumed of " +
                      std::to_string(second.produced) + " produced, and " + std::to_string(first.done) +
                      " producers are done of " + std::to_string(producers_));
        co_return;
      }
      future<void> paused = after(pause);
      co_await std::move(paused);
    }
    is_detecting_ = false;
    complete.set();
  }

 private:
  static completion_counts as_counts(const sums& of) { return {std::get<0>(of), std::get<1>(of), std::get<2>(of)}; }

  std::uint64_t produced_ = 0;
  std::uint64_t consumed_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t producers_ = 0;  // of all detections so far; on PE 0
  bool is_detecting_ = false;
};

}  // namespace objects

/// Names a set of messages: plain data, which may be copied and sent. produce, consume and done count on the calling
/// PE: from any method or main program, without a message. Throw std::logic_error where the detector does not exist
/// (yet).
class completion_detector {
 public:
  completion_detector() = default;
  explicit completion_detector(const group<objects::local_completion>& counters) : counters_(counters) {}

  /// Messages of the set will be sent: call it before.
  void produce(std::uint64_t messages = 1) const { counters_.local().produce(messages); }
  /// Messages of the set were handled: call it when the method has produced all that they cause.
  void consume(std::uint64_t messages = 1) const { counters_.local().consume(messages); }
  /// As many producers send no further messages of their own account: what consumers produce still counts.
  void done(std::uint64_t producers = 1) const { counters_.local().done(producers); }

  /// Waits for the end of the set: until `producers` calls of done, and all that was produced is consumed. One
  /// detection at a time; when it has ended the next may begin. The future fails with remote_error if another one is
  /// running, or more was consumed than produced. While a detection runs the job is not quiescent.
  future<void> begin(std::uint64_t producers) const {
    future<void> complete;
    counters_[0].send<&objects::local_completion::detect>(producers, complete.get_promise());
    return complete;
  }

 private:
  group<objects::local_completion> counters_;
};

/// On any PE, at any time; the handle is usable at once.
inline completion_detector make_completion_detector() {
  return completion_detector(make_group<objects::local_completion>());
}

}  // namespace tri

#pragma GCC visibility pop
