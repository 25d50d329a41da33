// Guarantees that a collection's creation message reaches every PE before any message that causally depends on it.
// Inside a host that holds by itself: the message is put into all inboxes before its creator can send anything else.
// Between hosts a message could be faster than the creation that its arguments speak of, for it may come from another
// process, or through a third host.
//
// The rule: a message that a PE takes was preceded in its inbox by every collection that the sender can know.
//   The creator's process sends the creation to all hosts by a tree (host_tree.hpp). A host acknowledges to its parent
//   that it lies in the inboxes of its whole subtree; when all children of the root have, the creator's process
//   notifies all hosts, by the same tree. So no host has to do with more than its neighbours. From when a PE of a host
//   can know a creation until that host has heard that it is globally visible, it is open there. A message that leaves
//   a host names the open creations that its sender may know: the hosts that made them, and how many of each
//   (known_creations). At the receiver it waits until they lie in the inboxes there (arrival_gate.hpp): so only what is
//   faster than a creation waits. Where too many hosts have open creations to name them, the message waits at its
//   sender until those that had been heard of are globally visible; and so does each creation.
// Creations of one process may follow each other at once, for they arrive everywhere in their order; those of several
// processes of a host wait for each other; those of different hosts do not, once they are sent, and messages about
// them wait nowhere. So no circle of waiting is possible (tests/sched/remote/creation_fence_test.cpp: all
// interleavings).
//
// A creation leaves its host when it lies in the inboxes there, for an answer could come at once.
//
// Needed from below: messages about creations from one process to another arrive in their order. So along the tree of
// one creating process creations, acknowledgements and notifications keep the order of the creations.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "sched/remote/host_creations.hpp"

namespace tri::sched {

/// A creation that was sent down the tree.
struct creation_under_way {
  std::uint64_t name;
  int missing;  // children whose subtrees have not acknowledged it
};

/// Which creations of other hosts are open; of the process that hears of them for its host, by the thread at the wire.
template <template <class> class Word = std::atomic>
class remote_creations {
 public:
  /// Before it is put into an inbox.
  void heard(host_creations<Word>& host, int maker) {
    open_.push_back({maker, false});
    list(host, maker);
    host.heard.fetch_add(1, std::memory_order_seq_cst);  // pairs: creation_fence.held
    host.pending.fetch_add(1, std::memory_order_seq_cst);
  }
  /// All hosts have the oldest open one of `maker`: those of one host are globally visible in their order.
  void globally_visible(host_creations<Word>& host, int maker) {
    for (one& each : open_) {
      if (each.maker != maker || each.is_globally_visible) continue;
      each.is_globally_visible = true;
      unlist(host, maker);
      break;
    }
    for (; !open_.empty() && open_.front().is_globally_visible; open_.pop_front()) {
      host.heard_and_globally_visible.fetch_add(1, std::memory_order_seq_cst);  // pairs: creation_fence.held
      host.pending.fetch_sub(1, std::memory_order_seq_cst);
    }
  }
  /// How many of `maker` were heard of.
  std::uint32_t heard_of(int maker) { return makers_[maker].heard; }

  /// For explorations: what its future depends on.
  template <class Put>
  void encode(Put&& put) const {
    for (const one& each : open_) put(static_cast<std::uint64_t>(each.maker * 2 + (each.is_globally_visible ? 1 : 0)));
    for (const auto& [maker, each] : makers_)
      put(static_cast<std::uint64_t>(maker) << 48U | std::uint64_t{each.heard} << 32U |
          std::uint64_t{each.open} << 16U | static_cast<std::uint64_t>(each.place + 1));
  }

 private:
  static constexpr int nowhere = -1;
  struct one {
    int maker;
    bool is_globally_visible;
  };
  struct maker_of_some {
    std::uint32_t heard = 0;
    std::uint32_t open = 0;
    int place = nowhere;
  };

