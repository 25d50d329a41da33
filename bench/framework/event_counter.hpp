// Counts an event of the processor or of the system (cache misses, page faults) for the calling thread, by
// perf_event_open. Virtual machines often have no processor counters: then `missing` has the reason. Used by the
// creating thread.
#pragma once

#include <cstdint>
#include <string>

namespace tri::bench {

struct counted_event {
  std::uint32_t type = 0;  // PERF_TYPE_...
  std::uint64_t config = 0;
};
/// Loads that missed the first data cache.
extern const counted_event first_cache_misses;
extern const counted_event page_faults;

class event_counter {
 public:
  explicit event_counter(const counted_event& what);
  ~event_counter();
  event_counter(const event_counter&) = delete;
  event_counter& operator=(const event_counter&) = delete;

  /// Why there is nothing to count with; empty: there is.
  const std::string& missing() const { return missing_; }
  /// Counts between the two, in user code. Not to be called while something is missing.
  void start();
  void stop();
  /// All that was counted so far.
  std::uint64_t read() const;

 private:
  int descriptor_ = -1;
  std::string missing_;
};

}  // namespace tri::bench
