// The two sides of the credits through all interleavings of a small scope: one receiver, senders with fixed scripts,
// and everything else free - what the receiver expects (any plan of a list, at any time), when notes leave, which
// message of which channel arrives next, in order or not, and when the program receives. After every step the bytes of
// the pool are counted wherever they are, independently of the receiver's own books.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "explore/explorer.hpp"
#include "flow/prediction/credit_granter.hpp"
#include "flow/prediction/credit_sender.hpp"

namespace {

using namespace tri::flow::prediction;

struct scope {
  std::uint64_t limit = 128;
  std::vector<std::vector<std::uint64_t>> scripts;   // sizes that each sender sends, in order
  std::vector<std::vector<expected_message>> plans;  // what the receiver may expect
  int most_plans = 2;
  bool any_order = false;                    // channels deliver any of their messages next
  std::vector<std::uint32_t> receives = {};  // senders in the order of the program's receives; empty: any order
  std::uint32_t dies = no_one;               // this sender may be lost at any time
  static constexpr std::uint32_t no_one = 0xffffffff;
};

enum class kind : std::uint8_t { eager, request, data, give_back, note, clear_to_send };

struct packet {
  kind what;
  std::uint8_t number = 0;  // of the message in its sender's script
  std::uint64_t bytes = 0;  // size, or credit
  credit_control note{};
};

class world {
 public:
  explicit world(const scope& it)
      : scope_(&it),
        granter_(senders(), it.limit),
        sender_(senders(), credit_sender(1, 1000)),
        to_receiver_(senders()),
        to_sender_(senders()),
        sent_(senders()),
        received_(senders()),
        headers_(senders()),
        failed_(senders()) {}

  int steps() const { return static_cast<int>(possible().size()); }

  void take(int step) {
    const action it = possible()[static_cast<std::size_t>(step)];
    switch (it.what) {
      case action::send:
        send(it.peer);
        break;
      case action::deliver_to_receiver:
        deliver_to_receiver(it.peer, it.index);
        break;
      case action::deliver_to_sender:
        deliver_to_sender(it.peer, it.index);
        break;
      case action::receive:
        receive(it.peer);
        break;
      case action::plan:
        ++plans_made_;
        granter_.plan(scope_->plans[it.index]);
        break;
      case action::flush:
        flush();
        break;
      case action::lose:
        fail_peer(it.peer);
        break;
    }
    check();
  }

  void check_end() const {
    for (std::uint32_t s = 0; s < senders(); ++s) {
      if (failed_[s]) continue;
      require(sent_[s] == scope_->scripts[s].size(), "a sender waits for ever");
      require(received_[s] == sent_[s], "a message was never received");
      require(granter_.peer(s).occupied == 0, "a buffer is still occupied");
      require(granter_.peer(s).recalled == 0, "a recall was never answered");
      require(granter_.peer(s).reserved == sender_[s].balance(0), "the sides disagree about a balance");
    }
    // No credit is lost: a plan that is too large recalls all that is left, and then the pool is whole.
    credit_granter granter = granter_;
    for (std::uint32_t s = 0; s < senders(); ++s) {
      if (failed_[s] || granter.peer(s).reserved == 0) continue;
      credit_sender sender = sender_[s];
      granter.plan(std::vector<expected_message>{{.sender = s, .size = scope_->limit + 64}});
      const credit_control note = granter.leaving_to(s);
      require(note.recalled == granter.peer(s).reserved, "unused credit was not recalled though the pool is short");
      granter.given_back(s, sender.on_control(0, note).value());
    }
    require(granter.free() == scope_->limit, "credit was lost");
  }

