// An element's messages for methods that its coroutines await (`when`), and the coroutines that wait for them. A
// message for an awaited method runs the method once both exist: the message, and a coroutine that awaits it with the
// same reference number (the method's first argument, if that is an integer). The method is named by the handler of its
// sends; the message may also be a call, which has a handler of its own.
//
// A coroutine waits for all of several waiters, or for any one (select). In the first case each takes its messages as
// they come. In the second one a waiter takes nothing until all that it needs are there; until then others may have
// them. Waiters may have a filter; those with the same key are then looked through in order.
#pragma once

#include <coroutine>
#include <cstdint>
#include <list>
#include <vector>

#include "objects/messages/keyed_queues.hpp"
#include "trireme/detail/sched/envelope.hpp"

namespace tri::objects {

enum class wait_for : bool { all, any };

/// A waiting coroutine and all messages it waits for together, or any of them.
struct waiting_coroutine {
  std::vector<message_waiter*> wanted;
  std::coroutine_handle<> coroutine;
  wait_for what = wait_for::all;
  std::size_t unsatisfied = 0;  // of `wanted`
  std::list<waiting_coroutine>::iterator self{};
};

/// No message is kept that a waiting coroutine could take: one that waits for any takes only all it needs at once.
class awaited_messages {
 public:
  struct kept {
    message_key key;
    sched::envelope message;
  };

  /// A message came, and a method of the element counts as running (owner_scope): gives it to the coroutine that has
  /// waited longest for it (and resumes that when it has all its messages), or keeps a copy. Returns true if the
  /// message was used.
  bool arrive(const message_key& key, sched::envelope& message);
  /// A coroutine requests messages: uses kept ones. True if it need not wait.
  bool satisfy(const std::vector<message_waiter*>& wanted);
  /// The same for one of several alternatives: only if all that it needs are kept.
  bool satisfy_at_once(message_waiter& wanted);
  /// Afterwards, if it has to.
  void wait(std::vector<message_waiter*> wanted, std::coroutine_handle<> coroutine, wait_for what = wait_for::all);
  /// The coroutine, known by anything it waits for, will not be resumed any more.
  void forget(const message_waiter& any);

  std::size_t kept_messages() const { return kept_.size(); }
  /// In order of arrival; none is left.
  std::vector<kept> take_messages();
  /// Calls visit(message) for those that are kept, in order of arrival.
  template <class Visit>
  void visit_messages(Visit&& visit) const {
    for (const auto& each : kept_.in_order()) visit(each.value);
  }
  /// In order of asking.
  const std::list<waiting_coroutine>& waiters() const { return waiting_; }
  /// How often keys of messages and of waiters were compared so far; for tests.
  std::uint64_t comparisons() const { return kept_.comparisons() + wanted_.comparisons() + filtering_.comparisons(); }

 private:
  using messages = keyed_queues<sched::envelope>;
  using waiters_by_key = keyed_queues<message_waiter*>;
  enum class outcome { used, gone };

  static outcome use(message_waiter& waiter, sched::envelope& message);
  message_waiter* waiter_for(const message_key& key, sched::envelope& message);
  message_waiter* first_filtering(const message_key& key, sched::envelope& message);
  messages::position find_kept(message_waiter& waiter);
  std::size_t kept_for(message_waiter& waiter, std::size_t at_most);
  void take_wanted(const message_waiter& waiter);
  void resume(waiting_coroutine& entry);

  messages kept_;
  std::list<waiting_coroutine> waiting_;
  // Those of waiting coroutines that are not satisfied: with nothing but a key, and the others, by their keys; the
  // reference number is 0 for those that take any.
  waiters_by_key wanted_;
  waiters_by_key filtering_;
  std::size_t taking_any_reference_ = 0;  // of the latter
  std::uint64_t next_order_ = 0;
};

}  // namespace tri::objects
