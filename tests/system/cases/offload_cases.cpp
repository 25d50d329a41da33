// Work moved off the PEs: results, errors, order, and that no PE waits for it (M63, M64).
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

struct caller : group_member<caller> {
  task<int> squares(int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += co_await offload([i] { return i * i; });
    co_return sum;
  }
  task<bool> hears_what_is_thrown() {
    try {
      co_await offload([]() -> int { throw std::out_of_range("no such page"); });
    } catch (const std::out_of_range& error) {  // the same object, not its text
      co_return error.what() == std::string("no such page");
    }
    co_return false;
  }
  task<int> keeps_what_cannot_be_copied() {
    auto given = std::make_unique<int>(41);
    const std::unique_ptr<int> got = co_await offload(
        [](std::unique_ptr<int> kept, int more) {
          *kept += more;
          return kept;
        },
        std::move(given), 1);
    co_return *got;
  }
  task<bool> runs_elsewhere() {
    const auto here = std::this_thread::get_id();
    co_return co_await offload([here] { return std::this_thread::get_id() != here; });
  }
  task<bool> sends_from_there() {
    try {
      co_await offload([] { static_cast<void>(tri::this_pe()); });
    } catch (const std::logic_error&) {
      co_return true;
    }
    co_return false;
  }

  // The work waits for a message that its own PE runs meanwhile.
  task<int> waits_for_this_pe() {
    let_go_ = std::make_shared<std::atomic<int>>(0);
    auto blocked = offload([flag = let_go_] {
      flag->wait(0);
      return flag->load();
    });
    this_element().send<&caller::let_go>(7);
    co_return co_await blocked;
  }
  void let_go(int value) {
    let_go_->store(value);
    let_go_->notify_all();
  }

  // Quiescence comes after the work: it is let go by a timer, and writes.
  void write_later() {
    let_go_ = std::make_shared<std::atomic<int>>(0);
    send_after<&caller::let_go>(std::chrono::milliseconds(2), this_element(), 1);
    offload_detached([this, flag = let_go_] {
      flag->wait(0);
      written_ = true;
    });
  }
  bool has_written() { return written_; }

  void count_in_order(int count) {
    for (int i = 0; i < count; ++i) offload_detached([this, i] { order_.push_back(i); });
  }
  bool is_in_order(int count) {
    std::vector<int> expected(static_cast<std::size_t>(count));
    std::iota(expected.begin(), expected.end(), 0);
    return std::exchange(order_, {}) == expected;
  }
  void forget_the_future() {
    static_cast<void>(offload([] { return std::string(100, 'x'); }));
  }

 private:
  std::shared_ptr<std::atomic<int>> let_go_;
  bool written_ = false;    // by the work; quiescence orders the look after it
  std::vector<int> order_;  // likewise
};

void offloads_return() {
  auto group = make_group<caller>();
  std::vector<future<int>> sums;
  for (int pe = 0; pe < pe_count(); ++pe) sums.push_back(group[pe].call<&caller::squares>(100));
  for (auto& sum : sums) check_equal(sum.get(), 328350);
  for (int pe = 0; pe < pe_count(); ++pe) {
    check(group[pe].call<&caller::hears_what_is_thrown>().get(), "another exception");
    check_equal(group[pe].call<&caller::keeps_what_cannot_be_copied>().get(), 42);
    check(group[pe].call<&caller::runs_elsewhere>().get(), "the PE ran it itself");
    check(group[pe].call<&caller::sends_from_there>().get(), "the offload thread took itself for a PE");
    group[pe].call<&caller::forget_the_future>().get();
  }
  // From the main program, too.
  check_equal(offload([] { return std::string("done"); }).get(), std::string("done"));
  quiescence().get();
}
const case_entry return_case{"offloads_return", &offloads_return};

void offloads_block_no_pe() {
  auto group = make_group<caller>();
  for (int pe = 0; pe < pe_count(); ++pe) check_equal(group[pe].call<&caller::waits_for_this_pe>().get(), 7);
}
const case_entry block_case{"offloads_block_no_pe", &offloads_block_no_pe};

void quiescence_waits_for_offloads() {
  auto group = make_group<caller>();
  for (int pe = 0; pe < pe_count(); ++pe) {
    group[pe].send<&caller::write_later>();
    quiescence().get();
    check(group[pe].call<&caller::has_written>().get(), "quiescence while work was offloaded");
  }
}
const case_entry quiescence_case{"quiescence_waits_for_offloads", &quiescence_waits_for_offloads};

void offloads_keep_their_order() {
  auto group = make_group<caller>();
  constexpr int count = 500;
  for (int round = 0; round < 5; ++round) {
    group.broadcast<&caller::count_in_order>(count);
    quiescence().get();
    for (int pe = 0; pe < pe_count(); ++pe)
      check(group[pe].call<&caller::is_in_order>(count).get(), "offloaded work ran in another order");
  }
}
const case_entry order_case{"offloads_keep_their_order", &offloads_keep_their_order};

}  // namespace
}  // namespace tri::testing
