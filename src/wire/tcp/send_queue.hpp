// Frames of one connection that are not written yet, in order. They refer to the sender's memory: only heads are
// copied. No I/O. One thread.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "wire/conduit.hpp"
#include "wire/tcp/frame_format.hpp"

namespace tri::wire {

struct outgoing_frame {
  frame_head head;
  std::span<const std::byte> header = {};
  std::span<const std::byte> body = {};
  packet_token token = nullptr;  // whose memory is free when the frame is written; null: no notification

  std::size_t bytes() const { return sizeof head + header.size() + body.size(); }
};

/// Stores where the bytes of a frame are, without the first `written`. Returns the number of pieces, at most three.
inline std::size_t pieces_of(const outgoing_frame& frame, std::size_t written, std::span<iovec> pieces) {
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(&frame.head, 1)), frame.header, frame.body};
  std::size_t count = 0;
  for (std::span<const std::byte> part : parts) {
    const std::size_t skipped = std::min(written, part.size());
    written -= skipped;
    part = part.subspan(skipped);
    if (!part.empty()) pieces[count++] = {.iov_base = const_cast<std::byte*>(part.data()), .iov_len = part.size()};
  }
  return count;
}

class send_queue {
 public:
  bool empty() const { return first_ == frames_.size(); }
  /// `written`: bytes of it that are out already; fewer than all.
  void push(const outgoing_frame& frame, std::size_t written = 0) {
    if (empty()) written_ = written;
    frames_.push_back(frame);
  }
  /// The next bytes to be written. How many pieces.
  std::size_t gather(std::span<iovec> pieces) const {
    std::size_t count = 0;
    for (std::size_t i = first_; i < frames_.size() && count + 3 <= pieces.size(); ++i)
      count += pieces_of(frames_[i], i == first_ ? written_ : 0, pieces.subspan(count));
    return count;
  }
  /// `bytes` of them are written. Calls `done(token)` for completed frames.
  template <class Done>
  void wrote(std::size_t bytes, Done&& done) {
    written_ += bytes;
    while (!empty() && written_ >= frames_[first_].bytes()) {
      written_ -= frames_[first_].bytes();
      const packet_token token = frames_[first_++].token;
      if (token != nullptr) done(token);
    }
    if (empty()) {
      frames_.clear();
      first_ = 0;
    } else if (first_ > 64 && first_ > frames_.size() / 2) {
      frames_.erase(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }
  /// Nothing will be written any more.
  template <class Done>
  void drop(Done&& done) {
    const std::vector<outgoing_frame> frames = std::exchange(frames_, {});
    for (std::size_t i = std::exchange(first_, 0); i < frames.size(); ++i)
      if (frames[i].token != nullptr) done(frames[i].token);
  }

 private:
  std::vector<outgoing_frame> frames_;
  std::size_t first_ = 0;    // of those that are not out
  std::size_t written_ = 0;  // bytes of it
};

}  // namespace tri::wire
