#include "mpi/heap/small_blocks.hpp"

namespace tri::mpi {

void small_blocks::list(class_list& list, std::uint32_t number) {
  page_run& span = pages_.run(number);
  span.listed = true;
  span.previous = 0;
  span.next = list.partial;
  if (span.next != 0) pages_.run(span.next).previous = number;
  list.partial = number;
}

void small_blocks::unlist(class_list& list, std::uint32_t number) {
  page_run& span = pages_.run(number);
  span.listed = false;
  (span.previous != 0 ? pages_.run(span.previous).next : list.partial) = span.next;
  if (span.next != 0) pages_.run(span.next).previous = span.previous;
}

block_chain small_blocks::take(unsigned small_class, unsigned wanted, page_runs::refusal& why) {
  class_list& list_of_class = classes_[small_class];
  const std::size_t block_bytes = bytes_of_small_class(small_class);
  block_chain chain;
  list_of_class.lock.lock();
  if (list_of_class.partial == 0) {
    // Not under the lock: getting pages may return others to the system, and a library that watches that may allocate.
    list_of_class.lock.unlock();
    const std::size_t pages = span_pages_of_class(small_class);
    const auto fresh = pages_.allocate(pages, 1, static_cast<page_kind>(small_class + 1));
    if (fresh.address == nullptr) {
      why = fresh.why;
      return chain;
    }
    pages_.describe_span(fresh.run);
    page_run& span = pages_.run(fresh.run);
    span.capacity = static_cast<std::uint16_t>(pages * page_bytes / block_bytes);
    span.carved = 0;
    span.outstanding = 0;
    span.free_blocks = nullptr;
    list_of_class.lock.lock();
    list(list_of_class, fresh.run);
  }
  void** end = &chain.first;
  while (chain.count < wanted && list_of_class.partial != 0) {
    const std::uint32_t number = list_of_class.partial;
    page_run& span = pages_.run(number);
    void* block = span.free_blocks;
    if (block != nullptr)
      span.free_blocks = next_block(block);
    else
      block = pages_.address_of(span) + span.carved++ * block_bytes;
    ++span.outstanding;
    *end = block;  // in the order of addresses, in which programs walk their blocks
    end = &next_block(block);
    ++chain.count;
    if (span.free_blocks == nullptr && span.carved == span.capacity) unlist(list_of_class, number);
  }
  list_of_class.lock.unlock();
  *end = nullptr;
  return chain;
}

void small_blocks::give(unsigned small_class, block_chain chain) {
  class_list& list_of_class = classes_[small_class];
  while (chain.first != nullptr) {
    std::uint32_t empty = 0;
    list_of_class.lock.lock();
    while (chain.first != nullptr && empty == 0) {
      void* const block = chain.first;
      chain.first = next_block(block);
      const std::uint32_t number = pages_.run_of(block);
      page_run& span = pages_.run(number);
      next_block(block) = span.free_blocks;
      span.free_blocks = block;
      if (!span.listed) list(list_of_class, number);
      // One empty span is kept, so that a block at the boundary does not acquire and release pages in every round.
      if (--span.outstanding == 0 && (span.next != 0 || span.previous != 0)) {
        unlist(list_of_class, number);
        empty = number;
      }
    }
    list_of_class.lock.unlock();
    if (empty != 0) pages_.release(empty);  // not under the lock, for the reason given in take()
  }
}

void small_blocks::release_empty_spans() {
  for (class_list& list_of_class : classes_) {
    std::uint32_t empty = 0;  // linked by next
    list_of_class.lock.lock();
    for (std::uint32_t number = list_of_class.partial; number != 0;) {
      page_run& span = pages_.run(number);
      const std::uint32_t next = span.next;
      if (span.outstanding == 0) {
        unlist(list_of_class, number);
        span.next = empty;
        empty = number;
      }
      number = next;
    }
    list_of_class.lock.unlock();
    while (empty != 0) {  // not under the lock, for the reason given in take()
      const std::uint32_t number = empty;
      empty = pages_.run(number).next;
      pages_.release(number);
    }
  }
}

void small_blocks::forget_free_blocks() {
  for (class_list& list_of_class : classes_)
    while (list_of_class.partial != 0) {
      page_run& span = pages_.run(list_of_class.partial);
      unlist(list_of_class, list_of_class.partial);
      span.free_blocks = nullptr;
      span.carved = span.capacity;
      span.outstanding = span.capacity;  // forgotten blocks count as outstanding, so the span is never released
    }
}

void small_blocks::lock_for_fork() {
  for (class_list& each : classes_) each.lock.lock();
}

void small_blocks::unlock_after_fork() {
  for (class_list& each : classes_) each.lock.unlock();
}

}  // namespace tri::mpi
