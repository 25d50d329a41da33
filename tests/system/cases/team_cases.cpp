// Teams: every collective on all PEs of the job, of a host, of rows and columns; teams of teams; errors.
#include <array>
#include <source_location>
#include <string>
#include <vector>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

constexpr auto concatenated = by([](std::string a, const std::string& b) { return std::move(a) + b; });

std::string letter(int rank) { return std::string(1, static_cast<char>('a' + rank % 26)); }
std::string letters(int first, int end) {
  std::string text;
  for (int rank = first; rank < end; ++rank) text += letter(rank);
  return text;
}

std::vector<double> pair_of(double first, double second) { return {first, second}; }

/// Every collective with every root; called by all members at the same time.
task<> check_collectives(team of) {
  const int rank = of.rank(), size = of.size();
  co_await of.barrier();
  for (int root = 0; root < size; ++root) {
    check_equal(co_await of.broadcast(rank + 100, root), root + 100);
    check_equal(co_await of.broadcast(std::string(1000, letter(rank)[0]), root), std::string(1000, letter(root)[0]));

    const auto reduced = co_await of.reduce(rank, sum, root);
    check_equal(reduced.has_value(), rank == root);
    check_equal(reduced.value_or(size * (size - 1) / 2), size * (size - 1) / 2);

    const auto gathered = co_await of.gather(letter(rank), root);
    check_equal(gathered.size(), rank == root ? static_cast<std::size_t>(size) : 0);
    for (std::size_t i = 0; i < gathered.size(); ++i) check_equal(gathered[i], letter(static_cast<int>(i)));

    std::vector<std::vector<int>> to_all;
    for (int to = 0; to < size && rank == root; ++to) to_all.emplace_back(static_cast<std::size_t>(to), root);
    check_equal(co_await of.scatter(std::move(to_all), root), std::vector<int>(static_cast<std::size_t>(rank), root));
  }
  check_equal(co_await of.allreduce(rank, maximum), size - 1);
  check_equal(co_await of.allreduce(rank, immediately(minimum)), 0);
  check_equal(co_await of.allreduce(letter(rank), ordered(concatenated)), letters(0, size));
  const auto sums = co_await of.allreduce(pair_of(1, 0.5 * rank), elementwise(sum));
  check_equal(sums, pair_of(size, 0.25 * size * (size - 1)));
  const std::array<int, 2> two{rank, -rank};
  const std::array<int, 2> both = co_await of.allreduce(two, elementwise(maximum));
  check_equal(both[0], size - 1);
  check_equal(both[1], 0);
  std::vector<bool> is_first(static_cast<std::size_t>(size));
  is_first[0] = true;
  check_equal(co_await of.allgather(rank == 0), is_first);
  // Combined in the order of ranks, whatever their hosts are.
  check_equal(co_await of.scan(letter(rank), concatenated), letters(0, rank + 1));
  const auto before = co_await of.exscan(letter(rank), concatenated);
  check_equal(before.has_value(), rank > 0);
  check_equal(before.value_or(""), letters(0, rank));
}

struct member : group_member<member> {
  task<int> collectives() {
    co_await check_collectives(team::world());
    const team host = team::host();
    const sched::runtime& job = sched::this_pe().job();
    check_equal(host.size(), job.pes_of_host());
    check_equal(host.pe_of(0), job.first_pe_of_host());
    co_await check_collectives(host);
    co_return 1;
  }

  task<int> grids() {
    const team world = team::world();
    const int columns = world.size() % 3 == 0 ? 3 : 2;
    const int row_number = world.rank() / columns, column_number = world.rank() % columns;
    const team row = co_await world.split(row_number, column_number);
    const team column = co_await world.split(column_number, -row_number);  // in the other direction
    check(row && column, "a split gives teams");
    check_equal(row.rank(), column_number);
    check_equal(column.rank(), column.size() - 1 - row_number);
    check_equal(row.pe_of(row.rank()), this_pe());
    co_await check_collectives(row);
    co_await check_collectives(column);
    for (int rank = 0; rank < row.size(); ++rank) {
      check_equal(row.pe_of(rank), row_number * columns + rank);
      check_equal(row.translate(rank, world).value(), row.pe_of(rank));
      check_equal(row.translate(rank, column).has_value(), rank == row.rank());
    }
    // Values of PEs that do not follow their hosts, and none.
    const team reversed = co_await world.split(0, -world.rank());
    check_equal(reversed.rank(), world.size() - 1 - world.rank());
    co_await check_collectives(reversed);
    const team even = co_await world.split(world.rank() % 2 == 0 ? 7 : no_colour, 0);
    check_equal(static_cast<bool>(even), world.rank() % 2 == 0);
    if (even) co_await check_collectives(even);
    const team mixed = co_await reversed.split(0, reversed.rank() * 5 % 7);
    co_await check_collectives(mixed);
    for (const team& each : {row, column, reversed, mixed}) co_await each.free();
    if (even) co_await even.free();
    co_return 1;
  }

