#include "arena/heap.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

#include "arena/cache_registry.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::arena {
namespace {
// Runs from this length on give their pages back to the system when they are released.
constexpr std::size_t spans_to_give_back = (std::size_t{8} << 20) / span_bytes;
// Shorter ones stay resident for reuse up to this total; then all free runs above a certain length are returned.
constexpr std::size_t most_warm_spans = (std::size_t{64} << 20) / span_bytes;
constexpr std::size_t spans_to_trim = (std::size_t{1} << 20) / span_bytes;
}  // namespace

heap::heap(window own, int number, std::size_t limit_bytes, error_hints what_to_do)
    : window_(own),
      limit_bytes_(limit_bytes),
      what_to_do_(std::move(what_to_do)),
      next_span_(0),
      never_used_(0),
      trim_at_(most_warm_spans),
      dumped_(own.address, own.bytes),
      caches_(std::make_unique<cache_registry>(*this)) {
  next_span_ = never_used_ = first_span();
  auto* const stacks = &returns_of(window_.address, 0, window_.bytes);
  dumped_.take_in(stacks, (guest_cache + 1) * sizeof(return_stack));
  dumped_.take_in(window_.address, sizeof(window_header));
  for (int cache = 0; cache <= guest_cache; ++cache) new (stacks + cache) return_stack;
  header() = window_header{window_header::expected_magic,
                           window_header::expected_version,
                           static_cast<std::uint32_t>(number),
                           window_.bytes,
                           0,
                           0,
                           0,
                           limit_bytes};
  detail::set_own_window(window_);
}

heap::~heap() { detail::forget_own_window(window_); }

void heap::validate(const window& peer, int number) {
  const auto& found = *reinterpret_cast<const window_header*>(peer.address);
  if (found.magic != window_header::expected_magic || found.version != window_header::expected_version ||
      found.number != static_cast<std::uint32_t>(number) || found.window_bytes != peer.bytes)
    throw std::runtime_error(
        fmt::format("arena: window {} of this host is not one of ours (magic {:#x}, version {}, number {}, {} bytes; "
                    "expected {:#x}, {}, {}, {})",
                    number, found.magic, found.version, found.number, found.window_bytes, window_header::expected_magic,
                    window_header::expected_version, number, peer.bytes));
}

std::size_t heap::first_span() const {
  const std::size_t used = table_offset + tables_bytes(window_.bytes) + (guest_cache + 1) * sizeof(return_stack);
  return (used + span_bytes - 1) / span_bytes;
}

void heap::insert_free_run(std::size_t first, std::size_t spans) {
  free_by_start_.emplace(first, spans);
  free_by_length_.emplace(spans, first);
}

void heap::erase_free_run(std::map<std::size_t, std::size_t>::iterator run) {
  auto [candidate, end] = free_by_length_.equal_range(run->second);
  while (candidate->second != run->first) ++candidate;
  free_by_length_.erase(candidate);
  free_by_start_.erase(run);
}

// Best fit among free runs, otherwise fresh spans. Returns the first span. Caller holds the lock.
std::size_t heap::find_run(std::size_t spans) {
  check_capacity(spans);
  if (auto fit = free_by_length_.lower_bound(spans); fit != free_by_length_.end()) {
    const auto [length, first] = *fit;
    erase_free_run(free_by_start_.find(first));
    if (length > spans) insert_free_run(first + spans, length - spans);
    return first;
  }
  if (next_span_ + spans > window_.bytes / span_bytes) no_gap(spans);
  const std::size_t first = next_span_;
  next_span_ += spans;
  never_used_ = std::max(never_used_, next_span_);
  return first;
}

void heap::check_capacity(std::size_t spans) const {
  const std::size_t allowed = limit_bytes_ / span_bytes;  // counted in spans, nothing can overflow
  if (spans > allowed || spans_in_use_ > allowed - spans || spans > window_.bytes / span_bytes - first_span())
    throw arena_exhausted(fmt::format(
        "arena exhausted: {} KiB asked, {} KiB of this process's window in use, {} KiB allowed ({})",
        spans * (span_bytes >> 10), spans_in_use_ * (span_bytes >> 10), limit_bytes_ >> 10, what_to_do_.limit));
}

void heap::no_gap(std::size_t spans) const {
  throw arena_exhausted(
      fmt::format("arena exhausted: {} bytes asked in one piece, but the window of {} bytes has no such gap left ({})",
                  spans * span_bytes, window_.bytes, what_to_do_.window));
}

// Also for readers outside of the job. Caller holds the lock.
void heap::count_spans(std::size_t in_use) {
  spans_in_use_ = in_use;
  // relaxed: a figure; nothing is concluded from it about other memory
  std::atomic_ref(header().spans_in_use).store(in_use, std::memory_order_relaxed);
}

// The books of spans that were free. Caller holds the lock.
void heap::use_spans(std::size_t first, std::size_t spans) {
  count_spans(spans_in_use_ + spans);
  if (warm_.size() < first + spans) warm_.resize(first + spans);
  for (std::size_t span = first; span < first + spans; ++span)
    if (warm_[span]) {
      warm_[span] = false;
      --warm_spans_;
    }
  dumped_.take_in(address_of(first), spans * span_bytes);
  dumped_.take_in(span_table(window_.address) + first, spans * sizeof(span_entry));
}

