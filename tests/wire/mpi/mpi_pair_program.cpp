// Two processes under mpirun or mpiexec: the conduit over the real MPI library keeps its promises, with what is posted
// ahead and without, with bodies in one piece and in several, one conduit after the other. The argument names the
// library.
#include <cstdio>
#include <exception>
#include <vector>

#include "host/launcher_detection.hpp"
#include "host/mpi_library.hpp"
#include "support/check.hpp"
#include "wire/conduit/conduit_rules.hpp"
#include "wire/mpi/mpi_conduit.hpp"

namespace {

using namespace tri::wire;
using namespace tri::wire::test;
using tri::testing::check;
using tri::testing::check_equal;

mpi_conduit_counters play(tri::host::mpi_calls& mpi, const mpi_options& options) {
  const auto self = static_cast<unsigned>(mpi.rank());
  mpi_conduit wire(mpi, 2, options);
  const auto addresses = mpi.exchange(wire.address());
  check(wire.state(1 - self) == peer_state::unknown, "a peer is known before it is connected");
  wire.connect(1 - self, addresses[1 - self]);
  check(wire.state(1 - self) == peer_state::connected, "a connected peer is not known");
  conduit_player<mpi_conduit> player(wire, self);
  player.send_all();
  while (!player.finished()) player.turn();
  check(player.counts.refused > 0 && player.counts.filled > 0, "bodies were refused and filled");
  while (!wire.close(player, false)) {
  }
  const mpi_conduit_counters counters = wire.counters();
  check_equal(counters.small_arrived + counters.bodies_arrived, player.counts.packets);
  check_equal(counters.offered_arrived, player.counts.filled);
  return counters;
}

void run(const char* library) {
  tri::host::mpi_calls& mpi = tri::host::start_mpi(library, tri::host::launcher_kind::none);
  check_equal(mpi.size(), 2);
  play(mpi, {});
  play(mpi, {.small_bytes = 256, .small_receives = 1, .piece_bytes = 1000});
  play(mpi, {.small_receives = 2, .posted = {.fixed = {{4, 20'000}, {2, 100'000}}}});
  mpi_conduit_counters all;
  for (int time = 0; time < 20; ++time) {
    const mpi_conduit_counters here = play(mpi, {.posted = {.adaptive_classes = 4, .interval = 4, .buffers = 8}});
    all.receives_withdrawn += here.receives_withdrawn;
  }
  check(all.receives_withdrawn > 0, "no receive was withdrawn, though the sizes changed");
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
    if (tri::host::started_mpi() != nullptr) tri::host::started_mpi()->abort(1);
    return 1;
  }
}
