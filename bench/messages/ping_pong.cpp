// One message at a time between two PEs: handlers, entry methods with all kinds of arguments, groups, single objects.
#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "messages/pes.hpp"
#include "messages/rows.hpp"

namespace tri::bench {
namespace {

using done_signal = tri::promise<void>;

void ball(std::uint64_t left, done_signal done) {
  if (left == 0) return done.set();
  tri::send<&ball>(1 - tri::this_pe(), left - 1, done);
}

struct many_fields {
  std::array<double, 8> values;
};

// One on each PE; the two send to each other.
struct player : tri::array_element<player, tri::index<1>> {
  tri::element_ref<player> other() const { return this_array()(1 - this_index()[0]); }

  void entry(std::uint64_t left, done_signal done) {
    if (left == 0) return done.set();
    other().send<&player::entry>(left - 1, done);
  }
  void immediate(std::uint64_t left, done_signal done) {
    if (left == 0) return done.set();
    other().with(tri::immediate).send<&player::immediate>(left - 1, done);
  }
  void prioritised(std::uint64_t left, done_signal done) {
    if (left == 0) return done.set();
    other().with(tri::priority(-1)).send<&player::prioritised>(left - 1, done);
  }
  void several(std::uint64_t left, done_signal done, int a, double b, many_fields c) {
    if (left == 0) return done.set();
    other().send<&player::several>(left - 1, done, a + 1, b, c);
  }
  void marshalled(std::uint64_t left, done_signal done, std::string text, std::vector<double> values) {
    if (left == 0) return done.set();
    other().send<&player::marshalled>(left - 1, done, std::move(text), std::move(values));
  }
  void pass_buffer(std::uint64_t left, done_signal done, tri::buffer<double> data) {
    data[0] += 1;
    if (left == 0) return done.set();
    other().send<&player::pass_buffer>(left - 1, done, std::move(data));
  }
  int answer(int question) { return question + 1; }
};

struct group_player : tri::group_member<group_player> {
  void entry(std::uint64_t left, done_signal done) {
    if (left == 0) return done.set();
    this_array()(1 - tri::this_pe()).send<&group_player::entry>(left - 1, done);
  }
};

struct single_player : tri::object<single_player> {
  int meet(tri::element_ref<single_player> other) {
    other_ = other;
    return 0;
  }
  void entry(std::uint64_t left, done_signal done) {
    if (left == 0) return done.set();
    other_.send<&single_player::entry>(left - 1, done);
  }