  /// Several teams at a time, and futures that nobody waits for in between.
  task<int> many_at_once() {
    const team world = team::world();
    std::vector<future<int>> sums;
    std::vector<future<team>> teams;
    for (int i = 0; i < 20; ++i) {
      sums.push_back(world.allreduce(i, sum));
      if (i % 5 == 0) teams.push_back(world.split(world.rank() % (i + 1), 0));
      auto dropped = world.allgather(std::string(100, 'x'));
    }
    for (auto& each : teams) {
      const team made = co_await each;
      auto barrier = made.barrier();
      auto freed = made.free();  // what is under way is completed
      check_throws<std::logic_error>([&] { auto late = made.barrier(); }, "the team was freed");
      co_await freed;
      co_await barrier;
      check_throws<std::logic_error>([&] { made.size(); }, "the team was freed");
    }
    for (int i = 0; i < 20; ++i) check_equal(co_await sums[static_cast<std::size_t>(i)], i * world.size());
    co_return 1;
  }

  task<int> with_main(int) {
    if (this_pe() == 0) co_return 1;  // the main program is the member there
    const team world = team::world();
    check_equal(co_await world.broadcast(std::string(), 0), "from the main program");
    co_await world.reduce(this_pe(), sum, 0);
    co_return 1;
  }

  task<int> errors() {
    const team world = team::world();
    const int rank = world.rank(), size = world.size();
    check_throws<std::logic_error>([] { auto nothing = team().barrier(); }, "this handle names no team");
    check_throws<std::out_of_range>([&] { auto nothing = world.broadcast(1, size); }, "the root is rank");
    check_throws<std::out_of_range>([&] { world.pe_of(-1); }, "there are ranks 0..");
    check_throws<std::invalid_argument>([&] { auto nothing = world.split(-2, 0); }, "colours are 0 or more");
    check_throws<std::logic_error>([&] { auto nothing = world.free(); }, "cannot be freed");
    const team mine = co_await world.split(rank, 0);
    const team of_last = co_await world.broadcast(mine, size - 1);
    if (rank != size - 1)
      check_throws<std::logic_error>([&] { auto nothing = of_last.barrier(); }, "is not a member of this team");
    co_await mine.free();
    if (size == 1) co_return 1;

    // What fails, fails on all, and the team can be used afterwards.
    const auto fails = [&](auto started, std::string text) -> task<> {
      try {
        co_await started;
      } catch (const team_error& error) {
        check(std::string(error.what()).find(text) != std::string::npos, error.what());
        co_return;
      }
      failed("nothing was thrown; expected " + text, std::source_location::current());
    };
    const team some = co_await world.split(0, rank);
    if (rank == size - 1)
      co_await fails(some.barrier(), "calls barrier with root 0");
    else
      co_await fails(some.allreduce(1, sum), "the members do not call the same: rank");
    check_equal(co_await some.allreduce(1, sum), size);
    co_await fails(some.allreduce(std::vector<int>(rank == 1 ? 3 : 5), elementwise(sum)), "the containers have ");
    co_await fails(some.scatter(std::vector<int>(2 * static_cast<std::size_t>(size)), size / 2),
                   "the root gave " + std::to_string(2 * size) + " values for " + std::to_string(size) + " members");
    co_await fails(
        some.allreduce(rank, by([](int a, int b) { return b > 0 ? throw std::runtime_error("too much") : a; })),
        "too much");
    co_await check_collectives(some);
    co_await some.free();
    co_return 1;
  }
};

template <auto Method, class... A>
void run_on_all(const A&... arguments) {
  const auto members = make_group<member>();
  check_equal(members.reduce<Method>(sum, arguments...).get(), pe_count());
  quiescence().get();
}

void teams_have_all_collectives() { run_on_all<&member::collectives>(); }
const case_entry collectives_case{"teams_have_all_collectives", &teams_have_all_collectives};

void teams_are_split() { run_on_all<&member::grids>(); }
const case_entry split_case{"teams_are_split", &teams_are_split};

void collectives_of_teams_overlap() { run_on_all<&member::many_at_once>(); }
const case_entry overlap_case{"collectives_of_teams_overlap", &collectives_of_teams_overlap};

void the_main_program_is_a_member() {
  const auto members = make_group<member>();
  auto done = members.reduce<&member::with_main>(sum, 0);
  const team world = team::world();
  check_equal(world.broadcast(std::string("from the main program"), 0).get(), "from the main program");
  check_equal(world.reduce(0, sum, 0).get().value(), pe_count() * (pe_count() - 1) / 2);
  check_equal(done.get(), pe_count());
}
const case_entry main_case{"the_main_program_is_a_member_of_teams", &the_main_program_is_a_member};

void errors_of_teams() { run_on_all<&member::errors>(); }
const case_entry errors_case{"errors_of_teams", &errors_of_teams};

}  // namespace
}  // namespace tri::testing