  // seq_cst, all words: a sender that learned of a creation through an inbox reads them later
  // (creation_fence.name_open); the order among them is that of its comment. pairs: creation_fence.listed
  void list(host_creations<Word>& host, int maker) {
    maker_of_some& mine = makers_[maker];
    ++mine.heard;
    if (mine.open++ == 0 && !take_place(host, maker)) host.unlisted_makers.fetch_add(1, std::memory_order_seq_cst);
    if (mine.place != nowhere) write_place(host, maker);
  }
  void unlist(host_creations<Word>& host, int maker) {
    maker_of_some& mine = makers_[maker];
    if (--mine.open > 0) return;
    if (mine.place == nowhere) {
      host.unlisted_makers.fetch_sub(1, std::memory_order_seq_cst);
      return;
    }
    host.open_makers[mine.place].store(0, std::memory_order_seq_cst);
    mine.place = nowhere;
    for (auto& [other, each] : makers_) {
      if (each.open == 0 || each.place != nowhere) continue;
      static_cast<void>(take_place(host, other));
      write_place(host, other);
      host.unlisted_makers.fetch_sub(1, std::memory_order_seq_cst);
      return;
    }
  }
  bool take_place(const host_creations<Word>& host, int maker) {
    for (std::uint32_t place = 0; place < host.places; ++place) {
      const auto is_in_it = [&](const auto& each) { return each.second.place == static_cast<int>(place); };
      if (std::ranges::any_of(makers_, is_in_it)) continue;
      makers_[maker].place = static_cast<int>(place);
      return true;
    }
    return false;
  }
  void write_place(host_creations<Word>& host, int maker) {
    const maker_of_some& mine = makers_[maker];
    host.open_makers[mine.place].store((static_cast<std::uint64_t>(maker) + 1) << 32U | mine.heard,
                                       std::memory_order_seq_cst);
  }

  std::deque<one> open_;
  std::map<int, maker_of_some> makers_;
};

/// Creations of other hosts that were handed on in the tree: whether the whole subtree has them. Of the process that
/// hands them on for its host, by the thread at the wire.
class relayed_creations {
 public:
  /// It lies in the inboxes of this host and was handed to `children` hosts. True: acknowledge it now.
  bool relayed(std::uint64_t name, int children) {
    if (children == 0) return true;
    under_way_.push_back({name, children});
    return false;
  }
  /// By a child: its subtree has it. True: so have all now; acknowledge it.
  bool acknowledged(std::uint64_t name) {
    const auto found = std::ranges::find(under_way_, name, &creation_under_way::name);
    if (found == under_way_.end() || --found->missing > 0) return false;
    under_way_.erase(found);
    return true;
  }

  /// For explorations: what its future depends on.
  template <class Put>
  void encode(Put&& put) const {
    for (const creation_under_way& each : under_way_) put(each.name), put(static_cast<std::uint64_t>(each.missing));
  }

 private:
  std::deque<creation_under_way> under_way_;  // of each creating process in its order
};

/// What a process holds until it may leave the host, in the order in which it was sent. But for `is_open`, `name_open`
/// and `holds_something` the calls are made under a lock of the caller.
template <class Item, template <class> class Word = std::atomic>
class creation_fence {
 public:
  /// `children`: of this host in the tree of its creations; as many acknowledge each.
  creation_fence(host_creations<Word>& host, int children) : host_(&host), children_(children) {}
  /// For an exploration, which copies its hosts: the same on the copy of the host.
  creation_fence(const creation_fence& other, host_creations<Word>& host) : creation_fence(other) { host_ = &host; }

  /// What is sent now may leave at once, and has nothing to name. Any thread; for messages of one thread in their
  /// order.
  bool is_open() const {
    return host_->pending.load(std::memory_order_acquire) == 0 &&  // pairs: itself
           !holds_messages();
  }
  /// What is sent now may leave at once and names `known`; false: it must be held. Any thread, as above; `own` is this
  /// host. seq_cst: a creation that the caller can know was listed before it came to an inbox. It has a place until it
  /// is globally visible, but for one that waits for a place: then it gets that before it ceases to be counted as
  /// unlisted. Of this host all have begun by now that the caller can know. pairs: creation_fence.listed
  bool name_open(std::uint32_t own, known_creations& known) const {
    known.makers = 0;
    if (holds_messages() || host_->unlisted_makers.load(std::memory_order_seq_cst) != 0) return false;
    for (std::uint32_t place = 0; place < host_->places; ++place)
      if (const std::uint64_t one = host_->open_makers[place].load(std::memory_order_seq_cst); one != 0)
        known.maker[known.makers++] = {static_cast<std::uint32_t>(one >> 32U) - 1, static_cast<std::uint32_t>(one)};
    const std::uint64_t begun = host_->begun.load(std::memory_order_seq_cst);
    if (host_->globally_visible.load(std::memory_order_seq_cst) < begun)
      known.maker[known.makers++] = {own, static_cast<std::uint32_t>(begun)};
    return true;
  }
  /// Any thread. seq_cst: creation_fence.held. A thread that holds something looks at the creations afterwards; one
  /// that makes one globally visible looks here, or wakes a thread that does, afterwards. So one of the two lets it go.
  bool holds_something() const { return held_count_.load(std::memory_order_seq_cst) != 0; }

