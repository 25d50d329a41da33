// Quiescence against a sequential model: random message trees among migrating elements. When quiescence is reported the
// state must be that of the model, so it can be neither early nor without some message.
#include <chrono>
#include <deque>
#include <random>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

constexpr int elements = 24;

// What a message of the tree does: pure, so the model computes the same.
struct node {
  std::uint64_t seed;
  int depth;
};
struct effects {
  std::uint64_t add;
  int target[4];
  node child[4];
  int children;
  int migrate_to;  // a number to take modulo the PEs, or -1
  int way;         // how it is sent on: plainly, with a priority, immediate, delayed, through another PE
};
effects effects_of(const node& from, int where) {
  std::mt19937_64 random(from.seed * 1000003 + static_cast<std::uint64_t>(where));
  effects found{};
  found.add = random() % 1000;
  found.children = from.depth == 0 ? 0 : static_cast<int>(random() % 4);
  for (int c = 0; c < 4; ++c) {
    found.target[c] = static_cast<int>(random() % elements);
    found.child[c] = {random() % 100000, from.depth - 1};
  }
  found.migrate_to = random() % 4 == 0 ? static_cast<int>(random() % 64) : -1;
  found.way = static_cast<int>(random() % 6);
  return found;
}

struct tree_element;
void pass_on(element_ref<tree_element> target, std::uint64_t seed, int depth);

struct tree_element : array_element<tree_element, index<1>> {
  std::uint64_t state = 0;
  int visit(std::uint64_t seed, int depth) {
    const effects found = effects_of({seed, depth}, this_index()[0]);
    state += found.add;
    for (int c = 0; c < found.children; ++c) {
      const node& child = found.child[c];
      const auto target = this_array()(found.target[c]);
      switch (found.way) {
        case 0:
          target.with(c - 1).send<&tree_element::visit>(child.seed, child.depth);
          break;
        case 1:
          target.with(immediate).send<&tree_element::visit>(child.seed, child.depth);
          break;
        case 2:
          send_after<&tree_element::visit>(std::chrono::microseconds(20), target, child.seed, child.depth);
          break;
        case 3:
          send<&pass_on>(static_cast<int>(child.seed) % pe_count(), target, child.seed, child.depth);
          break;
        default:
          target.send<&tree_element::visit>(child.seed, child.depth);
      }
    }
    if (found.migrate_to >= 0) migrate_to(found.migrate_to % pe_count());
    return 0;
  }
  std::uint64_t sum_of_all() { return state; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(state);
  }
};
void pass_on(element_ref<tree_element> target, std::uint64_t seed, int depth) {
  target.send<&tree_element::visit>(seed, depth);
}

std::vector<std::uint64_t> sequential(std::vector<std::uint64_t> state, int target, const node& root) {
  std::deque<std::pair<int, node>> waiting{{target, root}};
  while (!waiting.empty()) {
    const auto [where, what] = waiting.front();
    waiting.pop_front();
    const effects found = effects_of(what, where);
    state[static_cast<std::size_t>(where)] += found.add;
    for (int c = 0; c < found.children; ++c) waiting.emplace_back(found.target[c], found.child[c]);
  }
  return state;
}

void quiescence_model() {
  auto tree = make_array<tree_element>({elements}, round_robin());
  std::vector<std::uint64_t> model(elements, 0);
  std::mt19937 random(7);
  for (int round = 0; round < 25; ++round) {
    const node root{random() % 100000, 1 + round % 9};
    const int target = static_cast<int>(random() % elements);
    tree(target).send<&tree_element::visit>(root.seed, root.depth);
    model = sequential(std::move(model), target, root);
    auto quiet = quiescence();
    auto quiet_too = quiescence();  // two at once
    quiet.get();
    check(tree.reduce<&tree_element::sum_of_all>(gather).get() == model,
          fmt::format("state differs in round {}", round));
    quiet_too.get();
  }
}
const case_entry model_case{"quiescence_model", &quiescence_model};

struct asker : group_member<asker> {
  task<int> ask() {
    co_await quiescence();
    co_return 1;
  }
};
void quiescence_from_all() {
  auto group = make_group<asker>();
  for (int round = 0; round < 10; ++round) check_equal(group.reduce<&asker::ask>(sum).get(), pe_count());
}
const case_entry from_all_case{"quiescence_from_all", &quiescence_from_all};

}  // namespace
}  // namespace tri::testing
