#include "objects/messages/awaited_messages.hpp"

#include <algorithm>
#include <utility>

namespace tri::objects {

std::string message_waiter::describe_match() const {
  if (match_ == message_match::filter) return "that a predicate accepts";
  std::string text = "with reference number " + std::to_string(key_.reference);
  if (match_ == message_match::reference_and_filter) text += " and further arguments";
  return text;
}

// The method may send, the waiters may change while it runs, and it may end the waiting coroutine.
awaited_messages::outcome awaited_messages::use(message_waiter& waiter, sched::envelope& message) {
  bool gone = false;
  waiter.gone_ = &gone;
  --waiter.missing_;
  bool accepted = false;
  try {
    accepted = waiter.accept(message, gone);
  } catch (...) {
    if (!gone) waiter.gone_ = nullptr;
    throw;
  }
  if (gone) return outcome::gone;
  waiter.gone_ = nullptr;
  if (!accepted) ++waiter.missing_;
  return outcome::used;
}

// Of the waiters with more than a key, the one that waits longest and can take the message.
message_waiter* awaited_messages::first_filtering(const message_key& key, sched::envelope& message) {
  const auto takes = [&](message_waiter* waiter) {
    if (waiter->match_ != message_match::reference && !waiter->accepts(message)) return false;
    const std::size_t others = waiter->missing_ - 1;
    return waiter->entry_->what == wait_for::all || others == 0 || kept_for(*waiter, others) == others;
  };
  const auto found = [&](const message_key& of, message_match any) -> message_waiter* {
    const auto at = filtering_.find_if(of, [&](message_waiter* waiter) {
      return (waiter->match_ == message_match::filter) == (any == message_match::filter) && takes(waiter);
    });
    return at == filtering_.end() ? nullptr : at->value;
  };
  message_waiter* const of_key = found(key, message_match::reference);
  if (taking_any_reference_ == 0) return of_key;
  message_waiter* const of_any = found({key.method, 0}, message_match::filter);
  if (of_key == nullptr || of_any == nullptr) return of_key != nullptr ? of_key : of_any;
  return of_key->order_ < of_any->order_ ? of_key : of_any;
}

message_waiter* awaited_messages::waiter_for(const message_key& key, sched::envelope& message) {
  message_waiter** const first = wanted_.first(key);
  message_waiter* const plain = first == nullptr ? nullptr : *first;
  if (filtering_.size() == 0) [[likely]]
    return plain;
  message_waiter* const other = first_filtering(key, message);
  if (plain == nullptr || other == nullptr) return plain != nullptr ? plain : other;
  return plain->order_ < other->order_ ? plain : other;
}

bool awaited_messages::arrive(const message_key& key, sched::envelope& message) {
  message_waiter* const found = waiter_for(key, message);
  if (found == nullptr) {
    kept_.push(key, message);
    return false;
  }
  message_waiter& waiter = *found;
  waiting_coroutine& entry = *waiter.entry_;
  if (entry.what == wait_for::any) {
    while (waiter.missing_ > 1) {
      const auto at = find_kept(waiter);
      if (at == kept_.end()) break;  // a method has thrown, and so the message did not count
      sched::envelope earlier = kept_.take(at);
      if (use(waiter, earlier) == outcome::gone) {
        arrive(key, message);
        return true;
      }
    }
  }
  if (use(waiter, message) == outcome::gone || !waiter.satisfied()) return true;
  if (entry.what == wait_for::any) {
    for (message_waiter* const each : entry.wanted) take_wanted(*each);
    resume(entry);
  } else {
    take_wanted(waiter);
    if (--entry.unsatisfied == 0) resume(entry);
  }
  return true;
}

void awaited_messages::resume(waiting_coroutine& entry) {
  const std::coroutine_handle<> coroutine = entry.coroutine;
  waiting_.erase(entry.self);
  coroutine.resume();
}

void awaited_messages::take_wanted(const message_waiter& waiter) {
  if (waiter.match_ == message_match::filter) --taking_any_reference_;
  (waiter.is_in_plain_queue_ ? wanted_ : filtering_).take(static_cast<waiters_by_key::entry*>(waiter.position_)->self);
}

awaited_messages::messages::position awaited_messages::find_kept(message_waiter& waiter) {
  const auto accepts = [&](sched::envelope& message) { return waiter.accepts(message); };
  switch (waiter.match_) {
    case message_match::reference:
      return kept_.find_if(waiter.key(), [](const sched::envelope&) { return true; });
    case message_match::reference_and_filter:
      return kept_.find_if(waiter.key(), accepts);
    case message_match::filter:
      return kept_.find_if_of_method(waiter.key().method, accepts);
  }
  return kept_.end();
}

// How many of the messages kept it could take; stops counting at `at_most`.
std::size_t awaited_messages::kept_for(message_waiter& waiter, std::size_t at_most) {
  std::size_t count = 0;
  const auto counts = [&](sched::envelope& message) {
    return count < at_most && (waiter.match_ == message_match::reference || waiter.accepts(message)) &&
           ++count == at_most;
  };
  if (waiter.match_ == message_match::filter)
    kept_.find_if_of_method(waiter.key().method, counts);
  else
    kept_.find_if(waiter.key(), counts);
  return count;
}

bool awaited_messages::satisfy(const std::vector<message_waiter*>& wanted) {
  for (message_waiter* const waiter : wanted) {
    while (!waiter->satisfied()) {
      const auto at = find_kept(*waiter);
      if (at == kept_.end()) break;
      sched::envelope message = kept_.take(at);
      use(*waiter, message);
    }
  }
  return std::all_of(wanted.begin(), wanted.end(), [](const message_waiter* w) { return w->satisfied(); });
}

bool awaited_messages::satisfy_at_once(message_waiter& wanted) {
  return kept_for(wanted, wanted.missing_) == wanted.missing_ && satisfy({&wanted});
}

void awaited_messages::wait(std::vector<message_waiter*> wanted, std::coroutine_handle<> coroutine, wait_for what) {
  const auto entry = waiting_.insert(waiting_.end(), {std::move(wanted), coroutine, what});
  entry->self = entry;
  for (message_waiter* const waiter : entry->wanted) {
    waiter->entry_ = &*entry;
    if (waiter->satisfied()) continue;
    waiter->order_ = next_order_++;
    waiter->is_in_plain_queue_ =
        waiter->match_ == message_match::reference && (what == wait_for::all || waiter->missing_ == 1);
    waiter->position_ = &*(waiter->is_in_plain_queue_ ? wanted_ : filtering_).push(waiter->key(), waiter);
    if (waiter->match_ == message_match::filter) ++taking_any_reference_;
    ++entry->unsatisfied;
  }
}

void awaited_messages::forget(const message_waiter& any) {
  waiting_coroutine* const entry = any.entry_;
  for (message_waiter* const waiter : entry->wanted)
    if (!waiter->satisfied() || waiter->gone_ != nullptr) take_wanted(*waiter);
  waiting_.erase(entry->self);
}

std::vector<awaited_messages::kept> awaited_messages::take_messages() {
  std::vector<kept> taken;
  taken.reserve(kept_.size());
  for (const auto& each : kept_.take_all()) taken.push_back({each.key, each.value});
  return taken;
}

}  // namespace tri::objects