  void encode(tri::explore::fingerprint& state) const {
    const auto add = [&state](std::uint64_t value) { state.put(value); };
    add(static_cast<std::uint64_t>(plans_made_));
    add(granter_.free());
    add(waiting_for_data_);
    add(total_received_);
    for (std::uint32_t s = 0; s < senders(); ++s) {
      const auto& it = granter_.peer(s);
      for (const std::uint64_t value : {it.reserved, it.unsent, it.occupied, it.to_recall, it.recalled}) add(value);
      add(sender_[s].balance(0));
      add(sent_[s]);
      add(received_[s]);
      add(failed_[s]);
      for (const auto* channel : {&to_receiver_[s], &to_sender_[s], &headers_[s]}) {
        add(channel->size());
        for (const packet& p : *channel) {
          add(static_cast<std::uint64_t>(p.what));
          add(p.number);
          add(p.bytes);
          add(p.note.granted);
          add(p.note.recalled);
        }
      }
    }
  }

 private:
  struct action {
    enum { send, deliver_to_receiver, deliver_to_sender, receive, plan, flush, lose } what;
    std::uint32_t peer = 0;
    std::size_t index = 0;
  };

  std::uint32_t senders() const { return static_cast<std::uint32_t>(scope_->scripts.size()); }

  std::vector<action> possible() const {
    std::vector<action> all;
    for (std::uint32_t s = 0; s < senders(); ++s) {
      if (failed_[s]) continue;
      if (sent_[s] < scope_->scripts[s].size()) all.push_back({action::send, s});
      const auto deliverable = [&](const std::vector<packet>& channel) {
        return scope_->any_order ? channel.size() : std::min<std::size_t>(channel.size(), 1);
      };
      for (std::size_t i = 0; i < deliverable(to_receiver_[s]); ++i) all.push_back({action::deliver_to_receiver, s, i});
      for (std::size_t i = 0; i < deliverable(to_sender_[s]); ++i) all.push_back({action::deliver_to_sender, s, i});
      if (s == scope_->dies) all.push_back({action::lose, s});
    }
    for (std::uint32_t s = 0; s < senders(); ++s) {
      const bool its_turn = scope_->receives.empty() ||
                            (total_received_ < scope_->receives.size() && scope_->receives[total_received_] == s);
      if (waiting_for_data_ == scope::no_one && its_turn && next_header(s) != headers_[s].size()) {
        all.push_back({action::receive, s});
      }
    }
    if (plans_made_ < scope_->most_plans) {
      for (std::size_t i = 0; i < scope_->plans.size(); ++i) all.push_back({action::plan, 0, i});
    }
    bool notes = false;
    for (std::uint32_t s = 0; s < senders(); ++s) notes |= granter_.peer(s).unsent + granter_.peer(s).to_recall > 0;
    if (notes) all.push_back({action::flush});
    return all;
  }

  // Messages are received in the order of their sending, whatever the order of arrival.
  std::size_t next_header(std::uint32_t s) const {
    std::size_t at = 0;
    while (at < headers_[s].size() && headers_[s][at].number != received_[s]) ++at;
    return at;
  }

  void send(std::uint32_t s) {
    const std::uint64_t size = scope_->scripts[s][sent_[s]];
    const auto number = static_cast<std::uint8_t>(sent_[s]++);
    const bool eager = sender_[s].send(0, size) == route::eager;
    to_receiver_[s].push_back({.what = eager ? kind::eager : kind::request, .number = number, .bytes = size});
  }

  static packet taken(std::vector<packet>& channel, std::size_t index) {
    const packet it = channel[index];
    channel.erase(channel.begin() + static_cast<std::ptrdiff_t>(index));
    return it;
  }

  void deliver_to_receiver(std::uint32_t s, std::size_t index) {
    const packet it = taken(to_receiver_[s], index);
    switch (it.what) {
      case kind::eager:
        granter_.arrived(s, it.bytes);
        headers_[s].push_back(it);
        break;
      case kind::request:
        headers_[s].push_back(it);
        break;
      case kind::data:
        require(waiting_for_data_ == s, "data that nobody asked for");
        waiting_for_data_ = scope::no_one;
        ++received_[s];
        ++total_received_;
        break;
      case kind::give_back:
        granter_.given_back(s, it.bytes);
        break;
      default:
        require(false, "a packet that only a sender gets");
    }
  }

