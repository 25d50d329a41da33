// Mailboxes: tags, wildcards, every kind of value, limits of memory from none at all, the worst case of unexpected
// messages, receives that are given up.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

#include "system/cases/cases.hpp"
#include "trireme/detail/os/sanitizer.hpp"

namespace tri::testing {
namespace {

constexpr std::uint64_t record = 120;  // mailbox_options::memory
constexpr std::uint64_t header = 64;

// ---- what can be sent

struct named {
  std::string name;
  std::map<int, double> values;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, values);
  }
};
struct point {
  double x, y;
};

struct talker : group_member<talker> {
  int send_kinds(mailbox box) {
    const int me = this_pe();
    for (int to = 0; to < pe_count(); ++to) {
      box.send(to, 1, me);
      box.send(to, 2, point{1.5, 2.0 * me});
      box.send(to, 3, std::vector<double>(static_cast<std::size_t>(me) + 3, 0.5));
      box.send(to, 4, std::string("a text"));
      box.send(to, 5, named{"n", {{me, 2.5}}});
      box.send(to, 6, buffer<int>(5000, me));  // beyond what is sent eagerly
      box.send(to, 7, std::span<const int>());
      const std::array<int, 3> three{1, 2, 3};
      box.send(to, 8, three);
    }
    return 0;
  }
  task<int> receive_kinds(mailbox box) {
    for (int from = 0; from < pe_count(); ++from) {
      check_equal((co_await box.receive(from, 8)).take<std::array<int, 3>>()[2], 3);
      check_equal((co_await box.receive(from, 7)).bytes(), 0u);
      received_message large = co_await box.receive(from, 6);
      check_equal(large.source(), from);
      check_equal(large.tag(), 6);
      check_equal(large.values<int>().size(), 5000u);
      const auto moved = large.take<buffer<int>>();
      check_equal(std::accumulate(moved.begin(), moved.end(), 0), 5000 * from);
      received_message object = co_await box.receive(from, 5);
      check_equal(object.take<named>().values.at(from), 2.5);
      received_message text = co_await box.receive(from, 4);
      check_throws<message_mismatch>([&] { static_cast<void>(text.take<named>()); },
                                     fmt::format("but this is 6 values of char from PE {} with tag 4", from));
      check_equal(text.take<std::string>(), "a text");
      received_message many = co_await box.receive(from, 3);
      check_throws<message_mismatch>([&] { static_cast<void>(many.take<double>()); },
                                     fmt::format("tri::received_message: one value of double was asked for, but this "
                                                 "is {} values of double from PE {} with "
                                                 "tag 3",
                                                 from + 3, from));
      check_throws<message_mismatch>([&] { static_cast<void>(many.take<std::vector<int>>()); },
                                     "values of int was asked for, but this is");
      check_equal(many.take<std::vector<double>>().size(), static_cast<std::size_t>(from) + 3);
      check_equal((co_await box.receive(from, 2)).take<point>().y, 2.0 * from);
      check_equal((co_await box.receive(from, 1)).take<int>(), from);
    }
    co_return 1;
  }
};
void kinds() {
  auto talkers = make_group<talker>();
  for (const std::uint64_t memory : {std::uint64_t{0}, 10 * record, std::uint64_t{1} << 20}) {
    const mailbox box = make_mailbox({.memory = memory});
    std::vector<future<int>> done;
    for (int pe = 0; pe < pe_count(); ++pe) done.push_back(talkers[pe].call<&talker::receive_kinds>(box));
    for (int pe = 0; pe < pe_count(); ++pe) done.push_back(talkers[pe].call<&talker::send_kinds>(box));
    for (auto& each : done) static_cast<void>(each.get());
  }
}
const case_entry kinds_case{"mailbox_kinds_of_messages", &kinds};

void errors() {
  const mailbox box = make_mailbox();
  const int pes = pe_count();
  check_throws<std::out_of_range>([&] { box.send(pes, 1, 1); },
                                  fmt::format("on PE {}; there are PEs 0..{}", pes, pes - 1));
  check_throws<std::out_of_range>([&] { box.send(-1, 1, 1); }, "on PE -1");
  check_throws<std::invalid_argument>([&] { box.send(0, -3, 1); }, "tri::mailbox: tag -3 given; tags are 0 or larger");
  check_throws<std::out_of_range>([&] { static_cast<void>(box.receive(pes, 1)); }, "asked for messages of a sender");
  check_throws<std::invalid_argument>([&] { static_cast<void>(box.receive(0, -2)); }, "tag -2 given");
  check_throws<std::logic_error>([&] { mailbox().send(0, 1, 1); }, "this handle names no mailbox");
}
const case_entry errors_case{"mailbox_errors", &errors};

