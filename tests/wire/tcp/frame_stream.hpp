// Streams of frames as a connection carries them, and who reads them: what the decoder says is written down, and places
// of bodies have the exact size, so that the address sanitizer sees a byte beyond.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "wire/tcp/frame_decoder.hpp"

namespace tri::wire::test {

class frame_stream {
 public:
  frame_stream& add(const frame_head& head, std::size_t rest = 0, std::byte with = std::byte{1}) {
    const auto bytes = std::as_bytes(std::span(&head, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    for (std::size_t i = 0; i < rest; ++i) bytes_.push_back(static_cast<std::byte>(static_cast<std::size_t>(with) + i));
    return *this;
  }
  frame_stream& packet(std::uint16_t header, std::uint64_t body) {
    return add({.kind = frame_kind::packet, .header_bytes = header, .body_bytes = body}, header + body);
  }
  frame_stream& announce(std::uint32_t name, std::uint16_t header, std::uint64_t body) {
    return add({.kind = frame_kind::announced, .header_bytes = header, .name = name, .body_bytes = body}, header);
  }
  frame_stream& body(std::uint32_t name, std::uint64_t bytes) {
    return add({.kind = frame_kind::body, .name = name, .body_bytes = bytes}, bytes, std::byte{5});
  }
  frame_stream& answer(frame_kind how, std::uint32_t name) { return add({.kind = how, .name = name}); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Accepts every body at once, and knows the bodies that the other side offers by `offered`.
class frame_reader final : public frame_sink {
 public:
  explicit frame_reader(std::set<std::uint32_t> offered = {}) : offered_(std::move(offered)) {}

  void packet(std::span<const std::byte> header, std::span<const std::byte> body) override {
    log += "packet " + text(header) + "|" + text(body) + "\n";
  }
  bool announced(std::span<const std::byte> header, std::uint64_t bytes, std::uint32_t name) override {
    if (places_.contains(name)) return false;
    log += "announced " + text(header) + " " + std::to_string(bytes) + " as " + std::to_string(name) + "\n";
    // More than that nobody accepts here.
    if (bytes > 10'000) return true;
    places_[name] = {.bytes = static_cast<std::size_t>(bytes), .memory = std::make_unique<std::byte[]>(bytes)};
    return true;
  }
  std::span<std::byte> memory_of_body(std::uint32_t name, std::uint64_t bytes) override {
    const auto known = places_.find(name);
    if (known == places_.end() || known->second.bytes != bytes) return {};
    return {known->second.memory.get(), known->second.bytes};
  }
  void body_is_whole(std::uint32_t name) override {
    const place& of = places_.at(name);
    log += "body " + std::to_string(name) + " " + text({of.memory.get(), of.bytes}) + "\n";
    places_.erase(name);
  }
  bool answered(std::uint32_t name, bool accepted) override {
    if (offered_.erase(name) == 0) return false;
    log += (accepted ? "accepted " : "refused ") + std::to_string(name) + "\n";
    return true;
  }

  std::string log;

 private:
  struct place {
    std::size_t bytes = 0;
    std::unique_ptr<std::byte[]> memory;
  };
  static std::string text(std::span<const std::byte> bytes) {
    std::uint64_t sum = 0;
    for (const std::byte each : bytes) sum = sum * 31 + static_cast<std::uint64_t>(each);
    return std::to_string(bytes.size()) + ":" + std::to_string(sum);
  }
  std::map<std::uint32_t, place> places_;
  std::set<std::uint32_t> offered_;
};

/// Gives the decoder the next bytes as a connection does: what place() asks for goes there, the rest to take(), from
/// memory of the exact size. False: refused.
inline bool give(frame_decoder& decoder, frame_reader& reader, std::span<const std::byte> bytes) {
  const std::span<std::byte> place = decoder.place();
  const std::size_t placed = std::min(place.size(), bytes.size());
  if (placed != 0) {
    std::memcpy(place.data(), bytes.data(), placed);
    if (!decoder.placed(placed, reader)) return false;
  }
  const std::vector<std::byte> rest(bytes.begin() + static_cast<std::ptrdiff_t>(placed), bytes.end());
  return decoder.take(rest, reader);
}

}  // namespace tri::wire::test
