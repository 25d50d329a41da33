// Processes that run programs of sends and receives over channels with random delays, in virtual time, with the credits
// of src/flow/prediction between them: what a runtime would do, without any I/O. Channels keep the order of one
// sender's messages, as the wire does; messages of different senders overtake each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "flow/prediction/credit_sender.hpp"
#include "flow/prediction/predicting_receiver.hpp"

namespace tri::flow::prediction {

struct operation {
  enum kind { send, begin_send, receive, receive_any } what = send;  // send waits until the receiver has let it go
  std::uint32_t peer = 0;
  std::uint64_t size = 0;  // of a send
};

struct traffic_counts {
  std::uint64_t eager = 0;
  std::uint64_t asked = 0;  // handshakes
  std::uint64_t received = 0;
  std::uint64_t notes_alone = 0;     // messages that carry nothing but a note
  std::uint64_t control_rounds = 0;  // receives after which at least one of those left
  std::uint64_t notes_on_messages = 0;
  std::uint64_t answers = 0;        // to recalls
  std::uint64_t most_buffered = 0;  // bytes at one receiver, counted here
};

class credit_traffic {
 public:
  credit_traffic(std::uint32_t processes, const credit_options& options, std::uint64_t seed) : random_(seed) {
    for (std::uint32_t p = 0; p < processes; ++p) processes_.emplace_back(processes, options);
  }

  std::vector<operation>& program(std::uint32_t of) { return processes_.at(of).program; }
  const predicting_receiver& receiver(std::uint32_t of) const { return processes_.at(of).receiver; }
  const credit_sender& sender(std::uint32_t of) const { return processes_.at(of).sender; }
  const traffic_counts& counts() const { return counts_; }
  // From here on only what happens next is counted.
  void forget_counts() { counts_ = {}; }

  // Runs until nothing happens any more. Throws when a program has not come to its end: a deadlock.
  void run() {
    for (std::uint32_t p = 0; p < size(); ++p) advance(p);
    while (!events_.empty()) {
      const event it = events_.top();
      events_.pop();
      now_ = it.time;
      channel& from = channel_between(it.from, it.to);
      const packet arrived = from.packets.front();
      from.packets.pop_front();
      deliver(it.from, it.to, arrived);
      advance(it.to);
    }
    for (std::uint32_t p = 0; p < size(); ++p) {
      if (processes_[p].next != processes_[p].program.size()) {
        throw std::runtime_error("process " + std::to_string(p) + " waits for ever in operation " +
                                 std::to_string(processes_[p].next));
      }
      processes_[p].program.clear();
      processes_[p].next = 0;
    }
  }

 private:
  enum class kind : std::uint8_t { eager, request, clear_to_send, data, note, answer };
  struct packet {
    kind what;
    std::uint64_t number = 0;  // of the message, counted per pair
    std::uint64_t size = 0;
    credit_control note = {};
  };
  struct event {
    std::uint64_t time;
    std::uint64_t order;
    std::uint32_t from, to;
    bool operator<(const event& other) const { return std::pair(time, order) > std::pair(other.time, other.order); }
  };
  struct channel {
    std::deque<packet> packets;
    std::uint64_t last_arrival = 0;
    std::uint64_t messages = 0;
  };
  struct header {
    std::uint32_t from;
    packet what;
  };
  struct process {
    process(std::uint32_t processes, const credit_options& options)
        : sender(processes, options.largest_eager),
          receiver(processes, options),
          channels(processes),
          received_from(processes) {}
    credit_sender sender;
    predicting_receiver receiver;
    std::vector<channel> channels;  // to each process
    std::vector<std::uint64_t> received_from;
    std::deque<header> headers;  // arrived, not received, in order of arrival
    std::vector<operation> program;
    std::size_t next = 0;
    std::uint64_t buffered = 0;
    std::optional<std::uint64_t> send_waits;  // for the clear_to_send of this message
    bool receive_waits = false;               // for data
  };