// ---- looking, and giving up

void looking() {
  const mailbox box = make_mailbox();
  check(!box.probe().has_value() && !box.try_receive().has_value(), "nothing was sent");
  for (int i = 0; i < 3; ++i) box.send(0, 10 + i, std::vector<int>(static_cast<std::size_t>(1000 * i), i));
  quiescence().get();
  check_equal(box.statistics().recorded, 3u);
  check_equal(box.probe()->tag, 10);
  check_equal(box.probe(0, 12)->bytes, 8000u);
  check(!box.probe(0, 13).has_value(), "no such tag");
  auto found = box.try_receive(0, 11);
  check(found.has_value(), "it was known");
  check_equal(found->get().values<int>().size(), 1000u);
  {
    auto given_up = box.receive(any_source, 99);
    check_equal(box.statistics().posted, 1u);
  }
  check_equal(box.statistics().posted, 0u);
  box.send(0, 99, 5);
  quiescence().get();
  check_equal(box.probe(0, 99)->bytes, sizeof(int));  // nobody took it
  check_equal(box.receive(0, 99).get().take<int>(), 5);
  auto first = box.receive(), second = box.receive(), third = box.receive();
  check(first.ready() && second.ready() && !third.ready(), "two were left");
  check_equal(first.get().tag(), 10);
  check_equal(second.get().tag(), 12);
  box.send(0, 3, 1.5);
  check_equal(third.get().take<double>(), 1.5);
  quiescence().get();  // the sender hears of it
  check_equal(box.statistics().memory_used, 0u);
  check_equal(box.statistics().unsent, 0u);
}
const case_entry looking_case{"mailbox_probe_and_give_up", &looking};

// A future is dropped between the answer to its message's request and the data: the message is lost with it, and
// nothing of it stays.
struct dropper : group_member<dropper> {
  static inline std::optional<future<received_message>> dropped;  // of PE 0
  // Between two messages of the mailbox on this PE.
  void drop(mailbox box, bool is_recorded_first) {
    if (is_recorded_first) {
      check_equal(box.statistics().recorded, 1u);
      dropped.emplace(box.receive(0, 1));
    }
    check_equal(box.statistics().posted, 0u);
    check_equal(box.statistics().buffered_bytes, 0u);
    check(!dropped->ready(), "its data should be on the way");
    dropped.reset();
  }
};
void dropped_while_matched() {
  const auto all = make_group<dropper>();
  for (const bool is_recorded_first : {false, true}) {
    const mailbox box = make_mailbox({.memory = 1u << 20, .eager_bytes = 0});
    if (!is_recorded_first) dropper::dropped.emplace(box.receive(0, 1));
    box.send(0, 1, std::vector<int>(1000, 1));
    all[0].send<&dropper::drop>(box, is_recorded_first);
    quiescence().get();
    check(!dropper::dropped.has_value(), "it was not dropped");
    const auto after = box.statistics();
    check_equal(after.memory_used + after.buffered_bytes + after.recorded + after.posted + after.unsent, 0u);
    check_equal(after.rendezvous, 1u);
    box.send(0, 1, std::vector<int>(1000, 2));
    check_equal(box.receive(0, 1).get().values<int>()[0], 2);
  }
}
const case_entry dropped_case{"mailbox_dropped_while_matched", &dropped_while_matched};

// A coroutine that waits for a message ends with its object; another one gets the message.
struct waiting_element : array_element<waiting_element, index<1>> {
  task<int> wait(mailbox box) { co_return (co_await box.receive(any_source, 4)).take<int>(); }
  bool stays() { return waits_for_results(); }
  void end() { erase_this(); }
};
void ended_while_waiting() {
  auto all = make_array<waiting_element>({2 * pe_count()}, round_robin());
  const mailbox box = make_mailbox();
  for (int pe = 0; pe < pe_count(); ++pe) {
    auto never = all(pe).call<&waiting_element::wait>(box);
    check(all(pe).call<&waiting_element::stays>().get(), "a receive is of its PE");
    all(pe).send<&waiting_element::end>();
    check_throws<remote_error>([&] { static_cast<void>(never.get()); }, "was deleted before");
    auto next = all(pe + pe_count()).call<&waiting_element::wait>(box);
    box.send(pe, 4, pe);
    check_equal(next.get(), pe);
  }
}
const case_entry ended_case{"mailbox_receiver_ends", &ended_while_waiting};

