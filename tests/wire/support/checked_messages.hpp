// Messages whose contents say what they must be: numbered per pair, of sizes around the borders of the protocols, with
// a body that follows from sender and number. A sender makes them, a port_user checks them. One thread each.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/check.hpp"
#include "wire/port.hpp"

namespace tri::wire::test {

struct checked_header {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
};

inline unsigned char byte_of(std::uint64_t from, std::uint64_t number, std::uint64_t at) {
  return static_cast<unsigned char>(from * 31 + number * 7 + at * 13 + (at >> 9));
}

/// Bodies in use: a release of what is not in use, or twice, fails. Shared by the threads of a test only if they lock.
class body_store {
 public:
  message_body make(std::uint64_t from, std::uint64_t number, std::size_t bytes) {
    if (bytes == 0) return {};
    auto* const block = static_cast<unsigned char*>(std::malloc(bytes));
    for (std::size_t at = 0; at < bytes; ++at) block[at] = byte_of(from, number, at);
    ++made_;
    return {.block = block, .bytes = bytes, .release = release};
  }
  static std::uint64_t released() { return released_; }
  std::uint64_t made() const { return made_; }

 private:
  static void release(void* block) {
    ++released_;
    std::memset(block, 0xee, 1);  // who still reads it sends something wrong
    std::free(block);
  }
  std::uint64_t made_ = 0;
  static inline std::uint64_t released_ = 0;
};

inline void send_checked(port& wire, body_store& bodies, std::uint32_t from, std::uint32_t to, std::uint64_t number,
                         std::size_t bytes) {
  const checked_header header = {.from = from, .to = to, .number = number, .bytes = bytes};
  wire.send(to, std::as_bytes(std::span(&header, 1)), bodies.make(from, number, bytes));
}

class checking_user final : public port_user {
 public:
  explicit checking_user(std::uint32_t self) : self_(self) {}
  ~checking_user() {
    for (void* const place : places_) std::free(place);
  }

  void* memory_for(peer_number, std::span<const std::byte>, std::size_t bytes) override {
    if (refuse_above < bytes) return nullptr;
    void* const place = std::malloc(bytes);
    places_.insert(place);
    return place;
  }
  void arrived(peer_number from, std::span<const std::byte> header, void* body, std::size_t bytes) override {
    try {
      check(from, header, body, bytes);
    } catch (const std::exception& wrong) {
      if (complaint_.empty()) complaint_ = wrong.what();
    }
    if (body != nullptr) give_back(body);
  }
  void abandoned(void* place) override {
    ++abandoned_count;
    give_back(place);
  }
  void peer_failed(peer_number peer, const std::string& why) override { failures.emplace_back(peer, why); }

  std::uint64_t arrived_from(peer_number peer) { return next_[peer]; }
  std::uint64_t arrived() const { return arrived_; }
  std::size_t places_in_use() const { return places_.size(); }
  /// Throws what a callback has found wrong; callbacks themselves must not throw.
  void verify() const {
    if (!complaint_.empty()) throw std::runtime_error(complaint_);
  }

  std::size_t refuse_above = SIZE_MAX;
  std::uint64_t abandoned_count = 0;
  std::vector<std::pair<peer_number, std::string>> failures;

 private:
  void check(peer_number from, std::span<const std::byte> header, const void* body, std::size_t bytes) {
    checked_header found;
    testing::check_equal(header.size(), sizeof found);
    std::memcpy(&found, header.data(), sizeof found);
    testing::check_equal(found.from, from);
    testing::check_equal(found.to, self_);
    testing::check_equal(found.bytes, bytes);
    testing::check_equal(found.number, next_[from]);
    ++next_[from];
    ++arrived_;
    testing::check((body == nullptr) == (bytes == 0), "a body of 0 bytes and no other is null");
    for (std::size_t at = 0; at < bytes; ++at)
      if (static_cast<const unsigned char*>(body)[at] != byte_of(from, found.number, at))
        testing::check(false, "message " + std::to_string(found.number) + ": wrong byte at " + std::to_string(at));
  }
  void give_back(void* place) {
    if (places_.erase(place) == 0 && complaint_.empty()) complaint_ = "a place was given back that is not in use";
    std::free(place);
  }

  const std::uint32_t self_;
  std::set<void*> places_;
  std::map<peer_number, std::uint64_t> next_;
  std::uint64_t arrived_ = 0;
  std::string complaint_;
};

/// Sizes on both sides of the limits of the protocols.
inline std::vector<std::size_t> sizes_around(const port_options& options) {
  const std::size_t head = sizeof(checked_header);
  return {0,
          1,
          8,
          options.short_limit - head,
          options.short_limit - head + 1,
          options.eager_limit - head,
          options.eager_limit - head + 1,
          3 * options.eager_limit + 7};
}

}  // namespace tri::wire::test
