// Messages between hosts: the state machines of two hosts of two ranks, with their engines, on a network whose
// deliveries are chosen step by step. All schedules that deviate from taking turns at most twice, and random ones.
//
// The network is as unhelpful as an MPI library may be: a piece moves only while both sides call in turn, so a rank
// that leaves too early is missed.
#include "mpi/internode/internode_messages.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "arena/arena.hpp"
#include "board/board.hpp"
#include "mpi/datatypes/layout/layout_encoder.hpp"

namespace tri::mpi {
namespace {

constexpr int ranks = 4;  // 0 and 1 are on one host, 2 and 3 on another
constexpr message_sizes sizes{.most_eager = 16, .most_pushed = 40, .of_piece = 64};

std::atomic<std::uint64_t> now = 1;
std::uint64_t clock_of_test() { return now += os::ns_to_ticks(10'000); }

// ---- the network

class test_network {
 public:
  struct piece {
    int from, to, tag;
    std::span<const std::byte> data;
    std::uint64_t ticket;
    int stage = 0;  // 1: the receiver has matched it, 2: the sender has sent it, 3: the receiver has it
  };
  struct receive {
    int from, tag;
    std::span<std::byte> into;
    std::uint64_t ticket;
    piece* matched = nullptr;
  };
  struct header {
    message_header what;
    std::vector<std::byte> data;
    int from;
  };

  bool may_deliver(int from, int to) const { return !channels_[from][to].empty(); }
  // A library may complete a message before one that was sent earlier: now and then.
  void deliver(int from, int to) {
    auto& channel = channels_[from][to];
    const bool overtakes = channel.size() > 1 && ++deliveries_ % 3 == 0;
    const auto next = channel.begin() + (overtakes ? 1 : 0);
    arrived_[to].push_back(std::move(*next));
    channel.erase(next);
  }
  bool is_quiet() const {
    bool quiet = pieces_.empty();
    for (int to = 0; to < ranks; ++to) {
      quiet = quiet && receives_[to].empty() && arrived_[to].empty();
      for (int from = 0; from < ranks; ++from) quiet = quiet && channels_[from][to].empty();
    }
    return quiet;
  }

  std::mutex lock_;
  bool delivers_at_once_ = false;
  unsigned deliveries_ = 0;
  std::deque<header> channels_[ranks][ranks];
  std::deque<header> arrived_[ranks];
  std::deque<receive> receives_[ranks];
  std::deque<std::unique_ptr<piece>> pieces_;
};

// Threads may be the ranks: nothing is called back with the lock.
class test_carrier final : public carrier {
 public:
  test_carrier(test_network& of, int rank) : of_(of), rank_(rank) {}
  void send(int to, const message_header& header, std::span<const std::byte> data) override {
    if (to / 2 == rank_ / 2) throw std::logic_error("a header to the own host");
    const std::lock_guard locked(of_.lock_);
    of_.channels_[rank_][to].push_back({header, {data.begin(), data.end()}, rank_});
    if (of_.delivers_at_once_) of_.deliver(rank_, to);
  }
  void send_piece(int to, int tag, std::span<const std::byte> data, std::uint64_t ticket) override {
    const std::lock_guard locked(of_.lock_);
    of_.pieces_.push_back(std::make_unique<test_network::piece>(test_network::piece{rank_, to, tag, data, ticket}));
  }
  void receive_piece(int from, int tag, std::span<std::byte> into, std::uint64_t ticket) override {
    const std::lock_guard locked(of_.lock_);
    of_.receives_[rank_].push_back({from, tag, into, ticket});
  }
  void cancel_receive(std::uint64_t ticket) override {
    const std::lock_guard locked(of_.lock_);
    auto& mine = of_.receives_[rank_];
    const auto found = std::ranges::find(mine, ticket, &test_network::receive::ticket);
    if (found == mine.end() || found->matched != nullptr) throw std::logic_error("a piece comes that was cancelled");
    mine.erase(found);
  }
  bool poll(listener& to) override {
    std::deque<test_network::header> arrived;
    std::vector<std::uint64_t> received;
    std::vector<std::uint64_t> sent;
    {
      const std::lock_guard locked(of_.lock_);
      arrived.swap(of_.arrived_[rank_]);
    }
    for (const test_network::header& each : arrived) to.arrived(each.from, each.what, each.data);
    {
      const std::lock_guard locked(of_.lock_);
      match();
      receive(received);
      send(sent);
      std::erase_if(of_.pieces_, [](const auto& each) { return each->stage == 3; });
    }
    for (const std::uint64_t ticket : received) to.piece_received(ticket);
    for (const std::uint64_t ticket : sent) to.piece_sent(ticket);
    return !arrived.empty() || !received.empty() || !sent.empty();
  }
  std::size_t bytes_under_way() const override { return 0; }
  int largest_tag() const override { return 32; }

 private:
  void receive(std::vector<std::uint64_t>& received) {
    for (auto each = of_.receives_[rank_].begin(); each != of_.receives_[rank_].end();) {
      if (each->matched == nullptr || each->matched->stage != 2) {
        ++each;
        continue;
      }
      test_network::piece& piece = *each->matched;
      if (each->into.size() != piece.data.size()) throw std::logic_error("a piece of another size");
      received.push_back(each->ticket);
      piece.stage = 3;
      each = of_.receives_[rank_].erase(each);
    }
  }
  void send(std::vector<std::uint64_t>& sent) {
    for (const auto& each : of_.pieces_) {
      if (each->from != rank_ || each->stage != 1) continue;
      for (auto& receive : of_.receives_[each->to])
        if (receive.matched == each.get()) std::ranges::copy(each->data, receive.into.begin());
      each->stage = 2;
      sent.push_back(each->ticket);
    }
  }
  void match() {
    for (auto& receive : of_.receives_[rank_]) {
      if (receive.matched != nullptr) continue;
      for (const auto& piece : of_.pieces_) {
        if (piece->to != rank_ || piece->stage != 0 || piece->tag != receive.tag ||
            (receive.from != any_source && receive.from != piece->from))
          continue;
        receive.matched = piece.get();
        piece->stage = 1;
        break;
      }
    }
  }
  test_network& of_;
  int rank_;
};

// ---- ranks, and what they do

class job;
// True: done. Called each time that it is the rank's turn.
using action = std::function<bool(job&, int rank)>;

// What receivers keep of messages that no rank has received yet.
struct room {
  std::size_t unconfirmed = std::size_t{16} << 20;
  std::size_t unexpected = std::size_t{16} << 20;

  // Of one rank, to which two others send. The engine counts what it has read.
  std::size_t most_kept() const { return unexpected + 2 * unconfirmed; }
};

class job {
 public:
  explicit job(const message_sizes& used = sizes, const room& with = {})
      : room_(with),
        file_(arena::create_window_file(window_bytes)),
        space_({.window_bytes = window_bytes}, {file_}, 0, [] {}) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      endpoints_.push_back(make_endpoint(space_.heap(), rank, ranks));
      messages_.push_back(make_host_messages(space_.heap(), ranks));
    }
    const board::board_shape shape{std::vector<std::uint32_t>(ranks, 0)};
    const std::size_t bytes = board::board::required_bytes(shape);
    work_.emplace(board::board::initialise({static_cast<std::byte*>(space_.heap().reserve(bytes)), bytes}, shape));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      auto& made = members_.emplace_back(std::make_unique<member>(*work_, endpoints_, space_.heap(), network_, rank));
      engine_options options;
      options.most_unexpected_bytes = with.unexpected;
      made->ranks = std::make_unique<engine>(endpoints_, rank, made->pe, made->blocks, options);
      made->ranks->set_shared_memory([](const void* address, std::size_t) { return const_cast<void*>(address); });
      made->messages = std::make_unique<internode_messages>(
          *made->ranks, made->network, job_places{static_cast<int>(rank), {0, 1, 2, 3}, {0, 0, 1, 1}, {{0, 1}, {2, 3}}},
          messages_,
          internode_options{.sizes = used, .clock = &clock_of_test, .most_unconfirmed_bytes = with.unconfirmed});
    }
  }
  ~job() {
    for (auto& each : members_) each->messages.reset();
    for (auto& each : members_) each->ranks.reset();
    members_.clear();
    close(file_);
  }

