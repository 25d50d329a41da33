#include "mpi/heap/user_heap.hpp"

#include <pthread.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "mpi/heap/c_library.hpp"
#include "mpi/heap/fork_copy.hpp"
#include "mpi/heap/heap_parts.hpp"
#include "mpi/heap/heap_window.hpp"
#include "mpi/heap/job/job_name.hpp"
#include "mpi/heap/job/private_folder.hpp"
#include "mpi/heap/job/slot_claim.hpp"
#include "mpi/heap/job/start_environment.hpp"
#include "mpi/heap/memory_limits.hpp"
#include "mpi/heap/static_data.hpp"

namespace tri::mpi {

constinit page_runs heap_pages;
constinit small_blocks heap_blocks(heap_pages);

namespace {

// Free blocks of one class that one thread holds.
struct cached_class {
  void* first;
  std::uint32_t count;
  std::uint32_t limit;  // grows with use: a thread that allocates little caches little
};
struct thread_cache {
  cached_class classes[small_class_count];
  enum : std::uint8_t { fresh, open, closed } state;
};

// Initial-exec: this library is loaded with the program, and a model that calls __tls_get_addr would allocate in
// malloc.
constinit thread_local thread_cache cache [[gnu::tls_model("initial-exec")]] = {};

constexpr std::uint32_t first_limit = 4;
constexpr std::size_t most_cached_bytes = std::size_t{64} * 1024;  // per thread and class

constinit user_heap_state state;
constinit std::atomic<heap_phase> phase{heap_phase::untouched};
constinit std::atomic<std::uint64_t> blocks_outside{0};
constinit text_line job;
constinit text_line reason;
constinit text_line static_data_reason;
pthread_key_t thread_end;

// Own window, once in use; before, and without a shared heap, no address is in it. Written once, before any block of
// the window is handed out.
constinit std::byte* window = nullptr;
constinit std::size_t window_bytes = 0;

bool in_window(const void* address) {
  return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(address) -
                                  reinterpret_cast<std::uintptr_t>(window)) < window_bytes;
}

std::uint32_t most_cached(unsigned small_class) {
  return static_cast<std::uint32_t>(
      std::clamp<std::size_t>(most_cached_bytes / bytes_of_small_class(small_class), 4, 256));
}

[[noreturn]] void end_with(const char* what) {
  // No stdio: it may be the caller that allocates.
  const ssize_t ignored = write(STDERR_FILENO, what, std::strlen(what));
  static_cast<void>(ignored);
  std::abort();
}

void close_thread_cache(void*) {
  cache.state = thread_cache::closed;
  for (unsigned small_class = 0; small_class < small_class_count; ++small_class) {
    cached_class& list = cache.classes[small_class];
    if (list.first != nullptr) heap_blocks.give(small_class, {list.first, list.count});
    list = {nullptr, 0, 0};
  }
}

void open_thread_cache() {
  cache.state = thread_cache::open;  // first: registering may allocate
  for (cached_class& list : cache.classes) list.limit = first_limit;
  pthread_setspecific(thread_end, &cache);
}

void* refused(page_runs::refusal why, std::size_t bytes, std::size_t alignment) {
  if (why == page_runs::refusal::window_full) {
    // Relaxed: a count for reports.
    blocks_outside.fetch_add(1, std::memory_order_relaxed);
    return alignment <= 16 ? behind.malloc(bytes) : behind.memalign(alignment, bytes);
  }
  errno = ENOMEM;
  return nullptr;
}

bool serves() {
  const heap_phase now = phase.load(std::memory_order_acquire);  // pairs: user_heap.phase
  if (now == heap_phase::shared || now == heap_phase::private_copy) return true;
  if (now != heap_phase::untouched) return false;
  start_user_heap();
  return phase.load(std::memory_order_acquire) == heap_phase::shared;  // pairs: user_heap.phase
}

[[gnu::noinline]] void* allocate_small_slowly(unsigned small_class, std::size_t bytes) {
  if (!serves()) return behind.malloc(bytes);
  if (cache.state == thread_cache::fresh) open_thread_cache();
  cached_class& list = cache.classes[small_class];
  if (list.first != nullptr) {  // registering the thread may have filled it
    void* const block = list.first;
    list.first = next_block(block);
    --list.count;
    return block;
  }
  auto why = page_runs::refusal::none;
  // After the end of the thread's cache nothing stays here: one block is taken.
  const unsigned wanted = std::max(1U, list.limit / 2);
  block_chain chain = heap_blocks.take(small_class, wanted, why);
  if (chain.first == nullptr) return refused(why, bytes, 16);
  if (list.limit != 0) list.limit = std::min(list.limit * 2, most_cached(small_class));
  void* const block = chain.first;
  list.first = next_block(block);
  list.count = chain.count - 1;
  return block;
}

void* allocate_small(unsigned small_class, std::size_t bytes) {
  cached_class& list = cache.classes[small_class];
  void* const block = list.first;
  if (block == nullptr) [[unlikely]]
    return allocate_small_slowly(small_class, bytes);
  list.first = next_block(block);
  --list.count;
  return block;
}

[[gnu::noinline]] void give_from_cache(unsigned small_class) {
  const int saved_errno = errno;  // free() leaves it alone
  if (cache.state == thread_cache::fresh) open_thread_cache();
  cached_class& list = cache.classes[small_class];
  if (list.count <= list.limit) return;
  // The older half is released: the blocks freed last are still in the processor's caches.
  const std::uint32_t kept = list.limit / 2;
  void* last = list.first;
  block_chain chain{list.first, list.count - kept};
  if (kept == 0) {
    list.first = nullptr;
  } else {
    for (std::uint32_t index = 1; index < kept; ++index) last = next_block(last);
    chain.first = next_block(last);
    next_block(last) = nullptr;
  }
  list.count = kept;
  if (list.limit != 0) list.limit = std::min(list.limit * 2, most_cached(small_class));
  heap_blocks.give(small_class, chain);
  errno = saved_errno;
}

void* allocate_large(std::size_t bytes, std::size_t alignment, bool zeroed) {
  if (!serves()) {
    if (alignment > 16) return behind.memalign(alignment, bytes);
    return zeroed ? behind.calloc(1, bytes) : behind.malloc(bytes);
  }
  if (bytes > PTRDIFF_MAX - page_bytes || alignment > heap_stride_bytes) {
    errno = ENOMEM;
    return nullptr;
  }
  const std::size_t pages = (bytes + page_bytes - 1) / page_bytes;
  const auto run = heap_pages.allocate(std::max<std::size_t>(pages, 1),
                                       std::max<std::size_t>(alignment / page_bytes, 1), large_block);
  if (run.address == nullptr) {
    void* const block = refused(run.why, bytes, alignment);
    if (block != nullptr && zeroed) std::memset(block, 0, bytes);
    return block;
  }
  if (zeroed && !run.zero) std::memset(run.address, 0, bytes);
  return run.address;
}

std::size_t bytes_of_block(const void* block) {
  const page_kind kind = heap_pages.kind_of(block);
  if (kind == not_allocated) end_with("trireme: a pointer that malloc did not return, or that was freed before\n");
  if (kind != large_block) return bytes_of_small_class(kind - 1U);
  return std::size_t{heap_pages.run(heap_pages.run_of(block)).pages} * page_bytes;
}

// Everything up to the window; `reason` explains why there is none.
void start() {
  // First, so that `behind` is right in every case.
  if (const char* const other = find_other_allocator(); other != nullptr) {
    reason << "the program uses another allocator (" << other << ")";
    return;
  }
  const start_environment environment;
  const auto refuse = [](std::string_view why) { reason << why; };
  if (!environment.readable()) return refuse("the environment of the process cannot be read (/proc/self/environ)");
  if (environment["TRIREME_MPI"] == "off") return refuse("TRIREME_MPI=off");
  if (const auto heap = environment["TRIREME_MPI_HEAP"]; heap == "off") {
    return refuse("TRIREME_MPI_HEAP=off");
  } else if (!heap.empty() && heap != "on") {
    reason << "TRIREME_MPI_HEAP is '" << heap << "'; it must be on or off";
    return;
  }
  job = job_name(environment);
  if (job.empty())
    return refuse(
        "the process was not started as part of an MPI job (no TRIREME_MPI_JOB, PMIX_NAMESPACE, PMI_FD or SLURM step)");
  const private_folder folder = open_private_folder(environment);
  if (folder.descriptor < 0) return refuse(folder.reason.view());
  const slot_claim claim = claim_slot(job.view(), folder);
  close(folder.descriptor);
  if (claim.slot < 0) return refuse(claim.reason.view());
  state.slot = claim.slot;
  state.slot_file = claim.file;
  const memory_limits limits = read_memory_limits();
  if (limits.window_bytes == 0) return refuse(limits.reason.view());
  const heap_window own = create_heap_window(static_cast<unsigned>(claim.slot), limits.window_bytes);
  if (own.address == nullptr) return refuse(own.reason.view());
  const auto drop_window = [&] {
    unmap_peer_heap(static_cast<unsigned>(claim.slot));
    close(own.file);
  };
  if (!heap_pages.open(own.address, own.bytes)) {
    drop_window();
    reason << "no address space for the bookkeeping of a heap of " << (own.bytes >> 20) << " MiB";
    return;
  }
  find_c_library();
  if (pthread_key_create(&thread_end, &close_thread_cache) != 0 || !guard_forks(own)) {
    heap_pages.close();
    drop_window();
    return refuse("the C library has no room for another thread key or fork handler");
  }
  state.file = own.file;
  state.window = window = own.address;
  state.window_bytes = window_bytes = own.bytes;
  if (environment["TRIREME_MPI_STATIC_DATA"] == "off")
    static_data_reason << "TRIREME_MPI_STATIC_DATA=off";
  else
    share_static_data(own, static_data_reason);
  heap_pages.set_limits(limits.heap_bytes, limits.block_bytes);
}

}  // namespace