 private:
  tri::element_ref<single_player> other_;
};

// Message to the other PE and back, again and again, from element 0 to element 1.
template <auto Method, class... A>
measurement play(context& tools, const A&... arguments) {
  const auto players = tri::make_array<player>({2});
  return {.samples = time_hops(tools.runner(), [&](std::uint64_t hops, done_signal done) {
            players(1).send<Method>(hops - 1, done, arguments...);
          })};
}

measurement handler_one_way(context& tools) {
  return {.samples = time_hops(tools.runner(), [](std::uint64_t hops, done_signal done) { ball(hops, done); })};
}

measurement immediate_one_way(context& tools) {
  const auto players = tri::make_array<player>({2});
  return {.samples = time_hops(tools.runner(), [&](std::uint64_t hops, done_signal done) {
            players(1).with(tri::immediate).send<&player::immediate>(hops - 1, done);
          })};
}

measurement prioritised_one_way(context& tools) {
  const auto players = tri::make_array<player>({2});
  return {.samples = time_hops(tools.runner(), [&](std::uint64_t hops, done_signal done) {
            players(1).with(tri::priority(-1)).send<&player::prioritised>(hops - 1, done);
          })};
}

measurement call_and_answer(context& tools) {
  const auto players = tri::make_array<player>({2});
  return {.samples = time_beside_handoff(tools.runner(), [&](std::uint64_t calls) {
            int value = 0;
            for (std::uint64_t i = 0; i < calls; ++i) value = players(1).call<&player::answer>(value).get();
            if (value != static_cast<int>(calls)) throw std::logic_error("call_and_answer: an answer was lost");
          })};
}

// The proof that nothing is copied: the PEs count a handful of copied bytes for each message of a mebibyte.
measurement pass_one_mebibyte(context& tools) {
  const auto players = tri::make_array<player>({2});
  std::uint64_t messages = 0;
  const std::uint64_t copied_before = count_of_all_pes(&sched::counter_block::bytes_copied);
  measurement made{.samples = time_hops(tools.runner(), [&](std::uint64_t hops, done_signal done) {
                     messages += hops;
                     tri::buffer<double> data((1 << 20) / sizeof(double));
                     data[0] = 0;
                     players(1).send<&player::pass_buffer>(hops - 1, done, std::move(data));
                   })};
  const std::uint64_t copied = count_of_all_pes(&sched::counter_block::bytes_copied) - copied_before;
  made.counts["bytes copied per message"] = static_cast<double>(copied) / static_cast<double>(messages);
  return made;
}

measurement group_one_way(context& tools) {
  const auto players = tri::make_group<group_player>();
  return {.samples = time_hops(tools.runner(), [&](std::uint64_t hops, done_signal done) {
            players[1].send<&group_player::entry>(hops - 1, done);
          })};
}

measurement object_one_way(context& tools) {
  const auto here = tri::make_object_on<single_player>(0);
  const auto there = tri::make_object_on<single_player>(1);
  here.call<&single_player::meet>(there).get();
  there.call<&single_player::meet>(here).get();
  return {.samples = time_hops(tools.runner(), [&](std::uint64_t hops, done_signal done) {
            there.send<&single_player::entry>(hops - 1, done);
          })};
}

std::vector<row_definition> rows_between(const std::string& whom, const launch& where) {
  const std::string text = "between " + whom + ", one way: ";
  const std::string at = "/" + whom + "/";
  return {
      {.name = "handler" + at + "one_way",
       .unit = "ns",
       .target = 250,
       .target_ratio = 2.3,
       .description = text + "a function called on the other PE",
       .measure = handler_one_way,
       .launch = where},
      {.name = "entry" + at + "one_way",
       .unit = "ns",
       .target = 400,
       .target_ratio = 3.6,
       .description = text + "an entry method with plain arguments",
       .measure = play<&player::entry>,
       .launch = where},
      {.name = "entry" + at + "several_arguments",
       .unit = "ns",
       .description = text + "five plain arguments, 96 bytes",
       .measure = [](context& tools) { return play<&player::several>(tools, 1, 2.0, many_fields{}); },
       .launch = where},
      {.name = "entry" + at + "marshalled",
       .unit = "ns",
       .description = text + "a std::string of 64 characters and a std::vector of 8 doubles",
       .measure =
           [](context& tools) {
             return play<&player::marshalled>(tools, std::string(64, 'x'), std::vector<double>(8, 1.0));
           },
       .launch = where},
      {.name = "entry" + at + "buffer_1MiB",
       .unit = "ns",
       .description = text + "a tri::buffer of 1 MiB, which moves as a pointer",
       .measure = pass_one_mebibyte,
       .launch = where},
      {.name = "entry" + at + "call",
       .unit = "ns",
       .handoffs = 2,
       .description = "between " + whom + ", round trip: call an entry method and wait for the future",
       .measure = call_and_answer,
       .launch = where},
      {.name = "group" + at + "one_way",
       .unit = "ns",
       .description = text + "an entry method of a group",
       .measure = group_one_way,
       .launch = where},
      {.name = "object" + at + "one_way",
       .unit = "ns",
       .description = text + "an entry method of a single object",
       .measure = object_one_way,
       .launch = where},
  };
}

}  // namespace

std::vector<row_definition> ping_pong_rows() {
  std::vector<row_definition> rows = rows_between("threads", two_threads);
  rows.push_back({.name = "entry/threads/immediate",
                  .unit = "ns",
                  .description = "between threads, one way: an immediate message",
                  .measure = immediate_one_way,
                  .launch = two_threads});
  rows.push_back({.name = "entry/threads/priority",
                  .unit = "ns",
                  .description = "between threads, one way: a message with a priority",
                  .measure = prioritised_one_way,
                  .launch = two_threads});
  for (row_definition& row : rows_between("processes", two_processes)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace tri::bench