  void begin(std::vector<std::vector<action>> scripts) {
    scripts_ = std::move(scripts);
    next_.assign(ranks, 0);
    is_leaving_.assign(ranks, false);
    waits_.assign(ranks, false);
  }
  bool is_over() const {
    for (std::size_t rank = 0; rank < ranks; ++rank)
      if (next_[rank] < scripts_[rank].size()) return false;
    return true;
  }
  bool has_ended(std::size_t rank) const { return next_[rank] == scripts_[rank].size(); }
  // The turns of ranks, then deliveries.
  static constexpr int steps = ranks + ranks * ranks;
  bool may(int step) const {
    if (step < ranks) return next_[static_cast<std::size_t>(step)] < scripts_[static_cast<std::size_t>(step)].size();
    return network_.may_deliver((step - ranks) / ranks, (step - ranks) % ranks);
  }
  void take(int step) {
    if (step >= ranks) return network_.deliver((step - ranks) / ranks, (step - ranks) % ranks);
    const auto rank = static_cast<std::size_t>(step);
    if (scripts_[rank][next_[rank]](*this, step)) ++next_[rank];
    for (const endpoint* const each : endpoints_)
      if (each->unexpected_bytes > room_.most_kept()) throw std::logic_error("too much is kept");
  }

  void deliver_at_once() { network_.delivers_at_once_ = true; }
  engine& ranks_of(int rank) { return *members_[static_cast<std::size_t>(rank)]->ranks; }
  internode_messages& messages_of(int rank) { return *members_[static_cast<std::size_t>(rank)]->messages; }
  void turn_of_wait(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    internode_messages& messages = messages_of(rank);
    if (!waits_[at]) {
      waits_[at] = true;
      messages.wait_begins();
    }
    if (!is_leaving_[at]) {
      ranks_of(rank).progress();
      help_sibling(rank);
    }
    messages.poll();
    ranks_of(rank).find({1, any_source, 99});  // reads the inbox
  }
  // True: it has ended, and the rank may compute.
  bool wait(int rank, const std::function<bool()>& done) {
    const auto at = static_cast<std::size_t>(rank);
    turn_of_wait(rank);
    if (!is_leaving_[at]) {
      if (!done()) return false;
      is_leaving_[at] = true;
      messages_of(rank).begin_leaving();
    }
    return leave(rank);
  }
  bool leave(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (!messages_of(rank).may_leave()) return false;
    waits_[at] = is_leaving_[at] = false;
    return true;
  }
  bool is_in_wait(int rank) const { return waits_[static_cast<std::size_t>(rank)]; }
  // Nothing is left anywhere.
  void check_quiet() {
    for (int turn = 0; turn < 50; ++turn) {
      for (int from = 0; from < ranks; ++from)
        for (int to = 0; to < ranks; ++to)
          while (network_.may_deliver(from, to)) network_.deliver(from, to);
      for (int rank = 0; rank < ranks; ++rank) messages_of(rank).poll();
    }
    if (!network_.is_quiet()) throw std::logic_error("something is left in the network");
    for (int rank = 0; rank < ranks; ++rank) {
      const host_messages& each = *messages_[static_cast<std::size_t>(rank)];
      if (messages_of(rank).is_active() || each.incoming != nullptr || each.last_incoming != nullptr ||
          each.early != nullptr || each.matched.load() != 0 || each.sending.load() != 0 || each.offerable.load() != 0)
        throw std::logic_error("rank " + std::to_string(rank) + " has something left");
    }
  }
  std::uint64_t counted(std::atomic<std::uint64_t> endpoint_counters::*which) const {
    std::uint64_t sum = 0;
    for (const endpoint* const each : endpoints_) sum += (each->counters.*which).load();
    return sum;
  }

