// Updates of variables of which every PE has its own, by two PEs at a time: thread_local, pe_local, and elements of one
// array, padded to cache lines or not.
#include <array>
#include <string>
#include <vector>

#include "framework/pinned_thread.hpp"
#include "messages/pes.hpp"
#include "messages/rows.hpp"
#include "os/clock.hpp"
#include "trireme/variables.hpp"

namespace tri::bench {
namespace {

thread_local std::uint64_t own_counter = 0;
tri::pe_local<std::uint64_t> pe_counter;

struct alignas(64) padded_counter {
  std::uint64_t value = 0;
};
alignas(64) std::array<padded_counter, 2> padded;
alignas(64) std::array<std::uint64_t, 8> unpadded;

std::uint64_t& thread_local_place(std::size_t) { return own_counter; }
std::uint64_t& pe_local_place(std::size_t) { return *pe_counter; }
std::uint64_t& padded_place(std::size_t rank) { return padded[rank].value; }
std::uint64_t& unpadded_place(std::size_t rank) { return unpadded[rank]; }

// The compiler must look the variable up, load and store it each time, as an update in a method would.
template <std::uint64_t& (*Place)(std::size_t)>
void update(std::size_t rank, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    ++Place(rank);
    asm volatile("" : "+r"(rank) : : "memory");
  }
}

template <std::uint64_t& (*Place)(std::size_t)>
measurement update_row(context& tools) {
  const cpu_pair cpus = two_cpus();
  pinned_thread first(cpus.first);
  pinned_thread second(cpus.second);
  return {.samples = tools.runner().collect([&](std::uint64_t times) {
    std::array<double, 2> elapsed_ns{};
    std::atomic<int> arrived{0};
    const auto work = [&](std::size_t rank) {
      // Both begin together. acq_rel: pairs with itself, nothing else is published.
      arrived.fetch_add(1, std::memory_order_acq_rel);
      for (std::uint32_t turns = 0; arrived.load(std::memory_order_acquire) < 2;) {
        if (++turns % 4096 == 0) sched_yield();
      }
      const std::int64_t start_ns = os::now_ns();
      update<Place>(rank, times);
      elapsed_ns[rank] = static_cast<double>(os::now_ns() - start_ns);
    };
    first.start([&] { work(0); });
    second.start([&] { work(1); });
    bool disturbed = first.wait();
    disturbed |= second.wait();
    return batch_result{.elapsed_ns = (elapsed_ns[0] + elapsed_ns[1]) / 2, .disturbed = disturbed};
  })};
}

row_definition row_of(const std::string& name, const std::string& what, measurement (*measure)(context&)) {
  return {.name = "private_variable/" + name,
          .unit = "ns",
          .description = "two threads each add to a variable of their own: " + what,
          .measure = measure};
}

}  // namespace

std::vector<row_definition> private_variable_rows() {
  return {
      row_of("thread_local", "thread_local", update_row<thread_local_place>),
      row_of("pe_local", "tri::pe_local", update_row<pe_local_place>),
      row_of("padded_array", "element of an array, on a cache line of its own", update_row<padded_place>),
      row_of("unpadded_array", "element of an array, on one cache line with the other", update_row<unpadded_place>),
  };
}

}  // namespace tri::bench
