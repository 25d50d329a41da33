// The cost of creating objects.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "messages/pes.hpp"
#include "messages/rows.hpp"

namespace tri::bench {
namespace {

struct cell : tri::array_element<cell, tri::index<1>> {
  double value = 0;
};

// Created, one method, deleted.
struct visitor : tri::object<visitor> {
  void leave() { erase_this(); }
};

// Every object creates the next one on the other PE, with a message, and goes.
struct traveller : tri::object<traveller> {
  explicit traveller(std::string luggage) : luggage_(std::move(luggage)) {}
  void move_on(std::uint64_t left, tri::promise<void> done) {
    if (left == 0) {
      done.set();
    } else {
      tri::make_object_on<traveller>(1 - tri::this_pe(), std::move(luggage_)).send<&traveller::move_on>(left - 1, done);
    }
    erase_this();
  }

 private:
  std::string luggage_;
};

// Arrays stay until the program ends, so few of them are made: one in each batch.
measurement create_elements(context& tools) {
  constexpr int elements = 1000;
  batch_options few = tools.runner().options();
  few.batch_time_ms = 1e-6;
  few.warm_up_ms = 0;
  few.min_time_s = 0;
  samples made = batch_runner(few).time([](std::uint64_t arrays) {
    for (std::uint64_t i = 0; i < arrays; ++i) tri::make_array<cell>({elements});
    tri::quiescence().get();
  });
  for (double& ns : made.operation_ns) ns /= elements;
  return {.samples = std::move(made)};
}

measurement create_and_delete_objects(context& tools) {
  return {.samples = tools.runner().time([](std::uint64_t objects) {
    for (std::uint64_t left = objects; left > 0;) {
      const std::uint64_t burst = left < 100 ? left : 100;
      for (std::uint64_t i = 0; i < burst; ++i) tri::make_object<visitor>().send<&visitor::leave>();
      tri::quiescence().get();
      left -= burst;
    }
  })};
}

measurement create_with_message(context& tools) {
  return {.samples = time_hops(tools.runner(), [](std::uint64_t hops, tri::promise<void> done) {
            tri::make_object_on<traveller>(1, std::string(64, 'x')).send<&traveller::move_on>(hops - 1, done);
          })};
}

}  // namespace

std::vector<row_definition> creation_rows() {
  return {
      {.name = "create/element",
       .unit = "ns",
       .description = "per element of an array of 1,000 on two PEs, until all is quiet",
       .measure = create_elements,
       .launch = two_threads},
      {.name = "create/object",
       .unit = "ns",
       .description = "a single object on the own PE: created, called once, deleted",
       .measure = create_and_delete_objects,
       .launch = one_pe},
      {.name = "create/object_on_other_pe",
       .unit = "ns",
       .description = "a single object created on the other PE with a std::string, called once, deleted",
       .measure = create_with_message,
       .launch = two_threads},
  };
}

}  // namespace tri::bench