 private:
  // A rank that waits reads the inbox of one that computes.
  void help_sibling(int rank) {
    const int sibling = rank ^ 1;
    if (!waits_[static_cast<std::size_t>(sibling)])
      ranks_of(rank).progress_for(*endpoints_[static_cast<std::size_t>(sibling)]);
  }

  static constexpr std::size_t window_bytes = std::size_t{1} << 28;
  struct member {
    member(board::board& work, const std::vector<endpoint*>& endpoints, arena::heap& memory, test_network& all,
           std::uint32_t rank)
        : pe(work.join(rank, order_of_ranks(endpoints, rank))),
          blocks(memory, static_cast<std::uint16_t>(rank)),
          network(all, static_cast<int>(rank)) {}
    board::board_pe pe;
    arena::block_cache blocks;
    test_carrier network;
    std::unique_ptr<engine> ranks = nullptr;
    std::unique_ptr<internode_messages> messages = nullptr;
  };
  room room_;
  int file_;
  arena::arena_space space_;
  std::vector<endpoint*> endpoints_;
  std::vector<host_messages*> messages_;
  std::optional<board::board> work_;
  test_network network_;
  std::vector<std::unique_ptr<member>> members_;
  std::vector<std::vector<action>> scripts_;
  std::vector<std::size_t> next_;
  std::vector<bool> is_leaving_;
  std::vector<bool> waits_;
};

// A message and the buffers of both sides. Checked when its receive has ended.
struct message {
  std::vector<std::byte> out, in;
  send_record* sending = nullptr;
  receive_record* receiving = nullptr;
  bool is_sent = false;
  bool is_received = false;

  // `missing`: of the room for it.
  message(std::size_t bytes, unsigned seed, std::size_t missing = 0)
      : out(bytes), in(bytes - std::min(bytes, missing)) {
    for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(seed * 37 + i * 11 + (i >> 6));
  }
  void send(job& in_job, int from, int to, int tag, send_mode mode = send_mode::standard) {
    sending = in_job.messages_of(from).send(to, {1, from, tag}, {out.data(), out.size()}, mode);
    is_sent = sending == nullptr;
  }
  void receive(job& in_job, int rank, int source, int tag) {
    found_message found;
    receiving = in_job.ranks_of(rank).receive({1, source, tag}, {in.data(), in.size()}, touch_order::unknown, found);
    if (receiving == nullptr) check(found.bytes);
  }
  // Without a call of MPI.
  bool has_left() const { return is_sent || (sending != nullptr && sending->is_complete()); }
  bool has_come() const { return is_received || (receiving != nullptr && receiving->is_complete()); }
  bool end_send(job& in_job, int rank) {
    if (is_sent) return true;
    if (!has_left()) return false;
    in_job.ranks_of(rank).release(sending);
    return is_sent = true;
  }
  bool end_receive(job& in_job, int rank) {
    if (is_received) return true;
    if (!in_job.ranks_of(rank).is_done(*receiving)) return false;
    const std::uint64_t bytes = receiving->bytes;
    in_job.ranks_of(rank).release(receiving);
    check(bytes);
    return true;
  }