// ---- order: random tags and wildcards against what MPI's rules allow

struct planned {
  int tag;
  std::size_t values;  // the first two are the place in the plan and the sender
};
std::vector<planned> plan_of(int from, int to, int seed, int count, int tags) {
  std::mt19937 random(static_cast<unsigned>(seed * 1000003 + from * 1009 + to));
  std::vector<planned> plan;
  for (int i = 0; i < count; ++i) {
    const auto tag = static_cast<int>(random() % static_cast<unsigned>(tags));
    const std::size_t more = random() % 4 == 0 ? 400 : random() % 20;
    plan.push_back({tag, 2 + more});
  }
  return plan;
}

constexpr int tags = 4;

struct exchanger : group_member<exchanger> {
  task<int> send_all(mailbox box, int seed, int count) {
    const int me = this_pe();
    std::mt19937 random(static_cast<unsigned>(seed + 77 * me));
    std::vector<int> left(static_cast<std::size_t>(pe_count()), 0);
    for (int total = count * pe_count(); total > 0;) {
      const auto to = static_cast<int>(random() % static_cast<unsigned>(pe_count()));
      int& sent = left[static_cast<std::size_t>(to)];
      if (sent == count) continue;
      const planned next = plan_of(me, to, seed, count, tags)[static_cast<std::size_t>(sent)];
      std::vector<int> values(next.values, next.tag);
      values[0] = sent++;
      values[1] = me;
      box.send(to, next.tag, values);
      --total;
      if (random() % 8 == 0) co_await after(std::chrono::nanoseconds(100));
    }
    co_return 0;
  }

  struct asked {
    int source;
    int tag;
    int got_source = -1;
    int got_number = -1;
  };

