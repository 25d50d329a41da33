// Messages of a PE to itself, which touch nothing that others write: alone, and with a second PE that has nothing to
// do.
#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "framework/allocation_counter.hpp"
#include "messages/pes.hpp"
#include "messages/rows.hpp"

namespace tri::bench {
namespace {

using done_signal = tri::promise<void>;

void again(std::uint64_t left, done_signal done) {
  if (left == 0) return done.set();
  tri::send<&again>(tri::this_pe(), left - 1, done);
}

struct hermit : tri::array_element<hermit, tri::index<1>> {
  void entry(std::uint64_t left, done_signal done) {
    if (left == 0) return done.set();
    this_element().send<&hermit::entry>(left - 1, done);
  }
  void marshalled(std::uint64_t left, done_signal done, std::string text) {
    if (left == 0) return done.set();
    this_element().send<&hermit::marshalled>(left - 1, done, std::move(text));
  }
  void drain(std::uint64_t left, done_signal done) {
    if (left == 0) done.set();
  }
  // Self-send of a reused message: the same buffer goes round, so nothing is ever allocated.
  void round(done_signal done, tri::buffer<std::byte> message) {
    if (rounds_left == 0) {
      allocations = allocations_of_this_thread() - allocations_before;
      moved = message.data() != expected;
      return done.set();
    }
    if (allocations_before == 0) {
      allocations_before = allocations_of_this_thread();
      expected = message.data();
    }
    --rounds_left;
    this_element().send<&hermit::round>(done, std::move(message));
  }

  std::uint64_t rounds_left = 0;
  std::uint64_t allocations_before = 0;
  std::uint64_t allocations = 0;
  const std::byte* expected = nullptr;
  bool moved = false;
};

// PE 0 owns element 0 whatever the number of PEs.
template <class Start>
measurement time_chain(context& tools, Start&& start) {
  const auto hermits = tri::make_array<hermit>({tri::pe_count()});
  return {.samples = tools.runner().time([&](std::uint64_t messages) {
    tri::future<void> done;
    start(hermits(0), messages, done.get_promise());
    done.get();
  })};
}

measurement entry_to_itself(context& tools) {
  return time_chain(tools, [](const auto& self, std::uint64_t messages, done_signal done) {
    self.template send<&hermit::entry>(messages - 1, done);
  });
}

measurement handler_to_itself(context& tools) {
  return time_chain(tools, [](const auto&, std::uint64_t messages, done_signal done) { again(messages, done); });
}

measurement marshalled_to_itself(context& tools) {
  return time_chain(tools, [](const auto& self, std::uint64_t messages, done_signal done) {
    self.template send<&hermit::marshalled>(messages - 1, done, std::string(64, 'x'));
  });
}

// Charm++'s shape: a thousand messages are enqueued, then all of them run.
measurement thousand_at_once(context& tools) {
  return time_chain(tools, [](const auto& self, std::uint64_t messages, done_signal done) {
    for (std::uint64_t left = messages; left > 0;) {
      const std::uint64_t burst = std::min<std::uint64_t>(left, 1000);
      tri::future<void> drained;
      for (std::uint64_t i = burst; i-- > 0;) {
        self.template send<&hermit::drain>(i, drained.get_promise());
      }
      drained.get();
      left -= burst;
    }
    done.set();
  });
}

measurement self_send(context& tools) {
  const auto hermits = tri::make_array<hermit>({tri::pe_count()});
  hermit& self = *hermits(0).local();
  std::uint64_t allocations = 0;
  measurement made{.samples = tools.runner().time([&](std::uint64_t messages) {
    self.rounds_left = messages - 1;
    self.allocations_before = 0;
    tri::future<void> done;
    hermits(0).send<&hermit::round>(done.get_promise(), tri::buffer<std::byte>(64));
    done.get();
    // A batch of one message has no steady state.
    if (messages < 2) return;
    if (self.moved) throw std::logic_error("self_send: the message was copied on its way");
    allocations += self.allocations;
  })};
  made.counts["allocations"] = static_cast<double>(allocations);
  return made;
}

}  // namespace

std::vector<row_definition> own_pe_rows() {
  const double target_ns = 60;
  return {
      {.name = "entry/own_pe/alone",
       .unit = "ns",
       .target = target_ns,
       .description = "an element sends to itself; its PE is the only one",
       .measure = entry_to_itself,
       .launch = one_pe},
      {.name = "entry/own_pe/idle_peer_spinning",
       .unit = "ns",
       .target = target_ns,
       .description = "the same while a second PE spins without work",
       .measure = entry_to_itself,
       .launch = spinning_peer},
      {.name = "entry/own_pe/idle_peer_sleeping",
       .unit = "ns",
       .target = target_ns,
       .description = "the same while a second PE sleeps",
       .measure = entry_to_itself,
       .launch = sleeping_peer},
      {.name = "entry/own_pe/marshalled",
       .unit = "ns",
       .description = "an element sends itself a std::string of 64 characters",
       .measure = marshalled_to_itself,
       .launch = one_pe},
      {.name = "entry/own_pe/1000_at_once",
       .unit = "ns",
       .description = "a thousand messages to an element of the own PE, sent, then run",
       .measure = thousand_at_once,
       .launch = one_pe},
      {.name = "handler/own_pe/alone",
       .unit = "ns",
       .description = "a handler sends to its own PE",
       .measure = handler_to_itself,
       .launch = one_pe},
      {.name = "self_send",
       .unit = "ns",
       .target = target_ns,
       .description = "an element sends itself the same message of 64 bytes again and again",
       .measure = self_send,
       .launch = one_pe},
  };
}

}  // namespace tri::bench
