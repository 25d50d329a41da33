// Elements that end while coroutines are suspended: their own, and those that wait for results of others.
#include <algorithm>
#include <chrono>

#include "objects/messages/awaited_messages.hpp"
#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

// An element ends while its coroutines are suspended: their frames end before the element's own members.
struct doomed : array_element<doomed, index<1>> {
  std::vector<std::string> log{"a member that must outlive the coroutines"};
  future<int> never;
  promise<int> destroyed;
  struct guard {
    doomed* owner;
    ~guard() {
      owner->log.push_back("end");
      owner->destroyed.set(static_cast<int>(owner->log.size()));
    }
  };
  void token(int) {}
  task<> wait_for_message(promise<int> whom) {
    destroyed = whom;
    guard ends{this};
    co_await when<&doomed::token>(1);
  }
  task<> wait_for_future(promise<int> whom) {
    destroyed = whom;
    guard ends{this};
    co_await never;
  }
  task<> inner() { co_await never; }
  task<> wait_nested(promise<int> whom) {
    destroyed = whom;
    guard ends{this};
    co_await inner();
  }
  void end() { erase_this(); }
};
void destroyed_while_suspended() {
  for (int way = 0; way < 3; ++way) {
    auto array = make_array<doomed>({pe_count()});
    for (int i = 0; i < pe_count(); ++i) {
      future<int> destroyed;
      if (way == 0) array(i).send<&doomed::wait_for_message>(destroyed.get_promise());
      if (way == 1) array(i).send<&doomed::wait_for_future>(destroyed.get_promise());
      if (way == 2) array(i).send<&doomed::wait_nested>(destroyed.get_promise());
      array(i).send<&doomed::token>(2);  // kept for nobody, dropped with the element
      array(i).send<&doomed::end>();
      check_equal(destroyed.get(), 2);
    }
    quiescence().get();
  }
}
const case_entry destroyed_case{"destroyed_while_suspended", &destroyed_while_suspended};

// An element waits for a future of another one, and either of the two is deleted first.
struct result_holder : array_element<result_holder, index<1>> {
  future<int> result;
  future<int>& shared() { return result; }
  void set(int value) { result.get_promise().set(value); }
  void end() { erase_this(); }
};
struct result_user : array_element<result_user, index<1>> {
  int seen = 0;
  task<> wait(element_ref<result_holder> holder) { seen = co_await holder.local()->shared(); }
  task<std::string> wait_too(element_ref<result_holder> holder) {
    try {
      seen = co_await holder.local()->shared();
    } catch (const std::logic_error& error) {
      co_return error.what();
    }
    co_return "nothing was thrown";
  }
  int value() { return seen; }
  void end() { erase_this(); }
};
void futures_of_others() {
  auto holders = make_array<result_holder>({pe_count()});
  auto users = make_array<result_user>({2 * pe_count()});
  for (int pe = 0; pe < pe_count(); ++pe) {
    users(2 * pe).send<&result_user::wait>(holders(pe));
    check_equal(users(2 * pe + 1).call<&result_user::wait_too>(holders(pe)).get(),
                "tri::future: two coroutines wait for a future of int");
    users(2 * pe).send<&result_user::end>();
    quiescence().get();
    users(2 * pe + 1).send<&result_user::wait>(holders(pe));  // the place is free again
    if (pe % 2 == 0) holders(pe).send<&result_holder::set>(5);
    quiescence().get();
    holders(pe).send<&result_holder::end>();
    check_equal(users(2 * pe + 1).call<&result_user::value>().get(), pe % 2 == 0 ? 5 : 0);
    quiescence().get();
    users(2 * pe + 1).send<&result_user::end>();
    quiescence().get();
  }
}
const case_entry futures_of_others_case{"futures_of_others", &futures_of_others};

// A coroutine that an element starts in whatever way is its own: while it waits for a future, the element stays.
task<> wait_for(future<int>& what) { static_cast<void>(co_await what); }
struct starting : array_element<starting, index<1>> {
  future<int> never;
  std::vector<task<>> kept;
  task<> at_birth = wait_for(never);
  void start() { kept.push_back(wait_for(never)); }
  int start_and_count() {
    start();
    return 1;
  }
  void start_for_message(int) { start(); }
  task<> wait_for_message() { co_await when<&starting::start_for_message>(1); }
  bool waits() { return waits_for_results(); }
  void forget() {
    kept.clear();
    at_birth = []() -> task<> { co_return; }();
  }
  void go(int pe) { migrate_to(pe); }
  int where() { return this_pe(); }
  bool start_on_arrival = false;
  void let_start_on_arrival() { start_on_arrival = true; }
  void on_migrated() {
    if (!start_on_arrival) return;
    never = future<int>();  // the other one waits on its PE only
    start();
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(start_on_arrival);
  }
};
struct founder : array_element<founder, index<1>> {
  future<int> never;
  task<array<starting>> found() {
    co_await after(std::chrono::microseconds(1));
    co_return make_array<starting>({2 * pe_count()}, round_robin());
  }
  task<> found_and_wait() {
    static_cast<void>(make_array<starting>({1}));
    co_await never;
  }
  bool waits() { return waits_for_results(); }
};
void coroutines_belong_to_their_element() {
  auto founders = make_array<founder>({pe_count()});
  for (int pe = 0; pe < pe_count(); ++pe) {
    auto made = founders(pe).call<&founder::found>().get();
    check(!founders(pe).call<&founder::waits>().get(), "a coroutine of an element belongs to who made the element");
    auto one = made(pe);
    const auto check_waits = [&](const char* what,
                                 const std::source_location& where = std::source_location::current()) {
      check(one.call<&starting::waits>().get(), what, where);
      one.call<&starting::forget>().get();
      check(!one.call<&starting::waits>().get(), "it has ended", where);
    };
    check_waits("started by the constructor");
    one.send<&starting::start>();
    check_waits("started by a message");
    one.call<&starting::start>().get();
    check_waits("started by a call");
    made.broadcast<&starting::start>();
    quiescence().get();  // it may take another way than our messages do
    check_waits("started by a broadcast");
    static_cast<void>(made.reduce<&starting::start_and_count>(sum).get());
    check_waits("started by a reduction");
    auto part = made.select({pe, (pe + 1) % pe_count()});
    part.multicast<&starting::start>();
    quiescence().get();
    check_waits("started by a multicast");
    static_cast<void>(part.reduce<&starting::start_and_count>(sum).get());
    check_waits("started by a reduction over a section");
    one.send<&starting::wait_for_message>();
    one.send<&starting::start_for_message>(1);
    quiescence().get();
    check_waits("started by a method that a coroutine awaits");

    const auto go_on = [&] {  // and whether it left the process
      const int before = one.call<&starting::where>().get();
      one.send<&starting::go>((before + 1) % pe_count());
      quiescence().get();
      return (before + 1) % pe_count() / pes_per_process() != before / pes_per_process();
    };
    if (go_on())
      check_waits("started by the constructor in the other process");
    else
      check(!one.call<&starting::waits>().get(), "nothing was started");
    one.call<&starting::let_start_on_arrival>().get();
    go_on();
    if (pe_count() > 1) check_waits("started on arrival");
    founders(pe).send<&founder::found_and_wait>();
    check(founders(pe).call<&founder::waits>().get(), "it waits itself after it has made others");
  }
}
const case_entry belong_case{"coroutines_belong_to_their_element", &coroutines_belong_to_their_element};

}  // namespace
}  // namespace tri::testing
