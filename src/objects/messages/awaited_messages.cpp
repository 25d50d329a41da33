#include "objects/messages/awaited_messages.hpp"

#include <algorithm>
#include <utility>

namespace tri::objects {

bool awaited_messages::arrive(const message_key& key, sched::envelope& message) {
  message_waiter** const found = wanted_.first(key);
  if (found == nullptr) {
    kept_.push(key, message);
    return false;
  }
  message_waiter& waiter = **found;
  waiter.use(message);
  if (!waiter.satisfied()) return true;
  take_wanted(waiter);
  waiting_coroutine* const entry = waiter.entry_;
  if (--entry->unsatisfied == 0) {
    const std::coroutine_handle<> coroutine = entry->coroutine;
    waiting_.erase(entry->self);
    coroutine.resume();
  }
  return true;
}

void awaited_messages::take_wanted(const message_waiter& waiter) {
  wanted_.take(static_cast<keyed_queues<message_waiter*>::entry*>(waiter.position_)->self);
}

bool awaited_messages::satisfy(const std::vector<message_waiter*>& wanted) {
  for (message_waiter* const waiter : wanted) {
    while (!waiter->satisfied() && kept_.first(waiter->key()) != nullptr) {
      sched::envelope message = kept_.pop(waiter->key());
      waiter->use(message);
    }
  }
  return std::all_of(wanted.begin(), wanted.end(), [](const message_waiter* w) { return w->satisfied(); });
}

void awaited_messages::wait(std::vector<message_waiter*> wanted, std::coroutine_handle<> coroutine) {
  const auto entry = waiting_.insert(waiting_.end(), {std::move(wanted), coroutine});
  entry->self = entry;
  for (message_waiter* const waiter : entry->wanted) {
    waiter->entry_ = &*entry;
    if (waiter->satisfied()) continue;
    waiter->position_ = &*wanted_.push(waiter->key(), waiter);
    ++entry->unsatisfied;
  }
}

void awaited_messages::forget(const message_waiter& any) {
  waiting_coroutine* const entry = any.entry_;
  for (message_waiter* const waiter : entry->wanted)
    if (!waiter->satisfied()) take_wanted(*waiter);
  waiting_.erase(entry->self);
}

std::vector<awaited_messages::kept> awaited_messages::take_messages() {
  std::vector<kept> taken;
  taken.reserve(kept_.size());
  for (const auto& each : kept_.take_all()) taken.push_back({each.key, each.value});
  return taken;
}

}  // namespace tri::objects
