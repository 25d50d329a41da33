#include "mpi/matching/match_table.hpp"

namespace tri::mpi {

posted_receive* match_table::match_posted(const message_key& message) {
  const auto takes_it = [&](const posted_receive& receive) { return receive.key.takes(message); };
  posted_receive* first = from_one_[bin_of(message)].find(takes_it);
  if (!from_any_.empty()) {
    posted_receive* const any = from_any_.find(takes_it);
    if (first == nullptr || (any != nullptr && any->order < first->order)) first = any;
  }
  if (first != nullptr) withdraw(*first);
  return first;
}

void match_table::add_unexpected(arrived_message& message) {
  arrived_bins_[bin_of(message.key)].push_back(message);
  arrived_in_order_.push_back(message);
  ++arrived_;
}

void match_table::post(posted_receive& receive) {
  receive.order = next_order_++;
  (receive.key.source == any_source ? from_any_ : from_one_[bin_of(receive.key)]).push_back(receive);
  ++posted_;
}

arrived_message* match_table::find_arrived(const message_key& wanted) {
  const auto is_taken = [&](const arrived_message& message) { return wanted.takes(message.key); };
  return wanted.source == any_source ? arrived_in_order_.find(is_taken) : arrived_bins_[bin_of(wanted)].find(is_taken);
}

}  // namespace tri::mpi
