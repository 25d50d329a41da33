// Balancing by gossip, one host of it (Menon and Kale, "A distributed dynamic load balancer for iterative
// applications", 2013). A state machine: messages in, messages out.
//
//   1. sums of work and speed go up a tree, the level comes down: 2 messages for each host
//   2. rumours of hosts with room: in each of a few rounds every host sends what it knows to one other, and hears from
//      one; the distance of a round is drawn from the seed and the same for all, so each host knows whom it hears from
//   3. a host above the level offers objects to hosts with room, drawn by their room, in up to three turns; each offer
//   is
//      answered with what was accepted
//
// Messages may arrive in any order. A host only accepts what does not make its PE longer than the limit of the turn, or
// in the last one than the PE that the object leaves: as some PE was above the limit, the makespan never grows. Who
// runs the machines finds their end as that of all messages.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "balance/distributed/host_part.hpp"
#include "balance/distributed/host_tree.hpp"

namespace tri::balancing {

struct gossip_message {
  enum class kind : std::uint8_t { sum, level, rumour, offer, answer };
  struct room_of_host {
    std::int32_t host = 0;
    double work = 0.0;  ///< that there is room for
    template <class Archive>
    void serialize(Archive& archive) {
      archive(host, work);
    }
  };
  kind what = kind::sum;
  double work = 0.0;       ///< sum; level: the level itself
  double speed = 0.0;      ///< sum
  std::int32_t round = 0;  ///< rumour; offer: its turn
  std::vector<room_of_host> known = {};
  std::vector<offered_object> offered = {};
  std::vector<accepted_object> accepted = {};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(what, work, speed, round, known, offered, accepted);
  }
};

struct gossip_options {
  double tolerance = 0.02;
  std::int32_t rounds = 3;  ///< of rumours before each turn of offers
  std::uint64_t seed = 1;
  std::int32_t turns = 5;
  std::size_t most_known = 64;    ///< hosts in a rumour
  std::size_t few_targets = 4;    ///< hosts that get offers in one turn, where they have room
  std::size_t most_targets = 16;  ///< where they have not
};

class gossip_host {
 public:
  using message = gossip_message;
  using outbox = std::vector<std::pair<std::int32_t, message>>;

  gossip_host(host_part part, std::int32_t number, std::int32_t hosts, const gossip_options& options);

  void begin(outbox& out);
  void receive(std::int32_t from, const message& what, outbox& out);
  /// It offers nothing any more. It may still have to answer.
  bool is_done() const { return done_; }
  const host_part& part() const { return part_; }

  /// All that decides its future, for explorers: calls `put` with numbers.
  template <class Put>
  void encode(const Put& put) const;

 private:
  void send_sum(outbox& out);
  void take_level(double level, outbox& out);
  void begin_rumours(outbox& out);
  void send_rumour(outbox& out);
  void hear_rumours(outbox& out);
  void merge(const std::vector<message::room_of_host>& heard);
  void begin_turn(outbox& out);
  void end_turn(outbox& out);
  /// The host for an object, or no_host.
  std::int32_t draw_target(double work);
  std::int32_t draw_among(double work, bool only_asked);
  double limit_of(std::int32_t turn) const;
  bool is_last(std::int32_t turn) const { return turn + 1 == options_.turns; }
  void answer_offer(std::int32_t from, const message& offer, outbox& out);
  void take_answer(std::int32_t from, const message& answer, outbox& out);

  static constexpr std::int32_t no_host = -1;

  host_part part_;
  std::int32_t number_;
  host_tree tree_;
  gossip_options options_;
  std::mt19937_64 random_;
  load_sum sum_;
  double level_ = -1.0;     // below 0: not known
  std::int32_t round_ = 0;  // of all turns together
  bool is_listening_ = false;
  std::map<std::int32_t, std::vector<message::room_of_host>> early_;  // rumours by round
  std::map<std::int32_t, double> known_;                              // room of hosts
  std::map<std::int32_t, std::vector<offered_object>> asked_;         // hosts that have not answered
  std::int32_t turn_ = 0;
  bool done_ = false;
};

template <class Put>
void gossip_host::encode(const Put& put) const {
  const auto put_time = [&](double value) { put(static_cast<std::uint64_t>(static_cast<std::int64_t>(value * 1024))); };
  put(static_cast<std::uint64_t>(sum_.missing));
  put_time(sum_.work);
  put_time(level_);
  put(static_cast<std::uint64_t>(round_) * 64 + static_cast<std::uint64_t>(turn_) * 4 + (is_listening_ ? 2U : 0U) +
      (done_ ? 1U : 0U));
  put(early_.size());
  for (const auto& [round, heard] : early_) put(static_cast<std::uint64_t>(round));
  put(known_.size());
  for (const auto& [host, room] : known_) {
    put(static_cast<std::uint64_t>(host));
    put_time(room);
  }
  put(asked_.size());
  for (const auto& [host, objects] : asked_) put(static_cast<std::uint64_t>(host) << 32U | objects.size());
  for (const host_part::room& each : part_.rooms(1e300)) put_time(each.load);
  for (const accepted_object& each : part_.placed())
    put(std::uint64_t{each.object} << 32U | static_cast<std::uint32_t>(each.pe));
  auto next = random_;
  put(next());
}

}  // namespace tri::balancing