  // Rounds of a few receives of one kind each, all sure to be served: exact ones, or those from one source, of one tag,
  // or any at all, never more of them than messages that are left.
  task<int> receive_all(mailbox box, int seed, int count, std::uint64_t memory) {
    const int me = this_pe(), pes = pe_count();
    std::mt19937 random(static_cast<unsigned>(seed * 31 + me));
    std::vector<std::vector<planned>> plans;
    std::vector<std::vector<bool>> got(static_cast<std::size_t>(pes),
                                       std::vector<bool>(static_cast<std::size_t>(count)));
    for (int from = 0; from < pes; ++from) plans.push_back(plan_of(from, me, seed, count, tags));
    std::vector<asked> receives;  // in the order of posting
    for (int left = count * pes; left > 0;) {
      const bool names_source = random() % 2 == 0, names_tag = random() % 2 == 0;
      const int window = 1 + static_cast<int>(random() % 5);
      std::vector<asked> round;
      std::vector<future<received_message>> waiting;
      auto free = got;  // messages not spoken for
      for (int i = 0; i < window; ++i) {
        std::vector<std::pair<int, int>> candidates;
        for (int from = 0; from < pes; ++from)
          for (int k = 0; k < count; ++k)
            if (!free[static_cast<std::size_t>(from)][static_cast<std::size_t>(k)]) candidates.emplace_back(from, k);
        if (candidates.empty()) break;
        const auto [from, k] = candidates[random() % candidates.size()];
        free[static_cast<std::size_t>(from)][static_cast<std::size_t>(k)] = true;
        const int tag = plans[static_cast<std::size_t>(from)][static_cast<std::size_t>(k)].tag;
        round.push_back({names_source ? from : any_source, names_tag ? tag : any_tag});
        if (random() % 6 == 0) static_cast<void>(box.receive(round.back().source, 1000));  // given up
        waiting.push_back(box.receive(round.back().source, round.back().tag));
      }
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        received_message here = co_await waiting[i];
        const auto values = here.values<int>();
        check(values.size() >= 2, "too short");
        asked& one = round[i];
        one.got_number = values[0];
        one.got_source = values[1];
        check_equal(here.source(), one.got_source);
        check(one.source == any_source || one.source == here.source(), "from another sender");
        check(one.tag == any_tag || one.tag == here.tag(), "with another tag");
        const auto from = static_cast<std::size_t>(one.got_source), number = static_cast<std::size_t>(one.got_number);
        check(!got[from][number], "received twice");
        got[from][number] = true;
        check_equal(here.tag(), plans[from][number].tag);
        check_equal(values.size(), plans[from][number].values);
        for (const int value : values.subspan(2)) check_equal(value, here.tag());
        receives.push_back(one);
        --left;
      }
      const auto seen = box.statistics();
      check(seen.memory_used <= memory && seen.memory_peak <= memory, "more memory than allowed");
      check(seen.buffered_bytes + record * seen.recorded <= seen.memory_used + seen.credit_used,
            "more is here than is accounted for");
      check(seen.credit_peak <= seen.credit_limit && seen.credit_used <= seen.credit_limit, "the pool is too small");
    }
    // Of two messages of a sender, an earlier receive that takes both must have got the one sent first.
    for (std::size_t later = 0; later < receives.size(); ++later)
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        const asked &e = receives[earlier], &l = receives[later];
        if (e.got_source != l.got_source || e.got_number < l.got_number) continue;
        const int tag = plans[static_cast<std::size_t>(l.got_source)][static_cast<std::size_t>(l.got_number)].tag;
        check(e.tag != any_tag && e.tag != tag, "overtaken");
      }
    co_return static_cast<int>(receives.size());
  }
};
void order() {
  auto all = make_group<exchanger>();
  const int count = os::under_thread_sanitizer ? 12 : 25;
  const int rounds = pe_count() > 4 ? 1 : 2;
  int seed = 1;
  for (int round = 0; round < rounds; ++round)
    for (const std::uint64_t memory :
         {std::uint64_t{0}, record - 1, record, 2 * record, 3 * record + 200, 8 * record, std::uint64_t{100'000'000}})
      for (const auto& [eager, credits] :
           {std::pair<std::uint64_t, std::uint64_t>{0, 0}, {1024, 0}, {0, 16'384}, {1024, 4'096}}) {
        const mailbox box = make_mailbox({.memory = memory, .eager_bytes = eager, .credits = credits});
        std::vector<future<int>> done;
        ++seed;
        for (int pe = 0; pe < pe_count(); ++pe) {
          done.push_back(all[pe].call<&exchanger::receive_all>(box, seed, count, memory));
          done.push_back(all[pe].call<&exchanger::send_all>(box, seed, count));
        }
        int received = 0;
        for (auto& each : done) received += each.get();
        check_equal(received, count * pe_count() * pe_count());
      }
}
const case_entry order_case{"mailbox_random_order", &order};

// ---- the worst case of Farreras 2008 (section 4.5): all messages are received in the reverse order of sending

