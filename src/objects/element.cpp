#include "trireme/detail/objects/element.hpp"

#include <utility>

#include "objects/collection_manager.hpp"
#include "objects/messages/awaited_messages.hpp"

namespace tri::objects {

void element_base::delete_awaited::operator()(awaited_messages* all) const { delete all; }

awaited_messages& element_base::awaited() {
  if (awaited_ == nullptr) awaited_.reset(new awaited_messages);
  return *awaited_;
}

std::uint64_t& element_base::section_contributions(std::uint64_t section) {
  for (auto& [known, number] : section_contributions_)
    if (known == section) return number;
  return section_contributions_.emplace_back(section, 0).second;
}

void element_base::awaited_message_arrived(const message_key& key, sched::envelope& message) {
  if (awaited().arrive(key, message)) coroutines_.wait_ended();
}

bool element_base::satisfy_waiters(const std::vector<message_waiter*>& wanted) { return awaited().satisfy(wanted); }

bool element_base::satisfy_waiter_at_once(message_waiter& wanted) { return awaited().satisfy_at_once(wanted); }

void element_base::wait_for_messages(std::vector<message_waiter*> wanted, std::coroutine_handle<> coroutine) {
  awaited().wait(std::move(wanted), coroutine);
}

void element_base::wait_for_any_message(std::vector<message_waiter*> wanted, std::coroutine_handle<> coroutine) {
  awaited().wait(std::move(wanted), coroutine, wait_for::any);
}

void element_base::forget_waiter(const message_waiter& any) {
  awaited_->forget(any);
  coroutines_.wait_ended();
}

}  // namespace tri::objects
