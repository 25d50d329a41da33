// Receiving without a copy (after Farreras 2008, chapter 3): a message that came into memory of its own before its
// place was known is put there by exchanging whole pages with those of the place; only what it has of its first and
// last page is copied. The message must have come to the same offset in a page as its place has, which is what a
// prediction is for; a wrong one costs a copy. For private memory of one process, no block of the arena: such a block
// must mean the same to all processes of the host. The benchmark says when it is faster than a copy; ports always copy
// (docs/dev/decisions/0010-no-remapping.md). Not thread-safe; what shares pages with neither message nor
// place is not disturbed.
#pragma once

#include <cstddef>

namespace tri::bench {

/// Private memory of whole pages. Only between such regions are pages exchanged: of any other memory nobody knows what
/// else its pages are used for.
class page_region {
 public:
  /// Rounded up to whole pages, zero. Throws std::runtime_error.
  explicit page_region(std::size_t bytes);
  ~page_region();
  page_region(const page_region&) = delete;
  page_region& operator=(const page_region&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool holds(const std::byte* first, std::size_t bytes) const {
    return first >= data_ && first <= data_ + bytes_ && bytes <= static_cast<std::size_t>(data_ + bytes_ - first);
  }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

/// What became of the bytes of a message.
struct received_bytes {
  std::size_t exchanged = 0;  // with their pages
  std::size_t copied = 0;
};

/// Where one message at a time comes before its place is known.
class landing_area {
 public:
  explicit landing_area(std::size_t most_bytes);

  /// Where a message is to be received that will probably go to `predicted_place`; room for `most_bytes`.
  std::byte* for_message_to(const std::byte* predicted_place) const;

  /// Puts the message that came to `came` to `place`. Pages are exchanged if the place is in `region` (null: it is
  /// elsewhere) and as far in a page as the message, else everything is copied, also if the system refuses. What the
  /// landing area holds afterwards is nobody's.
  received_bytes deliver(std::byte* came, std::size_t bytes, std::byte* place, const page_region* region);

 private:
  page_region memory_;
  page_region spare_;  // addresses where pages of the place wait for those of the message to leave
  std::size_t most_bytes_;
};

}  // namespace tri::bench
