// Collectives of teams: each of two PEs calls one after the other.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "messages/pes.hpp"
#include "messages/rows.hpp"
#include "trireme/team.hpp"

namespace tri::bench {
namespace {

constexpr int length = 1000;  // of vectors

void expect(bool holds) {
  if (!holds) throw std::logic_error("team: a collective has a wrong result");
}

struct member : tri::group_member<member> {
  tri::task<int> barriers(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) co_await tri::team::world().barrier();
    co_return 1;
  }
  // Its root waits for no member.
  tri::task<int> broadcasts(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) expect(co_await tri::team::world().broadcast(i, 0) == i);
    co_return 1;
  }
  tri::task<int> sums(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) expect(co_await tri::team::world().allreduce(i, tri::sum) == 2 * i);
    co_return 1;
  }
  tri::task<int> sums_of_vectors(std::uint64_t count) {
    const std::vector<double> own(length, 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::vector<double> sum = co_await tri::team::world().allreduce(own, tri::elementwise(tri::sum));
      expect(sum.back() == 2);
    }
    co_return 1;
  }
  tri::task<int> scans(std::uint64_t count) {
    const auto values = static_cast<std::uint64_t>(tri::this_pe()) + 1;
    for (std::uint64_t i = 0; i < count; ++i)
      expect(co_await tri::team::world().scan(std::uint64_t{1}, tri::sum) == values);
    co_return 1;
  }
  tri::task<int> allgathers(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::vector<std::uint64_t> all = co_await tri::team::world().allgather(i);
      expect(all.size() == 2 && all[0] == i && all[1] == i);
    }
    co_return 1;
  }
};

template <auto Method>
measurement run(context& tools) {
  const auto members = tri::make_group<member>();
  return {.samples = time_beside_handoff(tools.runner(), [&](std::uint64_t count) {
            expect(members.reduce<Method>(tri::sum, count).get() == tri::pe_count());
          })};
}

// On two threads and on two processes.
template <auto Method>
void add(std::vector<row_definition>& rows, const std::string& name, const std::string& description, double handoffs) {
  for (const bool processes : {false, true}) {
    rows.push_back({.name = "team/" + name + (processes ? "/processes" : ""),
                    .unit = "us",
                    .handoffs = handoffs,
                    .description = description + (processes ? ", two processes" : ", two threads"),
                    .measure = run<Method>,
                    .launch = processes ? two_processes : two_threads});
  }
}

}  // namespace

std::vector<row_definition> team_rows() {
  std::vector<row_definition> rows;
  add<&member::barriers>(rows, "barrier", "a barrier of a team", 1);
  add<&member::broadcasts>(rows, "broadcast", "a broadcast of 8 B in a team, whose root runs ahead", 0);
  add<&member::sums>(rows, "allreduce", "a sum of 8 B that all members of a team get", 1);
  add<&member::sums_of_vectors>(rows, "allreduce/8000", "a sum of vectors of 1,000 doubles that all get", 1);
  add<&member::scans>(rows, "scan", "a scan of 8 B in a team", 0);
  add<&member::allgathers>(rows, "allgather", "8 B of each member that all get", 1);
  return rows;
}

}  // namespace tri::bench
