// Competitors that talk by tri::mailbox, two processes as two hosts. PE 0 measures and prints nanoseconds per message.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/batches.hpp"
#include "trireme/objects.hpp"
#include "wire/task.hpp"

namespace tri::bench {
namespace {

using std::uint64_t;
constexpr int messages_of_a_sender = 48;
constexpr int stop = 1;  // tag

struct partner : group_member<partner> {
  // Returns every message.
  task<int> serve(mailbox box) {
    for (;;) {
      received_message here = co_await box.receive(0);
      if (here.tag() == stop) co_return 0;
      box.send(0, 0, here.take<buffer<std::byte>>());
    }
  }
  // Sends `count` messages as fast as they are received from the other side.
  task<int> exchange(mailbox box, int with, uint64_t count, std::size_t bytes) {
    buffer<std::byte> data(bytes);
    for (uint64_t i = 0; i < count; ++i) {
      box.send(with, 0, std::move(data));
      data = (co_await box.receive(with, 0)).take<buffer<std::byte>>();
    }
    co_return 0;
  }
  void send_all(mailbox box, std::size_t bytes) {
    for (int tag = 0; tag < messages_of_a_sender; ++tag) box.send(0, tag, buffer<std::byte>(bytes));
  }
};

int lead(const wire_task& task) {
  const auto all = make_group<partner>();
  const bool limited = task.memory >= 0;
  const mailbox box = make_mailbox({.memory = limited ? static_cast<uint64_t>(task.memory) : uint64_t{1} << 60U,
                                    .credits = static_cast<uint64_t>(task.credits)});
  const int other = pe_count() - 1;
  uint64_t messages = 1;
  std::function<void(uint64_t)> operation;
  future<int> served;
  bool is_served = false;
  if (task.what == "unexpected_flood") {
    // All but the last message of a sender come before they are wanted (Farreras 2008, section 4.5).
    messages = static_cast<uint64_t>(messages_of_a_sender * (pe_count() - 1));
    operation = [&](uint64_t rounds) {
      for (; rounds > 0; --rounds) {
        for (int pe = 1; pe < pe_count(); ++pe) all[pe].send<&partner::send_all>(box, task.bytes);
        for (int tag = messages_of_a_sender - 1; tag >= 0; --tag)
          for (int from = 1; from < pe_count(); ++from) static_cast<void>(box.receive(from, tag).get());
      }
    };
  } else if (task.what == "exchange") {
    messages = 2;
    operation = [&](uint64_t rounds) {
      auto there = all[other].call<&partner::exchange>(box, 0, rounds, task.bytes);
      auto here = all[0].call<&partner::exchange>(box, other, rounds, task.bytes);
      static_cast<void>(here.get());
      static_cast<void>(there.get());
    };
  } else {
    messages = 2;
    is_served = true;
    served = all[other].call<&partner::serve>(box);
    operation = [&, data = std::make_shared<buffer<std::byte>>(task.bytes)](uint64_t rounds) {
      for (; rounds > 0; --rounds) {
        box.send(other, 0, std::move(*data));
        *data = box.receive(other, 0).get().take<buffer<std::byte>>();
      }
    };
  }
  const batch_runner runner({.batch_time_ms = 10,
                             .warm_up_ms = 50,
                             .repetitions = 5,
                             .min_time_s = task.seconds,
                             .max_time_s = 2 * task.seconds});
  const samples measured = runner.time(operation);
  for (const double ns : measured.operation_ns) fmt::print("{}\n", ns / static_cast<double>(messages));
  std::fflush(stdout);
  if (is_served) {
    box.send(other, stop, 0);
    static_cast<void>(served.get());
  }
  return 0;
}

}  // namespace

int serve_over_mailboxes(const wire_task& task) {
  std::string name = "trireme", hosts = "--tri-hosts=2";
  std::array<char*, 3> arguments{name.data(), hosts.data(), nullptr};
  return run(2, arguments.data(), [&] { return lead(task); });
}

}  // namespace tri::bench