const user_heap_state& user_heap() { return state; }

void start_user_heap() {
  heap_phase expected = heap_phase::untouched;
  // Acquire and release: a thread that reads the phase `shared` sees what the start wrote.
  if (!phase.compare_exchange_strong(expected, heap_phase::starting, std::memory_order_acq_rel)) return;
  const int saved_errno = errno;
  start();
  state.job = job.c_str();
  state.reason = reason.c_str();
  state.static_data_reason = static_data_reason.c_str();
  state.phase = window != nullptr ? heap_phase::shared : heap_phase::off;
  phase.store(state.phase, std::memory_order_release);  // pairs: user_heap.phase
  errno = saved_errno;
}

void user_heap_is_private_now() {
  state.phase = heap_phase::private_copy;
  state.slot_file = state.file = -1;
  phase.store(heap_phase::private_copy, std::memory_order_release);  // pairs: user_heap.phase
}

void forget_cached_blocks() {
  for (cached_class& list : cache.classes) {
    list.first = nullptr;
    list.count = 0;
  }
}

user_heap_use use_of_user_heap() {
  user_heap_use use;
  if (window != nullptr) use.pages = heap_pages.use();
  use.blocks_outside = blocks_outside.load(std::memory_order_relaxed);  // relaxed: a count for reports
  return use;
}