  void deliver_to_sender(std::uint32_t s, std::size_t index) {
    const packet it = taken(to_sender_[s], index);
    if (const auto back = sender_[s].on_control(0, it.note)) {
      to_receiver_[s].push_back({.what = kind::give_back, .bytes = *back});
    }
    if (it.what == kind::clear_to_send) to_receiver_[s].push_back({.what = kind::data, .number = it.number});
  }

  void receive(std::uint32_t s) {
    const packet header = taken(headers_[s], next_header(s));
    if (header.what == kind::eager) {
      granter_.released(s, header.bytes);
      ++received_[s];
      ++total_received_;
      return;
    }
    if (failed_[s]) {  // its data will not come; the program is told so
      ++received_[s];
      ++total_received_;
      return;
    }
    waiting_for_data_ = s;
    to_sender_[s].push_back({.what = kind::clear_to_send, .number = header.number, .note = granter_.leaving_to(s)});
  }

  void flush() {
    std::vector<credit_message> messages;
    granter_.flush(messages);
    require(!messages.empty(), "a flush with notes waiting sent nothing");
    for (const credit_message& it : messages) to_sender_[it.peer].push_back({.what = kind::note, .note = it.note});
  }

  void fail_peer(std::uint32_t s) {
    failed_[s] = 1;
    to_receiver_[s].clear();
    to_sender_[s].clear();
    granter_.peer_failed(s);
    sender_[s].peer_failed(0);
    if (waiting_for_data_ == s) {
      waiting_for_data_ = scope::no_one;
      ++received_[s];
      ++total_received_;
    }
    // What arrived before a message that never will is thrown away; the rest can still be received.
    std::vector<packet> kept;
    for (std::size_t number = received_[s];; ++number) {
      const auto it =
          std::find_if(headers_[s].begin(), headers_[s].end(), [&](const packet& p) { return p.number == number; });
      if (it == headers_[s].end()) break;
      kept.push_back(*it);
      headers_[s].erase(it);
    }
    for (const packet& it : headers_[s]) {
      if (it.what == kind::eager) granter_.released(s, it.bytes);
    }
    headers_[s] = kept;
  }

  void check() const {
    std::uint64_t buffers = 0;
    std::uint64_t credit_elsewhere = 0;
    for (std::uint32_t s = 0; s < senders(); ++s) {
      std::uint64_t of_sender = granter_.peer(s).unsent + sender_[s].balance(0);
      for (const packet& it : headers_[s]) buffers += it.what == kind::eager ? buffer_bytes(it.bytes) : 0;
      for (const packet& it : to_sender_[s]) of_sender += it.note.granted;
      for (const packet& it : to_receiver_[s]) {
        of_sender += it.what == kind::eager ? buffer_bytes(it.bytes) : it.what == kind::give_back ? it.bytes : 0;
      }
      require(of_sender == granter_.peer(s).reserved, "the receiver's books are wrong about a sender's credit");
      credit_elsewhere += of_sender;
    }
    require(buffers <= scope_->limit, "more buffers than the pool has");
    require(buffers + credit_elsewhere + granter_.free() == scope_->limit, "bytes of the pool appeared or vanished");
    require(granter_.most_in_use() <= scope_->limit, "the pool grew beyond its limit");
  }

  static void require(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
  }

