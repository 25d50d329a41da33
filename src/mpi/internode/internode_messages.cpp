#include "mpi/internode/internode_messages.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "os/clock.hpp"

namespace tri::mpi {
namespace {

// A message of which no piece moves for so long may be one between ranks that compute.
constexpr double timeout_ns = 100'000;

}  // namespace

internode_messages::internode_messages(engine& ranks, carrier& network, job_places places,
                                       std::span<host_messages* const> of_host, const internode_options& options)
    : ranks_(ranks),
      network_(network),
      places_(std::move(places)),
      of_host_(of_host),
      own_(*of_host[ranks.number()]),
      options_(options),
      peers_(places_.host_of.size()),
      timeout_(os::ns_to_ticks(timeout_ns)) {}

// ---- messages arrive

void internode_messages::send_header(int to, message_header header, std::span<const std::byte> data) {
  header.number = peers_[static_cast<std::size_t>(to)].headers_sent++;
  network_.send(to, header, data);
}

// One at a time from each rank, in their order.
void internode_messages::arrived(int from, const message_header& header, std::span<const std::byte> data) {
  std::uint32_t& handled = peers_[static_cast<std::size_t>(from)].headers_handled;
  if (header.number != handled) {
    out_of_order_.emplace(std::pair(from, header.number), out_of_order_header{header, {data.begin(), data.end()}});
    return;
  }
  handle_header(from, header, data);
  for (++handled; !out_of_order_.empty(); ++handled) {
    const auto next = out_of_order_.find({from, handled});
    if (next == out_of_order_.end()) return;
    handle_header(from, next->second.header, next->second.data);
    out_of_order_.erase(next);
  }
}

void internode_messages::handle_header(int from, const message_header& header, std::span<const std::byte> data) {
  switch (header.kind) {
    case header_kind::eager:
      return eager_arrived(header, data);
    case header_kind::offer:
      if (request_arrived(header)) offers_.push_back({header, from});
      return;
    case header_kind::request:
    case header_kind::pushed:
      request_arrived(header);
      return;
    case header_kind::pull:
      return serve_pull(from, header);
    case header_kind::withdraw:
      if (header.epoch != epoch_) return;  // `stopped` was sent
      std::erase_if(late_pulls_,
                    [&](const auto& each) { return each.first == from && each.second.is_of_same_message(header); });
      withdrawals_.emplace_back(from, header);
      return;
    case header_kind::stopped:
      std::erase_if(offers_, [&](const offer& each) {
        return each.server == from && each.header.epoch == header.epoch && each.header.is_of_same_message(header);
      });
      return stop_pulling(from, header);
    case header_kind::released:
      return stop_pulling(from, header);
    case header_kind::query:
      return answer(from);
    case header_kind::answer: {
      peer& to = peers_[static_cast<std::size_t>(from)];
      to.received = header.sequence;
      to.is_asked = false;
      for (; !to.pushed.empty() && is_before(to.pushed.front().first, to.received); to.pushed.pop_front())
        to.pushed_bytes -= to.pushed.front().second;
      return;
    }
    case header_kind::ask_room:
      held_up_.push_back(from);  // until the next poll: by then the engine has counted what came before
      return;
    case header_kind::room: {
      peer& to = peers_[static_cast<std::size_t>(from)];
      to.unconfirmed -= std::exchange(to.asked_after, 0);
      return;
    }
  }
}

void internode_messages::eager_arrived(const message_header& header, std::span<const std::byte> data) {
  const guard locked(own_.lock);
  ++own_.expected[header.from];  // all before it have been heard of
  ranks_.arrived(header.key, data);
  deliver_in_order(own_, number(), header.from);
}

// It may be known already, from its sender or from a rank that has offered it. False: it has been received.
bool internode_messages::request_arrived(const message_header& header) {
  const int owner_number = number_of(header.to);
  host_messages& owner = messages_of(owner_number);
  const guard locked(owner.lock);
  if (is_before(header.sequence, owner.expected[header.from]))
    return header.kind == header_kind::offer && find(owner.incoming, header.from, header.sequence) != nullptr;
  if (find(owner.early, header.from, header.sequence) != nullptr) return true;
  auto* const made = new (ranks_.blocks().allocate(sizeof(incoming_message))) incoming_message;
  made->key = header.key;
  made->bytes = header.bytes;
  made->kind = message_kind::rendezvous;
  made->is_of_other_host = true;
  made->header = header;
  made->owner = &owner;
  made->matched = &owner.matched;
  made->next = owner.early;
  owner.early = made;
  if (header.kind == header_kind::offer) made->header.kind = header_kind::request;
  deliver_in_order(owner, owner_number, header.from);
  return true;
}

incoming_message* internode_messages::find(incoming_message* first, int from, std::uint32_t sequence) {
  incoming_message* each = first;
  while (each != nullptr && (each->header.from != from || each->header.sequence != sequence)) each = each->next;
  return each;
}

// With the lock: what is next from that rank goes to the engine.
void internode_messages::deliver_in_order(host_messages& owner, int owner_number, int from) {
  std::uint32_t& expected = owner.expected[from];
  for (incoming_message* next = nullptr; (next = find(owner.early, from, expected)) != nullptr; ++expected) {
    incoming_message** link = &owner.early;
    while (*link != next) link = &(*link)->next;
    *link = next->next;
    owner.append(*next);
    ranks_.push_arrived(static_cast<std::uint32_t>(owner_number), *next);
  }
}

// ---- progress

bool internode_messages::poll() noexcept {
  now_ = options_.clock();
  if (!held_up_.empty()) give_room();
  bool worked = network_.poll(*this);
  if (!withdrawals_.empty()) answer_withdrawals();
  if (!is_leaving_ && pull_own()) worked = true;
  if (!offers_.empty() && look_at_offers()) worked = true;
  if (is_waiting_ && !is_leaving_) {
    if (!pulls_.empty() && !offers_.empty()) take_offers_of_own();
    offer_messages();
  }
  polled_before_ = now_;
  return worked;
}

void internode_messages::wait_begins() {
  ++waiters_;
  is_waiting_ = true;
  own_.waits.store(true, std::memory_order_relaxed);  // relaxed: a hint
}

void internode_messages::begin_leaving() {
  is_leaving_ = true;
  for (open_pull& each : pulls_) {
    if (each.epoch == 0 || each.is_stopping) continue;
    each.is_stopping = true;
    message_header header = each.message->header;
    header.kind = header_kind::withdraw;
    header.epoch = each.epoch;
    send_header(each.server, header);
  }
}

bool internode_messages::may_leave() {
  if (std::ranges::any_of(sending_, [](const auto& each) { return each.second.is_offered; })) return false;
  withdraw_offers();
  if (std::ranges::any_of(pulls_, [](const open_pull& each) { return each.epoch != 0; })) return false;
  is_waiting_ = is_leaving_ = false;
  own_.waits.store(false, std::memory_order_relaxed);  // relaxed: a hint
  return true;
}

// Whoever pulls under an offer of this rank asks no other one, and the offers are still good.
void internode_messages::stay() {
  is_leaving_ = false;
  for (const auto& [puller, pull] : std::exchange(late_pulls_, {})) serve_pull(puller, pull);
}

void internode_messages::wait_ends() {
  if (--waiters_ > 0) return;
  begin_leaving();
  while (waiters_ == 0 && !may_leave()) {
    poll();
    ranks_.yield();
  }
  if (waiters_ > 0) stay();
}

}  // namespace tri::mpi