struct unexpected_flood : group_member<unexpected_flood> {
  void send_all(mailbox box, int count, std::size_t values) {
    for (int tag = 0; tag < count; ++tag) box.send(0, tag, std::vector<int>(values, tag));
  }
  task<mailbox_statistics> receive_all(mailbox box, int count, std::size_t values) {
    for (int tag = count - 1; tag >= 0; --tag)
      for (int from = 0; from < pe_count(); ++from) {
        const received_message here = co_await box.receive(from, tag);
        check_equal(here.values<int>().size(), values);
        if (values > 0) check_equal(here.values<int>().back(), tag);
      }
    co_return box.statistics();
  }
};
mailbox_statistics kill(int count, std::size_t values, const mailbox_options& options) {
  auto all = make_group<unexpected_flood>();
  const mailbox box = make_mailbox(options);
  for (int pe = 0; pe < pe_count(); ++pe) all[pe].send<&unexpected_flood::send_all>(box, count, values);
  quiescence().get();  // everything that can be unexpected is
  const auto seen = all[0].call<&unexpected_flood::receive_all>(box, count, values).get();
  quiescence().get();
  check_equal(box.statistics().unsent, 0u);
  return seen;
}
void worst_case() {
  const auto pes = static_cast<std::uint64_t>(pe_count());
  // As the thesis has it: few messages of each of many senders, with the least memory.
  for (const std::size_t bytes : {1024u, 10'240u, 102'400u})
    for (const std::uint64_t memory : {std::uint64_t{0}, record, 4 * record, std::uint64_t{250'000}}) {
      const auto seen = kill(5, bytes / sizeof(int), {.memory = memory});
      check(seen.memory_peak <= memory, "more memory than allowed");
      check_equal(seen.memory_used, 0u);
      if (memory == 0) check(seen.refusals > 0, "nothing was refused");
    }
  // Many messages and no memory: each is asked for when it is sent, and when it is wanted.
  const int many = os::under_thread_sanitizer ? 100 : 1000 / pe_count();
  const auto found = kill(many, 10, {.memory = 0});
  const auto sent = static_cast<std::uint64_t>(many) * pes;
  check_equal(found.requests, 2 * sent);
  check_equal(found.refusals, sent);
  check_equal(found.restarts, sent);
  // Many messages. Records for all and little memory for data: most data waits at the senders, and each is asked for
  // once.
  const int count = os::under_thread_sanitizer ? 200 : 2000 / pe_count();
  const auto all = static_cast<std::uint64_t>(count) * pes;
  const auto recorded = kill(count, 1000, {.memory = 2 * all * record, .eager_bytes = 0});
  check_equal(recorded.requests, all);
  check_equal(recorded.refusals, 0u);
  check_equal(recorded.restarts, 0u);
  check(recorded.memory_peak <= 2 * all * record, "more memory than allowed");
  // Memory for everything.
  const auto plenty = kill(count, 100, {.memory = 2 * all * (record + header + 400)});
  check_equal(plenty.requests, all);
  check_equal(plenty.eager, all);
  check_equal(plenty.refusals + plenty.stale + plenty.restarts, 0u);
  check_equal(plenty.memory_peak, all * (record + header + 400));
}
const case_entry worst_case_case{"mailbox_worst_case", &worst_case};

// ---- messages that are predicted (Farreras 2008, chapter 3): what repeats itself comes without asking

struct neighbour : group_member<neighbour> {
  // Several sizes from both neighbours in turn, the receives made before the sends.
  task<mailbox_statistics> exchange(mailbox box, int rounds) {
    constexpr std::array<std::size_t, 3> sizes{810, 2560, 4860};  // 3240, 10,240 and 19,440 B
    const int me = this_pe(), pes = pe_count();
    const int right = (me + 1) % pes, left = (me + pes - 1) % pes;
    for (int round = 0; round < rounds; ++round) {
      std::vector<future<received_message>> waiting;
      for (int i = 0; i < 3; ++i)
        for (const int from : {left, right})
          waiting.push_back(box.receive(from, 2 * i + (from == left && (from != right || waiting.size() % 2 == 0))));
      for (int i = 0; i < 3; ++i) {
        box.send(right, 2 * i + 1, std::vector<int>(sizes[static_cast<std::size_t>(i)], round));
        box.send(left, 2 * i, std::vector<int>(sizes[static_cast<std::size_t>(i)], round));
      }
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        const received_message here = co_await waiting[i];
        check_equal(here.values<int>().size(), sizes[i / 2]);
        check_equal(here.values<int>().back(), round);
      }
    }
    co_return box.statistics();
  }
  task<mailbox_statistics> receive_stream(mailbox box, int from, int count) {
    for (int i = 0; i < count; ++i) {
      check_equal((co_await box.receive(from, 1)).values<int>()[0], i);
      if (i % 8 == 7) box.send(from, 2, i);  // so that the sender does not run away
    }
    co_return box.statistics();
  }
  task<int> send_stream(mailbox box, int to, int count) {
    for (int i = 0; i < count; ++i) {
      box.send(to, 1, std::vector<int>(1000, i));
      if (i % 8 == 7) static_cast<void>(co_await box.receive(to, 2));
    }
    co_return 0;
  }
};
std::vector<mailbox_statistics> exchange_on_all(const group<neighbour>& all, mailbox box, int rounds) {
  std::vector<future<mailbox_statistics>> done;
  for (int pe = 0; pe < pe_count(); ++pe) done.push_back(all[pe].call<&neighbour::exchange>(box, rounds));
  std::vector<mailbox_statistics> seen;
  for (auto& each : done) seen.push_back(each.get());
  return seen;
}
void predicted() {
  const auto all = make_group<neighbour>();
  const int learning = 20, rounds = os::under_thread_sanitizer ? 40 : 100;
  const auto messages = static_cast<std::uint64_t>(6 * rounds);
  for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
    const mailbox asking = make_mailbox({.memory = memory});
    for (const auto& seen : exchange_on_all(all, asking, rounds)) {
      // Without memory, those that are found at their sender come with their second request.
      check(memory == 0 ? seen.rendezvous + seen.eager >= messages : seen.rendezvous == messages, "who did not ask?");
      check_equal(seen.on_credit + seen.credit_limit, 0u);
    }
    const mailbox box = make_mailbox({.memory = memory, .credits = 1u << 20});
    const auto before = exchange_on_all(all, box, learning);
    const auto after = exchange_on_all(all, box, rounds);
    for (std::size_t pe = 0; pe < after.size(); ++pe) {
      const std::uint64_t on_credit = after[pe].on_credit - before[pe].on_credit;
      const std::uint64_t rendezvous = after[pe].rendezvous - before[pe].rendezvous;
      if (memory > 0) check_equal(on_credit + rendezvous, messages);
      check(10 * rendezvous < messages, fmt::format("{} of {} messages went by rendezvous", rendezvous, messages));
      check(10 * on_credit > 9 * messages, fmt::format("only {} of {} messages went on credit", on_credit, messages));
      check_equal(after[pe].credit_control_messages,
                  0u);  // all credit travels with what the neighbours are sent anyway
      check(after[pe].credit_peak > 0 && after[pe].credit_peak <= after[pe].credit_limit, "the pool is too small");
    }
  }
  // In one direction: at most one round of notes for 32 messages.
  if (pe_count() == 1) return;
  const int count = 1000;
  const mailbox box = make_mailbox({.credits = 1u << 20});
  auto sent = all[0].call<&neighbour::send_stream>(box, pe_count() - 1, count);
  const auto seen = all[pe_count() - 1].call<&neighbour::receive_stream>(box, 0, count).get();
  static_cast<void>(sent.get());
  check_equal(seen.on_credit + seen.rendezvous, static_cast<std::uint64_t>(count));
  check(seen.on_credit > 800, fmt::format("only {} of {} messages went on credit", seen.on_credit, count));
  check(seen.credit_control_messages <= static_cast<std::uint64_t>(count) / 32 + 1, "credit travels alone too often");
}
const case_entry predicted_case{"mailbox_predicted", &predicted};

