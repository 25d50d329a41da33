// Elements of bound arrays are one object to load balancing.
#include <array>
#include <vector>

#include "system/cases/cases.hpp"
#include "trireme/balance.hpp"
#include "trireme/balance_strategy.hpp"

namespace tri::testing {
namespace {

// Loads that no other case has.
constexpr std::int64_t load_of_first = 7'000'000'001;
constexpr std::int64_t load_of_partner = 5'000'000'020;
constexpr std::int64_t load_of_both = 2 * load_of_partner + load_of_first;

struct counts {
  int together = 0;
  int apart = 0;
  int messages = 0;
};
counts seen;  // by the strategy; on PE 0

const bool added = [] {
  balancing::add_strategy({"next_pe", "the objects of a case to the next PE",
                           [](const balancing::snapshot& of, const balancing::strategy_options&) {
                             seen = {};
                             std::vector<balancing::move> moves;
                             const auto pes = static_cast<std::int32_t>(of.pes.size());
                             for (std::uint32_t object = 0; object < of.objects.size(); ++object) {
                               const std::int64_t load_ns = of.objects[object].load_ns;
                               seen.apart += load_ns == load_of_first || load_ns == load_of_partner ? 1 : 0;
                               if (load_ns != load_of_both) continue;
                               ++seen.together;
                               if (pes > 1)
                                 moves.push_back({object, of.objects[object].pe, (of.objects[object].pe + 1) % pes});
                             }
                             return balancing::decided_moves(moves);
                           }});
  return true;
}();

struct first_of_both : array_element<first_of_both, index<1>> {
  void describe_load(load_description& load) { load.load_ns(load_of_first); }
  int where() const { return this_pe(); }
  template <class Archive>
  void serialize(Archive&) {}
};
struct bound_to_it : array_element<bound_to_it, index<1>> {
  array<first_of_both> firsts;
  bound_to_it() = default;
  explicit bound_to_it(array<first_of_both> others) : firsts(others) {}
  void describe_load(load_description& load) { load.load_ns(load_of_partner); }
  void talk() { static_cast<void>(firsts(this_index()[0]).call<&first_of_both::where>()); }
  bool is_beside() const { return firsts(this_index()[0]).local() != nullptr; }
  int where() const { return this_pe(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(firsts);
  }
};

void partners_are_one_object() {
  const int elements = 4 * pe_count();
  const auto firsts = make_array<first_of_both>({elements});
  const auto seconds = make_bound_array<bound_to_it>(firsts, firsts);
  const auto thirds = make_bound_array<bound_to_it>(firsts, firsts);
  balance_options options;
  options.strategy = "next_pe";
  for (int round = 1; round <= 3; ++round) {
    seconds.broadcast<&bound_to_it::talk>();
    quiescence().get();
    const balance_report report = tri::balance(options).get();
    check_equal(seen.together, elements);
    check_equal(seen.apart, 0);
    check_equal(report.moved, std::int64_t{pe_count() > 1 ? elements : 0});
    check(seconds.reduce<&bound_to_it::is_beside>(logical_and).get(), "a partner is apart");
    check(thirds.reduce<&bound_to_it::is_beside>(logical_and).get(), "a partner is apart");
    for (int i = 0; i < elements; ++i)
      check_equal(thirds(i).call<&bound_to_it::where>().get(), (i / 4 + round) % pe_count());
  }
}
const case_entry partner_case{"partners_are_one_object", &partners_are_one_object};

}  // namespace
}  // namespace tri::testing
