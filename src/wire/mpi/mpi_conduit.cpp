#include "wire/mpi/mpi_conduit.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "os/unique_fd.hpp"
#include "wire/mpi/request_table.hpp"
#include "wire/mpi/sized_receives.hpp"
#include "wire/mpi/small_message.hpp"
#include "wire/mpi/small_receives.hpp"

namespace tri::wire {
namespace {

using boot::mpi_channel;
using boot::mpi_completion;

// Identifies compatible programs. Changes with every change of the packet format.
constexpr std::array<char, 4> address_mark = {'T', 'R', 'M', '2'};

// A sleeper is not woken when a message arrives, so it polls: soon at first, then less and less often.
constexpr std::int64_t shortest_nap_ns = 50'000;
constexpr std::int64_t longest_nap_ns = 1'000'000;

constexpr std::size_t most_small_bytes = 1 << 20;

struct own_address {
  std::array<char, 4> mark = address_mark;
  std::int32_t rank = 0;
};

const mpi_options& checked(const mpi_options& options) {
  if (options.small_bytes < 256 || options.small_bytes > most_small_bytes) {
    throw std::invalid_argument(
        fmt::format("wire_mpi_small_bytes is {}; it must be from 256 to {}", options.small_bytes, most_small_bytes));
  }
  if (options.small_receives < 1) throw std::invalid_argument("wire_mpi_small_receives is 0; it must be 1 or more");
  return options;
}

}  // namespace

class mpi_conduit::engine {
 public:
  engine(boot::mpi_calls& mpi, std::size_t peers, const mpi_options& options);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  void connect(peer_number peer, std::span<const std::byte> address);
  send_result send(peer_number to, sending how, std::span<const std::byte> header, std::span<const std::byte> body,
                   packet_token token);
  void accept(announcement body, void* memory, std::size_t bytes, packet_token token);
  void refuse(announcement body);
  bool progress(conduit_events& events);
  bool prepare_sleep();
  bool close(conduit_events& events, bool at_once);
  mpi_conduit_counters counters() const;

  own_address address;
  std::vector<peer_state> states;
  const os::unique_fd descriptor;
  std::atomic<std::int64_t> nap_ns{0};  // the last one, 0 after work; relaxed, all: a hint
  sized_receives bodies;

 private:
  /// Something that was given to MPI to send. Own messages have no token.
  struct outgoing {
    packet_token token = nullptr;
    peer_number peer = 0;
    int rank = 0;
    std::uint64_t name = 0;     // of an offered body, until its end
    std::size_t under_way = 0;  // requests
    bool offered = false;       // waits to be requested
    bool may_fail = false;      // a disconnect: the peer does not wait for it
    std::span<const std::byte> body;
    std::vector<std::byte> copy;  // the bytes that are sent
  };
  /// A body that a peer has offered; then the memory that it is received into.
  struct incoming {
    int rank = 0;
    std::uint64_t name = 0;
    packet_token token = nullptr;
    std::size_t under_way = 0;
    bool whole = true;
  };

  send_result send_small(peer_number to, std::span<const std::byte> header, std::span<const std::byte> body,
                         packet_token token);
  void keep(std::vector<std::byte> copy);
  outgoing& remember(std::unique_ptr<outgoing> made);
  void finish(outgoing& done);
  void post(outgoing& from, mpi_channel channel, int tag, std::span<const std::byte> bytes);
  void say(int rank, small_kind kind, const void* bytes, std::size_t size);
  void send_disconnect(int rank);
  std::vector<std::byte> joined(std::span<const std::byte> header, const void* end, std::size_t end_bytes);
  void take_small(conduit_events& events, int source, int tag, std::span<const std::byte> bytes);
  void hand_over(std::uint64_t name);
  void release(std::uint64_t name);
  void on_disconnect(int rank);
  void fail_peer(peer_number peer, const std::string& why);
  bool finish_sends();
  bool fill_places(conduit_events& events);
  bool report(conduit_events& events);
  bool all_have_disconnected() const;