  const scope* scope_;
  credit_granter granter_;
  std::vector<credit_sender> sender_;  // each knows one destination, the receiver
  std::vector<std::vector<packet>> to_receiver_;
  std::vector<std::vector<packet>> to_sender_;
  std::vector<std::size_t> sent_;
  std::vector<std::size_t> received_;
  std::vector<std::vector<packet>> headers_;  // arrived and not received; eager ones occupy their buffer
  std::vector<std::uint8_t> failed_;
  std::uint32_t waiting_for_data_ = scope::no_one;
  std::uint64_t total_received_ = 0;
  int plans_made_ = 0;
};

void explore(const scope& it, std::size_t fewest_states) {
  const auto result = tri::explore::explore_all(world(it), 6'000'000);
  EXPECT_EQ(result.failure(), "");
  EXPECT_TRUE(result.complete);
  EXPECT_GT(result.ends, 0U);
  EXPECT_GE(result.states, fewest_states) << "the scope is smaller than it was meant to be";
  std::cout << result.states << " states, " << result.ends << " ends\n";
}

// Right plans, wrong ones, ones for the other sender, and larger than the pool.
const std::vector<std::vector<expected_message>> any_plan{{{0, 1}, {1, 1}}, {{0, 100}}, {{1, 1}, {1, 1}, {1, 1}}, {}};

TEST(credit_interleavings, any_plan_one_sender) {
  explore({.limit = 192,
           .scripts = {{1, 100, 0, 64}},
           .plans = {{{0, 1}, {0, 100}}, {{0, 300}, {0, 1}}, {}},
           .most_plans = 3,
           .any_order = true},
          30'000);
}

TEST(credit_interleavings, any_plan_two_senders) {
  explore({.limit = 128, .scripts = {{1, 1}, {1, 1}}, .plans = any_plan, .most_plans = 3}, 100'000);
}

TEST(credit_interleavings, messages_overtake_each_other) {
  explore({.limit = 128, .scripts = {{1, 100}, {1}}, .plans = any_plan, .most_plans = 3, .any_order = true}, 50'000);
}

TEST(credit_interleavings, no_memory_at_all) {
  explore({.limit = 0, .scripts = {{1, 1}, {1, 1}}, .plans = any_plan, .most_plans = 2}, 500);
}

// The program insists on sender 0 first while sender 1 floods: the pool may be full of messages that nobody wants yet.
TEST(credit_interleavings, flood_that_is_received_last) {
  explore({.limit = 128,
           .scripts = {{1, 1}, {1, 1, 1}},
           .plans = {{{1, 1}, {1, 1}, {1, 1}}, {{0, 1}, {0, 1}}},
           .most_plans = 3,
           .receives = {0, 0, 1, 1, 1}},
          30'000);
}

TEST(credit_interleavings, recalls_meet_messages_under_way) {
  explore({.limit = 64, .scripts = {{1, 1}, {1}}, .plans = {{{0, 1}}, {{1, 1}}}, .most_plans = 5, .any_order = true},
          20'000);
}

TEST(credit_interleavings, sender_is_lost) {
  explore({.limit = 128,
           .scripts = {{1, 1}, {1, 1}},
           .plans = {{{0, 1}, {0, 1}}, {{0, 1}, {1, 1}}, {{1, 1}, {1, 1}}},
           .most_plans = 2,
           .dies = 0},
          30'000);
}

// Too large to exhaust: random paths through larger scopes, with every pool size from nothing up.
TEST(credit_interleavings, random_paths_of_larger_scopes) {
  std::mt19937_64 random(17);
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    scope it;
    it.limit = 64 * (seed % 12);
    it.scripts.resize(1 + random() % 4);
    for (auto& script : it.scripts) {
      script.resize(1 + random() % 8);
      for (auto& size : script) size = random() % 300;
    }
    for (int plan = 0; plan < 5; ++plan) {
      auto& expected = it.plans.emplace_back(random() % 8);
      for (auto& one : expected) one = {static_cast<std::uint32_t>(random() % it.scripts.size()), random() % 300};
    }
    it.most_plans = 12;
    it.any_order = random() % 2 == 0;
    if (random() % 4 == 0) it.dies = 0;
    world start(it);
    const auto result = tri::explore::explore_random(start, seed, 5000);
    ASSERT_EQ(result.failure(), "") << "seed " << seed << ", limit " << it.limit;
  }
}

}  // namespace