  /// A creation; before any PE of this host can know of it. It leaves by `flush`, not before `lies_in_inboxes`. `name`
  /// is its own in the job, not 0.
  void begin_creation(Item creation, std::uint64_t name) {
    host_->pending.fetch_add(1, std::memory_order_seq_cst);  // pairs: itself
    const std::uint64_t number = host_->begun.fetch_add(1, std::memory_order_seq_cst);
    push({std::move(creation), number, host_->heard.load(std::memory_order_seq_cst), name, false});
  }
  /// The creation that has begun lies in the inboxes of this host.
  void lies_in_inboxes(std::uint64_t name) {
    for (waiting& each : held_)
      if (each.name == name) each.may_go = true;
  }
  void hold(Item message) {
    const std::uint64_t begun = host_->begun.load(std::memory_order_seq_cst);
    push({std::move(message), begun, host_->heard.load(std::memory_order_seq_cst), 0, true});
  }

  /// Calls `leave(item)`, which must not throw, for each that may leave now. True if there was one.
  template <class Leave>
  bool flush(Leave&& leave) {
    const std::size_t before = held_.size();
    std::uint64_t messages_left = 0;
    while (!held_.empty() && may_leave(held_.front())) {
      if (held_.front().name != 0)
        under_way_.push_back({held_.front().name, children_});
      else
        ++messages_left;
      leave(std::move(held_.front().item));
      held_.pop_front();
    }
    if (held_.size() == before) return false;
    held_messages_.fetch_sub(messages_left, std::memory_order_release);  // pairs: creation_fence.messages
    held_count_.store(held_.size(), std::memory_order_seq_cst);          // pairs: itself
    return true;
  }
  /// By a child: its subtree has our creation. True: all hosts have, and from now on it is globally visible; notify
  /// them. It is the oldest one that is under way, for the children say so in the order of the creations.
  bool acknowledged(std::uint64_t name) {
    const auto found = std::ranges::find(under_way_, name, &creation_under_way::name);
    if (found == under_way_.end() || --found->missing > 0) return false;
    under_way_.pop_front();
    host_->globally_visible.fetch_add(1, std::memory_order_seq_cst);  // pairs: creation_fence.held
    host_->pending.fetch_sub(1, std::memory_order_seq_cst);
    return true;
  }
  /// The job ends: calls `drop(item)` for all.
  template <class Drop>
  void drop_all(Drop&& drop) {
    for (waiting& each : held_) drop(std::move(each.item));
    held_.clear();
    held_messages_.store(0, std::memory_order_relaxed);  // relaxed: nothing is sent any more
    held_count_.store(0, std::memory_order_seq_cst);     // pairs: itself
  }

  /// For explorations: what its future depends on.
  template <class Put>
  void encode(Put&& put) const {
    for (const creation_under_way& each : under_way_) put(each.name), put(static_cast<std::uint64_t>(each.missing));
    put(under_way_.size());
    for (const waiting& each : held_)
      put(each.number), put(each.heard), put(each.name), put(each.may_go ? 1U : 0U), put(each.item);
  }

 private:
  struct waiting {
    Item item;
    // Of a creation: its number. Of anything else: so many creations of this host had begun; its sender may know them.
    std::uint64_t number;
    std::uint64_t heard;  // so many of other hosts had been heard of
    std::uint64_t name;   // of a creation; else 0
    bool may_go;          // false: of a creation, until it lies in the inboxes of this host
  };
  // acquire: messages held before the caller's have left, and its own must not pass them. pairs:
  // creation_fence.messages
  bool holds_messages() const { return held_messages_.load(std::memory_order_acquire) != 0; }
  void push(waiting one) {
    // relaxed: the thread that sent it sees it; the others have no order with it
    if (one.name == 0) held_messages_.fetch_add(1, std::memory_order_relaxed);
    held_.push_back(std::move(one));
    held_count_.store(held_.size(), std::memory_order_seq_cst);  // pairs: creation_fence.held
  }
  // In this queue no message waits for a creation behind it: that one had not begun. Creations that are under way from
  // here do not hold back the next one. pairs, both: creation_fence.held
  bool may_leave(const waiting& one) const {
    const std::uint64_t passed = one.name != 0 ? under_way_.size() : 0;
    return one.may_go && host_->globally_visible.load(std::memory_order_seq_cst) + passed >= one.number &&
           host_->heard_and_globally_visible.load(std::memory_order_seq_cst) >= one.heard;
  }

  host_creations<Word>* host_;
  int children_;
  std::deque<creation_under_way> under_way_;
  std::deque<waiting> held_;
  Word<std::uint64_t> held_count_{0};
  Word<std::uint64_t> held_messages_{0};  // of those; the others are creations, which messages may pass
};

}  // namespace tri::sched
