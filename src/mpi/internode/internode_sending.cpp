#include "mpi/internode/internode_messages.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "mpi/internode/piece_copies.hpp"

namespace tri::mpi {
namespace {

// An offer is made each time after twice as long.
constexpr std::uint32_t most_doublings = 10;

}  // namespace

send_record* internode_messages::send(int to, const message_key& key, const user_buffer& data, send_mode mode) {
  message_header header{.kind = header_kind::eager, .key = key, .bytes = data.bytes, .from = places_.rank, .to = to};
  peer& there = peers_[static_cast<std::size_t>(to)];
  header.sequence = there.next;
  const bool is_congested = network_.bytes_under_way() > options_.most_bytes_under_way && data.bytes > 0;
  if (mode != send_mode::synchronous && data.bytes <= options_.sizes.most_eager && !is_congested &&
      may_send_eagerly(there, header)) {
    std::vector<std::byte> packed;
    const std::byte* bytes = data.address;
    if (data.type != nullptr) {
      packed.resize(data.bytes);
      data.read(0, data.bytes, packed.data());
      bytes = packed.data();
    }
    send_header(to, header, {bytes, data.bytes});
    ++there.next;
    endpoint_counters::add(counters().eager);
    return nullptr;
  }
  // A small one that is not eager must not be in the library's memory, either.
  const bool is_short = mode != send_mode::synchronous && data.bytes > options_.sizes.most_eager &&
                        data.bytes <= options_.sizes.most_pushed;
  send_record* const record =
      is_short && may_push(there, header) ? push(header, data, mode) : begin_rendezvous(header, data, mode);
  ++there.next;
  endpoint_counters::add(counters().rendezvous);
  return mode == send_mode::buffered ? nullptr : record;
}

// The receiver is asked in time for its answer to come before the room ends.
bool internode_messages::may_send_eagerly(peer& to, const message_header& header) {
  const std::size_t bytes = sizeof(unexpected_message) + header.bytes;
  if (to.unconfirmed >= options_.most_unconfirmed_bytes / 2 && to.asked_after == 0) {
    to.asked_after = to.unconfirmed;
    message_header question = header;
    question.kind = header_kind::ask_room;
    send_header(header.to, question);
  }
  // A rank that only sends hears of the answer here.
  if (to.unconfirmed + bytes > options_.most_unconfirmed_bytes) poll();
  if (to.unconfirmed + bytes > options_.most_unconfirmed_bytes) return false;
  to.unconfirmed += bytes;
  return true;
}

// Where there is none, senders keep their data until the program has received some.
void internode_messages::give_room() {
  // relaxed: a hint. What lies in the inbox is not counted yet.
  if (ranks_.own().is_full.load(std::memory_order_relaxed) || ranks_.own().inbox.has_message()) return;
  message_header room;
  room.kind = header_kind::room;
  for (const int each : std::exchange(held_up_, {})) send_header(each, room);
}

// The tag is free: what had it last has been received. And not too many bytes are with the receiver's library, which
// keeps them until they are received. From half of either on the receiver is asked.
bool internode_messages::may_push(peer& to, const message_header& header) {
  const auto tags = static_cast<std::uint32_t>(tags_of_each_kind());
  const std::size_t room = options_.most_unconfirmed_bytes;
  const auto fits = [&] {
    return to.next - to.received < tags && (to.pushed.empty() || to.pushed_bytes + header.bytes <= room);
  };
  if ((to.next - to.received >= tags / 2 || to.pushed_bytes >= room / 2) && !to.is_asked) {
    to.is_asked = true;
    message_header question = header;
    question.kind = header_kind::query;
    send_header(header.to, question);
  }
  if (!fits()) poll();  // a rank that only sends hears of the answer here
  return fits();
}

void internode_messages::answer(int from) {
  message_header header;
  header.kind = header_kind::answer;
  {
    const guard locked(own_.lock);
    header.sequence = own_.expected[from];
    for (const incoming_message* each = own_.incoming; each != nullptr; each = each->next)
      if (each->header.from == from && each->header.kind == header_kind::pushed &&
          is_before(each->header.sequence, header.sequence))
        header.sequence = each->header.sequence;
  }
  send_header(from, header);
}

send_record* internode_messages::push(message_header& header, const user_buffer& data, send_mode mode) {
  send_record* const record = ranks_.make_send(header.key, data, mode);
  const user_buffer& buffer = record->buffer;
  sent_piece piece{.pushed = record};
  try {
    if (buffer.type != nullptr) piece.staged = staged_copy(buffer, 0, data.bytes);
  } catch (...) {
    ranks_.release(record);
    throw;
  }
  header.kind = header_kind::pushed;
  peer& receiver = peers_[static_cast<std::size_t>(header.to)];
  receiver.pushed.emplace_back(header.sequence, data.bytes);
  receiver.pushed_bytes += data.bytes;
  header.tag = tags_of_each_kind() + static_cast<int>(header.sequence % static_cast<unsigned>(tags_of_each_kind()));
  send_header(header.to, header);
  const std::uint64_t ticket = ++last_ticket_;
  sending_.emplace(ticket, piece);
  network_.send_piece(header.to, header.tag, {piece.staged != nullptr ? piece.staged : buffer.address, data.bytes},
                      ticket);
  return record;
}

send_record* internode_messages::begin_rendezvous(message_header& header, const user_buffer& data, send_mode mode) {
  send_record* const record = ranks_.make_send(header.key, data, mode);
  outgoing_message* slot = nullptr;
  try {
    header.slot = take_slot(slot);
  } catch (...) {
    ranks_.release(record);
    throw;
  }
  header.kind = header_kind::request;
  {
    const guard locked(own_.lock);
    header.generation = ++slot->generation;
    slot->next_piece = slot->sent = slot->offers = 0;
    slot->offered_by = -1;
    slot->changed = options_.clock();
    slot->record = record;
    slot->is_small = mode != send_mode::synchronous && data.bytes <= options_.sizes.most_eager;
    slot->request = header;
  }
  // relaxed: hints
  own_.sending.fetch_add(1, std::memory_order_relaxed);
  if (!slot->is_small) own_.offerable.fetch_add(1, std::memory_order_relaxed);
  send_header(header.to, header);
  return record;
}

// Not open yet.
std::uint32_t internode_messages::take_slot(outgoing_message*& slot) {
  const guard locked(own_.lock);
  if (own_.free_slot == no_slot) {
    const std::uint32_t count = host_messages::slots_of(own_.tables);
    const std::uint32_t first = own_.slots();
    auto* const table = static_cast<outgoing_message*>(ranks_.blocks().allocate(count * sizeof(outgoing_message)));
    for (std::uint32_t i = 0; i < count; ++i) {
      new (&table[i]) outgoing_message;
      if (i + 1 < count) table[i].next_free = first + i + 1;
    }
    own_.outgoing[own_.tables++] = table;
    own_.free_slot = first;
  }
  const std::uint32_t number = own_.free_slot;
  slot = own_.slot(number);
  own_.free_slot = slot->next_free;
  return number;
}

// A rank of the receiver's host wants a piece. Pieces are sent in their order, and once: another rank of this host may
// have been asked, too.
void internode_messages::serve_pull(int puller, const message_header& pull) {
  const int owner_number = number_of(pull.from);
  if (pull.epoch != 0 && pull.epoch != epoch_) return;  // `stopped` was sent
  if (pull.epoch != 0 && is_leaving_) {                 // it will be, unless this rank stays
    late_pulls_.emplace_back(puller, pull);
    return;
  }
  host_messages& owner = messages_of(owner_number);
  send_record* record = nullptr;
  {
    const guard locked(owner.lock);
    outgoing_message* const slot = owner.slot(pull.slot);
    if (slot == nullptr || !slot->is(pull.generation) || slot->next_piece != pull.piece ||
        !may_reach(slot->record->buffer, owner_number))
      return;
    ++slot->next_piece;
    slot->changed = now_;
    record = slot->record;  // stays until its last piece is sent
  }
  const user_buffer& buffer = record->buffer;
  const std::uint64_t offset = options_.sizes.offset(pull.piece);
  const std::size_t bytes = options_.sizes.in_piece(pull.piece, pull.bytes);
  const bool is_own = owner_number == number();
  sent_piece piece{.owner_number = owner_number,
                   .slot = pull.slot,
                   .pieces = options_.sizes.pieces(pull.bytes),
                   .puller = puller,
                   .is_offered = pull.epoch != 0};
  if (bytes == 0) return end_piece(piece);
  endpoint_counters::add(is_own ? counters().pieces_sent : counters().pieces_sent_for_others);
  if (buffer.type != nullptr || (!is_own && !buffer.is_shared())) piece.staged = staged_copy(buffer, offset, bytes);
  const std::byte* const data = piece.staged != nullptr ? piece.staged : buffer.address + offset;
  const std::uint64_t ticket = ++last_ticket_;
  sending_.emplace(ticket, piece);
  network_.send_piece(puller, pull.tag, {data, bytes}, ticket);
}

// In a block.
std::byte* internode_messages::staged_copy(const user_buffer& from, std::uint64_t offset, std::size_t bytes) {
  auto* const copy = static_cast<std::byte*>(ranks_.blocks().allocate(bytes));
  pack_piece(ranks_, from, offset, copy, bytes);
  return copy;
}

void internode_messages::piece_sent(std::uint64_t ticket) {
  const auto found = sending_.find(ticket);
  const sent_piece piece = found->second;
  sending_.erase(found);
  if (piece.staged != nullptr) ranks_.blocks().release(piece.staged);
  if (piece.pushed != nullptr)
    end_send(*piece.pushed);
  else
    end_piece(piece);
}

void internode_messages::end_send(send_record& record) {
  if (record.is_buffered)
    ranks_.release(&record);
  else
    ranks_.complete_sent(record);
}

// The last one completes the send.
void internode_messages::end_piece(const sent_piece& piece) {
  host_messages& owner = messages_of(piece.owner_number);
  send_record* complete = nullptr;
  bool is_small = false;
  {
    const guard locked(owner.lock);
    outgoing_message& slot = *owner.slot(piece.slot);
    if (++slot.sent < piece.pieces) return;
    complete = slot.record;
    is_small = slot.is_small;
    ++slot.generation;
    slot.next_free = owner.free_slot;
    owner.free_slot = piece.slot;
  }
  // relaxed: hints
  owner.sending.fetch_sub(1, std::memory_order_relaxed);
  if (!is_small) owner.offerable.fetch_sub(1, std::memory_order_relaxed);
  end_send(*complete);
}

// ---- offers: what no rank pulls may be for a rank that computes

void internode_messages::offer_messages() {
  if (now_ - looked_for_offers_ < timeout_ / 2) return;
  looked_for_offers_ = now_;
  for (const int rank : ranks_of_host_of(places_.rank)) {
    const int owner_number = number_of(rank);
    host_messages& owner = messages_of(owner_number);
    // relaxed: hints
    if (owner.offerable.load(std::memory_order_relaxed) == 0 ||
        (owner_number != number() && owner.waits.load(std::memory_order_relaxed)))
      continue;
    std::erase_if(made_offers_,
                  [&](const made_offer& each) { return each.owner_number == owner_number && is_over(each); });
    const std::size_t before = made_offers_.size();
    {
      const guard locked(owner.lock);
      for (std::uint32_t i = 0; i < owner.slots(); ++i) {
        outgoing_message& slot = *owner.slot(i);
        if (!slot.is_open() || slot.is_small || slot.offered_by >= 0 ||
            !is_past(slot.changed, timeout_ << std::min(slot.offers, most_doublings)) ||
            !may_reach(slot.record->buffer, owner_number))
          continue;
        slot.offered_by = number();
        ++slot.offers;
        made_offers_.push_back({slot.request, owner_number});
        has_offered_ = true;
      }
    }
    for (std::size_t i = before; i < made_offers_.size(); ++i) {
      message_header header = made_offers_[i].header;
      header.kind = header_kind::offer;
      header.epoch = epoch_;
      endpoint_counters::add(counters().offers);
      send_to_host_of_receiver(header);
    }
  }
}

// All pieces have been sent.
bool internode_messages::is_over(const made_offer& one) const {
  host_messages& owner = messages_of(one.owner_number);
  const guard locked(owner.lock);
  return !owner.slot(one.header.slot)->is(one.header.generation);
}

void internode_messages::send_to_host_of_receiver(const message_header& header) {
  for (const int each : ranks_of_host_of(header.to)) send_header(each, header);
}

// No piece is on its way under them.
void internode_messages::withdraw_offers() {
  if (!has_offered_) return;
  for (const made_offer& each : made_offers_) {
    message_header header = each.header;
    {
      host_messages& owner = messages_of(each.owner_number);
      const guard locked(owner.lock);
      outgoing_message& slot = *owner.slot(header.slot);
      if (!slot.is(header.generation)) continue;  // all pieces have been sent
      slot.offered_by = -1;
      slot.changed = now_;
      header.piece = slot.next_piece;
    }
    header.kind = header_kind::stopped;
    header.epoch = epoch_;
    send_to_host_of_receiver(header);
  }
  made_offers_.clear();
  has_offered_ = false;
  withdrawals_.clear();  // answered by that
  late_pulls_.clear();
  ++epoch_;
}

// As soon as nothing is on its way to the rank that has withdrawn.
void internode_messages::answer_withdrawals() {
  for (std::size_t i = 0; i < withdrawals_.size();) {
    const auto [puller, of] = withdrawals_[i];
    const int owner_number = number_of(of.from);
    if (std::ranges::any_of(sending_, [&, puller = puller, &of = of](const auto& each) {
          const sent_piece& piece = each.second;
          return piece.is_offered && piece.puller == puller && piece.owner_number == owner_number &&
                 piece.slot == of.slot;
        })) {
      ++i;
      continue;
    }
    message_header answer = of;
    withdrawals_.erase(withdrawals_.begin() + static_cast<std::ptrdiff_t>(i));
    {
      host_messages& owner = messages_of(owner_number);
      const guard locked(owner.lock);
      const outgoing_message& slot = *owner.slot(answer.slot);
      if (!slot.is(answer.generation)) continue;  // it has been sent whole
      answer.piece = slot.next_piece;
    }
    answer.kind = header_kind::released;
    send_header(puller, answer);
  }
}

}  // namespace tri::mpi