 private:
  void check(std::uint64_t bytes) {
    if (bytes != out.size() || !std::equal(in.begin(), in.end(), out.begin())) throw std::logic_error("wrong data");
    is_received = true;
  }
};

action compute_until(std::function<bool()> ready) {
  return [ready = std::move(ready)](job&, int) { return ready(); };
}
action wait_until(std::function<bool(job&, int)> done) {
  return [done = std::move(done)](job& in, int rank) { return in.wait(rank, [&] { return done(in, rank); }); };
}
action call(std::function<void(job&, int)> what) {
  return [what = std::move(what)](job& in, int rank) {
    what(in, rank);
    return true;
  };
}

// ---- schedules

// Takes turns, but for `delays`: at those positions the next possible step is passed over, once for each.
void run(job& in, const std::vector<int>& delays, int most_steps = 3000) {
  int next = 0;
  std::size_t delayed = 0;
  for (int position = 0; !in.is_over(); ++position) {
    if (position > most_steps) throw std::logic_error("hangs");
    while (!in.may(next)) next = (next + 1) % job::steps;
    while (delayed < delays.size() && delays[delayed] == position) {
      ++delayed;
      do next = (next + 1) % job::steps;
      while (!in.may(next));
    }
    in.take(next);
    next = (next + 1) % job::steps;
  }
  in.check_quiet();
}

void run_at_random(job& in, std::mt19937& chosen) {
  for (int position = 0; !in.is_over(); ++position) {
    if (position > 100000) throw std::logic_error("hangs");
    int step = 0;
    do step = static_cast<int>(chosen() % job::steps);
    while (!in.may(step));
    in.take(step);
  }
  in.check_quiet();
}

using scenario = std::function<void(job&)>;

std::string explore(const scenario& begin, int positions, const room& with = {}) {
  job in(sizes, with);
  std::vector<int> delays;
  try {
    const auto one = [&](std::vector<int> chosen) {
      delays = std::move(chosen);
      begin(in);
      run(in, delays);
    };
    one({});
    for (int first = 0; first < positions; ++first) {
      one({first});
      for (int second = first; second < positions; ++second) one({first, second});
    }
  } catch (const std::exception& fault) {
    std::string text = fault.what();
    for (const int each : delays) text += " " + std::to_string(each);
    return text;
  }
  return {};
}

std::string explore_at_random(const scenario& begin, int runs, const room& with = {}) {
  job in(sizes, with);
  for (int seed = 0; seed < runs; ++seed) {
    std::mt19937 chosen(static_cast<unsigned>(seed));
    try {
      begin(in);
      run_at_random(in, chosen);
    } catch (const std::exception& fault) {
      return std::string(fault.what()) + ", seed " + std::to_string(seed);
    }
  }
  return {};
}

constexpr std::size_t of_each_kind[] = {0, 1, 16, 17, 40, 41, 64, 65, 300, 1000};

// ---- what is explored

// One message, whose ranks wait; the others are not there.
void begin_plain(job& in, std::size_t bytes, send_mode mode) {
  auto one = std::make_shared<message>(bytes, 1);
  in.begin({{call([=](job& j, int r) { one->send(j, r, 2, 5, mode); }),
             wait_until([=](job& j, int r) { return one->end_send(j, r) && one->is_received; })},
            {},
            {call([=](job& j, int r) { one->receive(j, r, 0, 5); }),
             wait_until([=](job& j, int r) { return one->end_receive(j, r) && one->has_left(); })},
            {}});
}

// The receiver computes until its message has come, and the sender until it has left; their neighbours wait until then.
void begin_between_computing_ranks(job& in, std::size_t bytes) {
  auto one = std::make_shared<message>(bytes, 2);
  const auto all_done = [=](job&, int) { return one->has_come() && one->has_left(); };
  in.begin({{call([=](job& j, int r) { one->send(j, r, 2, 5); }), compute_until([=] { return one->has_left(); }),
             wait_until([=](job& j, int r) { return one->end_send(j, r); })},
            {wait_until(all_done)},
            {call([=](job& j, int r) {
               one->receive(j, r, any_source, 5);
               j.ranks_of(r).leave();
             }),
             compute_until([=] { return one->has_come(); }),
             wait_until([=](job& j, int r) { return one->end_receive(j, r); })},
            {wait_until(all_done)}});
}

// The receiver waits; the sender computes until its message has left, and its neighbour waits.
void begin_with_waiting_receiver(job& in, std::size_t bytes) {
  auto one = std::make_shared<message>(bytes, 5);
  in.begin({{call([=](job& j, int r) { one->send(j, r, 2, 5); }), compute_until([=] { return one->has_left(); }),
             wait_until([=](job& j, int r) { return one->end_send(j, r); })},
            {wait_until([=](job&, int) { return one->is_received && one->has_left(); })},
            {call([=](job& j, int r) { one->receive(j, r, 0, 5); }),
             wait_until([=](job& j, int r) { return one->end_receive(j, r); })},
            {}});
}

// The sender waits for something else for some turns, then both sides compute until the message has arrived.
void begin_with_sender_that_leaves(job& in, std::size_t bytes, int turns) {
  auto one = std::make_shared<message>(bytes, 6);
  const auto left = std::make_shared<int>(turns);
  const auto all_done = [=](job&, int) { return one->has_come() && one->has_left(); };
  in.begin(
      {{call([=](job& j, int r) { one->send(j, r, 2, 5); }), wait_until([=](job&, int) { return --*left < 0; }),
        compute_until([=] { return one->has_left(); }), wait_until([=](job& j, int r) { return one->end_send(j, r); })},
       {wait_until(all_done)},
       {call([=](job& j, int r) {
          one->receive(j, r, 0, 5);
          j.ranks_of(r).leave();
        }),
        compute_until([=] { return one->has_come(); }),
        wait_until([=](job& j, int r) { return one->end_receive(j, r); })},
       {wait_until(all_done)}});
}

// A rank whose thread ends its wait after some turns and begins to leave; so many turns later another thread of it
// begins to wait, until all is done.
action wait_with_two_threads(int turns, int turns_of_leaving, std::function<bool(job&, int)> done) {
  const auto turn = std::make_shared<int>(0);
  return [=](job& j, int r) {
    if (*turn < turns && !done(j, r)) {
      j.turn_of_wait(r);
    } else if (*turn == turns) {
      j.messages_of(r).begin_leaving();
    } else if (*turn > turns && *turn < turns + turns_of_leaving) {
      // The other thread may begin between the two.
      if ((*turn - turns) % 2 == 1)
        j.messages_of(r).poll();
      else
        j.leave(r);
    } else {
      if (*turn == turns + turns_of_leaving && j.is_in_wait(r)) j.messages_of(r).stay();
      return j.wait(r, [&] { return done(j, r); });
    }
    ++*turn;
    return false;
  };
}

// Both sides compute. A thread of the sender's neighbour leaves while another one stays; the receiver's leaves for good
// after some turns, and comes back.
void begin_with_threads_that_leave(job& in, std::size_t bytes, int turns, int turns_of_leaving) {
  auto one = std::make_shared<message>(bytes, 7);
  auto two = std::make_shared<message>(bytes, 9);
  const auto all_done = [=](job&, int) {
    return one->has_come() && one->has_left() && two->has_come() && two->has_left();
  };
  const auto left = std::make_shared<int>(turns + turns_of_leaving / 2);
  in.begin({{call([=](job& j, int r) {
               one->send(j, r, 2, 5);
               two->send(j, r, 2, 6);
             }),
             compute_until([=] { return one->has_left() && two->has_left(); }),
             wait_until([=](job& j, int r) { return one->end_send(j, r) && two->end_send(j, r); })},
            {wait_with_two_threads(turns, turns_of_leaving, all_done)},
            {call([=](job& j, int r) {
               one->receive(j, r, 0, 5);
               two->receive(j, r, 0, 6);
               j.ranks_of(r).leave();
             }),
             compute_until([=] { return one->has_come() && two->has_come(); }),
             wait_until([=](job& j, int r) { return one->end_receive(j, r) && two->end_receive(j, r); })},
            {wait_until([=](job&, int) { return --*left < 0; }), wait_until(all_done)}});
}

// The receiver waits for something else for some turns while its message is under way, and looks once more; then both
// sides compute until their neighbours have done what they waited for.
void begin_with_receiver_that_leaves(job& in, std::size_t bytes, int turns) {
  auto one = std::make_shared<message>(bytes, 8);
  const auto left_by = [](int count) {
    const auto left = std::make_shared<int>(count);
    return wait_until([=](job&, int) { return --*left < 0; });
  };
  const auto gone = std::make_shared<int>(0);
  const auto look = call([](job& j, int r) { j.messages_of(r).poll(); });
  const auto has_gone = call([=](job&, int) { ++*gone; });
  const auto both_have_gone = compute_until([=] { return *gone == 2; });
  const auto whole = compute_until([=] { return one->is_sent && one->is_received; });
  in.begin(
      {{call([=](job& j, int r) { one->send(j, r, 2, 5); }), look, both_have_gone,
        wait_until([=](job& j, int r) { return one->end_send(j, r); })},
       {left_by(turns), look, left_by(turns / 2), has_gone, whole},
       {call([=](job& j, int r) {
          one->receive(j, r, 0, 5);
          j.ranks_of(r).leave();
        }),
        look, left_by(turns), look, both_have_gone, wait_until([=](job& j, int r) { return one->end_receive(j, r); })},
       {left_by(turns / 2), look, left_by(turns), has_gone, whole}});
}

// The neighbour of the sender serves the receiver, which waits; then it has to compute.
void begin_with_neighbour_that_leaves(job& in, std::size_t bytes, int turns) {
  auto one = std::make_shared<message>(bytes, 9);
  const auto left = std::make_shared<int>(turns);
  const auto gone = std::make_shared<bool>(false);
  in.begin({{call([=](job& j, int r) { one->send(j, r, 2, 5); }), compute_until([=] { return *gone; }),
             wait_until([=](job& j, int r) { return one->end_send(j, r); })},
            {wait_until([=](job&, int) { return --*left < 0; }), call([=](job&, int) { *gone = true; }),
             compute_until([=] { return one->is_received && one->is_sent; })},
            {call([=](job& j, int r) { one->receive(j, r, 0, 5); }),
             wait_until([=](job& j, int r) { return one->end_receive(j, r); })},
            {}});
}

// More messages than the network has tags, received in the opposite order.
void begin_backwards(job& in, std::size_t bytes) {
  constexpr int count = 40;
  auto all = std::make_shared<std::vector<message>>();
  for (int i = 0; i < count; ++i) all->emplace_back(bytes, static_cast<unsigned>(i));
  std::vector<std::vector<action>> scripts(ranks);
  for (int i = 0; i < count; ++i)
    scripts[0].push_back(call([=](job& j, int r) { (*all)[static_cast<std::size_t>(i)].send(j, r, 2, i); }));
  scripts[0].push_back(wait_until([=](job& j, int r) {
    bool sent = true;
    for (message& each : *all) sent = each.end_send(j, r) && sent;
    return sent;
  }));
  for (int i = count - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    scripts[2].push_back(call([=](job& j, int r) { (*all)[at].receive(j, r, 0, i); }));
    scripts[2].push_back(wait_until([=](job& j, int r) { return (*all)[at].end_receive(j, r); }));
  }
  scripts[2].push_back(wait_until(
      [=](job&, int) { return std::ranges::all_of(*all, [](const message& each) { return each.has_left(); }); }));
  in.begin(std::move(scripts));
}

// The neighbours help for some turns, then they compute to the end; the two others compute first, then they wait.
void begin_with_helpers_that_leave(job& in, std::size_t bytes, int turns) {
  auto one = std::make_shared<message>(bytes, 3);
  auto two = std::make_shared<message>(bytes / 2, 4);
  const auto some_turns = [=] {
    auto left = std::make_shared<int>(turns);
    return wait_until([=](job&, int) { return --*left < 0; });
  };
  const auto some_turns_off = [=](int count) {
    auto left = std::make_shared<int>(count);
    return compute_until([=] { return --*left < 0; });
  };
  in.begin(
      {{call([=](job& j, int r) {
          one->send(j, r, 2, 5);
          two->send(j, r, 2, 6);
        }),
        some_turns_off(turns), wait_until([=](job& j, int r) { return one->end_send(j, r) && two->end_send(j, r); })},
       {some_turns(), some_turns_off(3), some_turns(),
        compute_until([=] { return one->is_received && two->is_received; })},
       {call([=](job& j, int r) {
          one->receive(j, r, 0, 5);
          two->receive(j, r, 0, any_tag);
          j.ranks_of(r).leave();
        }),
        some_turns_off(2 * turns),
        wait_until([=](job& j, int r) { return one->end_receive(j, r) && two->end_receive(j, r); })},
       {some_turns(), some_turns_off(2), some_turns(),
        compute_until([=] { return one->is_received && two->is_received; })}});
}

// Ranks 0 and 1 send more small messages to rank 2 than it may keep, and then one that it waits for first. Each message
// of two rounds is received, from the last to the first.
void begin_flood(job& in, int messages) {
  std::vector<std::vector<action>> scripts(ranks);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::shared_ptr<message>> sent[2];
    for (int from = 0; from < 2; ++from)
      for (int i = 0; i <= messages; ++i)
        sent[from].push_back(std::make_shared<message>(static_cast<std::size_t>(1 + i % 16),
                                                       static_cast<unsigned>(100 * round + 10 * from + i)));
    for (int from = 0; from < 2; ++from) {
      const auto mine = sent[from];
      auto& script = scripts[static_cast<std::size_t>(from)];
      script.push_back(call([=](job& j, int r) {
        for (int i = 0; i <= messages; ++i) mine[static_cast<std::size_t>(i)]->send(j, r, 2, i);
      }));
      script.push_back(wait_until([=](job& j, int r) {
        bool all = true;
        for (const auto& each : mine) all = each->end_send(j, r) && all;
        return all;
      }));
    }
    auto& receiver = scripts[2];
    for (int i = messages; i >= 0; --i)
      for (const auto& from : {0, 1}) {
        const auto one = sent[from][static_cast<std::size_t>(i)];
        receiver.push_back(call([=](job& j, int r) { one->receive(j, r, from, i); }));
        receiver.push_back(wait_until([=](job& j, int r) { return one->end_receive(j, r); }));
      }
  }
  in.begin(std::move(scripts));
}

