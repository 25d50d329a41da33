#include "objects/messages/reorder_buffer.hpp"

namespace tri::objects {

std::uint64_t sequence_numbers::draw(int receiver) { return ++last_[receiver]; }

bool sequence_numbers::take_back(int receiver, std::uint64_t number) {
  std::uint64_t& last = last_[receiver];
  if (last != number) return false;
  --last;
  return true;
}

}  // namespace tri::objects