// ---- a mailbox that is made elsewhere, used at once by whoever hears of it

struct maker : group_member<maker> {
  task<int> use(mailbox box, int round) {
    for (int to = 0; to < pe_count(); ++to) box.send(to, round, this_pe());
    int sum_of_senders = 0;
    for (int i = 0; i < pe_count(); ++i) sum_of_senders += (co_await box.receive(any_source, round)).take<int>();
    co_return sum_of_senders;
  }
  void make(promise<mailbox> made) { made.set(make_mailbox({.memory = 3 * record})); }
};
void made_anywhere() {
  auto all = make_group<maker>();
  for (int round = 0; round < 3 * pe_count(); ++round) {
    future<mailbox> made;
    all[round % pe_count()].send<&maker::make>(made.get_promise());
    const mailbox box = made.get();
    std::vector<future<int>> done;
    for (int pe = 0; pe < pe_count(); ++pe) done.push_back(all[pe].call<&maker::use>(box, round));
    for (auto& each : done) check_equal(each.get(), pe_count() * (pe_count() - 1) / 2);
  }
}
const case_entry made_case{"mailbox_made_anywhere", &made_anywhere};

// ---- memory that the program takes for itself: messages that have no room come when it gives some back

struct spammer : group_member<spammer> {
  void send(mailbox box, int to, int count) {
    for (int i = 0; i < count; ++i) box.send(to, i, std::vector<int>(100, i));
  }
};
void program_memory() {
  constexpr std::uint64_t limit = 1u << 20;
  constexpr int count = 20;
  const auto all = make_group<spammer>();
  const int sender = pe_count() - 1;
  const mailbox box = make_mailbox({.memory = limit});
  check(!box.take_memory(limit + 1).has_value(), "more than there is");
  std::optional<mailbox_memory> own = box.take_memory(limit - 3 * record);
  check_equal(own->bytes(), limit - 3 * record);
  check_equal(box.statistics().memory_used, limit - 3 * record);
  check(!box.take_memory(3 * record + 1).has_value(), "more than is left");
  all[sender].send<&spammer::send>(box, 0, count);
  quiescence().get();
  check(box.statistics().recorded <= 3, "the others have no room");
  mailbox_memory moved = std::move(*own);
  own.reset();
  check_equal(moved.bytes(), limit - 3 * record);
  check(box.statistics().memory_used >= limit - 3 * record, "it was moved");
  moved = *box.take_memory(0);
  quiescence().get();
  check_equal(box.statistics().recorded, static_cast<std::uint64_t>(count));
  for (int i = count - 1; i >= 0; --i) check_equal(box.receive(sender, i).get().values<int>()[99], i);
  check_equal(box.statistics().memory_used, 0u);
}
const case_entry program_memory_case{"mailbox_memory_of_the_program", &program_memory};