// Messages of all kinds between all pairs, with pauses; receives with wildcards get those of a sender in its order.
void begin_many(job& in, std::mt19937& chosen) {
  constexpr int each_way = 6;
  std::vector<std::vector<action>> scripts(ranks);
  std::vector<std::shared_ptr<message>> out[ranks];
  for (int i = 0; i < each_way; ++i) {
    for (int rank = 0; rank < ranks; ++rank) {
      const int peer = rank ^ 2;
      const std::size_t bytes = of_each_kind[chosen() % std::size(of_each_kind)];
      const auto mode = static_cast<send_mode>(chosen() % 3);
      const int source = chosen() % 2 == 0 ? any_source : rank;
      const int tag = chosen() % 2 == 0 ? any_tag : i;
      const std::size_t missing = chosen() % 4 == 0 ? chosen() % 100 : 0;
      const auto one =
          out[rank].emplace_back(std::make_shared<message>(bytes, static_cast<unsigned>(rank * 100 + i), missing));
      scripts[static_cast<std::size_t>(rank)].push_back(call([=](job& j, int r) { one->send(j, r, peer, i, mode); }));
      scripts[static_cast<std::size_t>(peer)].push_back(call([=](job& j, int r) {
        one->receive(j, r, source, tag);
        j.ranks_of(r).leave();
      }));
      const auto turns = std::make_shared<int>(static_cast<int>(chosen() % 4));
      scripts[static_cast<std::size_t>(rank)].push_back(compute_until([=] { return --*turns < 0; }));
    }
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const auto mine = out[rank];
    const auto theirs = out[rank ^ 2];
    auto& script = scripts[static_cast<std::size_t>(rank)];
    script.push_back(wait_until([=](job& j, int r) {
      bool all = true;
      for (const auto& each : theirs) all = each->end_receive(j, r) && all;
      for (const auto& each : mine) all = each->end_send(j, r) && all;
      return all;
    }));
  }
  std::vector<std::shared_ptr<message>> all;
  for (const auto& some : out) all.insert(all.end(), some.begin(), some.end());
  for (auto& each : scripts)
    each.push_back(wait_until([=](job&, int) {
      return std::ranges::all_of(all, [](const auto& one) { return one->is_received && one->has_left(); });
    }));
  in.begin(std::move(scripts));
}

