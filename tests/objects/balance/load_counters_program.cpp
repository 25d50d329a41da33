// Counters of a running program (M70): a source that the program adds, and an event of the system, named by
// --tri-load-counters. Ends with status 0 if each element has its own counts and no others.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "trireme/balance.hpp"
#include "trireme/balance_strategy.hpp"
#include "trireme/load_counters.hpp"
#include "trireme/objects.hpp"

namespace {

thread_local std::uint64_t steps = 0;  // of this PE
thread_local std::uint64_t calls = 0;

class made_up final : public tri::load_counter_source {
 public:
  explicit made_up(std::vector<std::string> names) : names_(std::move(names)) {
    for (const std::string& each : names_)
      if (each != "steps" && each != "calls") throw std::runtime_error("there is no fake counter '" + each + "'");
  }
  void read(std::span<std::uint64_t> counts) override {
    for (std::size_t i = 0; i < names_.size(); ++i) counts[i] = names_[i] == "steps" ? steps : calls;
  }

 private:
  std::vector<std::string> names_;
};

struct stepper : tri::array_element<stepper, tri::index<1>> {
  void step(int times) {
    calls += 1;
    steps += static_cast<std::uint64_t>(times) * static_cast<std::uint64_t>(this_index()[0] + 1);
  }
  void describe_load(tri::load_description& load) {
    const auto number = static_cast<std::int32_t>(this_index()[0]);
    load.user_data(std::as_bytes(std::span(&number, 1)));
  }
  template <class Archive>
  void serialize(Archive&) {}
};

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

tri::balancing::snapshot seen;  // on PE 0

void check_counts(int elements, std::uint64_t rounds) {
  const auto place = [](const char* name) {
    const auto found = std::find(seen.counters.begin(), seen.counters.end(), name);
    require(found != seen.counters.end(), std::string("the snapshot has no counter ") + name);
    return static_cast<std::size_t>(found - seen.counters.begin());
  };
  const std::size_t of_steps = place("fake:steps"), of_calls = place("fake:calls");
  int found = 0;
  for (std::uint32_t object = 0; object < seen.objects.size(); ++object) {
    const auto data = seen.user_data_of(object);
    if (data.size() != sizeof(std::int32_t)) continue;
    std::int32_t number = 0;
    std::memcpy(&number, data.data(), sizeof number);
    ++found;
    const auto wanted =
        static_cast<double>(rounds * (10 + rounds - 1 + 10) / 2 * static_cast<std::uint64_t>(number + 1));
    require(seen.counter_of(object, of_steps) == wanted, "element " + std::to_string(number) + " has " +
                                                             std::to_string(seen.counter_of(object, of_steps)) +
                                                             " steps, and should have " + std::to_string(wanted));
    require(seen.counter_of(object, of_calls) == static_cast<double>(rounds), "a wrong number of calls");
  }
  require(found == elements, "elements are missing in the snapshot");
}

}  // namespace

int main(int argc, char** argv) {
  tri::add_load_counters("fake",
                         [](const std::vector<std::string>& names) { return std::make_unique<made_up>(names); });
  tri::balancing::add_strategy(
      {"look", "keeps the snapshot", [](const tri::balancing::snapshot& of, const tri::balancing::strategy_options&) {
         seen = of;
         return tri::balancing::decided_moves(std::vector<tri::balancing::move>{});
       }});
  return tri::run(argc, argv, [] {
    tri::balance_options look;
    look.strategy = "look";
    const int elements = 4 * tri::pe_count();
    const auto all = tri::make_array<stepper>({elements});
    for (const std::uint64_t rounds : {1U, 3U}) {
      tri::balance(look).get();  // counts from here on
      for (std::uint64_t round = 0; round < rounds; ++round) {
        steps += 1000;  // of the main program: of no element
        all.broadcast<&stepper::step>(10 + static_cast<int>(round));
        tri::quiescence().get();
      }
      tri::balance(look).get();
      check_counts(elements, rounds);
    }
    std::puts("all counts are right");
  });
}
