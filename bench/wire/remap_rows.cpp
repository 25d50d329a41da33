// Does it pay to move a message that arrived before its destination was known by its pages instead of a copy? By
// exchange of private pages (wire/page_exchange.hpp), and by a second mapping of the pages of shared memory in which it
// came. Timed are the move and one read of all of it, so page faults and TLB misses count; another thread of the
// process runs on the other core, so every change causes a TLB shootdown.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "arena/window.hpp"
#include "framework/cacheline.hpp"
#include "framework/statistics.hpp"
#include "os/clock.hpp"
#include "os/cpu/pinning.hpp"
#include "wire/page_exchange.hpp"
#include "wire/rows.hpp"

namespace tri::bench {
namespace {

constexpr std::size_t cache_line = 64;

/// One way to bring messages of one size to their place.
class way {
 public:
  virtual ~way() = default;
  /// Receives a message and returns its address.
  virtual std::byte* come() = 0;
  /// It goes to its place.
  virtual const std::byte* take() = 0;
};

class by_copy final : public way {
 public:
  explicit by_copy(std::size_t bytes) : bytes_(bytes), came_(bytes), place_(bytes) {}
  std::byte* come() override { return came_.data(); }
  const std::byte* take() override {
    std::memcpy(place_.data(), came_.data(), bytes_);
    return place_.data();
  }

 private:
  const std::size_t bytes_;
  page_region came_, place_;
};

class by_exchange final : public way {
 public:
  explicit by_exchange(std::size_t bytes) : bytes_(bytes), area_(bytes), place_(bytes) {}
  std::byte* come() override { return area_.for_message_to(place_.data()); }
  const std::byte* take() override {
    if (area_.deliver(come(), bytes_, place_.data(), &place_).copied != 0)
      throw std::runtime_error("the system refused to exchange pages");
    return place_.data();
  }

 private:
  const std::size_t bytes_;
  landing_area area_;
  page_region place_;
};

// Messages come into several blocks of a memory file in turn, as the one that is mapped at the place is in use.
class by_second_mapping final : public way {
 public:
  explicit by_second_mapping(std::size_t bytes)
      : bytes_(bytes), file_(arena::create_window_file(bytes * blocks)), place_(bytes) {
    void* const address = mmap(nullptr, bytes * blocks, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (address == MAP_FAILED) throw std::runtime_error(fmt::format("mmap: {}", std::strerror(errno)));
    all_ = static_cast<std::byte*>(address);
  }
  by_second_mapping(const by_second_mapping&) = delete;
  by_second_mapping& operator=(const by_second_mapping&) = delete;
  ~by_second_mapping() override {
    munmap(all_, bytes_ * blocks);
    close(file_);
  }
  std::byte* come() override {
    block_ = (block_ + 1) % blocks;
    return all_ + block_ * bytes_;
  }
  const std::byte* take() override {
    if (mmap(place_.data(), bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
             static_cast<off_t>(block_ * bytes_)) == MAP_FAILED)
      throw std::runtime_error(fmt::format("mmap: {}", std::strerror(errno)));
    return place_.data();
  }

 private:
  static constexpr std::size_t blocks = 4;
  const std::size_t bytes_;
  const int file_;
  std::byte* all_ = nullptr;
  std::size_t block_ = 0;
  page_region place_;
};

/// The calling thread stays on one CPU as long as this lives.
class pinned_here {
 public:
  explicit pinned_here(int cpu) : before_(os::cpus_of_this_thread()) { os::pin_this_thread(cpu); }
  ~pinned_here() { os::pin_this_thread(before_); }
  pinned_here(const pinned_here&) = delete;
  pinned_here& operator=(const pinned_here&) = delete;

 private:
  const std::vector<int> before_;
};

/// A thread of this process that computes on another core.
class busy_thread {
 public:
  explicit busy_thread(int cpu)
      : thread_([this, cpu] {
          os::pin_this_thread(cpu);
          for (std::uint64_t count = 0; !over_.load(std::memory_order_relaxed);) {  // relaxed: only an end
            ++count;
            __asm__ volatile("" : "+r"(count));
          }
        }) {}
  busy_thread(const busy_thread&) = delete;
  busy_thread& operator=(const busy_thread&) = delete;
  ~busy_thread() {
    over_.store(true, std::memory_order_relaxed);  // relaxed: join orders the rest
    thread_.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

samples time_way(const batch_runner& runner, way& moves, std::size_t bytes) {
  std::uint8_t value = 0;
  return runner.collect([&](std::uint64_t messages) {
    batch_result batch;
    for (std::uint64_t message = 0; message < messages; ++message) {
      std::memset(moves.come(), ++value, bytes);
      const std::int64_t start_ns = os::now_ns();
      const std::byte* const place = moves.take();
      std::uint64_t sum = 0;
      for (std::size_t at = 0; at < bytes; at += cache_line) sum += static_cast<std::uint8_t>(place[at]);
      batch.elapsed_ns += static_cast<double>(os::now_ns() - start_ns);
      if (sum != value * (bytes / cache_line)) throw std::logic_error("a message did not come to its place");
    }
    return batch;
  });
}

measurement measure_remap(context& tools, way& moves, std::size_t bytes) {
  const cpu_pair cpus = two_cpus();
  const pinned_here here(cpus.first);
  const busy_thread other(cpus.second);
  batch_options method = tools.runner().options();
  const std::size_t rounds = method.max_time_s <= 2 ? 1 : 5;
  method.repetitions = (method.repetitions + rounds - 1) / rounds;
  method.min_time_s /= static_cast<double>(rounds);
  method.max_time_s /= static_cast<double>(rounds);
  const batch_runner runner(method);
  by_copy copies(bytes);
  measurement made;
  comparison beside{.name = "copy", .ratios = {}};
  std::vector<double> all_copied;
  for (std::size_t round = 0; round < rounds; ++round) {
    const samples copied = time_way(runner, copies, bytes);
    const samples moved = time_way(runner, moves, bytes);
    beside.ratios.push_back(summarize(moved.operation_ns).median / summarize(copied.operation_ns).median);
    made.samples.operation_ns.insert(made.samples.operation_ns.end(), moved.operation_ns.begin(),
                                     moved.operation_ns.end());
    all_copied.insert(all_copied.end(), copied.operation_ns.begin(), copied.operation_ns.end());
  }
  made.peers["copy"] = nanoseconds_in_unit(summarize(all_copied).median, "us");
  made.reference = std::move(beside);
  return made;
}

}  // namespace

std::vector<row_definition> remap_rows() {
  std::vector<row_definition> rows;
  for (const std::size_t bytes : {std::size_t{8} << 10, std::size_t{64} << 10, std::size_t{256} << 10,
                                  std::size_t{1} << 20, std::size_t{2} << 20, std::size_t{4} << 20}) {
    const auto add = [&](const char* name, const char* description, auto make) {
      rows.push_back(
          {.name = fmt::format("wire/remap/{}/{}", name, bytes),
           .unit = "us",
           .handoffs = 0,
           .description = fmt::format("{} B put to their place by {}, and read; beside a copy", bytes, description),
           .measure = [make, bytes](context& tools) {
             const std::unique_ptr<way> moves = make(bytes);
             return measure_remap(tools, *moves, bytes);
           }});
    };
    add("exchange", "exchange of their pages",
        [](std::size_t size) -> std::unique_ptr<way> { return std::make_unique<by_exchange>(size); });
    add("second_mapping", "a second mapping of their pages",
        [](std::size_t size) -> std::unique_ptr<way> { return std::make_unique<by_second_mapping>(size); });
  }
  return rows;
}

}  // namespace tri::bench
