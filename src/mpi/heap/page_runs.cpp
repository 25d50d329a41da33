#include "mpi/heap/page_runs.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <bit>
#include <cerrno>
#include <climits>

#include "mpi/heap/kernel_memory.hpp"
#include "mpi/heap/memory_limits.hpp"

namespace tri::mpi {
namespace {

constexpr std::size_t kept_at_least_pages = (std::size_t{32} << 20) / page_bytes;
constexpr std::size_t dump_step_pages = (std::size_t{64} << 20) / page_bytes;
constexpr std::size_t checked_limits_pages = (std::size_t{1} << 20) / page_bytes;
constexpr int usual_looks = 16;           // at runs of one bin
constexpr std::size_t runs_per_step = 8;  // purged between two holds of the lock

// Bin that holds runs of exactly these pages: the doubling and its eighth.
unsigned bin_of(std::size_t pages) {
  const auto doubling = static_cast<unsigned>(std::bit_width(pages)) - 1;
  const auto eighth = doubling < 3 ? (pages << (3 - doubling)) & 7 : (pages >> (doubling - 3)) & 7;
  return doubling * 8 + static_cast<unsigned>(eighth);
}

std::size_t runs_for(std::size_t window_pages) { return window_pages / 2 + 1024; }

std::size_t round_up(std::size_t number, std::size_t multiple) { return (number + multiple - 1) / multiple * multiple; }

}  // namespace

std::size_t page_runs::bookkeeping_bytes_for(std::size_t window_bytes) {
  const std::size_t pages = window_bytes / page_bytes;
  return round_up(pages * sizeof(page_kind), page_bytes) + round_up(pages * sizeof(std::uint32_t), page_bytes) +
         round_up(runs_for(pages) * sizeof(page_run), page_bytes);
}

void page_runs::window_is_private_now(std::size_t bytes, holes of_window) {
  private_window_ = true;
  holes_ = of_window;
  window_pages_ = bytes / page_bytes;
}

bool page_runs::open(std::byte* window, std::size_t bytes) {
  const std::size_t pages = bytes / page_bytes;
  bookkeeping_bytes_ = bookkeeping_bytes_for(bytes);
  void* const room = map_private(nullptr, bookkeeping_bytes_, 0);
  if (room == MAP_FAILED) return false;
  auto* place = static_cast<std::byte*>(room);
  kinds_ = reinterpret_cast<page_kind*>(place);
  place += round_up(pages * sizeof(page_kind), page_bytes);
  run_of_page_ = reinterpret_cast<std::uint32_t*>(place);
  place += round_up(pages * sizeof(std::uint32_t), page_bytes);
  runs_ = reinterpret_cast<page_run*>(place);
  window_ = window;
  window_pages_ = pages;
  most_runs_ = runs_for(pages);
  // A core dump reads every page of what it writes, and reading a hole of a memory file fills it: so dumps include only
  // what was ever handed out. See grow_reach.
  kernel_madvise(window, bytes, MADV_DONTDUMP);
  kernel_madvise(room, bookkeeping_bytes_,
                 MADV_DONTDUMP);  // large, and useless for debugging the program
  return true;
}

void page_runs::close() {
  if (kinds_ != nullptr) kernel_munmap(kinds_, bookkeeping_bytes_);
  kinds_ = nullptr;
}

void page_runs::set_limits(std::size_t heap_bytes, std::size_t block_bytes) {
  most_pages_ = heap_bytes / page_bytes;
  most_block_pages_ = block_bytes / page_bytes;
}

std::uint32_t page_runs::take_number() {
  if (unused_runs_ != 0) {
    const std::uint32_t number = unused_runs_;
    unused_runs_ = runs_[number].next;
    return number;
  }
  return static_cast<std::uint32_t>(runs_described_++);
}

void page_runs::describe(std::uint32_t number, std::size_t first, std::size_t pages, state_kind state) {
  page_run& run = runs_[number];
  run.first = static_cast<std::uint32_t>(first);
  run.pages = static_cast<std::uint32_t>(pages);
  run.state = state;
  run_of_page_[first] = number;
  run_of_page_[first + pages - 1] = number;
}

// Puts a free run into its bin, joined with its neighbours of the same state. Dirty and clean runs stay apart, so that
// clean runs are known to read as zeros.
void page_runs::insert_free(std::uint32_t number, state_kind state) {
  std::size_t first = runs_[number].first;
  std::size_t pages = runs_[number].pages;
  const auto swallow = [&](std::size_t page) {
    const std::uint32_t neighbour = run_of_page_[page];
    page_run& other = runs_[neighbour];
    if (other.state != state) return;
    remove_free(neighbour);
    first = std::min<std::size_t>(first, other.first);
    pages += other.pages;
    other.state = state_kind::unused;
    other.next = unused_runs_;
    unused_runs_ = neighbour;
  };
  if (first > 0) swallow(first - 1);
  if (first + pages < reach_) swallow(first + pages);
  describe(number, first, pages, state);

  page_run& run = runs_[number];
  bin_set& set = bins_of(state);
  const unsigned bin = bin_of(pages);
  run.previous = 0;
  run.next = set.head[bin];
  if (run.next != 0) runs_[run.next].previous = number;
  set.head[bin] = number;
  set.occupied[bin / 64] |= std::uint64_t{1} << (bin % 64);
  if (state != state_kind::dirty) return;
  dirty_pages_ += pages;
  run.newer = 0;
  run.older = newest_dirty_;
  (newest_dirty_ != 0 ? runs_[newest_dirty_].newer : oldest_dirty_) = number;
  newest_dirty_ = number;
}

void page_runs::remove_free(std::uint32_t number) {
  page_run& run = runs_[number];
  bin_set& set = bins_of(run.state);
  const unsigned bin = bin_of(run.pages);
  (run.previous != 0 ? runs_[run.previous].next : set.head[bin]) = run.next;
  if (run.next != 0) runs_[run.next].previous = run.previous;
  if (set.head[bin] == 0) set.occupied[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
  if (run.state != state_kind::dirty) return;
  dirty_pages_ -= run.pages;
  (run.older != 0 ? runs_[run.older].newer : oldest_dirty_) = run.newer;
  (run.newer != 0 ? runs_[run.newer].older : newest_dirty_) = run.older;
}

bool page_runs::fits(std::uint32_t number, std::size_t pages, std::size_t alignment) const {
  const page_run& run = runs_[number];
  return round_up(run.first, alignment) + pages <= std::size_t{run.first} + run.pages;
}

std::uint32_t page_runs::find(bin_set& set, std::size_t pages, std::size_t alignment, int most_looks) const {
  // Runs in the request's own bin may be too small: try a few. All runs of higher bins are large enough, except for the
  // alignment.
  unsigned bin = bin_of(pages);
  int looks = most_looks;
  for (std::uint32_t number = set.head[bin]; number != 0 && looks > 0; number = runs_[number].next, --looks)
    if (fits(number, pages, alignment)) return number;
  for (++bin; bin < bins; ++bin) {
    const std::uint64_t here = set.occupied[bin / 64] >> (bin % 64);
    if (here == 0) {
      bin |= 63;  // on to the next word
      continue;
    }
    bin += static_cast<unsigned>(std::countr_zero(here));
    looks = most_looks;
    for (std::uint32_t number = set.head[bin]; number != 0 && looks > 0; number = runs_[number].next, --looks)
      if (fits(number, pages, alignment)) return number;
  }
  return 0;
}

void page_runs::grow_reach(std::size_t reach) {
  reach_ = reach;
  if (reach_ <= dumped_) return;
  const std::size_t until = std::min(round_up(reach_, dump_step_pages), window_pages_);
  kernel_madvise(window_ + dumped_ * page_bytes, (until - dumped_) * page_bytes, MADV_DODUMP);
  dumped_ = until;
}

std::uint32_t page_runs::take_untouched(std::size_t pages, std::size_t alignment) {
  const std::size_t first = round_up(reach_, alignment);
  if (first > window_pages_ || pages > window_pages_ - first || runs_described_ + 4 > most_runs_) return 0;
  const std::size_t gap = reach_;
  grow_reach(first + pages);
  if (first != gap) {
    const std::uint32_t number = take_number();
    describe(number, gap, first - gap, state_kind::in_use);
    const std::uint32_t wanted = take_number();
    describe(wanted, first, pages, state_kind::in_use);
    insert_free(number, state_kind::clean);
    return wanted;
  }
  const std::uint32_t number = take_number();
  describe(number, first, pages, state_kind::in_use);
  return number;
}

// Makes the aligned part of a run that was taken out of its bin a run in use; what is left before and behind it stays
// free.
std::uint32_t page_runs::cut(std::uint32_t number, std::size_t pages, std::size_t alignment, state_kind state) {
  const std::size_t first = runs_[number].first;
  const std::size_t end = first + runs_[number].pages;
  const std::size_t wanted = round_up(first, alignment);
  describe(number, wanted, pages, state_kind::in_use);
  if (wanted != first) {
    const std::uint32_t before = take_number();
    describe(before, first, wanted - first, state_kind::in_use);
    insert_free(before, state);
  }
  if (wanted + pages != end) {
    const std::uint32_t behind = take_number();
    describe(behind, wanted + pages, end - wanted - pages, state_kind::in_use);
    insert_free(behind, state);
  }
  return number;
}

bool page_runs::within_limits(std::size_t more_pages) {
  const std::size_t then = in_use_ + more_pages;
  if (more_pages > most_block_pages_ || then > most_pages_) return false;
  // Asked of the kernel once per MiB that the heap grows beyond where it ever was.
  if (then <= approved_pages_) return true;
  if (!within_resource_limits(then * page_bytes)) return false;
  approved_pages_ = then + checked_limits_pages;
  return true;
}

page_runs::allocation page_runs::allocate(std::size_t pages, std::size_t alignment_pages, page_kind kind) {
  allocation result;
  lock_.lock();
  if (!within_limits(pages)) {
    lock_.unlock();
    result.why = refusal::beyond_limits;
    return result;
  }
  for (bool last_try = false;; last_try = true) {
    if (runs_described_ + 4 <= most_runs_) {
      for (const state_kind state : {state_kind::dirty, state_kind::clean}) {
        const std::uint32_t number = find(bins_of(state), pages, alignment_pages, last_try ? INT_MAX : usual_looks);
        if (number == 0) continue;
        remove_free(number);
        result.run = cut(number, pages, alignment_pages, state);
        result.zero = state == state_kind::clean && holes_ == holes::read_as_zeros;
        break;
      }
      if (result.run == 0) {
        result.run = take_untouched(pages, alignment_pages);
        result.zero = true;
      }
    }
    if (result.run != 0 || last_try) break;
    // Dirty and clean neighbours may together be large enough; and all candidates are looked at.
    purge_down_to(0);
  }
  if (result.run != 0) {
    in_use_ += pages;
    const page_run& run = runs_[result.run];
    result.address = address_of(run);
    kinds_[run.first] = kind;
  } else {
    result.why = refusal::window_full;
  }
  lock_.unlock();
  return result;
}

void page_runs::describe_span(std::uint32_t number) {
  const page_run& span = runs_[number];
  const page_kind kind = kinds_[span.first];
  for (std::size_t page = span.first + 1; page < std::size_t{span.first} + span.pages; ++page) kinds_[page] = kind;
  // First and last page lead here already, and neighbours that join read them under the lock: they are not written
  // again.
  for (std::size_t page = span.first + 1; page + 1 < std::size_t{span.first} + span.pages; ++page)
    run_of_page_[page] = number;
}

std::size_t page_runs::kept_pages() const { return std::max(kept_at_least_pages, in_use_ / 8); }

void page_runs::release(std::uint32_t number) {
  lock_.lock();
  page_run& run = runs_[number];
  const bool span = kinds_[run.first] != large_block;
  std::fill_n(kinds_ + run.first, span ? run.pages : 1, not_allocated);
  in_use_ -= run.pages;
  insert_free(number, state_kind::dirty);
  if (dirty_pages_ > kept_pages()) purge_down_to(kept_pages() / 2);
  lock_.unlock();
}

void page_runs::set_aside(std::uint32_t number) {
  lock_.lock();
  in_use_ -= runs_[number].pages;
  set_aside_ += runs_[number].pages;
  approved_pages_ = 0;
  lock_.unlock();
}

bool page_runs::resize(std::uint32_t number, std::size_t pages) {
  lock_.lock();
  page_run& run = runs_[number];
  const std::size_t first = run.first;
  const std::size_t old = run.pages;
  bool done = true;
  if (runs_described_ + 4 > most_runs_) {
    done = pages == old;
  } else if (pages < old) {
    const std::uint32_t rest = take_number();
    describe(number, first, pages, state_kind::in_use);
    describe(rest, first + pages, old - pages, state_kind::in_use);
    in_use_ -= old - pages;
    insert_free(rest, state_kind::dirty);
    if (dirty_pages_ > kept_pages()) purge_down_to(kept_pages() / 2);
  } else if (pages > old) {
    const std::size_t more = pages - old;
    if (!within_limits(more)) {
      done = false;
    } else if (first + old == reach_) {
      done = more <= window_pages_ - reach_;
      if (done) {
        grow_reach(first + pages);
        describe(number, first, pages, state_kind::in_use);
      }
    } else {
      const std::uint32_t behind = run_of_page_[first + old];
      const state_kind state = runs_[behind].state;
      done = (state == state_kind::dirty || state == state_kind::clean) && runs_[behind].pages >= more;
      if (done) {
        remove_free(behind);
        const std::size_t end = first + old + runs_[behind].pages;
        describe(number, first, pages, state_kind::in_use);
        if (first + pages == end) {
          runs_[behind].state = state_kind::unused;
          runs_[behind].next = unused_runs_;
          unused_runs_ = behind;
        } else {
          describe(behind, first + pages, end - first - pages, state_kind::in_use);
          insert_free(behind, state);
        }
      }
    }
    if (done) in_use_ += more;
  }
  lock_.unlock();
  return done;
}

// Returns dirty runs to the system, oldest first, until at most this many dirty pages are left. The lock is held on
// entry and exit, and released during the system calls: punching holes is slow, and libraries that watch memory may
// allocate meanwhile.
void page_runs::purge_down_to(std::size_t keep_pages) {
  const int saved_errno = errno;
  while (dirty_pages_ > keep_pages) {
    std::uint32_t runs[runs_per_step];
    std::size_t count = 0;
    while (count < runs_per_step && dirty_pages_ > keep_pages) {
      const std::uint32_t number = oldest_dirty_;
      remove_free(number);
      runs_[number].state = state_kind::purging;
      runs[count++] = number;
    }
    lock_.unlock();
    bool hole[runs_per_step];
    // Through the C library: a library that has registered this memory with a network must be notified.
    for (std::size_t index = 0; index < count; ++index) {
      const page_run& run = runs_[runs[index]];
      hole[index] = madvise(address_of(run), std::size_t{run.pages} * page_bytes,
                            private_window_ ? MADV_DONTNEED : MADV_REMOVE) == 0;
    }
    lock_.lock();
    bool refused = false;
    for (std::size_t index = 0; index < count; ++index) {
      if (hole[index]) purged_pages_ += runs_[runs[index]].pages;
      insert_free(runs[index], hole[index] ? state_kind::clean : state_kind::dirty);
      refused = refused || !hole[index];
    }
    if (refused) break;  // e.g. locked memory (mlockall): kept for the next request instead
  }
  errno = saved_errno;
}

void page_runs::purge_all() {
  lock_.lock();
  purge_down_to(0);
  lock_.unlock();
}

page_use page_runs::use() {
  lock_.lock();
  const page_use result{in_use_ * page_bytes, dirty_pages_ * page_bytes, reach_ * page_bytes,
                        purged_pages_ * page_bytes};
  lock_.unlock();
  return result;
}

bool page_runs::is_valid() {
  lock_.lock();
  std::size_t in_use = 0;
  std::size_t dirty = 0;
  std::size_t free_runs = 0;
  bool valid = true;
  auto before = state_kind::unused;
  for (std::size_t page = 0; page < reach_ && valid;) {
    const std::uint32_t number = run_of_page_[page];
    const page_run& run = runs_[number];
    valid = number != 0 && number < runs_described_ && run.first == page && run.pages > 0 &&
            run_of_page_[page + run.pages - 1] == number && run.state != state_kind::unused;
    // Free neighbours of one state have been joined.
    valid = valid && (run.state != before || run.state == state_kind::in_use || run.state == state_kind::purging);
    if (run.state == state_kind::in_use) in_use += run.pages;
    if (run.state == state_kind::dirty) dirty += run.pages;
    if (run.state == state_kind::dirty || run.state == state_kind::clean) ++free_runs;
    before = run.state;
    page += run.pages;
  }
  for (bin_set* set : {&dirty_, &clean_})
    for (unsigned bin = 0; bin < bins && valid; ++bin)
      for (std::uint32_t number = set->head[bin]; number != 0 && valid; number = runs_[number].next) {
        valid = bin_of(runs_[number].pages) == bin && free_runs-- > 0;
      }
  valid = valid && in_use == in_use_ + set_aside_ && dirty == dirty_pages_ && free_runs == 0;
  lock_.unlock();
  return valid;
}

}  // namespace tri::mpi
