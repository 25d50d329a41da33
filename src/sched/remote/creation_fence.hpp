// Guarantees that a collection's creation message reaches every PE before any message that causally depends on it.
// Inside a host that holds by itself: the message is put into all inboxes before its creator can send anything else.
// Between hosts a message could be faster than the creation that its arguments speak of, for it may come from another
// process, or through a third host.
//
// The rule: when a message leaves a host, every collection that a PE of that host can know lies in the inboxes of all
// PEs of the job. So a host sends nothing else while a creation is under way that began there or has come there:
//   the creator's process sends the creation to all hosts by a tree (host_tree.hpp). A host acknowledges to its parent
//   that it lies in the inboxes of its whole subtree; when all children of the root have, the creator's process
//   notifies all hosts, by the same tree, and what was held meanwhile goes. So no host has to do with more than its
//   neighbours.
// Creations of one process may follow each other at once, for they arrive everywhere in their order; those of several
// processes of a host wait for each other; those of different hosts do not, once they are sent, and news about them
// never wait. So no circle of waiting is possible (tests/sched/remote/creation_fence_test.cpp: all interleavings).
//
// Needed from below: messages about creations from one process to another arrive in their order. So along the tree of
// one creating process creations, acknowledgements and news keep the order of the creations.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
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
    host.heard.fetch_add(1, std::memory_order_seq_cst);  // pairs: creation_fence.held
    host.pending.fetch_add(1, std::memory_order_seq_cst);
  }
  /// All hosts have the oldest open one of `maker`: those of one host are globally visible in their order.
  void globally_visible(host_creations<Word>& host, int maker) {
    for (one& each : open_) {
      if (each.maker != maker || each.is_globally_visible) continue;
      each.is_globally_visible = true;
      break;
    }
    for (; !open_.empty() && open_.front().is_globally_visible; open_.pop_front()) {
      host.heard_and_globally_visible.fetch_add(1, std::memory_order_seq_cst);  // pairs: creation_fence.held
      host.pending.fetch_sub(1, std::memory_order_seq_cst);
    }
  }

  /// For explorations: what its future depends on.
  template <class Put>
  void encode(Put&& put) const {
    for (const one& each : open_) put(static_cast<std::uint64_t>(each.maker * 2 + (each.is_globally_visible ? 1 : 0)));
  }

 private:
  struct one {
    int maker;
    bool is_globally_visible;
  };
  std::deque<one> open_;
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

/// What a process holds until it may leave the host, in the order in which it was sent. But for `is_open` and
/// `holds_something` the calls are made under a lock of the caller.
template <class Item, template <class> class Word = std::atomic>
class creation_fence {
 public:
  /// `children`: of this host in the tree of its creations; as many acknowledge each.
  creation_fence(host_creations<Word>& host, int children) : host_(&host), children_(children) {}
  /// For an exploration, which copies its hosts: the same on the copy of the host.
  creation_fence(const creation_fence& other, host_creations<Word>& host) : creation_fence(other) { host_ = &host; }

  /// What is sent now may leave at once. Any thread; for messages of one thread in their order.
  bool is_open() const {
    return host_->pending.load(std::memory_order_acquire) == 0 &&  // pairs: itself
           held_count_.load(std::memory_order_acquire) == 0;       // pairs: itself; messages held before ours have left
  }
  /// Any thread. seq_cst: creation_fence.held. A thread that holds something looks at the creations afterwards; one
  /// that makes one globally visible looks here, or wakes a thread that does, afterwards. So one of the two lets it go.
  bool holds_something() const { return held_count_.load(std::memory_order_seq_cst) != 0; }

  /// A creation; before any PE of this host can know of it. It leaves by `flush`. `name` is its own in the job, not 0.
  void begin_creation(Item creation, std::uint64_t name) {
    host_->pending.fetch_add(1, std::memory_order_seq_cst);  // pairs: itself
    const std::uint64_t number = host_->begun.fetch_add(1, std::memory_order_seq_cst);
    push({std::move(creation), number, host_->heard.load(std::memory_order_seq_cst), name});
  }
  void hold(Item message) {
    const std::uint64_t begun = host_->begun.load(std::memory_order_seq_cst);
    push({std::move(message), begun, host_->heard.load(std::memory_order_seq_cst), 0});
  }

  /// Calls `leave(item)`, which must not throw, for each that may leave now. True if there was one.
  template <class Leave>
  bool flush(Leave&& leave) {
    const std::size_t before = held_.size();
    while (!held_.empty() && may_leave(held_.front())) {
      if (held_.front().name != 0) under_way_.push_back({held_.front().name, children_});
      leave(std::move(held_.front().item));
      held_.pop_front();
    }
    if (held_.size() == before) return false;
    held_count_.store(held_.size(), std::memory_order_seq_cst);  // pairs: itself
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
    held_count_.store(0, std::memory_order_seq_cst);  // pairs: itself
  }

  /// For explorations: what its future depends on.
  template <class Put>
  void encode(Put&& put) const {
    for (const creation_under_way& each : under_way_) put(each.name), put(static_cast<std::uint64_t>(each.missing));
    put(under_way_.size());
    for (const waiting& each : held_) put(each.number), put(each.heard), put(each.name), put(each.item);
  }

 private:
  struct waiting {
    Item item;
    // Of a creation: its number. Of anything else: so many creations of this host had begun; its sender may know them.
    std::uint64_t number;
    std::uint64_t heard;  // so many of other hosts had been heard of
    std::uint64_t name;   // of a creation; else 0
  };
  void push(waiting one) {
    held_.push_back(std::move(one));
    held_count_.store(held_.size(), std::memory_order_seq_cst);  // pairs: creation_fence.held
  }
  // In this queue no message waits for a creation behind it: that one had not begun. Creations that are under way from
  // here do not hold back the next one. pairs, both: creation_fence.held
  bool may_leave(const waiting& one) const {
    const std::uint64_t passed = one.name != 0 ? under_way_.size() : 0;
    return host_->globally_visible.load(std::memory_order_seq_cst) + passed >= one.number &&
           host_->heard_and_globally_visible.load(std::memory_order_seq_cst) >= one.heard;
  }

  host_creations<Word>* host_;
  int children_;
  std::deque<creation_under_way> under_way_;
  std::deque<waiting> held_;
  Word<std::uint64_t> held_count_{0};
};

}  // namespace tri::sched
