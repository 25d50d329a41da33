#include "saturation/saturation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "os/clock.hpp"
#include "os/cpu/pinning.hpp"
#include "os/cpu/topology.hpp"

namespace tri::tools {
namespace {

constexpr std::size_t piece_bytes = std::size_t{64} << 10;
constexpr std::size_t buffer_bytes = std::size_t{64} << 20;  // larger than a core's caches
constexpr double worth_it = 1.05;

// One PU of each core, by domain.
std::map<int, std::vector<int>> cores_by_domain(const os::topology& machine) {
  std::map<int, std::vector<int>> domains;
  std::set<int> cores;
  for (const os::pu& each : machine.pus())
    if (cores.insert(each.core).second) domains[each.numa].push_back(each.number);
  return domains;
}

struct copier {
  int cpu = 0;
  std::unique_ptr<std::byte[]> from;
  std::unique_ptr<std::byte[]> to;
  std::uint64_t copied = 0;
};

// Memory belongs to the domain of the core that touches it first.
void touch_from(int cpu, copier& mine) {
  std::thread([&] {
    os::pin_this_thread(cpu);
    mine.from.reset(new std::byte[buffer_bytes]);
    mine.to.reset(new std::byte[buffer_bytes]);
    std::memset(mine.from.get(), 1, buffer_bytes);
    std::memset(mine.to.get(), 2, buffer_bytes);
  }).join();
}

double copy_together(std::vector<copier*>& copiers, double seconds) {
  std::atomic<bool> stop{false};
  std::barrier<> begin(static_cast<std::ptrdiff_t>(copiers.size()) + 1);
  std::vector<std::thread> threads;
  for (copier* const mine : copiers) {
    threads.emplace_back([mine, &stop, &begin] {
      os::pin_this_thread(mine->cpu);
      mine->copied = 0;
      begin.arrive_and_wait();
      // relaxed: only a stop flag
      for (std::size_t at = 0; !stop.load(std::memory_order_relaxed); at = (at + piece_bytes) % buffer_bytes) {
        std::memcpy(mine->to.get() + at, mine->from.get() + at, piece_bytes);
        mine->copied += piece_bytes;
      }
    });
  }
  begin.arrive_and_wait();
  const std::int64_t began_ns = os::now_ns();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop.store(true, std::memory_order_relaxed);  // relaxed: as above
  for (std::thread& each : threads) each.join();
  const auto passed_ns = static_cast<double>(os::now_ns() - began_ns);
  std::uint64_t bytes = 0;
  for (const copier* const each : copiers) bytes += each->copied;
  return static_cast<double>(bytes) / passed_ns;
}

double throughput_of(const std::vector<copy_throughput>& rows, int near, int far) {
  for (const copy_throughput& each : rows)
    if (each.near == near && each.far == far) return each.gigabytes_per_s;
  return 0;
}

}  // namespace

std::vector<copy_throughput> measure_copies(const os::topology& machine, double seconds) {
  const std::map<int, std::vector<int>> domains = cores_by_domain(machine);
  const std::vector<int>& near = domains.begin()->second;
  std::vector<copier> copiers(near.size() + 1);
  for (std::size_t i = 0; i < near.size(); ++i) {
    copiers[i].cpu = near[i];
    touch_from(near[i], copiers[i]);
  }
  const bool has_far = domains.size() > 1;
  if (has_far) {
    copiers.back().cpu = std::next(domains.begin())->second.front();
    touch_from(near.front(), copiers.back());
  }
  std::vector<copy_throughput> rows;
  for (std::size_t count = 1; count <= near.size(); ++count) {
    for (int far = 0; far <= (has_far ? 1 : 0); ++far) {
      std::vector<copier*> now;
      for (std::size_t i = 0; i < count; ++i) now.push_back(&copiers[i]);
      if (far == 1) now.push_back(&copiers.back());
      rows.push_back({static_cast<int>(count), far, copy_together(now, seconds)});
    }
  }
  return rows;
}

int saturation_of(const std::vector<copy_throughput>& rows) {
  int most = 0;
  bool has_far = false;
  for (const copy_throughput& each : rows) {
    most = std::max(most, each.near);
    has_far = has_far || each.far > 0;
  }
  for (int near = 1; near < most + (has_far ? 1 : 0); ++near) {
    const double with_one_more = has_far ? throughput_of(rows, near, 1) : throughput_of(rows, near + 1, 0);
    if (with_one_more < throughput_of(rows, near, 0) * worth_it) return near;
  }
  return most;
}

nlohmann::json to_json(const std::vector<copy_throughput>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const copy_throughput& each : rows)
    list.push_back({{"near", each.near}, {"far", each.far}, {"gigabytes_per_s", each.gigabytes_per_s}});
  return {{"copies", list}, {"saturation", saturation_of(rows)}};
}

std::string to_text(const std::vector<copy_throughput>& rows) {
  const bool has_far = std::any_of(rows.begin(), rows.end(), [](const copy_throughput& each) { return each.far > 0; });
  std::string text = "copies of 64 KiB inside the memory of a NUMA domain\n";
  text += fmt::format("{:>10}{:>12}{}\n", "copiers", "GB/s", has_far ? "   with one of another domain" : "");
  for (const copy_throughput& each : rows) {
    if (each.far > 0) continue;
    text += fmt::format("{:>10}{:>12.2f}", each.near, each.gigabytes_per_s);
    text += has_far ? fmt::format("{:>29.2f}\n", throughput_of(rows, each.near, 1)) : "\n";
  }
  text += fmt::format("\nTRIREME_MPI_SHARING=throughput,{} fits: beyond that, a further copier adds less than 5 %.\n",
                      saturation_of(rows));
  if (!has_far)
    text += "This machine has one NUMA domain, so all ranks are near to each other and it makes no difference.\n";
  return text;
}

}  // namespace tri::tools
