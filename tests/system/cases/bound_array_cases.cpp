// Bound arrays: partners are always on the same PE, move together, and are deleted together.
#include <chrono>
#include <utility>
#include <vector>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

struct cell : array_element<cell, index<1>> {
  int value = 0;
  int arrivals = 0;
  void go(int pe) { migrate_to(pe); }
  void leave() { erase_this(); }
  void add(int amount) { value += amount; }
  int sum_of(int) const { return value; }
  void on_migrated() { ++arrivals; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, arrivals);
  }
};

struct shadow : array_element<shadow, index<1>> {
  array<cell> cells;
  int base = 0;
  int checks = 0;
  bool was_apart = false;
  shadow() = default;
  shadow(array<cell> bound_to, int number) : cells(bound_to), base(number) { look(); }
  cell* partner() const { return cells(this_index()[0]).local(); }
  // In every method, of whatever message: the partner is here, and has what was sent to it before.
  void look() {
    ++checks;
    if (partner() == nullptr) was_apart = true;
  }
  void on_migrated() { look(); }
  void go(int pe) {
    look();
    migrate_to(pe);
  }
  void leave() {
    look();
    erase_this();
  }
  void add_both(int amount) {
    look();
    if (!was_apart) partner()->add(amount);
    base += amount;
  }
  task<> wait_a_little() {
    look();
    future<void> soon = after(std::chrono::milliseconds(2));
    co_await std::move(soon);
    look();
  }
  bool is_beside() {
    look();
    return !was_apart;
  }
  int place() const { return this_pe(); }
  int sum_of(int) const { return base; }
  int contribute_both(callback<int> to) {
    contribute(base, sum, to);
    return 0;
  }
  std::pair<int, int> values() const { return {base, partner() == nullptr ? -1 : partner()->value}; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cells, base, checks, was_apart);
  }
};

void all_are_beside(const array<shadow>& shadows) {
  check(shadows.reduce<&shadow::is_beside>(logical_and).get(), "an element is apart from its partner");
}

void bound_arrays_stay_together() {
  constexpr int elements = 24;
  const auto cells = make_array<cell>({elements}, round_robin());
  const auto early = make_bound_array<shadow>(cells, cells, 0);
  const auto both = make_bound_array<shadow>(early, cells, 0);  // through one that is bound itself
  all_are_beside(early);
  for (int round = 1; round <= 6; ++round) {
    for (int i = 0; i < elements; ++i) {
      const int to = (i * round + round) % pe_count();
      if (round % 3 == 0)
        early(i).send<&shadow::go>(to);
      else if (round % 3 == 1)
        cells(i).send<&cell::go>(to);
      else
        both(i).send<&shadow::go>(to);
      // While they move.
      early(i).send<&shadow::add_both>(1);
      both(i).send<&shadow::add_both>(2);
      cells(i).send<&cell::add>(4);
    }
    if (round == 2)
      for (int i = 0; i < elements; ++i) early(i).send<&shadow::wait_a_little>();
    early.broadcast<&shadow::add_both>(10);
    all_are_beside(both);
    quiescence().get();
    all_are_beside(early);
    for (int i = 0; i < elements; ++i) {
      const int expected_place = (i * round + round) % pe_count();
      check_equal(early(i).call<&shadow::place>().get(), expected_place);
      check_equal(both(i).call<&shadow::place>().get(), expected_place);
      check(early(i).call<&shadow::values>().get() == std::pair(11 * round, 17 * round), "messages were lost");
      check(both(i).call<&shadow::values>().get() == std::pair(2 * round, 17 * round), "messages were lost");
    }
  }
  check_equal(early.reduce<&shadow::sum_of>(sum, 0).get(), elements * 66);
  // One that is made when the others have moved, and when some are no more.
  for (int i = 0; i < elements; i += 5) (i % 2 == 0 ? both : early)(i).send<&shadow::leave>();
  cells(1).send<&cell::leave>();
  quiescence().get();
  const int left = elements - 6;
  const auto late = make_bound_array<shadow>(cells, cells, 3);
  all_are_beside(late);
  check_equal(late.reduce<&shadow::sum_of>(sum, 0).get(), 3 * left);
  check_equal(both.reduce<&shadow::sum_of>(sum, 0).get(), 12 * left);
  check_equal(cells.reduce<&cell::sum_of>(sum, 0).get(), 102 * left);
  future<int> contributed;
  late.broadcast<&shadow::contribute_both>(contributed.get_promise());
  check_equal(contributed.get(), 3 * left);
  check_throws<remote_error>([&] { early(0).call<&shadow::values>().get(); }, "was deleted");
  check_throws<remote_error>([&] { late(1).call<&shadow::values>().get(); }, "was deleted");
  check_throws<std::logic_error>([&] { static_cast<void>(make_bound_array<shadow>(array<cell>(), cells, 1)); },
                                 "no dense array");
}
const case_entry bound_case{"bound_arrays_stay_together", &bound_arrays_stay_together};

