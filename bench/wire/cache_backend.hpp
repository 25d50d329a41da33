// What handling messages does to the cache of a computation (after Mei 2012, section 6.1.2): the leader computes on
// data that fit the first cache, in short pieces, and messages go to and fro between it and the follower all the time.
// They are handled between two pieces by the thread that computes (`mixed`), or by another thread on the follower's
// core (`separated`), or there are none (`undisturbed`). Timed are the pieces alone.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "os/perf_events.hpp"
#include "wire/backend.hpp"

namespace tri::bench {

/// Of one batch, per piece.
struct cache_batch {
  double piece_ns = 0;
  double messages = 0;
  std::optional<double> misses = {};  // of the first data cache; nothing where the machine does not count them
};

class cache_backend : public backend {
 public:
  /// The leader: as many pieces of computation.
  virtual cache_batch compute(std::uint64_t pieces) = 0;
};

/// For the calling thread. Null where the machine does not count them; then `why`, if given, says why not.
std::unique_ptr<os::perf_counters> first_cache_misses(std::string* why = nullptr);

std::unique_ptr<cache_backend> make_cache_backend(const wire_task& task, unsigned number, const cpu_pair& cpus);

/// The leader, for the time of the task: one line per batch with the fields of cache_batch, misses last.
void print_cache_batches(cache_backend& leader, const wire_task& task);

/// What print_cache_batches printed. Throws std::runtime_error for anything else.
cache_batch read_cache_batch(const std::string& line);

}  // namespace tri::bench