// Returns pages of free spans. Pages that the system does not accept stay resident. Caller holds the lock.
void heap::give_pages_back(std::size_t first, std::size_t spans) {
  if (madvise(address_of(first), spans * span_bytes, MADV_REMOVE) != 0) return;
  dumped_.leave_out(address_of(first), spans * span_bytes);
  for (std::size_t span = first; span < first + spans; ++span)
    if (warm_[span]) {
      warm_[span] = false;
      --warm_spans_;
    }
}

// Remaining resident pages are fragments between memory in use. Caller holds the lock.
void heap::trim() {
  for (const auto& [first, spans] : free_by_start_)
    if (spans >= spans_to_trim) give_pages_back(first, spans);
  if (never_used_ > next_span_) give_pages_back(next_span_, never_used_ - next_span_);
  trim_at_ = warm_spans_ + most_warm_spans;
}

std::byte* heap::take_spans(std::size_t spans, std::uint16_t owner, std::uint8_t size_class) {
  std::lock_guard guard(lock_);
  const std::size_t first = find_run(spans);
  use_spans(first, spans);
  if (by_owner_.size() <= owner) by_owner_.resize(owner + std::size_t{1});
  by_owner_[owner].now += spans;
  by_owner_[owner].most = std::max(by_owner_[owner].most, by_owner_[owner].now);
  span_entry* const table = span_table(window_.address);
  table[first] = {owner, size_class, 0, static_cast<std::uint32_t>(spans)};
  if (size_class < size_class_count) {
    for (std::size_t i = 1; i < spans; ++i)  // a block may start in any span of a carved run
      table[first + i] = {owner, size_class, static_cast<std::uint8_t>(i), 0};
    dumped_.take_in(&record_of_run(first), sizeof(run_record));
    record_of_run(first) = {};
  }
  return window_.address + first * span_bytes;
}

void heap::release_run(void* address) {
  std::lock_guard guard(lock_);
  std::size_t first = static_cast<std::size_t>(static_cast<std::byte*>(address) - window_.address) / span_bytes;
  std::size_t spans = span_table(window_.address)[first].spans;
  count_spans(spans_in_use_ - spans);
  by_owner_[span_table(window_.address)[first].owner].now -= spans;
  for (std::size_t span = first; span < first + spans; ++span) warm_[span] = true;
  warm_spans_ += spans;
  if (spans >= spans_to_give_back) give_pages_back(first, spans);
  auto after = free_by_start_.lower_bound(first);
  if (after != free_by_start_.end() && after->first == first + spans) {
    spans += after->second;
    erase_free_run(after);
    after = free_by_start_.lower_bound(first);
  }
  if (after != free_by_start_.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == first) {
      first = before->first;
      spans += before->second;
      erase_free_run(before);
    }
  }
  if (first + spans == next_span_)
    next_span_ = first;
  else
    insert_free_run(first, spans);
  if (warm_spans_ > trim_at_) trim();
}

void* heap::reserve(std::size_t bytes) {
  const std::size_t spans = spans_for(bytes);
  std::lock_guard guard(lock_);
  check_capacity(spans);
  if (next_span_ + spans > window_.bytes / span_bytes) no_gap(spans);
  const std::size_t first = next_span_;
  next_span_ += spans;
  // Never-used memory is zero and not committed before the first write. The rest was returned by a large block.
  if (never_used_ > first)
    std::memset(window_.address + first * span_bytes, 0, (std::min(never_used_, next_span_) - first) * span_bytes);
  never_used_ = std::max(never_used_, next_span_);
  use_spans(first, spans);
  spans_reserved_ += spans;
  span_table(window_.address)[first] = {guest_cache, permanent_run, 0, static_cast<std::uint32_t>(spans)};
  return window_.address + first * span_bytes;
}

std::size_t heap::bytes_in_use() const {
  std::lock_guard guard(lock_);
  return spans_in_use_ * span_bytes;
}

std::size_t heap::most_bytes_of(std::uint16_t owner) const {
  std::lock_guard guard(lock_);
  return owner < by_owner_.size() ? by_owner_[owner].most * span_bytes : 0;
}

std::size_t heap::reserved_bytes() const {
  std::lock_guard guard(lock_);
  return spans_reserved_ * span_bytes;
}

bool heap::is_valid() const {
  std::lock_guard guard(lock_);
  const std::size_t last = window_.bytes / span_bytes;
  if (free_by_start_.size() != free_by_length_.size() || next_span_ > never_used_ || never_used_ > last) return false;
  std::size_t owned = spans_reserved_;
  for (const spans_of_owner& each : by_owner_) owned += each.now;
  if (owned != spans_in_use_) return false;
  if (static_cast<std::size_t>(std::count(warm_.begin(), warm_.end(), true)) != warm_spans_) return false;
  std::size_t at = first_span();
  std::size_t in_use = 0;
  auto run = free_by_start_.begin();
  const span_entry* const table = span_table(window_.address);
  for (bool before_was_free = false; at < next_span_;) {  // the runs, free and in use, tile everything up to next_span_
    if (run != free_by_start_.end() && run->first == at) {
      if (before_was_free || run->second == 0) return false;
      const auto [begin, end] = free_by_length_.equal_range(run->second);
      if (std::none_of(begin, end, [&](const auto& other) { return other.second == run->first; })) return false;
      at += (run++)->second;
      before_was_free = true;
    } else {
      if (table[at].spans == 0) return false;
      in_use += table[at].spans;
      at += table[at].spans;
      before_was_free = false;
    }
    if (at == next_span_ && before_was_free) return false;  // should have been joined with the rest
  }
  return at == next_span_ && run == free_by_start_.end() && in_use == spans_in_use_;
}

}  // namespace tri::arena
