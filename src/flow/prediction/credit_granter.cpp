#include "flow/prediction/credit_granter.hpp"

#include <algorithm>
#include <string>

namespace tri::flow::prediction {
namespace {

[[noreturn]] void broken(std::uint32_t peer, const char* what, std::uint64_t bytes, const char* against,
                         std::uint64_t known) {
  throw credit_error("credits of peer " + std::to_string(peer) + ": " + what + " " + std::to_string(bytes) +
                     " bytes, " + against + " " + std::to_string(known));
}

}  // namespace

void credit_granter::plan(std::span<const expected_message> expected) {
  for (const expected_message& it : expected) peers_.at(it.sender).expected += buffer_bytes(it.size);
  // Credits not yet in a control message can be replanned for free.
  for (const std::uint32_t number : noted_) {
    peer_credit& it = peers_[number];
    it.to_recall = 0;
    const std::uint64_t has = it.reserved + it.occupied;
    if (has <= it.expected) continue;
    const std::uint64_t back = std::min(it.unsent, has - it.expected);
    it.unsent -= back;
    take_back(number, back);
  }
  for (const expected_message& it : expected) peers_[it.sender].expected = 0;

  // In the order of the messages, so that a small pool serves the earliest. `expected` is rebuilt.
  bool short_of_memory = false;
  for (const expected_message& message : expected) {
    peer_credit& it = peers_[message.sender];
    if (it.failed) continue;
    const std::uint64_t wanted = it.expected + buffer_bytes(message.size);
    const std::uint64_t has = it.reserved + it.occupied;
    if (wanted > has && wanted - has > free_) {
      short_of_memory = true;
      continue;  // it will use rendezvous; a smaller one behind it may still fit
    }
    it.expected = wanted;
    if (wanted > has) reserve(message.sender, wanted - has);
  }

  if (short_of_memory) {
    for (const std::uint32_t number : holders_) {
      peer_credit& it = peers_[number];
      const std::uint64_t wanted = it.expected > it.occupied ? it.expected - it.occupied : 0;
      if (it.recalled != 0 || it.reserved <= wanted) continue;
      it.to_recall = std::min(it.reserved - wanted, it.reserved - it.unsent);
      if (it.to_recall != 0) note(number);
    }
  }
  for (const expected_message& it : expected) peers_[it.sender].expected = 0;
}

credit_control credit_granter::leaving_to(std::uint32_t peer) { return take_control(peers_.at(peer)); }

void credit_granter::flush(std::vector<credit_message>& messages) {
  for (const std::uint32_t number : noted_) {
    peers_[number].noted = false;
    const credit_control it = take_control(peers_[number]);
    if (it) messages.push_back({number, it});
  }
  noted_.clear();
}

void credit_granter::arrived(std::uint32_t peer, std::uint64_t size) {
  peer_credit& it = peers_.at(peer);
  const std::uint64_t bytes = buffer_bytes(size);
  if (bytes > it.reserved - it.unsent)
    broken(peer, "a message took", bytes, "it had credit for", it.reserved - it.unsent);
  take_back(peer, bytes);
  free_ -= bytes;
  it.occupied += bytes;
}

void credit_granter::released(std::uint32_t peer, std::uint64_t size) {
  peer_credit& it = peers_.at(peer);
  const std::uint64_t bytes = buffer_bytes(size);
  if (bytes > it.occupied) broken(peer, "a buffer was released with", bytes, "its messages occupied", it.occupied);
  it.occupied -= bytes;
  free_ += bytes;
}

void credit_granter::given_back(std::uint32_t peer, std::uint64_t bytes) {
  peer_credit& it = peers_.at(peer);
  if (it.recalled == 0) broken(peer, "it gave back", bytes, "none were recalled; it had", it.reserved);
  const std::uint64_t most = std::min(it.recalled, it.reserved - it.unsent);
  if (bytes > most) broken(peer, "it gave back", bytes, "it had of those recalled at most", most);
  it.recalled = 0;
  take_back(peer, bytes);
}

void credit_granter::peer_failed(std::uint32_t peer) {
  peer_credit& it = peers_.at(peer);
  it.unsent = 0;
  it.to_recall = 0;
  it.recalled = 0;
  it.failed = true;
  take_back(peer, it.reserved);
}

void credit_granter::reserve(std::uint32_t number, std::uint64_t bytes) {
  peer_credit& it = peers_[number];
  if (it.reserved == 0) {
    it.holder_index = static_cast<std::uint32_t>(holders_.size());
    holders_.push_back(number);
  }
  it.reserved += bytes;
  it.unsent += bytes;
  free_ -= bytes;
  most_in_use_ = std::max(most_in_use_, in_use());
  note(number);
}

// The caller has ensured that the peer has that much, and keeps unsent <= reserved.
void credit_granter::take_back(std::uint32_t number, std::uint64_t bytes) {
  peer_credit& it = peers_[number];
  it.reserved -= bytes;
  free_ += bytes;
  if (bytes != 0 && it.reserved == 0) {
    holders_[it.holder_index] = holders_.back();
    peers_[holders_.back()].holder_index = it.holder_index;
    holders_.pop_back();
  }
}

void credit_granter::note(std::uint32_t number) {
  if (peers_[number].noted) return;
  peers_[number].noted = true;
  noted_.push_back(number);
}

credit_control credit_granter::take_control(peer_credit& it) {
  const credit_control taken{.granted = it.unsent, .recalled = it.to_recall};
  it.unsent = 0;
  it.recalled += it.to_recall;
  it.to_recall = 0;
  return taken;
}

}  // namespace tri::flow::prediction