  template <class Of>
  static Of end_of(std::span<const std::byte>& bytes) {
    Of end;
    if (bytes.size() < sizeof end) throw std::runtime_error("a small message over MPI is too short to be ours");
    std::memcpy(&end, bytes.data() + bytes.size() - sizeof end, sizeof end);
    bytes = bytes.first(bytes.size() - sizeof end);
    return end;
  }

  boot::mpi_calls& mpi_;
  const mpi_options options_;
  small_receives small_;
  std::vector<std::int32_t> ranks_;                    // by peer; -1: not connected
  std::unordered_map<int, peer_number> peer_of_rank_;  // of connected ones
  std::unordered_map<outgoing*, std::unique_ptr<outgoing>> outgoing_;
  std::unordered_map<std::uint64_t, outgoing*> offered_;  // bodies that have not been requested, by name
  std::unordered_map<incoming*, std::unique_ptr<incoming>> incoming_;
  request_table<outgoing> sends_;
  request_table<incoming> places_;
  std::uint64_t names_ = 0;
  std::vector<std::vector<std::byte>> spare_copies_;

  struct peer_failure {
    peer_number peer;
    std::string why;
  };
  std::vector<packet_token> sent_;  // not yet reported
  struct filled_body {
    packet_token token;
    bool whole;
  };
  std::vector<filled_body> filled_;     // not yet reported
  std::vector<peer_failure> failures_;  // not yet reported
  bool drained_ = false;                // the last progress found nothing

