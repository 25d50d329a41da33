// An MPI inside one process, for tests of what is above mpi_calls: ranks that are called in turn, matching by the rules
// of the standard (posted receives in order, messages of one sender in order), and everything else from a seed: when a
// message can be matched, when a matched one is complete, which of several senders comes first, and whether a send is
// complete at once, later, or when it is received. Not for several threads.
#pragma once

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "boot/mpi/mpi_calls.hpp"

namespace tri::wire::test {

using boot::mpi_any;
using boot::mpi_channel;
using boot::mpi_completion;
using boot::mpi_request;

struct fake_mpi_options {
  std::uint64_t seed = 1;
  unsigned longest_delay = 20;     // steps
  std::size_t eager_bytes = 4096;  // larger sends end when they are received
};

class fake_mpi;

class fake_network {
 public:
  fake_network(int ranks, const fake_mpi_options& options);
  fake_mpi& rank(int number) { return *ranks_[static_cast<std::size_t>(number)]; }
  /// A message, or what is left of it, in the whole network; and receives that are posted.
  std::size_t messages() const { return messages_.size(); }
  std::size_t posted() const;
  /// While it is set, nothing of this channel completes that is at least so large.
  void hold(mpi_channel channel, std::size_t bytes) { held_channel_ = channel, held_bytes_ = bytes; }
  void let_go() { held_bytes_ = SIZE_MAX; }
  /// Any call that names this rank fails.
  void break_rank(int rank) { broken_ = rank; }

 private:
  friend class fake_mpi;
  struct operation {
    bool is_send = false;
    mpi_channel channel = mpi_channel::small;
    int owner = 0;
    int other = mpi_any;  // destination of a send, source of a receive
    int tag = mpi_any;
    const std::byte* from = nullptr;
    std::byte* place = nullptr;
    std::size_t bytes = 0;
    std::uint64_t ready_at = 0;  // complete from then on, once it is matched or need not be
    bool matched = false;
    bool cancelled = false;
    mpi_completion result = {};
  };
  struct message {
    mpi_channel channel;
    int from, to, tag;
    std::vector<std::byte> bytes;
    std::uint64_t visible_at;
    mpi_request send;  // that ends with it; 0: ended before
  };

  std::uint64_t delay() { return std::uniform_int_distribution<std::uint64_t>(0, options_.longest_delay)(random_); }
  void match(int rank);
  bool is_held(const operation& of) const { return of.channel == held_channel_ && of.bytes >= held_bytes_; }

  const fake_mpi_options options_;
  std::mt19937_64 random_;
  std::uint64_t now_ = 0;
  std::vector<std::unique_ptr<fake_mpi>> ranks_;
  std::list<message> messages_;  // in the order in which they were sent
  mpi_channel held_channel_ = mpi_channel::body;
  std::size_t held_bytes_ = SIZE_MAX;
  int broken_ = -1;
};

class fake_mpi final : public boot::mpi_calls {
 public:
  fake_mpi(fake_network& network, int rank) : network_(network), rank_(rank) {}

  const char* library() const override { return "Fake MPI 1"; }
  boot::mpi_thread_level thread_level() const override { return level; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(network_.ranks_.size()); }

  mpi_request send(mpi_channel channel, int to, int tag, std::span<const std::byte> bytes) override {
    if (to == network_.broken_ || rank_ == network_.broken_) throw std::runtime_error("MPI_Isend: the rank is broken");
    const bool eager = bytes.size() <= network_.options_.eager_bytes;
    operation made{.is_send = true, .channel = channel, .owner = rank_, .other = to, .tag = tag, .from = bytes.data()};
    made.bytes = bytes.size();
    made.matched = eager;
    made.ready_at = network_.now_ + (network_.delay() < network_.options_.longest_delay / 2 ? 0 : network_.delay());
    const mpi_request name = remember(made);
    // A sender's messages of a channel become visible in the order of its sends.
    std::uint64_t visible = network_.now_ + network_.delay();
    std::uint64_t& last = last_visible_[{to, channel}];
    last = visible = std::max(visible, last);
    network_.messages_.push_back({channel, rank_, to, tag, {}, visible, eager ? 0 : name});
    if (eager) network_.messages_.back().bytes.assign(bytes.begin(), bytes.end());
    return name;
  }
  mpi_request receive(mpi_channel channel, int from, int tag, std::span<std::byte> place) override {
    operation made{.channel = channel, .owner = rank_, .other = from, .tag = tag, .place = place.data()};
    made.bytes = place.size();
    std::fill(place.begin(), place.end(), std::byte{0xaa});
    return remember(made);
  }
  bool test(mpi_request& request, mpi_completion& completion) override {
    ++network_.now_;
    network_.match(rank_);
    operation& of = operations_.at(request);
    if (!is_complete(of)) return false;
    completion = of.result;
    operations_.erase(std::exchange(request, 0));
    return true;
  }
  std::size_t test_some(std::span<mpi_request> requests, std::span<mpi_completion> done) override {
    ++network_.now_;
    network_.match(rank_);
    std::size_t found = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      operation& of = operations_.at(requests[i]);
      if (!is_complete(of)) continue;
      done[found] = of.result;
      done[found++].index = static_cast<std::uint32_t>(i);
      operations_.erase(std::exchange(requests[i], 0));
    }
    return found;
  }
  // Too late for one that has been matched.
  void cancel(mpi_request request) override {
    operation& of = operations_.at(request);
    if (of.is_send) throw std::logic_error("a send was cancelled");
    if (of.matched) return;
    of.cancelled = of.matched = of.result.cancelled = true;
    of.ready_at = network_.now_ + network_.delay();
  }
  std::string text_of(int problem) const override { return "fake problem " + std::to_string(problem); }
  std::vector<std::vector<std::byte>> exchange(std::span<const std::byte>) override {
    throw std::logic_error("one thread cannot meet with itself");
  }
  void finalize() override { finalized = true; }
  void abort(int exit_status) override { aborted = exit_status; }

