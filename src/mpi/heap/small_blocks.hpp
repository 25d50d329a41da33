// The small blocks that no thread holds: per size class, spans of pages carved into blocks. Threads take and return
// whole chains, so a lock is taken once for many blocks. A span whose blocks are all back is released.
#pragma once

#include <cstddef>

#include "arena/host_lock.hpp"
#include "mpi/heap/page_runs.hpp"
#include "mpi/heap/size_classes.hpp"

namespace tri::mpi {

/// Blocks linked through their first word.
struct block_chain {
  void* first = nullptr;
  unsigned count = 0;
};
inline void*& next_block(void* block) { return *static_cast<void**>(block); }

class small_blocks {
 public:
  explicit constexpr small_blocks(page_runs& pages) : pages_(pages) {}

  /// 1..wanted blocks of the class; none, with the reason in `why`, when there is no memory.
  block_chain take(unsigned small_class, unsigned wanted, page_runs::refusal& why);

  /// Takes back blocks of one class.
  void give(unsigned small_class, block_chain chain);

  /// Releases the spans without a block in use.
  void release_empty_spans();

  /// Free blocks are never handed out again; those that are given back later are.
  void forget_free_blocks();

  void lock_for_fork();
  void unlock_after_fork();

 private:
  struct alignas(64) class_list {
    arena::host_lock lock;
    std::uint32_t partial = 0;  // spans with a block to give, linked by next and previous
  };
  void list(class_list& list, std::uint32_t span);
  void unlist(class_list& list, std::uint32_t span);

  page_runs& pages_;
  class_list classes_[small_class_count];
};

}  // namespace tri::mpi
