// A few PEs with their location_protocols, the channels between them, and scripts of what programs do to the elements:
// the world that the location tests explore. It behaves as the object layer has to: it uses the fast route where there
// is one and carries out actions in order. Its ledger is the specification: of the messages from one PE to one element
// each is accounted for (delivered, or reported dead) exactly once, in the order sent, at the place of the element.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "explore/fingerprints.hpp"
#include "objects/location/location_protocol.hpp"

namespace tri::objects {

enum class channel_order { pairwise_fifo, one_inbox, none };

// Faults to prove that the tests can fail.
enum class fault {
  none,
  flush_skipped,        // answered at once, without going anywhere
  flush_by_first_hop,   // answered by the PE it was sent to rather than by the element's place
  backlog_bit_dropped,  // messages that follow a grant look like others
  old_flush_is_answer,  // a flush sent before `prepare` came counts as the answer to it
};

// One thing a program does. send, insert: on PE `pe`. migrate (to `pe`), erase: wherever the element is.
struct script_line {
  enum class type { send, send_overtaking, insert, migrate, erase } what;
  int element;
  pe_number pe;
};
using script = std::vector<script_line>;

struct scenario {
  int pes = 2;
  population initial = population::dense;
  std::vector<pe_number> homes{0};  // one per element
  std::vector<script> scripts;      // the lines of one script happen in order, scripts interleave freely
  channel_order order = channel_order::pairwise_fifo;
  fault broken = fault::none;
  bool buries = false;  // what is deleted is buried, and dead letters come in any order
};

class location_world {
 public:
  explicit location_world(const scenario& what);

  int steps() const { return static_cast<int>(possible().size()); }
  void take(int step);
  void check_end() const;
  void encode(explore::fingerprint& state) const;

  std::size_t sent() const { return sent_total_; }
  std::size_t hops() const { return hops_; }
  std::size_t dead() const { return dead_; }
  std::size_t controls() const { return controls_; }
  std::size_t moves() const { return moves_; }
  std::size_t entries() const;

 private:
  static constexpr int nowhere = -1, in_transit = -2, erased = -3;
  struct home_of {
    const scenario* what;
    pe_number operator()(int element) const { return what->homes[static_cast<std::size_t>(element)]; }
  };
  using protocol = location_protocol<int, home_of>;
  struct packet {
    enum class type : std::uint8_t { message, control, element } kind;
    bool backlog;
    std::int8_t element;
    pe_number from;
    message_ref message;
    location_control control;
  };
  struct choice {
    bool deliver;
    std::size_t index;     // channel or script
    std::size_t position;  // in the channel
  };
  struct account {
    std::uint32_t sent = 0;
    std::uint32_t fated = 0;                   // ordered messages accounted for
    std::uint64_t loose = 0, loose_fated = 0;  // messages that may overtake: bit sets
    bool inserting = false;                    // by the PE, without outcome so far
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  std::size_t channel(pe_number from, pe_number to) const;
  account& ledger(pe_number pe, int element) { return ledger_[at(pe) * what_->homes.size() + at(element)]; }
  const std::vector<choice>& possible() const;
  bool can_run(const script_line& line) const;
  bool may_overtake(const std::vector<packet>& queue, std::size_t position) const;
  void run(const script_line& line);
  void send(pe_number pe, int element, bool overtaking);
  void arrive(pe_number at_pe, const packet& what);
  bool short_circuit(pe_number at_pe, const packet& what);
  void put(pe_number from, pe_number to, packet what);
  void carry_out(pe_number pe, int element);
  void account_for(pe_number pe, int element, message_ref message, bool alive);

  const scenario* what_;
  std::vector<protocol> protocols_;
  std::vector<std::vector<packet>> channels_;
  std::vector<pe_number> channel_to_;
  std::vector<std::size_t> next_line_;
  std::vector<account> ledger_;
  std::vector<int> place_;  // per element
  location_actions actions_;
  mutable std::vector<choice> choices_;
  mutable bool choices_known_ = false;
  std::size_t sent_total_ = 0, hops_ = 0, dead_ = 0, controls_ = 0, moves_ = 0;
};

}  // namespace tri::objects