  bool closing_ = false;
  bool withdrawing_ = false;
  std::unordered_set<int> disconnect_sent_, disconnect_received_;  // ranks
  mpi_conduit_counters counters_;
};

mpi_conduit::engine::engine(boot::mpi_calls& mpi, std::size_t peers, const mpi_options& options)
    : states(peers, peer_state::unknown),
      descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      bodies(mpi, options.posted),
      mpi_(mpi),
      options_(checked(options)),
      small_(mpi, options_.small_receives, options_.small_bytes + small_message_more),
      ranks_(peers, -1) {
  if (!descriptor) throw std::system_error(errno, std::generic_category(), "an eventfd for the wire over MPI");
  address.rank = mpi.rank();
}

// What MPI may still read stays with it.
mpi_conduit::engine::~engine() {
  for (auto& [made, owner] : outgoing_)
    if (made->under_way != 0) static_cast<void>(owner.release());
}

void mpi_conduit::engine::connect(peer_number peer, std::span<const std::byte> of_peer) {
  if (states[peer] != peer_state::unknown) return;
  own_address theirs;
  if (of_peer.size() == sizeof theirs) std::memcpy(&theirs, of_peer.data(), sizeof theirs);
  if (of_peer.size() != sizeof theirs || theirs.mark != address_mark || theirs.rank < 0 || theirs.rank >= mpi_.size()) {
    throw std::runtime_error(fmt::format(
        "what process {} gives as its address is not a rank of this MPI job: all processes of a job must run "
        "the same build of the program with the same --tri-wire",
        peer));
  }
  ranks_[peer] = theirs.rank;
  peer_of_rank_[theirs.rank] = peer;
  states[peer] = disconnect_received_.contains(theirs.rank) ? peer_state::failed : peer_state::connected;
}

// ---- sending

mpi_conduit::engine::outgoing& mpi_conduit::engine::remember(std::unique_ptr<outgoing> made) {
  outgoing& kept = *made;
  outgoing_.emplace(&kept, std::move(made));
  return kept;
}

void mpi_conduit::engine::finish(outgoing& done) {
  if (done.token != nullptr) sent_.push_back(done.token);
  if (done.copy.capacity() != 0) keep(std::move(done.copy));
  outgoing_.erase(&done);
}

void mpi_conduit::engine::keep(std::vector<std::byte> copy) {
  constexpr std::size_t enough = 64;  // for a burst
  if (spare_copies_.size() < enough) spare_copies_.push_back(std::move(copy));
}

void mpi_conduit::engine::post(outgoing& from, mpi_channel channel, int tag, std::span<const std::byte> bytes) {
  sends_.add(mpi_.send(channel, from.rank, tag, bytes), &from);
  ++from.under_way;
}

std::vector<std::byte> mpi_conduit::engine::joined(std::span<const std::byte> header, const void* end,
                                                   std::size_t end_bytes) {
  std::vector<std::byte> copy;
  if (!spare_copies_.empty()) {
    copy = std::move(spare_copies_.back());
    spare_copies_.pop_back();
  }
  const auto* const first = static_cast<const std::byte*>(end);
  copy.assign(header.begin(), header.end());
  copy.insert(copy.end(), first, first + end_bytes);
  return copy;
}

void mpi_conduit::engine::say(int rank, small_kind kind, const void* bytes, std::size_t size) {
  auto made = std::make_unique<outgoing>();
  made->rank = rank;
  const auto peer = peer_of_rank_.find(rank);
  made->may_fail = kind == small_kind::disconnect || peer == peer_of_rank_.end();
  if (peer != peer_of_rank_.end()) made->peer = peer->second;
  made->copy = joined({}, bytes, size);
  outgoing& message = remember(std::move(made));
  post(message, mpi_channel::small, small_tag(kind, 0), message.copy);
}

send_result mpi_conduit::engine::send(peer_number to, sending how, std::span<const std::byte> header,
                                      std::span<const std::byte> body, packet_token token) {
  if (states[to] != peer_state::connected) return send_result::done;
  if (header.size() > most_header_bytes) {
    throw std::length_error(
        fmt::format("a packet header of {} bytes; over MPI {} are possible", header.size(), most_header_bytes));
  }
  const bool small = how == sending::copied && header.size() + body.size() <= options_.small_bytes;
  if (how == sending::copied && !small && body.size() > most_size_classes * size_class_bytes) {
    throw std::length_error(fmt::format("a body of {} bytes that is not announced; over MPI {} are possible",
                                        body.size(), most_size_classes * size_class_bytes));
  }
  outgoing* message = nullptr;
  try {
    if (small) return send_small(to, header, body, token);
    auto made = std::make_unique<outgoing>();
    made->token = token;
    made->peer = to;
    made->rank = ranks_[to];
    if (how == sending::copied) {
      const eager_end end{body.size()};
      made->copy = joined(header, &end, sizeof end);
      message = &remember(std::move(made));
      post(*message, mpi_channel::small, small_tag(small_kind::eager_header, header.size()), message->copy);
      post(*message, mpi_channel::body, static_cast<int>(size_class_of(body.size())), body);
      return send_result::under_way;
    }
    const rts_end end{body.size(), ++names_};
    made->copy = joined(header, &end, sizeof end);
    made->name = end.name;
    made->offered = true;
    made->body = body;
    message = &remember(std::move(made));
    offered_.emplace(message->name, message);
    post(*message, mpi_channel::small, small_tag(small_kind::rts, header.size()), message->copy);
    return send_result::under_way;
  } catch (const std::runtime_error& failure) {
    fail_peer(to, failure.what());
    // Sends that MPI has continue; fail_peer() has released the offered ones.
    if (message != nullptr && outgoing_.contains(message) && message->under_way == 0) finish(*message);
    return message == nullptr ? send_result::done : send_result::under_way;
  }
}

send_result mpi_conduit::engine::send_small(peer_number to, std::span<const std::byte> header,
                                            std::span<const std::byte> body, packet_token token) {
  const bool apart = !header.empty() && !body.empty();
  std::vector<std::byte> copy;
  if (apart) copy = joined(header, body.data(), body.size());
  const std::span<const std::byte> whole = apart ? std::span<const std::byte>(copy) : header.empty() ? body : header;
  boot::mpi_request request =
      mpi_.send(mpi_channel::small, ranks_[to], small_tag(small_kind::packet, header.size()), whole);
  // Most small messages complete at once.
  mpi_completion done;
  if (mpi_.test(request, done)) {
    if (apart) keep(std::move(copy));
    if (done.problem != 0) fail_peer(to, mpi_.text_of(done.problem));
    return send_result::done;
  }
  auto made = std::make_unique<outgoing>();
  made->peer = to;
  made->rank = ranks_[to];
  made->under_way = 1;
  made->copy = std::move(copy);     // the bytes stay where they are
  if (!apart) made->token = token;  // else MPI reads our copy, and the packet is free
  sends_.add(request, &remember(std::move(made)));
  return apart ? send_result::done : send_result::under_way;
}

// The receives are posted. All bodies that a peer requests have one tag: they are requested in the order in which their
// receives were posted, and sent in the order of the requests, so each matches its own.
void mpi_conduit::engine::hand_over(std::uint64_t name) {
  if (name == 0 || name > names_)
    throw std::runtime_error(fmt::format("a peer asked over MPI for message body {}, which was never offered", name));
  const auto found = offered_.find(name);
  if (found == offered_.end()) return;  // taken back meanwhile, because its peer has failed or we close
  outgoing& message = *found->second;
  offered_.erase(found);
  message.offered = false;
  try {
    for (std::span<const std::byte> rest = message.body; !rest.empty();) {
      const std::size_t piece = std::min(rest.size(), options_.piece_bytes);
      post(message, mpi_channel::body, asked_body_tag, rest.first(piece));
      rest = rest.subspan(piece);
    }
  } catch (const std::runtime_error& failure) {
    fail_peer(message.peer, failure.what());
    if (message.under_way == 0) finish(message);
  }
}

void mpi_conduit::engine::release(std::uint64_t name) {
  const auto found = offered_.find(name);
  if (found == offered_.end()) return;
  outgoing& message = *found->second;
  offered_.erase(found);
  message.offered = false;
  if (message.under_way == 0) finish(message);  // else its announcement is not out yet
}

bool mpi_conduit::engine::finish_sends() {
  return sends_.collect(mpi_, [&](outgoing& message, const mpi_completion& done) {
    --message.under_way;
    const bool breaks_peer = done.problem != 0 && !message.may_fail;
    const peer_number peer = message.peer;
    if (message.under_way == 0 && !message.offered) finish(message);
    if (breaks_peer) fail_peer(peer, mpi_.text_of(done.problem));  // last: it may end the message, if that was offered
  });
}

// ---- arriving

void mpi_conduit::engine::take_small(conduit_events& events, int source, int tag, std::span<const std::byte> bytes) {
  const std::size_t header_bytes = header_bytes_of_tag(tag);
  switch (kind_of_tag(tag)) {
    case small_kind::packet:
      ++counters_.small_arrived;
      events.packet(bytes.first(std::min(header_bytes, bytes.size())),
                    bytes.subspan(std::min(header_bytes, bytes.size())));
      return;
    case small_kind::eager_header: {
      const auto end = end_of<eager_end>(bytes);
      if (end.bytes == 0 || end.bytes > most_size_classes * size_class_bytes)
        throw std::runtime_error(fmt::format("rank {} announced a body of {} bytes over MPI", source, end.bytes));
      bodies.announced(source, bytes, end.bytes);
      return;
    }
    case small_kind::rts: {
      const auto end = end_of<rts_end>(bytes);
      auto made = std::make_unique<incoming>();
      made->rank = source;
      made->name = end.name;
      incoming* const offered = made.get();
      incoming_.emplace(offered, std::move(made));
      events.announced(bytes, end.bytes, offered);
      return;
    }
    case small_kind::cts:
      return hand_over(end_of<body_name>(bytes).name);
    case small_kind::refused:
      return release(end_of<body_name>(bytes).name);
    case small_kind::disconnect:
      return on_disconnect(source);
  }
  throw std::runtime_error(fmt::format("a small message of rank {} over MPI has the unknown tag {}", source, tag));
}

void mpi_conduit::engine::accept(announcement body, void* memory, std::size_t bytes, packet_token token) {
  auto* const offered = static_cast<incoming*>(body);
  offered->token = token;
  try {
    if (disconnect_received_.contains(offered->rank)) throw std::runtime_error("its sender is gone");
    for (std::span<std::byte> rest(static_cast<std::byte*>(memory), bytes); !rest.empty();) {
      const std::size_t piece = std::min(rest.size(), options_.piece_bytes);
      places_.add(mpi_.receive(mpi_channel::body, offered->rank, asked_body_tag, rest.first(piece)), offered);
      ++offered->under_way;
      rest = rest.subspan(piece);
    }
    const body_name name{offered->name};
    say(offered->rank, small_kind::cts, &name, sizeof name);
  } catch (const std::runtime_error&) {
    offered->whole = false;
    places_.cancel(mpi_, [&](const incoming& each) { return &each == offered; });
    if (offered->under_way != 0) return;
    filled_.push_back({token, false});  // maybe inside a callback of ours: reported at the end of progress()
    incoming_.erase(offered);
  }
}

void mpi_conduit::engine::refuse(announcement body) {
  auto* const offered = static_cast<incoming*>(body);
  const body_name name{offered->name};
  try {
    if (!disconnect_sent_.contains(offered->rank) && !disconnect_received_.contains(offered->rank))
      say(offered->rank, small_kind::refused, &name, sizeof name);
  } catch (const std::runtime_error&) {  // then no one is left who needs it
  }
  incoming_.erase(offered);
}

bool mpi_conduit::engine::fill_places(conduit_events& events) {
  return places_.collect(mpi_, [&](incoming& body, const mpi_completion& done) {
    if (done.problem != 0 || done.cancelled) body.whole = false;
    if (--body.under_way != 0) return;
    const packet_token token = body.token;
    const bool whole = body.whole;
    if (whole) ++counters_.offered_arrived;
    incoming_.erase(&body);
    events.filled(token, whole);
  });
}

// ---- ends

void mpi_conduit::engine::fail_peer(peer_number peer, const std::string& why) {
  if (std::exchange(states[peer], peer_state::failed) == peer_state::failed) return;
  const int rank = ranks_[peer];
  std::vector<std::uint64_t> names;
  for (const auto& [name, message] : offered_)
    if (message->rank == rank) names.push_back(name);
  for (const std::uint64_t name : names) release(name);
  if (!disconnect_received_.contains(rank)) {
    bodies.forget(rank);
    places_.cancel(mpi_, [&](const incoming& each) { return each.rank == rank; });
  }
  failures_.push_back({peer, fmt::format("its connection broke ({})", why)});
}

// Afterwards that rank sends only bodies announced before, and receives only bodies requested before.
void mpi_conduit::engine::on_disconnect(int rank) {
  if (!disconnect_received_.insert(rank).second) return;
  send_disconnect(rank);
  if (const auto found = peer_of_rank_.find(rank); found != peer_of_rank_.end())
    fail_peer(found->second, "it has left the wire");
}

void mpi_conduit::engine::send_disconnect(int rank) {
  if (!disconnect_sent_.insert(rank).second) return;
  try {
    say(rank, small_kind::disconnect, nullptr, 0);
  } catch (const std::runtime_error&) {  // it will not miss it
  }
}

bool mpi_conduit::engine::report(conduit_events& events) {
  const bool something = !sent_.empty() || !filled_.empty() || !failures_.empty();
  while (!sent_.empty() || !filled_.empty() || !failures_.empty()) {
    for (const packet_token token : std::exchange(sent_, {})) events.sent(token);
    for (const filled_body& body : std::exchange(filled_, {})) events.filled(body.token, body.whole);
    for (const peer_failure& failed : std::exchange(failures_, {})) events.peer_failed(failed.peer, failed.why);
  }
  return something;
}

bool mpi_conduit::engine::progress(conduit_events& events) {
  bool something = small_.take(
      [&](int source, int tag, std::span<const std::byte> bytes) { take_small(events, source, tag, bytes); });
  something |= bodies.take(
      [&](std::span<const std::byte> header, std::span<const std::byte> body) { events.packet(header, body); });
  something |= fill_places(events);
  something |= finish_sends();
  something |= report(events);
  drained_ = !something;
  if (something) nap_ns.store(0, std::memory_order_relaxed);
  return something;
}

// MPI cannot wake a sleeper. It polls after a nap, which grows while nothing arrives.
bool mpi_conduit::engine::prepare_sleep() {
  if (!drained_ || !sent_.empty() || !filled_.empty() || !failures_.empty()) return false;
  eventfd_t woken = 0;
  eventfd_read(descriptor.get(), &woken);
  const std::int64_t before = nap_ns.load(std::memory_order_relaxed);
  // Operations in flight may need this process's progress.
  const bool waits = sends_.empty() && places_.empty() && bodies.is_settled();
  nap_ns.store(waits && before != 0 ? std::min(before * 2, longest_nap_ns) : shortest_nap_ns,
               std::memory_order_relaxed);
  return true;
}

bool mpi_conduit::engine::all_have_disconnected() const {
  return std::all_of(disconnect_sent_.begin(), disconnect_sent_.end(),
                     [&](int rank) { return disconnect_received_.contains(rank); });
}

// Both sides send a disconnect as their last message, and receive until the other's has arrived: then nothing between
// the two is in flight, and the receives can be cancelled.
bool mpi_conduit::engine::close(conduit_events& events, bool at_once) {
  if (!std::exchange(closing_, true)) {
    for (peer_number peer = 0; peer < states.size(); ++peer) {
      if (states[peer] != peer_state::connected) continue;
      send_disconnect(ranks_[peer]);
      states[peer] = peer_state::failed;  // nothing more is sent there
    }
  }
  if (!withdrawing_) progress(events);
  std::vector<std::uint64_t> names;
  for (const auto& [name, message] : offered_)
    if (at_once || disconnect_received_.contains(message->rank)) names.push_back(name);
  for (const std::uint64_t name : names) release(name);
  if (at_once) {
    places_.cancel(mpi_, [](const incoming&) { return true; });
    for (int tries = 0; tries < 1000 && !(places_.empty() && sends_.empty()); ++tries) progress(events);
  }
  const bool quiet =
      all_have_disconnected() && offered_.empty() && sends_.empty() && places_.empty() && bodies.is_settled();
  withdrawing_ = withdrawing_ || quiet || at_once;
  if (!withdrawing_) return false;
  finish_sends();  // the last sends, when not waiting for the other side
  report(events);
  const bool small_gone = small_.withdraw();
  const bool bodies_gone = bodies.withdraw();
  return small_gone && bodies_gone && sends_.empty();
}

mpi_conduit_counters mpi_conduit::engine::counters() const {
  const sized_receive_counters& sized = bodies.counters();
  mpi_conduit_counters all = counters_;
  all.bodies_arrived = sized.arrived;
  all.bodies_posted_ahead = sized.posted_ahead;
  all.receives_withdrawn = sized.withdrawn;
  return all;
}

mpi_conduit::mpi_conduit(boot::mpi_calls& mpi, std::size_t peers, const mpi_options& options)
    : engine_(std::make_unique<engine>(mpi, peers, options)) {}
mpi_conduit::~mpi_conduit() = default;

std::span<const std::byte> mpi_conduit::address() const { return std::as_bytes(std::span(&engine_->address, 1)); }
void mpi_conduit::connect(peer_number peer, std::span<const std::byte> address) { engine_->connect(peer, address); }
peer_state mpi_conduit::state(peer_number peer) const { return engine_->states[peer]; }

send_result mpi_conduit::send(peer_number to, sending how, std::span<const std::byte> header,
                              std::span<const std::byte> body, packet_token token) {
  return engine_->send(to, how, header, body, token);
}

void mpi_conduit::accept(announcement body, void* memory, std::size_t bytes, packet_token token) {
  engine_->accept(body, memory, bytes, token);
}

void mpi_conduit::refuse(announcement body) { engine_->refuse(body); }
bool mpi_conduit::progress(conduit_events& events) { return engine_->progress(events); }
int mpi_conduit::wake_descriptor() const { return engine_->descriptor.get(); }
std::int64_t mpi_conduit::longest_sleep_ns() const { return engine_->nap_ns.load(std::memory_order_relaxed); }
bool mpi_conduit::prepare_sleep() { return engine_->prepare_sleep(); }
void mpi_conduit::wake() { eventfd_write(engine_->descriptor.get(), 1); }
bool mpi_conduit::close(conduit_events& events, bool at_once) { return engine_->close(events, at_once); }
mpi_conduit_counters mpi_conduit::counters() const { return engine_->counters(); }
std::size_t mpi_conduit::posted_ahead_for(std::size_t bytes) const {
  return engine_->bodies.posted(size_class_of(bytes));
}

}  // namespace tri::wire