void trim_user_heap() {
  if (window == nullptr) return;
  for (unsigned small_class = 0; small_class < small_class_count; ++small_class) {
    cached_class& list = cache.classes[small_class];
    const block_chain chain{list.first, list.count};
    list.first = nullptr;
    list.count = 0;
    if (list.limit != 0) list.limit = first_limit;
    if (chain.first != nullptr) heap_blocks.give(small_class, chain);
  }
  heap_blocks.release_empty_spans();
  heap_pages.purge_all();
}

// Aligned, so that the cost of malloc and free does not change with the length of other functions.
[[gnu::aligned(64)]] void* heap_allocate(std::size_t bytes) {
  if (bytes <= largest_small_bytes) [[likely]]
    return allocate_small(small_class_of(bytes), bytes);
  return allocate_large(bytes, 16, false);
}

void* heap_allocate_zeroed(std::size_t count, std::size_t bytes) {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) {
    errno = ENOMEM;
    return nullptr;
  }
  if (all > largest_small_bytes) return allocate_large(all, 16, true);
  void* const block = allocate_small(small_class_of(all), all);
  if (block != nullptr) std::memset(block, 0, all);
  return block;
}

void* heap_allocate_aligned(std::size_t alignment, std::size_t bytes) {
  if (alignment <= 16) return heap_allocate(bytes);
  if (bytes <= largest_small_bytes && alignment <= page_bytes && serves()) {
    // Spans start on a page, so the blocks of a class are aligned to every power of two that divides their size.
    // Without a shared heap the C library must know the alignment, hence the check above.
    unsigned small_class = small_class_of(std::max(bytes, alignment));
    while (small_class < small_class_count && bytes_of_small_class(small_class) % alignment != 0) ++small_class;
    if (small_class < small_class_count) {
      void* const block = allocate_small(small_class, bytes);
      if (block == nullptr || reinterpret_cast<std::uintptr_t>(block) % alignment == 0) return block;
      heap_release(block);  // the window is full, and this came from the C library
    }
  }
  return allocate_large(bytes, alignment, false);
}

[[gnu::aligned(64)]] void heap_release(void* block) {
  if (!in_window(block)) [[unlikely]] {
    if (block != nullptr) behind.free(block);
    return;
  }
  const page_kind kind = heap_pages.kind_of(block);
  const unsigned small_class = kind - 1U;
  if (small_class < small_class_count) [[likely]] {
    cached_class& list = cache.classes[small_class];
    next_block(block) = list.first;
    list.first = block;
    if (++list.count > list.limit) [[unlikely]]
      give_from_cache(small_class);
    return;
  }
  if (kind != large_block || reinterpret_cast<std::uintptr_t>(block) % page_bytes != 0)
    end_with("trireme: free(): a pointer that malloc did not return, or that was freed before\n");
  const int saved_errno = errno;
  heap_pages.release(heap_pages.run_of(block));
  errno = saved_errno;
}

std::size_t heap_usable_bytes(void* block) {
  if (block == nullptr) return 0;
  return in_window(block) ? bytes_of_block(block) : usable_bytes_behind(block);
}

void* heap_reallocate(void* block, std::size_t bytes) {
  if (block == nullptr) return heap_allocate(bytes);
  if (!in_window(block)) return behind.realloc(block, bytes);
  const std::size_t old = bytes_of_block(block);
  if (old > largest_small_bytes && bytes > largest_small_bytes) {
    const std::size_t pages = (bytes + page_bytes - 1) / page_bytes;
    if (bytes <= PTRDIFF_MAX - page_bytes &&
        (pages == old / page_bytes || heap_pages.resize(heap_pages.run_of(block), pages)))
      return block;
  } else if (bytes <= old && (bytes >= old / 2 || old <= 64)) {
    return block;  // moving it would gain little
  }
  void* const moved = heap_allocate(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(old, bytes));
  heap_release(block);
  return moved;
}

}  // namespace tri::mpi
