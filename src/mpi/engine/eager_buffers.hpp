// Buffers of a sender for short messages that do not fit into cells, up to rendezvous_from (engine.hpp). The
// sender takes them in turn. There are so many
// that their lines have left the upper caches of both sides when their turn comes again: a line that the receiver has
// just read costs more to write than one that has been evicted. Beside eight buffers that are used again at once, a
// message of 4 KiB takes 0.6 of the time in a stream, 0.7 in both directions, 0.8 alone; of 1 KiB 0.7, 0.85, 0.85
// (Zen 5). Blocks of the arena return in chains, with one more line each.
//
// The state of a buffer is its `use`: free, until the sender takes it; taken, until the receiver or a helping rank has
// read the message. Only the sender takes buffers, one call at a time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <new>
#include <vector>

#include "arena/block_cache.hpp"
#include "mpi/engine/records.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::mpi {

class eager_buffers {
 public:
  static constexpr std::size_t most_bytes = 8192;
  static constexpr std::size_t most_of_one_size = 512;

  /// `senders`: ranks of the host, which have such buffers too. Where they are many, each has fewer. `most`: of one
  /// size, from 1 on.
  eager_buffers(arena::block_cache& from, std::size_t senders, std::size_t most = most_of_one_size) : from_(from) {
    const std::size_t divisor = std::clamp<std::size_t>(senders / senders_with_all, 1, most_divisor);
    for (std::size_t size = 0; size < sizes.size(); ++size)
      rings_[size].most = std::min(sizes[size].count / divisor, most);
  }
  /// A buffer still taken holds an unread message: its memory stays.
  ~eager_buffers() {
    for (const ring& of_size : rings_)
      for (unexpected_message* const each : of_size.buffers)
        if (each->use.load(std::memory_order_acquire) == buffer_use::free)  // pairs: eager_buffers.use
          from_.release(each);
  }
  eager_buffers(const eager_buffers&) = delete;
  eager_buffers& operator=(const eager_buffers&) = delete;

  /// A message with room for that many bytes behind it, or null: too many, or the next few buffers hold unread
  /// messages.
  unexpected_message* take(std::size_t bytes) {
    if (bytes > most_bytes) return nullptr;
    std::size_t size = 0;
    while (bytes > sizes[size].bytes) ++size;
    for (int tried = 0; tried < most_tried; ++tried) {
      unexpected_message& next = next_of(size);
      // acquire: the last message was read before this one is written. pairs: eager_buffers.use
      if (next.use.load(std::memory_order_acquire) != buffer_use::free) continue;
      next.use.store(buffer_use::taken, std::memory_order_relaxed);  // relaxed: published with the message
      return &next;
    }
    return nullptr;
  }

  /// The message has been read. False: it is not in an eager buffer, and its block must be released.
  static bool give_back(unexpected_message& message) {
    if (message.use.load(std::memory_order_relaxed) == buffer_use::block) return false;  // relaxed: as in take
    message.use.store(buffer_use::free, std::memory_order_release);                      // pairs: eager_buffers.use
    return true;
  }

 private:
  struct size_of_message {
    std::size_t bytes;  // at most
    std::size_t block;  // with the header; where it is larger, the prefetcher that runs ahead hits no other message
    std::size_t count;
  };
  // 2 MiB of 4 KiB messages do not fit into a second-level cache, and half of it measured worse than either. For
  // shorter ones leaving the first level is enough.
  static constexpr std::array<size_of_message, 4> sizes{{{1024, 2048, 256},
                                                         {2048, 4096, 256},
                                                         {4096, 4096 + sizeof(unexpected_message), most_of_one_size},
                                                         {most_bytes, most_bytes + sizeof(unexpected_message), 256}}};
  static constexpr std::size_t senders_with_all = 8;
  static constexpr std::size_t most_divisor = 16;
  static constexpr int most_tried = 4;
  // Neighbours in memory are not neighbours in time, again for the prefetcher. Prime to all counts.
  static constexpr std::size_t step = 37;

  struct ring {
    std::vector<unexpected_message*> buffers;  // made when first used
    std::size_t most = 0;
    std::size_t last = 0;
  };

  unexpected_message& next_of(std::size_t size) {
    ring& of_size = rings_[size];
    if (of_size.buffers.size() < of_size.most && add_buffer(of_size, sizes[size].block)) [[unlikely]]
      return *of_size.buffers[of_size.last];
    of_size.last = (of_size.last + step) % of_size.buffers.size();
    return *of_size.buffers[of_size.last];
  }

  // False: there is no memory for more than it has, and it will not ask again. Throws where it has none.
  bool add_buffer(ring& to, std::size_t block) {
    to.buffers.push_back(nullptr);
    try {
      to.buffers.back() = new (from_.allocate(block)) unexpected_message;
    } catch (const arena::arena_exhausted&) {
      to.buffers.pop_back();
      if (to.buffers.empty()) throw;
      to.most = to.buffers.size();
      return false;
    }
    to.buffers.back()->use.store(buffer_use::free, std::memory_order_relaxed);  // relaxed: the sender's own
    to.last = to.buffers.size() - 1;
    return true;
  }

  arena::block_cache& from_;
  std::array<ring, sizes.size()> rings_;
};

}  // namespace tri::mpi
