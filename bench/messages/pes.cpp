#include "messages/pes.hpp"

#include <new>

#include "os/clock.hpp"
#include "sched/remote/host_records.hpp"

namespace tri::bench {
namespace {

constexpr std::uint64_t round_trips_of_handoff = 100;

void follow_handoff(std::uint64_t line, std::uint64_t round_trips) {
  reinterpret_cast<cacheline_handoff*>(line)->follow(round_trips);
}

}  // namespace

pe_handoff::pe_handoff() : line_(new(arena::allocate(sizeof(cacheline_handoff))) cacheline_handoff) {}
pe_handoff::~pe_handoff() { arena::release(line_); }

double pe_handoff::measure() {
  tri::send<&follow_handoff>(1, reinterpret_cast<std::uint64_t>(line_), round_trips_of_handoff);
  // The first round trip waits for the other PE to come; it is not part of the figure.
  line_->lead(1);
  return line_->lead(round_trips_of_handoff - 1);
}

samples time_beside_handoff(const batch_runner& runner, const std::function<void(std::uint64_t)>& operation) {
  pe_handoff handoff;
  return runner.collect([&](std::uint64_t operations) {
    const double before_ns = handoff.measure();
    const std::int64_t start_ns = os::now_ns();
    operation(operations);
    const auto elapsed_ns = static_cast<double>(os::now_ns() - start_ns);
    return batch_result{.elapsed_ns = elapsed_ns, .handoff_ns = (before_ns + handoff.measure()) / 2};
  });
}

samples time_hops(const batch_runner& runner,
                  const std::function<void(std::uint64_t hops, tri::promise<void> done)>& start) {
  pe_handoff handoff;
  return runner.collect([&](std::uint64_t operations) {
    const std::uint64_t hops = operations + operations % 2;
    const double before_ns = handoff.measure();
    const std::int64_t start_ns = os::now_ns();
    tri::future<void> arrived;
    start(hops, arrived.get_promise());
    arrived.get();
    const auto elapsed_ns = static_cast<double>(os::now_ns() - start_ns);
    return batch_result{.elapsed_ns = elapsed_ns * static_cast<double>(operations) / static_cast<double>(hops),
                        .handoff_ns = (before_ns + handoff.measure()) / 2};
  });
}

std::uint64_t count_of_all_pes(counter_member which) {
  const sched::runtime& job = sched::this_pe().job();
  std::uint64_t total = 0;
  for (int pe = 0; pe < job.pes(); ++pe) total += (job.record_of(pe)->counters.*which).read();
  return total;
}

}  // namespace tri::bench
