// Two processes under mpirun or mpiexec: the conduit over the real MPI library keeps its promises, with what is posted
// ahead and without, with bodies in one piece and in several, one conduit after the other. The argument names the
// library.
#include <sched.h>

#include <cstdio>
#include <exception>
#include <vector>

#include "boot/launcher_detection.hpp"
#include "boot/mpi/mpi_library.hpp"
#include "support/check.hpp"
#include "wire/conduit/conduit_rules.hpp"
#include "wire/mpi/mpi_conduit.hpp"

namespace {

using namespace tri::wire;
using namespace tri::wire::test;
using tri::testing::check;
using tri::testing::check_equal;

mpi_conduit_counters play(tri::boot::mpi_calls& mpi, const mpi_options& options) {
  const auto self = static_cast<unsigned>(mpi.rank());
  mpi_conduit wire(mpi, 2, options);
  const auto addresses = mpi.exchange(wire.address());
  check(wire.state(1 - self) == peer_state::unknown, "a peer is known before it is connected");
  wire.connect(1 - self, addresses[1 - self]);
  check(wire.state(1 - self) == peer_state::connected, "a connected peer is not known");
  conduit_player<mpi_conduit> player(wire, self);
  player.send_all();
  for (unsigned step = 1; !player.finished(); ++step) {
    player.step();
    if (step % 64 == 0) sched_yield();  // where the two share a core with others, each step would cost their slices
  }
  check(player.counts.refused > 0 && player.counts.filled > 0, "bodies were refused and filled");
  while (!wire.close(player, false)) {
    sched_yield();
  }
  const mpi_conduit_counters counters = wire.counters();
  check_equal(counters.small_arrived + counters.bodies_arrived, player.counts.packets);
  check_equal(counters.offered_arrived, player.counts.filled);
  return counters;
}

/// Counts, and has nothing offered.
struct counter final : conduit_events {
  void packet(std::span<const std::byte>, std::span<const std::byte> body) override {
    ++packets;
    last_bytes = body.size();
  }
  void announced(std::span<const std::byte>, std::size_t, announcement) override { check(false, "nothing is offered"); }
  void filled(packet_token, bool) override {}
  void sent(packet_token) override { ++sent_later; }
  void peer_failed(peer_number, const std::string&) override {}
  unsigned packets = 0, sent_later = 0;
  std::size_t last_bytes = 0;
};

// There and back, first with one size, then with another: the receives of the first are cancelled in the real library.
void change_sizes(tri::boot::mpi_calls& mpi) {
  const auto self = static_cast<unsigned>(mpi.rank());
  mpi_conduit wire(mpi, 2, {.posted = {.adaptive_classes = 1, .interval = 8, .buffers = 8}});
  wire.connect(1 - self, mpi.exchange(wire.address())[1 - self]);
  counter events;
  unsigned expected = 0;
  for (const std::size_t bytes : {20'000, 50'000, 20'000}) {
    for (unsigned round = 0; round < 8; ++round) {
      const std::vector<std::byte> body(bytes);
      packet_record record;
      const unsigned out = events.sent_later;
      ++expected;  // the next one of the other side may come before our answer to this one is out
      const auto send = [&] {
        if (wire.send(1 - self, sending::copied, {}, body, &record) == send_result::done) ++events.sent_later;
      };
      if (self == 0) send();
      while (events.packets < expected)
        if (!wire.progress(events)) sched_yield();
      if (self == 1) send();
      while (events.sent_later == out)
        if (!wire.progress(events)) sched_yield();
      if (self == 0) check_equal(events.last_bytes, bytes);
    }
    wire.progress(events);
    if (self == 1) continue;  // to which something of the next size may have come
    check_equal(wire.posted_ahead_for(bytes), 8U);
    check_equal(wire.posted_ahead_for(bytes == 20'000 ? 50'000 : 20'000), 0U);
  }
  check_equal(wire.counters().receives_withdrawn, 16U);
  while (!wire.close(events, false)) {
    sched_yield();
  }
}

void run(const char* library) {
  tri::boot::mpi_calls& mpi = tri::boot::start_mpi(library, tri::boot::launcher_kind::none);
  check_equal(mpi.size(), 2);
  play(mpi, {});
  play(mpi, {.small_bytes = 256, .small_receives = 1, .piece_bytes = 1000});
  play(mpi, {.small_receives = 2, .posted = {.fixed = {{4, 20'000}, {2, 100'000}}}});
  for (int time = 0; time < 2; ++time) play(mpi, {.posted = {.adaptive_classes = 4, .interval = 4, .buffers = 8}});
  change_sizes(mpi);
  std::printf("rank %d over %s: the conduit keeps its promises\n", mpi.rank(), mpi.library());
  std::fflush(stdout);
  mpi.finalize();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "auto");
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "mpi_pair_program: %s\n", failure.what());
    if (tri::boot::started_mpi() != nullptr) tri::boot::started_mpi()->abort(1);
    return 1;
  }
}
