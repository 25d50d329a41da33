// Search trees of new objects without a place: how the strategies fill the PEs, beside objects that are dealt out to
// the PEs in turn. An operation is a whole search; one PE alone is the time that the others divide.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "balance/rows.hpp"
#include "messages/pes.hpp"

namespace tri::bench {
namespace {

const launch two_hosts{.processes = 2, .pes = 1, .options = {"--tri-hosts=2"}};

// A new child of a search: by a strategy, or dealt out.
struct dealing {
  bool in_turn;
  seed_strategy how;
};
template <class T, class... A>
element_ref<T> make_child(const dealing& deal, int child, const A&... arguments) {
  if (deal.in_turn) return make_object_on<T>((tri::this_pe() + child) % tri::pe_count(), arguments...);
  return make_object<T>(deal.how, arguments...);
}

// ---- queens: the branches differ by a factor of two and more

constexpr int queens_size = 11;
constexpr int queens_rows_of_objects = 4;
constexpr std::int64_t queens_solutions = 2680;

struct queens_counter : tri::group_member<queens_counter> {
  std::int64_t solutions = 0;
  std::int64_t take() { return std::exchange(solutions, 0); }
};

std::int64_t count_below(std::uint32_t columns, std::uint32_t left, std::uint32_t right, int row) {
  if (row == queens_size) return 1;
  std::int64_t sum = 0;
  for (std::uint32_t free = ((1u << queens_size) - 1) & ~(columns | left | right); free != 0; free &= free - 1) {
    const std::uint32_t queen = free & (~free + 1);
    sum += count_below(columns | queen, (left | queen) << 1, (right | queen) >> 1, row + 1);
  }
  return sum;
}

struct queens_position : tri::object<queens_position> {
  queens_position(tri::group<queens_counter> counters, dealing deal, std::uint32_t columns, std::uint32_t left,
                  std::uint32_t right, int row) {
    if (row == queens_rows_of_objects) {
      counters.local().solutions += count_below(columns, left, right, row);
    } else {
      int child = 0;
      for (std::uint32_t free = ((1u << queens_size) - 1) & ~(columns | left | right); free != 0; free &= free - 1) {
        const std::uint32_t queen = free & (~free + 1);
        make_child<queens_position>(deal, child++, counters, deal, columns | queen, (left | queen) << 1,
                                    (right | queen) >> 1, row + 1);
      }
    }
    erase_this();
  }
};

measurement search_queens(context& tools, dealing deal) {
  const auto counters = tri::make_group<queens_counter>();
  return {.samples = tools.runner().time([&](std::uint64_t searches) {
    for (; searches > 0; --searches) {
      make_child<queens_position>(deal, 0, counters, deal, 0u, 0u, 0u, 0);
      tri::quiescence().get();
      if (counters.reduce<&queens_counter::take>(tri::sum).get() != queens_solutions)
        throw std::runtime_error("queens: a wrong number of solutions");
    }
  })};
}

// ---- fib: an object for every call, and next to no work

constexpr int fib_argument = 16;
constexpr int fib_value = 987;
constexpr double fib_objects = 3193;

struct fib_call : tri::object<fib_call> {
  using parent = element_ref<fib_call>;
  fib_call(dealing deal, int n, parent above, tri::promise<int> answer) : above_(above), answer_(answer) {
    if (n < 2) {
      give(n);
      return;
    }
    make_child<fib_call>(deal, 0, deal, n - 1, this_object(), answer);
    make_child<fib_call>(deal, 1, deal, n - 2, this_object(), answer);
  }
  void add(int part) {
    sum_ += part;
    if (++parts_ == 2) give(sum_);
  }

 private:
  void give(int value) {
    if (above_ == parent())
      answer_.set(value);
    else
      above_.send<&fib_call::add>(value);
    erase_this();
  }
  parent above_;
  tri::promise<int> answer_;
  int sum_ = 0;
  int parts_ = 0;
};

measurement compute_fib(context& tools, dealing deal) {
  measurement made{.samples = tools.runner().time([&](std::uint64_t calls) {
    for (; calls > 0; --calls) {
      tri::future<int> answer;
      make_child<fib_call>(deal, 0, deal, fib_argument, fib_call::parent(), answer.get_promise());
      if (answer.get() != fib_value) throw std::runtime_error("fib: a wrong value");
    }
  })};
  for (double& ns : made.samples.operation_ns) ns /= fib_objects;
  return made;
}

// ---- one object

struct visitor : tri::object<visitor> {
  visitor() { erase_this(); }
};

measurement make_begin_and_delete(context& tools) {
  return {.samples = tools.runner().time([](std::uint64_t objects) {
    for (std::uint64_t left = objects; left > 0;) {
      const std::uint64_t burst = left < 100 ? left : 100;
      for (std::uint64_t i = 0; i < burst; ++i) tri::make_object<visitor>(seed_strategy::stealing);
      tri::quiescence().get();
      left -= burst;
    }
  })};
}

struct named_dealing {
  const char* name;
  const char* text;
  dealing deal;
};
const named_dealing dealings[] = {
    {"fixed", "children dealt out to the PEs in turn", {true, seed_strategy::here}},
    {"random", "children on any PE", {false, seed_strategy::random}},
    {"neighbour", "children on the least loaded of near PEs, idle PEs take some", {false, seed_strategy::neighbour}},
    {"stealing", "children where they are made, idle PEs take some", {false, seed_strategy::stealing}},
};
struct named_place {
  const char* name;
  const char* text;
  launch where;
};
const named_place places[] = {
    {"one_pe", "one PE", one_pe},
    {"threads", "two threads", two_threads},
    {"processes", "two processes", two_processes},
    {"hosts", "two emulated hosts", two_hosts},
};

}  // namespace

std::vector<row_definition> seed_rows() {
  std::vector<row_definition> rows{{.name = "seed/object",
                                    .unit = "ns",
                                    .handoffs = 0,
                                    .description = "an object made without a place, begun, and deleted, on one PE",
                                    .measure = make_begin_and_delete,
                                    .launch = one_pe}};
  for (const named_place& place : places) {
    for (const named_dealing& each : dealings) {
      const std::string end = std::string("/") + each.name + "/" + place.name;
      const std::string text = std::string(", ") + place.text + ": " + each.text;
      rows.push_back({.name = "seed/queens" + end,
                      .unit = "ms",
                      .handoffs = 0,
                      .description = "all solutions of 11 queens, objects for 4 rows" + text,
                      .measure = [deal = each.deal](context& tools) { return search_queens(tools, deal); },
                      .launch = place.where});
      rows.push_back({.name = "seed/fib" + end,
                      .unit = "ns",
                      .handoffs = 0,
                      .description = "per object, of fib(16) with an object for each call" + text,
                      .measure = [deal = each.deal](context& tools) { return compute_fib(tools, deal); },
                      .launch = place.where});
    }
  }
  return rows;
}

}  // namespace tri::bench
