#include "matching/match_table.hpp"

namespace tri::matching {

template <class Binning>
posted_receive* match_table<Binning>::find_posted(const message_key& message) const {
  const auto takes_it = [&](const posted_receive& receive) { return receive.key.takes(message); };
  posted_receive* first = receive_bins_[Binning::bin_of(message)].find(takes_it);
  if (!wild_receives_.empty()) {
    posted_receive* const wild = wild_receives_.find(takes_it);
    if (first == nullptr || (wild != nullptr && wild->order < first->order)) first = wild;
  }
  return first;
}

template <class Binning>
void match_table<Binning>::add_unexpected(arrived_message& message) {
  arrived_bins_[Binning::bin_of(message.key)].push_back(message);
  arrived_in_order_.push_back(message);
  ++arrived_;
}

template <class Binning>
void match_table<Binning>::post(posted_receive& receive) {
  receive.order = next_order_++;
  (Binning::has_bin(receive.key) ? receive_bins_[Binning::bin_of(receive.key)] : wild_receives_).push_back(receive);
  ++posted_;
}

template <class Binning>
arrived_message* match_table<Binning>::find_arrived(const message_key& wanted) const {
  const auto is_taken = [&](const arrived_message& message) { return wanted.takes(message.key); };
  return Binning::has_bin(wanted) ? arrived_bins_[Binning::bin_of(wanted)].find(is_taken)
                                  : arrived_in_order_.find(is_taken);
}

template class match_table<by_source>;
template class match_table<by_source_and_tag>;

}  // namespace tri::matching
