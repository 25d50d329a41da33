// Keeps the making of collections before everything that is sent because of it, on all hosts. Inside a host that holds
// by itself: the making is put into all inboxes before its maker can send anything else. Between hosts a message could
// be faster than the making that its arguments speak of, for it may come from another process, or through a third host.
//
// The rule: when a message leaves a host, every collection that a PE of that host can know lies in the inboxes of all
// PEs of the job. So a host sends nothing else while a making is under way that began there or has come there:
//   the maker's process sends the making to all hosts, each of which acknowledges that it lies in its inboxes; when
//   all have, the maker's process tells all hosts, and what was kept meanwhile goes.
// Makings of one process may follow each other at once, for they arrive everywhere in their order; those of several
// processes of a host wait for each other; those of different hosts do not, once they are sent, and news about them
// never wait. So no circle of waiting is possible (tests/sched/remote/departures_test.cpp: all interleavings).
//
// Needed from below: makings that one process sends, and what a host says of them, arrive in their order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <utility>

namespace tri::sched {

/// Makings that are not known to be everywhere; shared by the processes of a host. All counts but the first only grow.
/// `Word`: std::atomic, or a stand-in in an exploration.
template <template <class> class Word = std::atomic>
struct makings_of_host {
  /// How many: begun here or heard of, and not settled. Raised before any PE of the host can know the collection, by
  /// whose inbox it then learns of it; so who reads 0 knows of none. pairs: itself
  alignas(64) Word<std::uint64_t> unsettled{0};
  /// Of this host: numbers drawn, and how many of them, in this order, are settled.
  Word<std::uint64_t> begun{0};
  Word<std::uint64_t> settled{0};
  /// Of other hosts, in the order in which they were heard of: how many, and how many from the first on are settled.
  Word<std::uint64_t> heard{0};
  Word<std::uint64_t> heard_and_settled{0};
};

/// Which makings of other hosts are open; of the process that hears of them for its host, by whoever is at the wire.
template <template <class> class Word = std::atomic>
class makings_of_others {
 public:
  /// Before it is put into an inbox.
  void heard(makings_of_host<Word>& host, int maker) {
    open_.push_back({maker, false});
    host.heard.fetch_add(1, std::memory_order_seq_cst);  // pairs: departures.kept
    host.unsettled.fetch_add(1, std::memory_order_seq_cst);
  }
  /// All hosts have the oldest open one of `maker`: those of one host are settled in their order.
  void settled(makings_of_host<Word>& host, int maker) {
    for (one& each : open_) {
      if (each.maker != maker || each.is_settled) continue;
      each.is_settled = true;
      break;
    }
    for (; !open_.empty() && open_.front().is_settled; open_.pop_front()) {
      host.heard_and_settled.fetch_add(1, std::memory_order_seq_cst);  // pairs: departures.kept
      host.unsettled.fetch_sub(1, std::memory_order_seq_cst);
    }
  }

  /// For explorations: what its future depends on.
  template <class Put>
  void encode(Put&& put) const {
    for (const one& each : open_) put(static_cast<std::uint64_t>(each.maker * 2 + (each.is_settled ? 1 : 0)));
  }

 private:
  struct one {
    int maker;
    bool is_settled;
  };
  std::deque<one> open_;
};

/// What a process keeps until it may leave the host, in the order in which it was sent. But for `is_open` and
/// `keeps_something` the calls are made under a lock of the caller.
template <class Item, template <class> class Word = std::atomic>
class departures {
 public:
  /// `other_hosts`: as many acknowledge each making.
  departures(makings_of_host<Word>& host, int other_hosts) : host_(&host), other_hosts_(other_hosts) {}
  /// For an exploration, which copies its hosts: the same on the copy of the host.
  departures(const departures& other, makings_of_host<Word>& host) : departures(other) { host_ = &host; }