// Each with messages of its own on the way, by a stream of moves that does not wait for anything.
struct driver : group_member<driver> {
  void drive(array<cell> cells, array<shadow> shadows, int elements, int rounds) {
    for (int round = 0; round < rounds; ++round)
      for (int i = this_pe() % 3; i < elements; i += 3) {
        shadows(i).send<&shadow::add_both>(1);
        cells(i).send<&cell::add>(1);
        if ((round + i) % 4 == 0) shadows(i).send<&shadow::go>((round * 7 + i + this_pe()) % pe_count());
        if ((round + i) % 4 == 2) cells(i).send<&cell::go>((round * 5 + i) % pe_count());
      }
  }
};
void bound_arrays_move_under_traffic() {
  constexpr int elements = 9;
  constexpr int rounds = 40;
  const auto cells = make_array<cell>({elements});
  const auto shadows = make_bound_array<shadow>(cells, cells, 0);
  const auto drivers = make_group<driver>();
  drivers.broadcast<&driver::drive>(cells, shadows, elements, rounds);
  for (int i = 0; i < 20; ++i) shadows.broadcast<&shadow::add_both>(1000);
  quiescence().get();
  all_are_beside(shadows);
  int messages = 0;
  for (int pe = 0; pe < pe_count(); ++pe) messages += rounds * (elements / 3);
  check_equal(shadows.reduce<&shadow::sum_of>(sum, 0).get(), messages + 20 * 1000 * elements);
  check_equal(cells.reduce<&cell::sum_of>(sum, 0).get(), 2 * messages + 20 * 1000 * elements);
}
const case_entry traffic_case{"bound_arrays_move_under_traffic", &bound_arrays_move_under_traffic};

// Messages of one PE to a partner stay in order while both move to and fro: also those that wait in the queue of that
// PE when they leave it.
struct numbered : array_element<numbered, index<1>> {
  int next = 0;
  bool is_in_order = true;
  void take(int number) { is_in_order = is_in_order && number == next++; }
  bool in_order(int messages) const { return is_in_order && next == messages; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(next, is_in_order);
  }
};
struct ticker : group_member<ticker> {
  int sent = 0;
  void tick(array<cell> cells, array<numbered> partners, int elements) {
    for (int i = 0; i < elements; ++i) partners(i).send<&numbered::take>(sent);
    if (++sent % 8 == 0) cells(sent / 8 % elements).send<&cell::go>(sent / 8 / elements % 2 == 0 ? 0 : pe_count() - 1);
  }
  // Between two messages of its own a PE hears of moves.
  void drive(group<ticker> all, array<cell> cells, array<numbered> partners, int elements, int ticks) {
    all(0).send<&ticker::tick>(cells, partners, elements);
    if (ticks > 1) all(this_pe()).send<&ticker::drive>(all, cells, partners, elements, ticks - 1);
  }
};
void messages_to_partners_stay_in_order() {
  constexpr int elements = 4;
  constexpr int ticks = 2000;
  const auto cells = make_array<cell>({elements});
  const auto partners = make_bound_array<numbered>(cells);
  const auto tickers = make_group<ticker>();
  tickers(pe_count() - 1).send<&ticker::drive>(tickers, cells, partners, elements, ticks);
  quiescence().get();
  for (int i = 0; i < elements; ++i) check(partners(i).call<&numbered::in_order>(ticks).get(), "messages overtook");
}
const case_entry order_case{"messages_to_partners_stay_in_order", &messages_to_partners_stay_in_order};

// The job ends while they move.
void only_bound_arrays_at_the_end() {
  const auto cells = make_array<cell>({9});
  const auto shadows = make_bound_array<shadow>(cells, cells, 0);
  make_group<driver>().broadcast<&driver::drive>(cells, shadows, 9, 200);
  after(std::chrono::milliseconds(2)).get();
}
const case_entry end_case{"only_bound_arrays_at_the_end", &only_bound_arrays_at_the_end};

struct restless : array_element<restless, index<1>> {
  void move_on() {
    this_element().send<&restless::move_on>();
    migrate_to((this_pe() + 1) % pe_count());
  }
  template <class Archive>
  void serialize(Archive&) {}
};
struct partner_of_restless : array_element<partner_of_restless, index<1>> {
  template <class Archive>
  void serialize(Archive&) {}
};
void crash_binding_to_moving_elements() {
  const auto moving = make_array<restless>({50});
  moving.broadcast<&restless::move_on>();
  after(std::chrono::milliseconds(5)).get();
  static_cast<void>(make_bound_array<partner_of_restless>(moving));
  after(std::chrono::seconds(5)).get();
}
const case_entry moving_case{"crash_binding_to_moving_elements", &crash_binding_to_moving_elements};

}  // namespace
}  // namespace tri::testing
