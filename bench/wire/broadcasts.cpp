// Broadcasts over 2 to 64 pretend hosts of one PE each, by the tree that collections use and by others, which the
// members of a group walk themselves. A round ends when all members have answered, by the same reduction for every
// tree.
#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/statistics.hpp"
#include "messages/pes.hpp"
#include "os/clock.hpp"
#include "trireme/objects.hpp"
#include "wire/rows.hpp"

namespace tri::bench {
namespace {

enum class tree : std::uint8_t {
  binomial,  // the parent of p is p without its lowest bit
  flat,      // PE 0 sends to each
};

struct listener : tri::group_member<listener> {
  void hear(tri::callback<int> all_have_heard) { contribute(1, tri::sum, all_have_heard); }

  void hand_on(tree shape, tri::callback<int> all_have_heard) {
    const int own = this_index()[0];
    const int pes = tri::pe_count();
    if (shape == tree::flat) {
      if (own == 0)
        for (int child = 1; child < pes; ++child)
          this_array()(child).template send<&listener::hand_on>(shape, all_have_heard);
    } else {
      // Own bits above the lowest stay; the largest subtree first, since its way is the longest.
      int below = own == 0 ? 1 : own & -own;
      while (own == 0 && below < pes) below *= 2;
      for (int bit = below / 2; bit > 0; bit /= 2)
        if (own + bit < pes) this_array()(own + bit).template send<&listener::hand_on>(shape, all_have_heard);
    }
    hear(all_have_heard);
  }
};

/// Nanoseconds for this many rounds, one after the other. begin(callback) starts a round.
template <class Begin>
double time_rounds(std::uint64_t rounds, Begin&& begin) {
  const std::int64_t start_ns = os::now_ns();
  for (std::uint64_t i = 0; i < rounds; ++i) {
    tri::future<int> heard;
    begin(tri::callback<int>(heard.get_promise()));
    if (const int members = heard.get(); members != tri::pe_count())
      throw std::logic_error(fmt::format("broadcast: {} of {} members heard it", members, tri::pe_count()));
  }
  return static_cast<double>(os::now_ns() - start_ns);
}

measurement broadcast_and_answers(context& tools) {
  const auto listeners = tri::make_group<listener>();
  const auto by_tree = [&](tree shape) {
    return [&listeners, shape](const tri::callback<int>& done) {
      listeners(0).template send<&listener::hand_on>(shape, done);
    };
  };
  std::vector<double> binomial_ns, flat_ns, ratios;
  measurement made;
  made.samples = tools.runner().collect([&](std::uint64_t rounds) {
    const auto count = static_cast<double>(rounds);
    const double own_ns = time_rounds(
        rounds, [&](const tri::callback<int>& done) { listeners.template broadcast<&listener::hear>(done); });
    binomial_ns.push_back(time_rounds(rounds, by_tree(tree::binomial)) / count);
    flat_ns.push_back(time_rounds(rounds, by_tree(tree::flat)) / count);
    ratios.push_back(own_ns / count / binomial_ns.back());
    return batch_result{.elapsed_ns = own_ns};
  });
  made.peers["binomial"] = nanoseconds_in_unit(summarize(binomial_ns).median, "us");
  made.peers["flat"] = nanoseconds_in_unit(summarize(flat_ns).median, "us");
  made.reference = comparison{.name = "binomial", .ratios = std::move(ratios)};
  return made;
}

}  // namespace

std::vector<row_definition> broadcast_rows() {
  std::vector<row_definition> rows;
  for (int hosts = 2; hosts <= 64; hosts *= 2)
    rows.push_back({.name = fmt::format("wire/ucx/loopback/broadcast/{}", hosts),
                    .unit = "us",
                    .handoffs = 0,
                    .description = fmt::format("broadcast to {} pretend hosts and an answer from each, by the tree of "
                                               "collections, beside a binomial and a flat one",
                                               hosts),
                    .measure = broadcast_and_answers,
                    .launch = launch{.processes = hosts,
                                     .pes = 1,
                                     .options = {fmt::format("--tri-hosts={}", hosts), "--tri-wire-transports=tcp",
                                                 "--tri-network=lo"}}});
  return rows;
}

}  // namespace tri::bench