TEST(InternodeMessages, MessagesOfAllSizesAndModesArrive) {
  for (const std::size_t bytes : of_each_kind)
    for (const send_mode mode : {send_mode::standard, send_mode::synchronous, send_mode::buffered}) {
      const auto begin = [&](job& in) { begin_plain(in, bytes, mode); };
      EXPECT_EQ(explore(begin, 40), "") << bytes << " bytes";
      EXPECT_EQ(explore_at_random(begin, 200), "") << bytes << " bytes";
    }
}

TEST(InternodeMessages, NeitherSideDependsOnARankThatComputes) {
  for (const std::size_t bytes : {41u, 64u, 65u, 300u, 1000u}) {
    const auto begin = [&](job& in) { begin_between_computing_ranks(in, bytes); };
    EXPECT_EQ(explore(begin, 60), "") << bytes << " bytes";
    EXPECT_EQ(explore_at_random(begin, 500), "") << bytes << " bytes";
  }
}

TEST(InternodeMessages, OthersSendAndReceiveThePieces) {
  job in;
  begin_between_computing_ranks(in, 1000);
  run(in, {});
  EXPECT_EQ(in.counted(&endpoint_counters::pieces_received_for_others), sizes.pieces(1000));
  EXPECT_EQ(in.counted(&endpoint_counters::pieces_sent_for_others), sizes.pieces(1000));
  EXPECT_EQ(in.counted(&endpoint_counters::pieces_received), 0u);
  EXPECT_EQ(in.counted(&endpoint_counters::pieces_sent), 0u);
}