  boot::mpi_thread_level level = boot::mpi_thread_level::serialized;
  bool finalized = false;
  int aborted = 0;

 private:
  friend class fake_network;
  using operation = fake_network::operation;

  mpi_request remember(const operation& made) {
    operations_.emplace(++last_, made);
    if (!made.is_send) posted_.push_back(last_);
    return last_;
  }
  bool is_complete(const operation& of) const {
    return of.matched && of.ready_at <= network_.now_ && (of.cancelled || !network_.is_held(of));
  }

  fake_network& network_;
  const int rank_;
  mpi_request last_ = 0;
  std::map<mpi_request, operation> operations_;
  std::deque<mpi_request> posted_;  // that are not matched, in order
  std::map<std::pair<int, mpi_channel>, std::uint64_t> last_visible_;
};

inline fake_network::fake_network(int ranks, const fake_mpi_options& options)
    : options_(options), random_(options.seed) {
  for (int rank = 0; rank < ranks; ++rank) ranks_.push_back(std::make_unique<fake_mpi>(*this, rank));
}

inline std::size_t fake_network::posted() const {
  std::size_t all = 0;
  for (const auto& rank : ranks_) all += rank->operations_.size();
  return all;
}

// Each message that can be seen, in the order of sending, finds the first receive posted for it.
inline void fake_network::match(int rank) {
  fake_mpi& here = *ranks_[static_cast<std::size_t>(rank)];
  for (auto next = messages_.begin(); next != messages_.end();) {
    const auto found = next->to != rank || next->visible_at > now_
                           ? here.posted_.end()
                           : std::find_if(here.posted_.begin(), here.posted_.end(), [&](mpi_request each) {
                               const auto of = here.operations_.find(each);
                               return of != here.operations_.end() && !of->second.matched &&
                                      of->second.channel == next->channel &&
                                      (of->second.other == mpi_any || of->second.other == next->from) &&
                                      (of->second.tag == mpi_any || of->second.tag == next->tag);
                             });
    if (found == here.posted_.end()) {
      ++next;
      continue;
    }
    operation& receive = here.operations_.at(*found);
    here.posted_.erase(found);
    const std::byte* from = next->bytes.data();
    std::size_t bytes = next->bytes.size();
    receive.ready_at = now_ + delay();
    if (next->send != 0) {
      operation& send = ranks_[static_cast<std::size_t>(next->from)]->operations_.at(next->send);
      from = send.from;
      bytes = send.bytes;
      send.matched = true;
      send.ready_at = now_ + delay();
    }
    receive.matched = true;
    receive.result.source = next->from;
    receive.result.tag = next->tag;
    receive.result.bytes = bytes;
    if (bytes > receive.bytes) {
      receive.result.problem = 15;  // cut off
      receive.result.bytes = receive.bytes;
    }
    std::copy_n(from, receive.result.bytes, receive.place);
    receive.bytes = receive.result.bytes;  // what is held back is judged by its own size
    next = messages_.erase(next);
  }
  std::erase_if(here.posted_, [&](mpi_request each) {
    const auto of = here.operations_.find(each);
    return of == here.operations_.end() || of->second.matched;
  });
}

}  // namespace tri::wire::test
