// How many messages per second one PE can send to another that does nothing else but take them.
#include <string>
#include <vector>

#include "messages/pes.hpp"
#include "messages/rows.hpp"

namespace tri::bench {
namespace {

void take(std::uint64_t left, tri::promise<void> done) {
  if (left == 0) done.set();
}

struct taker : tri::group_member<taker> {
  void take(std::uint64_t left, tri::promise<void> done) {
    if (left == 0) done.set();
  }
};

template <class Send>
measurement flood(context& tools, Send&& send) {
  const std::uint64_t overflowed_before = count_of_all_pes(&sched::counter_block::overflowed);
  const std::uint64_t sent_before = count_of_all_pes(&sched::counter_block::sent_to_others);
  measurement made{.samples = time_beside_handoff(tools.runner(), [&](std::uint64_t messages) {
                     tri::future<void> all;
                     const auto done = all.get_promise();
                     for (std::uint64_t left = messages; left-- > 0;) send(left, done);
                     all.get();
                   })};
  const auto since = [](sched::counter sched::counter_block::*which, std::uint64_t before) {
    return static_cast<double>(count_of_all_pes(which) - before);
  };
  made.counts["overflowed per message"] = since(&sched::counter_block::overflowed, overflowed_before) /
                                          since(&sched::counter_block::sent_to_others, sent_before);
  return made;
}

measurement handler_rate(context& tools) {
  return flood(tools, [](std::uint64_t left, tri::promise<void> done) { tri::send<&take>(1, left, done); });
}

measurement entry_rate(context& tools) {
  const auto takers = tri::make_group<taker>();
  const auto there = takers[1];
  return flood(tools, [&](std::uint64_t left, tri::promise<void> done) { there.send<&taker::take>(left, done); });
}

}  // namespace

std::vector<row_definition> rate_rows() {
  std::vector<row_definition> rows;
  for (const auto& [whom, where] : {std::pair{"threads", two_threads}, {"processes", two_processes}}) {
    const std::string name = std::string("rate/") + whom;
    // A stream may overlap the hand-offs of its lines: they are not a limit here.
    rows.push_back({.name = name,
                    .unit = "M/s",
                    .direction = better::higher,
                    .target = 10,
                    .handoffs = 0,
                    .description = "handler messages of 24 bytes from one PE to another",
                    .measure = handler_rate,
                    .launch = where});
    rows.push_back({.name = name + "/entry",
                    .unit = "M/s",
                    .direction = better::higher,
                    .handoffs = 0,
                    .description = "entry messages of 24 bytes from one PE to another",
                    .measure = entry_rate,
                    .launch = where});
  }
  return rows;
}

}  // namespace tri::bench
