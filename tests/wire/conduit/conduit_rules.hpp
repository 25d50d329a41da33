// What every conduit promises (conduit.hpp), checked from one side of a pair: packets and bodies arrive once and whole,
// memory is given back once and not read afterwards, bodies can be refused. Both sides call `play`, with numbers 0
// and 1.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/check.hpp"
#include "wire/conduit.hpp"

namespace tri::wire::test {

struct conduit_counts {
  std::size_t packets = 0;    // that came
  std::size_t filled = 0;     // bodies
  std::size_t refused = 0;    // bodies
  std::size_t sent = 0;       // whose memory is free
  std::size_t under_way = 0;  // sends that said so
};

template <conduit Conduit>
class conduit_player final : public conduit_events {
 public:
  static constexpr unsigned packets = 60;

  conduit_player(Conduit& wire, unsigned self) : wire_(wire), self_(self) {}

  /// To the other side: packets of all sizes, of which every third is announced.
  void send_all() {
    for (unsigned number = 0; number < packets; ++number) {
      auto sent = std::make_unique<outgoing>();
      sent->header = {static_cast<std::byte>(self_), static_cast<std::byte>(number)};
      sent->body.assign(size_of(number), static_cast<std::byte>(number * 3 + self_));
      outgoing& packet = *sent;
      const sending how = number % 3 == 2 ? sending::announced : sending::copied;
      if (wire_.send(1 - self_, how, packet.header, packet.body, &packet) == send_result::under_way) {
        ++counts.under_way;
        under_way_.insert(std::move(sent));
      } else {
        spoil(packet);
      }
      wire_.progress(*this);
    }
  }
  bool finished() const {
    return counts.packets + counts.filled + counts.refused == packets && counts.sent == counts.under_way;
  }
  void step() {
    wire_.progress(*this);
    for (const announcement body : std::exchange(late_, {})) give_place(body);
    if (!complaint_.empty()) throw std::runtime_error(complaint_);
  }

  void packet(std::span<const std::byte> header, std::span<const std::byte> body) override {
    const unsigned number = check_header(header);
    check_body(number, body.data(), body.size());
    ++counts.packets;
  }
  void announced(std::span<const std::byte> header, std::size_t bytes, announcement body) override {
    const unsigned number = check_header(header);
    complain_unless(bytes == size_of(number), "an announced body has another size");
    auto place = std::make_unique<incoming>();
    place->number = number;
    place->bytes.resize(bytes);
    waiting_[body] = std::move(place);
    // One at once, one later, one never.
    if (number % 9 == 2) return give_place(body);
    if (number % 9 == 5) return late_.push_back(body);
    waiting_.erase(body);
    wire_.refuse(body);
    ++counts.refused;
  }
  void filled(packet_token token, bool whole) override {
    auto* const place = static_cast<incoming*>(token);
    complain_unless(whole, "a body is not whole");
    check_body(place->number, place->bytes.data(), place->bytes.size());
    ++counts.filled;
    complain_unless(std::erase_if(placed_, [&](const auto& each) { return each.get() == place; }) == 1,
                    "a place was filled twice");
  }
  void sent(packet_token token) override {
    auto* const packet = static_cast<outgoing*>(token);
    const auto found =
        std::find_if(under_way_.begin(), under_way_.end(), [&](const auto& each) { return each.get() == packet; });
    if (found == under_way_.end()) return complain_unless(false, "a packet was sent twice");
    spoil(*packet);
    under_way_.erase(found);
    ++counts.sent;
  }
  void peer_failed(peer_number peer, const std::string& why) override { failures.emplace_back(peer, why); }

  conduit_counts counts;
  std::vector<std::pair<peer_number, std::string>> failures;

 private:
  struct outgoing : packet_record {
    std::vector<std::byte> header, body;
  };
  struct incoming : packet_record {
    unsigned number = 0;
    std::vector<std::byte> bytes;
  };

  static std::size_t size_of(unsigned number) { return 1 + number * number * 90; }
  // Who reads a packet after it was given back finds something wrong.
  static void spoil(outgoing& packet) {
    std::fill(packet.header.begin(), packet.header.end(), std::byte{0xee});
    std::fill(packet.body.begin(), packet.body.end(), std::byte{0xee});
  }
  void give_place(announcement body) {
    incoming& place = *waiting_.at(body);
    placed_.insert(std::move(waiting_.at(body)));
    waiting_.erase(body);
    wire_.accept(body, place.bytes.data(), place.bytes.size(), &place);
  }
  unsigned check_header(std::span<const std::byte> header) {
    complain_unless(header.size() == 2 && header[0] == static_cast<std::byte>(1 - self_),
                    "a header is not what was sent");
    const unsigned number = header.size() == 2 ? static_cast<unsigned>(header[1]) : 0;
    complain_unless(came_.insert(number).second, "packet " + std::to_string(number) + " came twice");
    return number;
  }
  void check_body(unsigned number, const std::byte* bytes, std::size_t size) {
    const auto expected = static_cast<std::byte>(number * 3 + 1 - self_);
    complain_unless(
        size == size_of(number) && std::all_of(bytes, bytes + size, [&](std::byte b) { return b == expected; }),
        "the body of packet " + std::to_string(number) + " is not what was sent");
  }
  void complain_unless(bool holds, const std::string& what) {
    if (!holds && complaint_.empty()) complaint_ = what;
  }

  Conduit& wire_;
  const unsigned self_;
  std::set<std::unique_ptr<outgoing>> under_way_;
  std::map<announcement, std::unique_ptr<incoming>> waiting_;
  std::set<std::unique_ptr<incoming>> placed_;
  std::vector<announcement> late_;
  std::set<unsigned> came_;
  std::string complaint_;
};

}  // namespace tri::wire::test
