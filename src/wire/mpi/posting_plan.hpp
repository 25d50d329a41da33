// The body sizes for which receives are posted ahead of announcements: those that the user sets, and those seen most
// often lately. A state machine without I/O, used by sized_receives. After C. Mei's dissertation (UIUC 2012), section
// 6.2, pre-posted receives.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tri::wire {

/// Bodies of (n - 1, n] KiB are of class n; receives of a class are that large.
inline constexpr std::size_t size_class_bytes = 1024;
inline constexpr std::size_t most_size_classes = 1024;
inline constexpr std::size_t size_class_of(std::size_t bytes) {
  return (bytes + size_class_bytes - 1) / size_class_bytes;
}

struct posted_ahead {
  std::size_t count;
  std::size_t bytes;
  bool operator==(const posted_ahead&) const = default;
};

/// "4x65536,2x16384". Throws std::invalid_argument that names the part it cannot read.
std::vector<posted_ahead> read_posted_ahead(std::string_view text);

struct posting_options {
  std::vector<posted_ahead> fixed = {};
  std::size_t adaptive_classes = 0;  // the most frequent ones; 0: only the fixed
  std::size_t interval = 256;        // bodies between two evaluations
  std::size_t buffers = 16;          // that the adaptive classes share
};

class posting_plan {
 public:
  explicit posting_plan(const posting_options& options);

  /// A body of that class has been announced.
  void saw(std::size_t size_class);
  /// True: an interval is over, and the plan may have changed.
  bool renew();
  std::size_t wanted(std::size_t size_class) const { return wanted_[size_class]; }

 private:
  const posting_options options_;
  std::vector<std::size_t> fixed_, seen_, wanted_;  // by class
  std::size_t seen_in_all_ = 0;
};

}  // namespace tri::wire