  std::uint32_t size() const { return static_cast<std::uint32_t>(processes_.size()); }
  channel& channel_between(std::uint32_t from, std::uint32_t to) { return processes_[from].channels[to]; }

  void leave(std::uint32_t from, std::uint32_t to, packet it) {
    if (it.what != kind::note) {
      it.note = processes_[from].receiver.credits().leaving_to(to);
      if (it.note) ++counts_.notes_on_messages;
    }
    channel& path = channel_between(from, to);
    path.last_arrival = std::max(path.last_arrival, now_ + 10 + random_() % 30);
    path.packets.push_back(it);
    events_.push({path.last_arrival, ++events_so_far_, from, to});
  }

  void deliver(std::uint32_t from, std::uint32_t to, const packet& it) {
    process& me = processes_[to];
    if (const auto back = me.sender.on_control(from, it.note)) {
      ++counts_.answers;
      leave(to, from, {.what = kind::answer, .size = *back});
    }
    switch (it.what) {
      case kind::eager:
        me.receiver.credits().arrived(from, it.size);
        me.buffered += buffer_bytes(it.size);
        counts_.most_buffered = std::max(counts_.most_buffered, me.buffered);
        me.headers.push_back({from, it});
        break;
      case kind::request:
        me.headers.push_back({from, it});
        break;
      case kind::clear_to_send:
        leave(to, from, {.what = kind::data, .number = it.number, .size = it.size});
        if (me.send_waits == it.number) {
          me.send_waits.reset();
          ++me.next;
        }
        break;
      case kind::data:
        me.receive_waits = false;
        received(to, from, it);
        break;
      case kind::note:
        break;
      case kind::answer:
        me.receiver.credits().given_back(from, it.size);
        break;
    }
  }

  void received(std::uint32_t process_number, std::uint32_t from, const packet& it) {
    process& me = processes_[process_number];
    if (it.number != me.received_from[from]++)
      throw std::runtime_error("messages of one sender were received out of order");
    ++counts_.received;
    const auto notes = me.receiver.received(from, it.size);
    if (!notes.empty()) ++counts_.control_rounds;
    counts_.notes_alone += notes.size();
    for (const credit_message& note : notes) {
      leave(process_number, note.peer, {.what = kind::note, .note = note.note});
    }
    ++me.next;
  }

  // Performs operations until one has to wait.
  void advance(std::uint32_t process_number) {
    process& me = processes_[process_number];
    while (me.next < me.program.size() && !me.send_waits && !me.receive_waits) {
      const operation it = me.program[me.next];
      if (it.what == operation::send || it.what == operation::begin_send) {
        const std::uint64_t number = channel_between(process_number, it.peer).messages++;
        const bool eager = me.sender.send(it.peer, it.size) == route::eager;
        ++(eager ? counts_.eager : counts_.asked);
        leave(process_number, it.peer,
              {.what = eager ? kind::eager : kind::request, .number = number, .size = it.size});
        if (!eager && it.what == operation::send) {
          me.send_waits = number;
          return;
        }
        ++me.next;
        continue;
      }
      const auto found = std::find_if(me.headers.begin(), me.headers.end(), [&](const header& h) {
        return it.what == operation::receive_any || h.from == it.peer;
      });
      if (found == me.headers.end()) return;
      const header h = *found;
      me.headers.erase(found);
      if (h.what.what == kind::eager) {
        me.receiver.credits().released(h.from, h.what.size);
        me.buffered -= buffer_bytes(h.what.size);
        received(process_number, h.from, h.what);
      } else {
        me.receive_waits = true;
        leave(process_number, h.from, {.what = kind::clear_to_send, .number = h.what.number, .size = h.what.size});
      }
    }
  }

  std::vector<process> processes_;
  std::priority_queue<event> events_;
  std::mt19937_64 random_;
  std::uint64_t now_ = 0;
  std::uint64_t events_so_far_ = 0;
  traffic_counts counts_;
};

}  // namespace tri::flow::prediction
