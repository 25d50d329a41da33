// Gets from a PE that computes without a call: on its host another PE is idle and serves them, or none is.
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "arrays/rows.hpp"
#include "arrays/two_pes.hpp"
#include "framework/statistics.hpp"
#include "os/clock.hpp"

namespace tri::bench {
namespace {

constexpr std::int64_t words_of_pe = 4096;
constexpr std::int64_t compute_ns = 2'000'000;          // peers/peer.h
constexpr std::int64_t until_it_computes_ns = 300'000;  // the longest way of the message that asks for it

struct computing_pe : tri::group_member<computing_pe> {
  tri::global_array<std::uint64_t, 1> table;

  int make() {
    table =
        tri::global_array<std::uint64_t, 1>(tri::position<1>(tri::pe_count() * words_of_pe), tri::tiles(words_of_pe));
    return 1;
  }
  void compute() {
    const std::int64_t end_ns = os::now_ns() + compute_ns;
    double value = 1;
    while (os::now_ns() < end_ns)
      for (int i = 0; i < 200; ++i) asm volatile("" : "+r"(i), "+x"(value));
  }
  int has_ended() { return 1; }
};

const tri::group<computing_pe>& computing_pes() {
  static std::optional<tri::group<computing_pe>> made;
  if (!made) {
    made = tri::make_group<computing_pe>();
    if (made->reduce<&computing_pe::make>(tri::sum).get() != tri::pe_count())
      throw std::logic_error("arrays: a PE did not make its part");
  }
  return *made;
}

// The first PE of the second host has the elements.
measurement get_from_a_busy_pe(context& tools) {
  const auto& pes = computing_pes();
  const int target = tri::pe_count() / 2;
  const auto& table = pes.local().table;
  auto timed_get = [&, at = std::int64_t{0}]() mutable {
    at = (at + 8) % words_of_pe;
    const std::int64_t start_ns = os::now_ns();
    keep(table(target * words_of_pe + at));
    return static_cast<double>(os::now_ns() - start_ns);
  };
  batch_options one_by_one = tools.runner().options();
  one_by_one.batch_time_ms = 1e-3;
  one_by_one.repetitions = std::min<std::size_t>(one_by_one.repetitions, 100);
  std::vector<double> idle_ns;
  measurement made;
  made.samples = batch_runner(one_by_one).collect([&](std::uint64_t count) {
    double busy_ns = 0;
    double waiting_ns = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      pes(target).send<&computing_pe::compute>();
      // What the target sends goes out when it has computed, so it cannot say that it has begun.
      for (const std::int64_t end_ns = os::now_ns() + until_it_computes_ns; os::now_ns() < end_ns;) tri::progress();
      busy_ns += timed_get();
      pes(target).call<&computing_pe::has_ended>().get();
      waiting_ns += timed_get();
    }
    idle_ns.push_back(waiting_ns / static_cast<double>(count));
    return batch_result{.elapsed_ns = busy_ns};
  });
  made.peers["from a PE that waits"] = nanoseconds_in_unit(summarize(idle_ns).median, "us");
  return made;
}

}  // namespace

std::vector<row_definition> array_busy_rows() {
  const auto peers = std::make_shared<array_peers>();
  std::vector<row_definition> rows;
  for (const array_place& place : array_places()) {
    if (is_one_host(place)) continue;  // there a get is a load
    for (const int pes : {2, 1}) {
      launch how = place.how;
      how.pes = pes;
      rows.push_back({.name = std::string("arrays/") + place.name + (pes == 2 ? "/busy_target" : "/busy_target_alone"),
                      .unit = "us",
                      .handoffs = 0,
                      .description = pes == 2 ? "one element of a PE that computes for 2 ms is read; another PE of its "
                                                "host is idle. 4 PEs on 2 cores"
                                              : "the same where its host has no other PE: the get waits",
                      .measure = get_from_a_busy_pe,
                      .launch = how,
                      .peers = peers_at(peers, place.peers, "busy", "busy_target", "us")});
    }
  }
  return rows;
}

}  // namespace tri::bench
