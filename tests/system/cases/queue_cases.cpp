// The order in which a PE takes messages: last in, first out, of single messages, of a class, of a job (--tri-queue); a
// policy of the program.
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "system/cases/cases.hpp"
#include "trireme/queue_policy.hpp"

namespace tri::testing {
namespace {

struct stack_user : array_element<stack_user, index<1>> {
  std::vector<int> order;
  void note(int number) { order.push_back(number); }
  void fill() {
    const auto self = this_element();
    for (int i = 0; i < 4; ++i) self.with(lifo).send<&stack_user::note>(i);
    for (int i = 4; i < 6; ++i) self.with(priority(1).last_in_first_out()).send<&stack_user::note>(i);
    self.with(0).send<&stack_user::note>(6);
    self.with(-1).send<&stack_user::note>(7);
    self.with(priority(-1).last_in_first_out()).send<&stack_user::note>(8);
    self.send<&stack_user::note>(9);
  }
  std::vector<int> run() const { return order; }
};

void last_in_first_out() {
  const auto user = make_array<stack_user>({1});
  user(0).send<&stack_user::fill>();
  quiescence().get();
  const std::vector<int> expected = {8, 7, 9, 3, 2, 1, 0, 6, 5, 4};
  check_equal(user(0).call<&stack_user::run>().get(), expected);
}
const case_entry lifo_case{"last_in_first_out", &last_in_first_out};

// ---- the messages of a class

template <class Self>
struct noting : array_element<Self, index<1>> {
  std::vector<int> order;
  void note(int number) { order.push_back(number); }
  int note_and_count(int number) {
    note(number);
    return static_cast<int>(order.size());
  }
  void fill(int messages) {
    for (int i = 0; i < messages; ++i) this->this_element().template send<&Self::note>(i);
    static_cast<void>(this->this_element().template call<&Self::note_and_count>(messages));
  }
  std::vector<int> run() const { return order; }
};
struct newest_first : noting<newest_first> {
  static constexpr priority message_order = lifo;
};
struct as_they_come : noting<as_they_come> {};

template <class T>
std::vector<int> order_of(int messages) {
  const auto elements = make_array<T>({2});
  elements(1).template send<&T::fill>(messages);
  quiescence().get();
  return elements(1).template call<&T::run>().get();
}
std::vector<int> counted(int first, int last) {
  std::vector<int> numbers;
  for (int i = first; i != last; i += first < last ? 1 : -1) numbers.push_back(i);
  return numbers;
}

void classes_have_a_message_order() {
  check(order_of<newest_first>(5) == counted(5, -1), "the newest message did not run first");
  check(order_of<as_they_come>(5) == counted(0, 6), "messages did not run in order of arrival");
}
const case_entry class_case{"classes_have_a_message_order", &classes_have_a_message_order};

// ---- the whole job

struct wanderer : array_element<wanderer, index<1>> {
  int handled = 0;
  // Each message causes another, at an element that may be moving.
  void visit(int left) {
    ++handled;
    if (left > 0) this_array()((this_index()[0] * 5 + left) % 24).send<&wanderer::visit>(left - 1);
    if (left % 4 == 0) migrate_to((this_pe() + left) % pe_count());
  }
  int take_handled() { return std::exchange(handled, 0); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(handled);
  }
};

void messages_of_wanderers_are_handled() {
  const auto wanderers = make_array<wanderer>({24});
  for (int i = 0; i < 24; ++i) wanderers(i).send<&wanderer::visit>(50);
  quiescence().get();
  check_equal(wanderers.reduce<&wanderer::take_handled>(sum).get(), 24 * 51);
  const auto numbers = make_sparse_array<wanderer>();
  for (int i = 0; i < 24; ++i) numbers.insert_on(i % pe_count(), index<1>(i));
  for (int i = 0; i < 24; ++i) numbers(i).send<&wanderer::visit>(i);
  quiescence().get();
  check_equal(numbers.reduce<&wanderer::take_handled>(sum).get(), 24 * 25 / 2);
}

void only_with_lifo_queues() {
  check(order_of<as_they_come>(100) == counted(100, -1), "the newest message did not run first");
  const auto user = make_array<stack_user>({1});  // priorities count nevertheless
  user(0).send<&stack_user::fill>();
  quiescence().get();
  const std::vector<int> expected = {8, 7, 9, 3, 2, 1, 0, 6, 5, 4};
  check_equal(user(0).call<&stack_user::run>().get(), expected);
  messages_of_wanderers_are_handled();
}
const case_entry lifo_job_case{"only_with_lifo_queues", &only_with_lifo_queues};

// Even numbers before all else, then odd ones by method and element, the last first.
priority last_elements_first(const waiting_message& message) {
  if (message.method.find("note") == std::string_view::npos) return {};
  return static_cast<std::int32_t>(100 - message.element) - (message.element % 2 == 0 ? 1000 : 0);
}
[[maybe_unused]] const bool added =
    (add_queue_policy({"last-elements", "for tests: by element, the last first", &last_elements_first}), true);

struct log_keeper : group_member<log_keeper> {
  std::vector<int> elements;
  std::vector<int> run() const { return elements; }
};
struct logging : array_element<logging, index<1>> {
  void note(group<log_keeper> log) { log.local().elements.push_back(this_index()[0]); }
  void fill(group<log_keeper> log) {
    for (int i = 0; i < 6; ++i) this_array()(i).send<&logging::note>(log);
  }
};

void only_with_a_policy_of_the_program() {
  const auto log = make_group<log_keeper>();
  const auto on_one_pe = placed_by<index<1>>([](const index<1>&, int pes) { return pes - 1; });
  const auto elements = make_array<logging>({6}, on_one_pe);
  elements(0).send<&logging::fill>(log);
  quiescence().get();
  const std::vector<int> expected = {4, 2, 0, 5, 3, 1};
  check_equal(log[pe_count() - 1].call<&log_keeper::run>().get(), expected);
  messages_of_wanderers_are_handled();
}
const case_entry policy_case{"only_with_a_policy_of_the_program", &only_with_a_policy_of_the_program};

void wrong_queue_policies_are_refused() {
  const auto none = [](const waiting_message&) { return priority(); };
  check_throws<std::invalid_argument>([&] { add_queue_policy({"lifo", "", none}); }, "queue policy 'lifo' exists");
  check_throws<std::invalid_argument>([&] { add_queue_policy({"Loud", "", none}); }, "lower-case");
  check_throws<std::invalid_argument>([] { add_queue_policy({"silent", "", {}}); }, "has no function");
  check_equal(all_queue_policies().front().name, std::string("fifo"));
}
const case_entry wrong_case{"wrong_queue_policies_are_refused", &wrong_queue_policies_are_refused};

}  // namespace
}  // namespace tri::testing
