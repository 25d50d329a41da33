// Receiving without a copy (after Farreras 2008, chapter 3): a message that arrived in memory of its own before its
// destination was known is moved there by exchanging whole pages; only the parts in its first and last page are copied.
// The message must have the same offset in a page as its destination, which a prediction provides; a wrong one costs a
// copy. For private memory of one process, not for blocks of the arena: such a block must be the same in all processes
// of the host. The benchmark shows when it is faster than a copy; ports always copy
// (docs/dev/decisions/0010-no-remapping.md). Not thread-safe; memory that shares no pages with message or destination
// is not affected.
#pragma once

#include <cstddef>

namespace tri::bench {

/// Private memory of whole pages. Pages are exchanged only between such regions: the pages of any other memory may have
/// other uses.
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

  /// Where to receive a message that will probably go to `predicted_place`; room for `most_bytes`.
  std::byte* for_message_to(const std::byte* predicted_place) const;

  /// Moves the message at `came` to `place`. Pages are exchanged if the place is in `region` (null: it is elsewhere)
  /// and has the same offset in a page as the message, otherwise everything is copied, also if the system refuses. The
  /// landing area's contents are undefined afterwards.
  received_bytes deliver(std::byte* came, std::size_t bytes, std::byte* place, const page_region* region);

 private:
  page_region memory_;
  page_region spare_;  // addresses where pages of the place wait for those of the message to leave
  std::size_t most_bytes_;
};

}  // namespace tri::bench
