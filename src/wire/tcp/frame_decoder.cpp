#include "wire/tcp/frame_decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tri::wire {

std::span<std::byte> frame_decoder::place() {
  switch (part_) {
    case part::head:
      return {};
    case part::rest:
      return std::span(rest_.get(), rest_bytes()).subspan(have_);
    case part::body:
      return body_.subspan(have_);
  }
  return {};
}

bool frame_decoder::placed(std::size_t bytes, frame_sink& sink) {
  have_ += bytes;
  if (part_ == part::body && have_ == body_.size()) {
    part_ = part::head;
    have_ = 0;
    body_ = {};
    sink.body_is_whole(head_.name);
  } else if (part_ == part::rest && have_ == rest_bytes()) {
    const std::unique_ptr<std::byte[]> rest = std::move(rest_);
    return finish(rest.get(), sink);
  }
  return true;
}

bool frame_decoder::take(std::span<const std::byte> bytes, frame_sink& sink) {
  while (!bytes.empty()) {
    if (part_ != part::head) {
      const std::span<std::byte> where = place();
      const std::size_t count = std::min(where.size(), bytes.size());
      std::memcpy(where.data(), bytes.data(), count);
      bytes = bytes.subspan(count);
      if (!placed(count, sink)) return false;
      continue;
    }
    const std::size_t count = std::min(sizeof head_ - have_, bytes.size());
    std::memcpy(reinterpret_cast<std::byte*>(&head_) + have_, bytes.data(), count);
    bytes = bytes.subspan(count);
    have_ += count;
    if (have_ < sizeof head_) return true;
    if (!begin(sink)) return false;
    // Most frames are here as a whole, and are not copied.
    if (part_ == part::rest && bytes.size() >= rest_bytes()) {
      const std::span<const std::byte> rest = bytes.first(rest_bytes());
      bytes = bytes.subspan(rest.size());
      if (!finish(rest.data(), sink)) return false;
    } else if (part_ == part::rest) {
      rest_ = std::make_unique_for_overwrite<std::byte[]>(rest_bytes());
    }
  }
  return true;
}

// Header and body of a packet, or the header of an announcement.
std::size_t frame_decoder::rest_bytes() const {
  return head_.header_bytes + (head_.kind == frame_kind::packet ? static_cast<std::size_t>(head_.body_bytes) : 0);
}

bool frame_decoder::check(const char* field, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value >= least && value <= most) return true;
  fault_ = least == most ? fmt::format("its field `{}` is {}, which must be {}", field, value, least)
                         : fmt::format("its field `{}` is {}, which must be {} to {}", field, value, least, most);
  return false;
}

bool frame_decoder::refuse(const char* field, std::uint64_t value, const char* what) {
  fault_ = fmt::format("its field `{}` is {}, which {}", field, value, what);
  return false;
}

// The head is whole.
bool frame_decoder::begin(frame_sink& sink) {
  const bool connector = by_ == frame_side::by_connector;
  const auto kind_number = [](frame_kind kind) { return static_cast<std::uint64_t>(kind); };
  if (!check("kind", kind_number(head_.kind), kind_number(connector ? frame_kind::packet : frame_kind::accept),
             kind_number(connector ? frame_kind::body : frame_kind::refuse)))
    return false;
  const bool has_header = head_.kind == frame_kind::packet || head_.kind == frame_kind::announced;
  if (!check("header_bytes", head_.header_bytes, 0, has_header ? longest_frame_header : 0)) return false;
  part_ = part::head;
  have_ = 0;
  switch (head_.kind) {
    case frame_kind::packet:
      if (!check("name", head_.name, 0, 0) || !check("body_bytes", head_.body_bytes, 0, longest_packet_)) return false;
      break;
    case frame_kind::announced:
      if (!check("body_bytes", head_.body_bytes, 1, PTRDIFF_MAX)) return false;
      break;
    case frame_kind::body:
      body_ = sink.memory_of_body(head_.name, head_.body_bytes);
      if (body_.empty()) {
        fault_ = fmt::format("its fields `name` and `body_bytes` are {} and {}, and no such body was accepted",
                             head_.name, head_.body_bytes);
        return false;
      }
      part_ = part::body;
      return true;
    case frame_kind::accept:
    case frame_kind::refuse:
      if (!check("body_bytes", head_.body_bytes, 0, 0)) return false;
      return sink.answered(head_.name, head_.kind == frame_kind::accept) ||
             refuse("name", head_.name, "is not a body that waits for an answer");
  }
  if (rest_bytes() == 0) return finish(nullptr, sink);
  part_ = part::rest;
  return true;
}

// The frame is whole.
bool frame_decoder::finish(const std::byte* rest, frame_sink& sink) {
  part_ = part::head;
  have_ = 0;
  const std::span header(rest, head_.header_bytes);
  if (head_.kind == frame_kind::packet) {
    sink.packet(header, {rest + head_.header_bytes, static_cast<std::size_t>(head_.body_bytes)});
    return true;
  }
  return sink.announced(header, head_.body_bytes, head_.name) ||
         refuse("name", head_.name, "is the name of a body that is still under way");
}

}  // namespace tri::wire
