#include "objects/awaited_messages.hpp"

#include <algorithm>

namespace tri::objects {

bool awaited_messages::arrive(std::uint32_t method, std::uint64_t reference, sched::envelope& message) {
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    auto& wanted = waiting_[i].wanted;
    const auto match = std::find_if(wanted.begin(), wanted.end(),
                                    [&](const message_waiter* w) { return w->matches(method, reference); });
    if (match == wanted.end()) continue;
    message_waiter& waiter = **match;
    const std::coroutine_handle<> coroutine = waiting_[i].coroutine;
    waiter.use(message);
    const auto entry =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const waiting& w) { return w.coroutine == coroutine; });
    if (std::all_of(entry->wanted.begin(), entry->wanted.end(),
                    [](const message_waiter* w) { return w->satisfied(); })) {
      waiting_.erase(entry);
      coroutine.resume();
    }
    return true;
  }
  kept_.push_back({method, reference, message});
  return false;
}

bool awaited_messages::satisfy(const std::vector<message_waiter*>& wanted) {
  for (message_waiter* const waiter : wanted) {
    while (!waiter->satisfied()) {
      const auto found = std::find_if(kept_.begin(), kept_.end(),
                                      [&](const kept& k) { return waiter->matches(k.method, k.reference); });
      if (found == kept_.end()) break;
      sched::envelope message = found->message;
      kept_.erase(found);
      waiter->use(message);
    }
  }
  return std::all_of(wanted.begin(), wanted.end(), [](const message_waiter* w) { return w->satisfied(); });
}

void awaited_messages::forget(std::coroutine_handle<> coroutine) {
  std::erase_if(waiting_, [&](const waiting& w) { return w.coroutine == coroutine; });
}

}  // namespace tri::objects