// ---- calls before the mailbox exists: on a PE that is held up while the creation and then an urgent message come

struct early_bird : group_member<early_bird> {
  static inline std::atomic<int> step = 0;  // of this process: 1 held up, 2 may go on
  void hold_up() {
    step = 1;
    while (step != 2) std::this_thread::yield();
  }
  static void let_go() { step = 2; }
  // Goes on while messages that came too early are released, and what was sent before is among them.
  task<int> answer(mailbox box) {
    const int asked = (co_await box.receive(0, 7)).take<int>();
    box.send(0, 1, asked + 1);
    co_return 0;
  }
  void send_before(mailbox box, group<early_bird> new_group) {
    check_equal(box.statistics().memory_limit, 0u);  // there is no mailbox here
    check(!box.take_memory(1).has_value(), "there is no memory");
    box.send(0, 1, 1);
    check(!box.probe(0, 7).has_value(), "nothing can be known");
    check_throws<std::logic_error>([&] { static_cast<void>(new_group.local()); }, "has no member on this PE yet");
    check_throws<std::logic_error>([&] { new_group.broadcast<&early_bird::begin>(); }, "exists here");
  }
  bool is_held_up() { return step == 1; }
  void begin() { step = 0; }
};
void used_too_early() {
  const int second = 1;  // of the process of PE 0, for its step is a variable of that
  if (sched::this_pe().job().pes_per_process() < 2) return;
  const auto all = make_group<early_bird>();
  for (int round = 0; round < 5; ++round) {
    all[second].call<&early_bird::begin>().get();
    all[second].send<&early_bird::hold_up>();
    while (early_bird::step != 1) std::this_thread::yield();
    const mailbox box = make_mailbox({.memory = 1u << 20});
    const auto new_group = make_group<early_bird>();
    auto answered = all[second].with(immediate).call<&early_bird::answer>(box);
    box.send(second, 7, 1);
    all[second].with(immediate).send<&early_bird::send_before>(box, new_group);
    early_bird::let_go();
    check_equal(box.receive(second, 1).get().take<int>(), 1);
    check_equal(box.receive(second, 1).get().take<int>(), 2);
    check_equal(answered.get(), 0);
  }
}
const case_entry too_early_case{"mailbox_used_too_early", &used_too_early};

// ---- the end of the job finds messages that nobody wanted, with and without data, and receives that nobody served

struct abandoned : group_member<abandoned> {
  std::vector<future<received_message>> receives;
  task<int> wait(mailbox box) { co_return (co_await box.receive(any_source, 1'000'000)).tag(); }
  void leave(mailbox box) {
    receives.push_back(box.receive(this_pe(), 999));
    for (int to = 0; to < pe_count(); ++to) {
      box.send(to, 1, 1);
      box.send(to, 2, std::vector<int>(10'000));
      box.send(to, 3, buffer<double>(100'000));
    }
  }
};
void left_behind() {
  auto all = make_group<abandoned>();
  for (const std::uint64_t memory : {std::uint64_t{0}, record, std::uint64_t{10'000'000}}) {
    const mailbox box = make_mailbox({.memory = memory});
    for (int pe = 0; pe < pe_count(); ++pe) {
      all[pe].send<&abandoned::wait>(box);
      all[pe].send<&abandoned::leave>(box);
    }
    quiescence().get();
    check_equal(box.statistics().posted, 2u);
    check_equal(box.statistics().recorded, memory == 0        ? 0u
                                           : memory == record ? 1u
                                                              : 3u * static_cast<unsigned>(pe_count()));
  }
}
const case_entry left_behind_case{"mailbox_left_behind", &left_behind};

}  // namespace
}  // namespace tri::testing