TEST(InternodeMessages, ANeighbourSendsForASenderThatComputes) {
  for (const std::size_t bytes : {41u, 65u, 1000u}) {
    const auto begin = [&](job& in) { begin_with_waiting_receiver(in, bytes); };
    EXPECT_EQ(explore(begin, 40), "") << bytes << " bytes";
    EXPECT_EQ(explore_at_random(begin, 200), "") << bytes << " bytes";
  }
}

TEST(InternodeMessages, ASenderMayLeaveAtAnyTime) {
  for (int turns = 0; turns < 60; turns += 2) {
    const auto begin = [&](job& in) { begin_with_sender_that_leaves(in, 300, turns); };
    EXPECT_EQ(explore(begin, 30), "") << turns << " turns";
    EXPECT_EQ(explore_at_random(begin, 100), "") << turns << " turns";
  }
}

TEST(InternodeMessages, AReceiverMayLeaveAtAnyTime) {
  for (int turns = 0; turns < 60; turns += 2) {
    const auto begin = [&](job& in) { begin_with_receiver_that_leaves(in, 1000, turns); };
    EXPECT_EQ(explore(begin, 30), "") << turns << " turns";
    EXPECT_EQ(explore_at_random(begin, 100), "") << turns << " turns";
  }
}

TEST(InternodeMessages, ANeighbourMayLeaveAtAnyTime) {
  for (int turns = 0; turns < 60; turns += 2) {
    const auto begin = [&](job& in) { begin_with_neighbour_that_leaves(in, 1000, turns); };
    EXPECT_EQ(explore(begin, 30), "") << turns << " turns";
    EXPECT_EQ(explore_at_random(begin, 100), "") << turns << " turns";
  }
}

TEST(InternodeMessages, AThreadMayLeaveWhileAnotherOneStays) {
  for (const int turns : {3, 5, 8, 12, 20})
    for (const int turns_of_leaving : {1, 2, 3, 5}) {
      const auto begin = [&](job& in) { begin_with_threads_that_leave(in, 300, turns, turns_of_leaving); };
      EXPECT_EQ(explore(begin, 40), "") << turns << " turns, " << turns_of_leaving << " of leaving";
      EXPECT_EQ(explore_at_random(begin, 500), "") << turns << " turns, " << turns_of_leaving << " of leaving";
    }
}

TEST(InternodeMessages, MoreMessagesThanTags) {
  for (const std::size_t bytes : {17u, 40u, 41u})
    EXPECT_EQ(explore_at_random([&](job& in) { begin_backwards(in, bytes); }, 20), "") << bytes << " bytes";
}

TEST(InternodeMessages, HelpersMayLeaveAtAnyTime) {
  for (const std::size_t bytes : {100u, 1000u})
    for (int turns = 0; turns < 30; turns += bytes == 100u ? 1 : 3) {
      const auto begin = [&](job& in) { begin_with_helpers_that_leave(in, bytes, turns); };
      EXPECT_EQ(explore(begin, 30), "") << bytes << " bytes, " << turns << " turns";
      EXPECT_EQ(explore_at_random(begin, 100), "") << bytes << " bytes, " << turns << " turns";
    }
}

constexpr std::size_t bytes_kept = sizeof(unexpected_message) + 17;

TEST(InternodeMessages, SmallMessagesThatNobodyReceivesStayWithTheirSenders) {
  const room little{.unconfirmed = 4 * bytes_kept, .unexpected = 3 * bytes_kept};
  const auto begin = [](job& in) { begin_flood(in, 12); };
  EXPECT_EQ(explore(begin, 60, little), "");
  EXPECT_EQ(explore_at_random(begin, 500, little), "");
  job in(sizes, little);
  begin_flood(in, 12);
  run(in, {});
  EXPECT_GT(in.counted(&endpoint_counters::eager), 0u);
  EXPECT_GT(in.counted(&endpoint_counters::rendezvous), 0u);
  // None of them is in the network before it is asked for.
  EXPECT_EQ(in.counted(&endpoint_counters::rendezvous),
            in.counted(&endpoint_counters::pieces_sent) + in.counted(&endpoint_counters::pieces_sent_for_others));
}

// However many come: where they are received, none waits.
TEST(InternodeMessages, ReceivedMessagesMakeRoom) {
  job in(sizes, {.unconfirmed = 8 * bytes_kept, .unexpected = 8 * bytes_kept});
  std::vector<std::vector<action>> scripts(ranks);
  for (int i = 0; i < 100; ++i) {
    const auto one = std::make_shared<message>(8, static_cast<unsigned>(i));
    scripts[0].push_back(call([=](job& j, int r) { one->send(j, r, 2, i); }));
    scripts[0].push_back(wait_until([=](job& j, int r) { return one->end_send(j, r) && one->is_received; }));
    scripts[2].push_back(call([=](job& j, int r) { one->receive(j, r, 0, i); }));
    scripts[2].push_back(wait_until([=](job& j, int r) { return one->end_receive(j, r); }));
  }
  scripts[2].push_back(wait_until([](job& j, int) { return j.has_ended(0); }));
  in.begin(std::move(scripts));
  run(in, {}, 100000);
  EXPECT_EQ(in.counted(&endpoint_counters::eager), 100u);
  EXPECT_EQ(in.counted(&endpoint_counters::rendezvous), 0u);
}