  /// What is sent now may leave at once. Any thread; for messages of one thread in their order.
  bool is_open() const {
    return host_->unsettled.load(std::memory_order_acquire) == 0 &&  // pairs: itself
           kept_count_.load(std::memory_order_acquire) == 0;         // pairs: itself; who left before us is out
  }
  /// Any thread. seq_cst: departures.kept. Who keeps something looks at the makings afterwards; who settles one looks
  /// here, or rings somebody who does, afterwards. So one of the two lets it go.
  bool keeps_something() const { return kept_count_.load(std::memory_order_seq_cst) != 0; }

  /// A making; before any PE of this host can know of it. It leaves by `let_go`. `name` is its own in the job, not 0.
  void begin_making(Item making, std::uint64_t name) {
    host_->unsettled.fetch_add(1, std::memory_order_seq_cst);  // pairs: itself
    const std::uint64_t number = host_->begun.fetch_add(1, std::memory_order_seq_cst);
    push({std::move(making), number, host_->heard.load(std::memory_order_seq_cst), name});
  }
  void keep(Item message) {
    const std::uint64_t begun = host_->begun.load(std::memory_order_seq_cst);
    push({std::move(message), begun, host_->heard.load(std::memory_order_seq_cst), 0});
  }

  /// Calls `leave(item)`, which must not throw, for each that may leave now. True if there was one.
  template <class Leave>
  bool let_go(Leave&& leave) {
    const std::size_t before = kept_.size();
    while (!kept_.empty() && may_leave(kept_.front())) {
      if (kept_.front().name != 0) under_way_.push_back({kept_.front().name, other_hosts_});
      leave(std::move(kept_.front().item));
      kept_.pop_front();
    }
    if (kept_.size() == before) return false;
    kept_count_.store(kept_.size(), std::memory_order_seq_cst);  // pairs: itself
    return true;
  }
  /// A host says that it has our making. True: all have, and from now on it is settled; tell them. It is the oldest one
  /// that is under way, for the hosts say so in the order of the makings.
  bool acknowledged(std::uint64_t name) {
    const auto found = std::ranges::find(under_way_, name, &making_under_way::name);
    if (found == under_way_.end() || --found->missing > 0) return false;
    under_way_.pop_front();
    host_->settled.fetch_add(1, std::memory_order_seq_cst);  // pairs: departures.kept
    host_->unsettled.fetch_sub(1, std::memory_order_seq_cst);
    return true;
  }
  /// The job ends: calls `drop(item)` for all.
  template <class Drop>
  void drop_all(Drop&& drop) {
    for (waiting& each : kept_) drop(std::move(each.item));
    kept_.clear();
    kept_count_.store(0, std::memory_order_seq_cst);  // pairs: itself
  }

  /// For explorations: what its future depends on.
  template <class Put>
  void encode(Put&& put) const {
    for (const making_under_way& each : under_way_) put(each.name), put(static_cast<std::uint64_t>(each.missing));
    put(under_way_.size());
    for (const waiting& each : kept_) put(each.number), put(each.heard), put(each.name), put(each.item);
  }

 private:
  struct waiting {
    Item item;
    // Of a making: its number. Of anything else: so many makings of this host had begun; its sender may know them.
    std::uint64_t number;
    std::uint64_t heard;  // so many of other hosts had been heard of
    std::uint64_t name;   // of a making; else 0
  };
  struct making_under_way {
    std::uint64_t name;
    int missing;  // hosts that have not acknowledged it
  };
  void push(waiting one) {
    kept_.push_back(std::move(one));
    kept_count_.store(kept_.size(), std::memory_order_seq_cst);  // pairs: departures.kept
  }
  // In this queue no message waits for a making behind it: that one had not begun. Makings that are under way from here
  // are no hindrance to the next one. pairs, both: departures.kept
  bool may_leave(const waiting& one) const {
    const std::uint64_t passed = one.name != 0 ? under_way_.size() : 0;
    return host_->settled.load(std::memory_order_seq_cst) + passed >= one.number &&
           host_->heard_and_settled.load(std::memory_order_seq_cst) >= one.heard;
  }

  makings_of_host<Word>* host_;
  int other_hosts_;
  std::deque<making_under_way> under_way_;
  std::deque<waiting> kept_;
  Word<std::uint64_t> kept_count_{0};
};

}  // namespace tri::sched
