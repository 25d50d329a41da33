// Allocator scaling: every PE allocates 100,000 blocks of one size, writes a word into each and frees them at the end;
// the figure is the time for one block, allocation and release together. The general allocators of others do the same
// on the same PEs.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "messages/allocators.hpp"
#include "messages/pes.hpp"
#include "messages/rows.hpp"
#include "os/clock.hpp"

namespace tri::bench {
namespace {

constexpr std::size_t blocks = 100'000;
constexpr std::size_t block_bytes = 128;

std::vector<allocator_peer>& allocators() {
  static std::vector<allocator_peer> all = [] {
    std::vector<allocator_peer> known = {{"trireme", &arena::allocate, &arena::release}};
    for (const allocator_peer& peer : allocator_peers()) known.push_back(peer);
    // glibc gives freed memory back to the system at once and would measure page faults; let it keep it, as the others
    // do.
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    return known;
  }();
  return all;
}

double nanoseconds_of_all_blocks(const allocator_peer& allocator) {
  static thread_local std::vector<void*> held(blocks);
  const std::int64_t start_ns = os::now_ns();
  for (void*& block : held) {
    block = allocator.allocate(block_bytes);
    *static_cast<std::uint64_t*>(block) = 1;
  }
  for (void* const block : held) allocator.release(block);
  return static_cast<double>(os::now_ns() - start_ns);
}

// Lets the two PEs begin at the same moment; one object for each batch.
struct alignas(64) starting_line {
  std::atomic<std::uint32_t> arrived{0};
  void wait() {
    arrived.fetch_add(1, std::memory_order_acq_rel);  // pairs: itself
    for (std::uint32_t turns = 0; arrived.load(std::memory_order_acquire) < 2;) {
      if (++turns % 4096 == 0) sched_yield();
    }
  }
};

void take_part(std::uint64_t line, std::uint64_t allocator, tri::promise<double> done) {
  reinterpret_cast<starting_line*>(line)->wait();
  done.set(nanoseconds_of_all_blocks(allocators()[allocator]));
}

// One operation is one turn of all blocks, so a batch is a turn.
samples time_turns(context& tools, std::size_t allocator, bool both) {
  batch_options turns = tools.runner().options();
  turns.batch_time_ms = 1e-6;
  turns.repetitions = std::min<std::size_t>(turns.repetitions, 100);
  samples made = batch_runner(turns).collect([&](std::uint64_t) {
    if (!both) return batch_result{.elapsed_ns = nanoseconds_of_all_blocks(allocators()[allocator])};
    starting_line line;
    tri::future<double> other;
    tri::send<&take_part>(1, reinterpret_cast<std::uint64_t>(&line), static_cast<std::uint64_t>(allocator),
                          other.get_promise());
    line.wait();
    const double own_ns = nanoseconds_of_all_blocks(allocators()[allocator]);
    return batch_result{.elapsed_ns = std::max(own_ns, other.get())};
  });
  for (double& ns : made.operation_ns) ns *= static_cast<double>(made.operations_in_one_batch) / blocks;
  return made;
}

double median_ns(const samples& measured) { return summarize(measured.operation_ns).median; }

measurement allocate(context& tools, bool both, bool with_peers) {
  measurement made{.samples = time_turns(tools, 0, both)};
  if (both) {
    const double alone_ns = median_ns(time_turns(tools, 0, false));
    made.counts["x of 1 thread"] = median_ns(made.samples) / alone_ns;
  }
  if (with_peers) {
    for (std::size_t peer = 1; peer < allocators().size(); ++peer) {
      made.peers[allocators()[peer].name] = median_ns(time_turns(tools, peer, both));
    }
  }
  return made;
}

}  // namespace

std::vector<row_definition> allocator_rows() {
  const std::string text = fmt::format("{} blocks of {} bytes allocated, then freed, per block: ", blocks, block_bytes);
  launch locked = two_threads;
  locked.options = {"--tri-allocator=locked"};
  launch checked = two_threads;
  checked.options = {"--tri-allocator=checked"};
  return {
      {.name = "allocator/1_thread",
       .unit = "ns",
       .description = text + "one PE, the other idle",
       .measure = [](context& tools) { return allocate(tools, false, true); },
       .launch = two_threads},
      {.name = "allocator/2_threads",
       .unit = "ns",
       .description = text + "two PEs at a time",
       .measure = [](context& tools) { return allocate(tools, true, true); },
       .launch = two_threads},
      {.name = "allocator/2_threads/locked",
       .unit = "ns",
       .description = text + "two PEs at a time, with one locked heap for both",
       .measure = [](context& tools) { return allocate(tools, true, false); },
       .launch = locked},
      {.name = "allocator/2_threads/checked",
       .unit = "ns",
       .description = text + "two PEs at a time, with the allocator that looks for errors",
       .measure = [](context& tools) { return allocate(tools, true, false); },
       .launch = checked},
  };
}

}  // namespace tri::bench