// Ranks as threads, for the thread sanitizer: messages both ways between those that wait, poll or compute.
TEST(InternodeMessages, RanksAsThreads) {
  constexpr int rounds = 60;
  job in;
  in.deliver_at_once();
  std::atomic<int> at_end{0};
  const auto body = [&](int rank) {
    engine& mine = in.ranks_of(rank);
    internode_messages& messages = in.messages_of(rank);
    std::mt19937 chosen(static_cast<unsigned>(rank));
    mine.set_wait_observer(&messages);
    const int peer = rank ^ 2;
    for (int round = 0; round < rounds; ++round) {
      const std::size_t bytes = of_each_kind[static_cast<std::size_t>(round) % std::size(of_each_kind)];
      message out(bytes, static_cast<unsigned>(rank * 1000 + round));
      message back(bytes, static_cast<unsigned>(peer * 1000 + round));
      out.send(in, rank, peer, round);
      back.receive(in, rank, peer, round);
      mine.leave();
      for (auto pause = chosen() % 3 * 20000; pause > 0; --pause) os::cpu_relax();
      const auto is_done = [&] {
        messages.poll();
        return out.end_send(in, rank) && back.end_receive(in, rank);
      };
      if (round % 4 == 0)
        while (!is_done()) mine.progress();
      else
        mine.wait(is_done, true);
    }
    at_end.fetch_add(1);
    mine.wait(
        [&] {
          messages.poll();
          return at_end.load() == ranks;
        },
        true);
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (std::thread& each : threads) each.join();
  in.check_quiet();
}

// Eight bytes of every sixteen, in a layout that all ranks of the host reach.
class data_with_gaps {
 public:
  data_with_gaps(engine& of, std::size_t count) : blocks_(of.blocks()), count_(count), bytes_(count * 16) {
    const owned_layout made = encode(datatype::resized(datatype::basic(element_kind::float64), 0, 16));
    void* const place = blocks_.allocate(made.bytes());
    std::memcpy(place, made.get(), made.bytes());
    type_ = static_cast<const layout*>(place);
  }
  ~data_with_gaps() { blocks_.release(const_cast<layout*>(type_)); }
  data_with_gaps(const data_with_gaps&) = delete;
  data_with_gaps& operator=(const data_with_gaps&) = delete;
  void fill() {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = expected(i);
  }
  bool is_whole() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if (bytes_[i] != (i % 16 < 8 ? expected(i) : std::byte{0})) return false;
    return true;
  }
  user_buffer described() { return {bytes_.data(), count_ * 8, type_, count_}; }

 private:
  static std::byte expected(std::size_t i) { return static_cast<std::byte>(i * 7 + (i >> 9) + 1); }
  arena::block_cache& blocks_;
  std::size_t count_;
  std::vector<std::byte> bytes_;
  const layout* type_ = nullptr;
};

// Ranks 0 and 2 exchange data with gaps; their neighbours wait. Until each of these has packed and unpacked some.
TEST(InternodeMessages, WaitingRanksPackAndUnpack) {
  constexpr int most_rounds = 2000;
  job in(message_sizes{});
  in.deliver_at_once();
  std::atomic<bool> is_over{false};
  std::atomic<int> decided{-1};
  std::atomic<int> at_end{0};
  const auto helped = [&](int rank) { return in.ranks_of(rank).own().counters.chunks_helped.load() > 0; };
  const auto body = [&](int rank) {
    engine& mine = in.ranks_of(rank);
    internode_messages& messages = in.messages_of(rank);
    mine.set_wait_observer(&messages);
    const auto wait = [&](const std::function<bool()>& done) {
      mine.wait(
          [&] {
            messages.poll();
            return done();
          },
          true);
    };
    if (rank % 2 != 0) {
      wait([&] { return is_over.load(); });
    } else {
      for (int round = 0;; ++round) {
        if (rank == 0) {  // decides for both
          is_over = round == most_rounds || (helped(1) && helped(3));
          decided = round;
        }
        wait([&] { return decided.load() >= round; });
        if (is_over) break;
        data_with_gaps data(mine, 1 << 17);
        if ((rank == 0) == (round % 2 == 0)) {
          data.fill();
          send_record* const record =
              messages.send(rank ^ 2, {1, rank, round}, data.described(), send_mode::synchronous);
          wait([&] { return record->is_complete(); });
          mine.release(record);
        } else {
          receive_record* const record = mine.make_receive({1, rank ^ 2, round}, data.described());
          mine.post(*record);
          wait([&] { return mine.is_done(*record); });
          mine.release(record);
          EXPECT_TRUE(data.is_whole()) << round;
        }
      }
    }
    ++at_end;
    wait([&] { return at_end.load() == ranks; });
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (std::thread& each : threads) each.join();
  in.check_quiet();
  EXPECT_TRUE(helped(1));
  EXPECT_TRUE(helped(3));
  EXPECT_EQ(in.counted(&endpoint_counters::chunks_shared),
            in.counted(&endpoint_counters::chunks_copied) + in.counted(&endpoint_counters::chunks_helped));
}

TEST(InternodeMessages, ManyMessagesInAnyOrderOfSteps) {
  std::mt19937 chosen(7);
  EXPECT_EQ(explore_at_random([&](job& in) { begin_many(in, chosen); }, 5000), "");
}

}  // namespace
}  // namespace tri::mpi
