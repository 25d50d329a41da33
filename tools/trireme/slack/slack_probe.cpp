#include "slack/slack_probe.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "noise/core_sampler.hpp"
#include "os/clock.hpp"
#include "trireme/objects.hpp"

namespace tri::tools {
namespace {

enum class operation : std::uint8_t { broadcast, reduction, exchange };

// One on each PE. Rounds are distinguished by their number, the first argument of the messages.
class slack_probe : public group_member<slack_probe> {
 public:
  int broadcasted(int round) { return round; }
  int summed(int sum) { return sum; }
  int together(int round) { return round; }
  int from_neighbour(int round) { return round; }

  task<std::vector<double>> measure(operation which, int rounds, double work_ns) {
    const work_quantum work = work_quantum::lasting(work_ns);
    std::vector<double> waits;
    for (int round = 0; round < rounds; ++round) {
      // No PE begins a round before all have ended the last one: a broadcaster would be rounds ahead.
      co_await meet(2 * round);
      work();
      const std::uint64_t began = os::ticks();
      switch (which) {
        case operation::broadcast:
          if (number() == 0) this_array().template broadcast<&slack_probe::broadcasted>(round);
          co_await when<&slack_probe::broadcasted>(round);
          break;
        case operation::reduction:
          co_await meet(2 * round + 1);
          break;
        case operation::exchange:
          for (const int neighbour : {number() + 1, number() + pe_count() - 1})
            this_array()(neighbour % pe_count()).template send<&slack_probe::from_neighbour>(round);
          co_await when_n<&slack_probe::from_neighbour>(2, round);
          break;
      }
      waits.push_back(os::ticks_to_ns(os::ticks() - began));
    }
    co_return waits;
  }

 private:
  int number() { return static_cast<int>(this_index()[0]); }

  // A barrier through PE 0. `number_of_meeting` must increase.
  task<> meet(int number_of_meeting) {
    contribute(number_of_meeting, sum, to<&slack_probe::summed>(this_array()(0)));
    if (number() == 0) {
      co_await when<&slack_probe::summed>(number_of_meeting * pe_count());
      this_array().template broadcast<&slack_probe::together>(number_of_meeting);
    }
    co_await when<&slack_probe::together>(number_of_meeting);
  }
};

}  // namespace

std::vector<operation_waits> measure_slack(int rounds, double work_ns) {
  std::vector<operation_waits> all;
  for (const auto& [name, which] : {std::pair{"broadcast", operation::broadcast},
                                    {"reduction", operation::reduction},
                                    {"exchange", operation::exchange}}) {
    const group<slack_probe> probes = make_group<slack_probe>();
    std::vector<future<std::vector<double>>> answers;
    for (int pe = 0; pe < pe_count(); ++pe)
      answers.push_back(probes[pe].call<&slack_probe::measure>(which, rounds, work_ns));
    operation_waits waits{name, {}};
    for (auto& answer : answers) waits.of_pe.push_back(answer.get());
    all.push_back(std::move(waits));
  }
  return all;
}

}  // namespace tri::tools
