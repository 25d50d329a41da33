#include "mpi/internode/internode_messages.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "os/clock.hpp"

namespace tri::mpi {
namespace {

// Pieces that a rank asks for before the first has come.
constexpr std::size_t most_open_pieces = 4;
// Messages that a rank pulls at a time, of its own, and for others.
constexpr std::size_t most_streams = 64;
constexpr std::size_t most_streams_for_others = 2;
// A message of which no piece moves for so long may be one between ranks that compute. It is offered, each time after
// twice as long.
constexpr double timeout_ns = 100'000;
constexpr std::uint32_t most_doublings = 10;
// So many polls pass between two looks at offers whose messages are not matched.
constexpr std::uint32_t polls_between_looks = 256;

using guard = std::lock_guard<arena::host_lock>;

// A part of a piece of a buffer with a layout, from or to contiguous memory: arguments are the buffer, the offset of
// the piece in it, that memory, and the number of the rank that has posted the task.
user_buffer buffer_of(const board::task_view& task) { return *reinterpret_cast<const user_buffer*>(task.arguments[0]); }
std::byte* packed_of(const board::task_view& task, std::uint64_t first) {
  return reinterpret_cast<std::byte*>(task.arguments[2]) + first;
}
void count_chunks(const board::task_view& task, std::uint64_t bytes, int by) {
  endpoint_counters& counters = engine::of_pe(by)->own().counters;
  const bool is_own = task.arguments[3] == static_cast<std::uint64_t>(by);
  endpoint_counters::add(is_own ? counters.chunks_copied : counters.chunks_helped,
                         board::chunk_count(bytes, task.chunk));
}
void pack_entry(const board::task_view& task, std::uint64_t first, std::uint64_t last, int by) noexcept {
  buffer_of(task).read(task.arguments[1] + first, last - first, packed_of(task, first));
  count_chunks(task, last - first, by);
}
void unpack_entry(const board::task_view& task, std::uint64_t first, std::uint64_t last, int by) noexcept {
  buffer_of(task).write(task.arguments[1] + first, last - first, packed_of(task, first));
  count_chunks(task, last - first, by);
}
const board::operation_id pack_operation =
    board::operation_table::of_process().chunks.add("mpi: pack a piece for another host", &pack_entry);
const board::operation_id unpack_operation =
    board::operation_table::of_process().chunks.add("mpi: unpack a piece of another host", &unpack_entry);

// `buffer` is in a record, which all ranks of the host reach.
bool run_together(engine& ranks, board::operation_id operation, const user_buffer& buffer, std::uint64_t offset,
                  std::byte* packed, std::size_t bytes) {
  if (bytes < ranks.options().sharing.from || !buffer.is_shared() ||
      !ranks.run_together(
          operation,
          {reinterpret_cast<std::uint64_t>(&buffer), offset, reinterpret_cast<std::uint64_t>(packed), ranks.number()},
          bytes))
    return false;
  endpoint_counters::add(ranks.own().counters.chunks_shared, board::chunk_count(bytes, sharing_sizes::chunk_of(bytes)));
  return true;
}

// Contiguous bytes of it.
user_buffer part_of(const user_buffer& whole, std::uint64_t offset, std::size_t bytes) {
  return {whole.address + offset, bytes, nullptr, 0, whole.process};
}

bool is_before(std::uint32_t sequence, std::uint32_t other) { return static_cast<std::int32_t>(sequence - other) < 0; }

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

internode_messages::~internode_messages() = default;

// ---- sending

send_record* internode_messages::send(int to, const message_key& key, const user_buffer& data, send_mode mode) {
  message_header header{.kind = header_kind::eager, .key = key, .bytes = data.bytes, .from = places_.rank, .to = to};
  peer& there = peers_[static_cast<std::size_t>(to)];
  header.sequence = there.next;
  const bool is_late = network_.bytes_under_way() > options_.most_bytes_under_way && data.bytes > 0;
  if (mode != send_mode::synchronous && data.bytes <= options_.sizes.most_eager && !is_late) {
    std::vector<std::byte> packed;
    const std::byte* bytes = data.address;
    if (data.type != nullptr) {
      packed.resize(data.bytes);
      data.read(0, data.bytes, packed.data());
      bytes = packed.data();
    }
    tell(to, header, {bytes, data.bytes});
    ++there.next;
    endpoint_counters::add(counters().eager);
    return nullptr;
  }
  const bool is_short = mode != send_mode::synchronous && data.bytes <= options_.sizes.most_pushed;
  send_record* const record =
      is_short && may_push(there, header) ? push(header, data, mode) : offer_to_pull(header, data, mode);
  ++there.next;
  endpoint_counters::add(counters().rendezvous);
  return mode == send_mode::buffered ? nullptr : record;
}

// The tag is free: what had it last has been received. When half of the tags may be taken the receiver is asked.
bool internode_messages::may_push(peer& to, const message_header& header) {
  const std::uint32_t open = to.next - to.received;
  const auto tags = static_cast<std::uint32_t>(tags_of_each_kind());
  if (open >= tags / 2 && !to.is_asked) {
    to.is_asked = true;
    message_header question = header;
    question.kind = header_kind::query;
    tell(header.to, question);
  }
  return open < tags;
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
  tell(from, header);
}

send_record* internode_messages::push(message_header& header, const user_buffer& data, send_mode mode) {
  send_record* const record = ranks_.make_send(header.key, data, mode);
  const user_buffer& buffer = record->buffer;
  sent_piece piece{.pushed = record, .is_buffered = mode == send_mode::buffered};
  try {
    if (buffer.type != nullptr) piece.staged = staged_copy(buffer, 0, data.bytes);
  } catch (...) {
    ranks_.release(record);
    throw;
  }
  header.kind = header_kind::pushed;
  header.tag = tags_of_each_kind() + static_cast<int>(header.sequence % static_cast<unsigned>(tags_of_each_kind()));
  tell(header.to, header);
  const std::uint64_t ticket = ++tickets_;
  sending_.emplace(ticket, piece);
  network_.send_piece(header.to, header.tag, {piece.staged != nullptr ? piece.staged : buffer.address, data.bytes},
                      ticket);
  return record;
}

send_record* internode_messages::offer_to_pull(message_header& header, const user_buffer& data, send_mode mode) {
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
    slot->is_buffered = mode == send_mode::buffered;
    slot->request = header;
  }
  own_.sending.fetch_add(1, std::memory_order_relaxed);  // relaxed: a hint
  tell(header.to, header);
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
  const auto owner_number = static_cast<int>(places_.number_of[static_cast<std::size_t>(pull.from)]);
  if (pull.epoch != 0 && (pull.epoch != epoch_ || is_leaving_)) return;  // has been told so, or will be
  host_messages& owner = *of_host_[static_cast<std::size_t>(owner_number)];
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
  const std::uint64_t ticket = ++tickets_;
  sending_.emplace(ticket, piece);
  network_.send_piece(puller, pull.tag, {data, bytes}, ticket);
}

// In a block.
std::byte* internode_messages::staged_copy(const user_buffer& from, std::uint64_t offset, std::size_t bytes) {
  auto* const copy = static_cast<std::byte*>(ranks_.blocks().allocate(bytes));
  if (from.type == nullptr) {
    // Where the kernel refuses, the rank has ended, and the job with it.
    static_cast<void>(copy_data({copy, bytes}, part_of(from, offset, bytes), 0, bytes, getpid()));
  } else if (!run_together(ranks_, pack_operation, from, offset, copy, bytes)) {
    from.read(offset, bytes, copy);
  }
  return copy;
}

void internode_messages::piece_sent(std::uint64_t ticket) {
  const auto found = sending_.find(ticket);
  const sent_piece piece = found->second;
  sending_.erase(found);
  if (piece.staged != nullptr) ranks_.blocks().release(piece.staged);
  if (piece.pushed != nullptr)
    end_send(*piece.pushed, piece.is_buffered);
  else
    end_piece(piece);
}

void internode_messages::end_send(send_record& record, bool is_buffered) {
  if (is_buffered)
    ranks_.release(&record);
  else
    ranks_.complete_sent(record);
}

// The last one completes the send.
void internode_messages::end_piece(const sent_piece& piece) {
  host_messages& owner = *of_host_[static_cast<std::size_t>(piece.owner_number)];
  send_record* complete = nullptr;
  bool is_buffered = false;
  {
    const guard locked(owner.lock);
    outgoing_message& slot = *owner.slot(piece.slot);
    if (++slot.sent < piece.pieces) return;
    complete = slot.record;
    is_buffered = slot.is_buffered;
    ++slot.generation;
    slot.next_free = owner.free_slot;
    owner.free_slot = piece.slot;
  }
  owner.sending.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a hint
  end_send(*complete, is_buffered);
}

// ---- offers: what nobody pulls may be for a rank that computes

void internode_messages::offer_messages() {
  if (now_ - looked_for_offers_ < timeout_ / 2) return;
  looked_for_offers_ = now_;
  for (const int rank : ranks_of_host_of(places_.rank)) {
    const auto owner_number = static_cast<int>(places_.number_of[static_cast<std::size_t>(rank)]);
    host_messages& owner = *of_host_[static_cast<std::size_t>(owner_number)];
    // relaxed: hints
    if (owner.sending.load(std::memory_order_relaxed) == 0 ||
        (owner_number != number() && owner.waits.load(std::memory_order_relaxed)))
      continue;
    const std::size_t before = made_offers_.size();
    {
      const guard locked(owner.lock);
      for (std::uint32_t i = 0; i < owner.slots(); ++i) {
        outgoing_message& slot = *owner.slot(i);
        if (!slot.is_open() || slot.offered_by >= 0 ||
            !is_past(slot.changed, timeout_ << std::min(slot.offers, most_doublings)) ||
            !may_reach(slot.record->buffer, owner_number))
          continue;
        slot.offered_by = number();
        ++slot.offers;
        made_offers_.push_back({slot.request, owner_number});
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

void internode_messages::send_to_host_of_receiver(const message_header& header) {
  for (const int each : ranks_of_host_of(header.to)) tell(each, header);
}

// No piece is on its way under them.
void internode_messages::withdraw_offers() {
  if (made_offers_.empty()) return;
  for (const made_offer& each : made_offers_) {
    message_header header = each.header;
    {
      host_messages& owner = *of_host_[static_cast<std::size_t>(each.owner_number)];
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
  withdrawals_.clear();  // answered by that
  ++epoch_;
}

// As soon as nothing is on its way to the rank that has withdrawn.
void internode_messages::answer_withdrawals() {
  for (std::size_t i = 0; i < withdrawals_.size();) {
    const auto [puller, of] = withdrawals_[i];
    const auto owner_number = static_cast<int>(places_.number_of[static_cast<std::size_t>(of.from)]);
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
      host_messages& owner = *of_host_[static_cast<std::size_t>(owner_number)];
      const guard locked(owner.lock);
      const outgoing_message& slot = *owner.slot(answer.slot);
      if (!slot.is(answer.generation)) continue;  // it has been sent whole
      answer.piece = slot.next_piece;
    }
    answer.kind = header_kind::released;
    tell(puller, answer);
  }
}

// ---- messages arrive

void internode_messages::tell(int to, message_header header, std::span<const std::byte> data) {
  header.number = peers_[static_cast<std::size_t>(to)].headers_sent++;
  network_.send(to, header, data);
}

// One at a time from each rank, in their order.
void internode_messages::arrived(int from, const message_header& header, std::span<const std::byte> data) {
  std::uint32_t& heard = peers_[static_cast<std::size_t>(from)].headers_heard;
  if (header.number != heard) {
    early_.emplace(std::pair(from, header.number), early_header{header, {data.begin(), data.end()}});
    return;
  }
  hear(from, header, data);
  for (++heard; !early_.empty(); ++heard) {
    const auto next = early_.find({from, heard});
    if (next == early_.end()) return;
    hear(from, next->second.header, next->second.data);
    early_.erase(next);
  }
}

void internode_messages::hear(int from, const message_header& header, std::span<const std::byte> data) {
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
      if (header.epoch == epoch_) withdrawals_.emplace_back(from, header);  // otherwise it has been told `stopped`
      return;
    case header_kind::stopped:
      std::erase_if(offers_, [&](const offer& each) {
        return each.server == from && each.header.epoch == header.epoch && each.header.from == header.from &&
               each.header.to == header.to && each.header.sequence == header.sequence;
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

// It may have been heard of before: from its sender, or from a rank that has offered it. False: it has been received.
bool internode_messages::request_arrived(const message_header& header) {
  const auto owner_number = static_cast<int>(places_.number_of[static_cast<std::size_t>(header.to)]);
  host_messages& owner = *of_host_[static_cast<std::size_t>(owner_number)];
  const guard locked(owner.lock);
  if (find(owner, header.from, header.sequence) != nullptr) return true;
  if (is_before(header.sequence, owner.expected[header.from])) return false;
  auto* const made = new (ranks_.blocks().allocate(sizeof(incoming_message))) incoming_message;
  made->key = header.key;
  made->bytes = header.bytes;
  made->kind = message_kind::rendezvous;
  made->is_of_other_host = true;
  made->header = header;
  made->owner = &owner;
  made->matched = &owner.matched;
  made->next = owner.incoming;
  owner.incoming = made;
  if (header.kind == header_kind::offer) made->header.kind = header_kind::request;
  deliver_in_order(owner, owner_number, header.from);
  return true;
}

incoming_message* internode_messages::find(host_messages& owner, int from, std::uint32_t sequence) {
  incoming_message* each = owner.incoming;
  while (each != nullptr && (each->header.from != from || each->header.sequence != sequence)) each = each->next;
  return each;
}

// With the lock: what is next from that rank goes to the engine.
void internode_messages::deliver_in_order(host_messages& owner, int owner_number, int from) {
  std::uint32_t& expected = owner.expected[from];
  for (incoming_message* next = nullptr; (next = find(owner, from, expected)) != nullptr; ++expected)
    ranks_.push_arrived(static_cast<std::uint32_t>(owner_number), *next);
}

// ---- pulling

std::size_t internode_messages::most_own_streams() const {
  const std::size_t by_tags = static_cast<std::size_t>(tags_of_each_kind()) / most_open_pieces;
  return std::clamp(by_tags - std::min(by_tags, most_streams_for_others), std::size_t{1}, most_streams);
}

bool internode_messages::pull_own() {
  const std::size_t own = streams_.size() - streams_for_others_;
  // relaxed: a hint
  if (own_.matched.load(std::memory_order_relaxed) == 0 || own >= most_own_streams()) return false;
  const std::size_t room = most_own_streams() - own;
  // A program that only looks now and then leaves the message to a rank that waits, if there is one.
  const bool stays = is_waiting_ || now_ - polled_before_ < timeout_ / 4;
  std::vector<incoming_message*> mine;
  {
    const guard locked(own_.lock);
    for (incoming_message* each = own_.incoming; each != nullptr && mine.size() < room; each = each->next) {
      if (each->puller >= 0 || each->receive.load(std::memory_order_acquire) == nullptr)
        continue;  // pairs: incoming.receive
      if (each->waits_since == 0) each->waits_since = now_;
      if (!stays && !is_past(each->waits_since, timeout_)) continue;
      each->puller = number();
      mine.push_back(each);
    }
  }
  own_.matched.fetch_sub(static_cast<std::uint32_t>(mine.size()), std::memory_order_relaxed);  // relaxed: a hint
  for (incoming_message* const each : mine) begin_stream(*each, number(), each->header.from, 0);
  return !mine.empty();
}

// For ranks that compute, where somebody has told us who sends their messages.
bool internode_messages::look_at_offers() {
  const bool may_help = is_waiting_ && !is_leaving_ && streams_for_others_ < most_streams_for_others;
  const bool looks_at_all = ++looks_ % polls_between_looks == 0;
  for (std::size_t i = 0; i < offers_.size();) {
    const auto [header, server] = offers_[i];
    const auto owner_number = static_cast<int>(places_.number_of[static_cast<std::size_t>(header.to)]);
    host_messages& owner = *of_host_[static_cast<std::size_t>(owner_number)];
    // relaxed: hints
    const bool may_need_help = may_help && owner_number != number() &&
                               owner.matched.load(std::memory_order_relaxed) > 0 &&
                               !owner.waits.load(std::memory_order_relaxed);
    incoming_message* claimed = nullptr;
    bool is_over = false;
    if (may_need_help || looks_at_all) {
      const guard locked(owner.lock);
      incoming_message* const found = find(owner, header.from, header.sequence);
      is_over = found == nullptr && is_before(header.sequence, owner.expected[header.from]);
      receive_record* const to =
          found == nullptr ? nullptr : found->receive.load(std::memory_order_acquire);  // pairs: incoming.receive
      // That an empty piece was asked for is known to its receiver alone, so it has to ask a rank that always answers.
      if (may_need_help && to != nullptr && found->puller < 0 && std::min(found->bytes, to->buffer.bytes) > 0 &&
          may_reach(to->buffer, owner_number)) {
        claimed = found;
        claimed->puller = number();
      }
    }
    if (claimed != nullptr) {
      owner.matched.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a hint
      begin_stream(*claimed, owner_number, server, header.epoch);
      return true;
    }
    if (is_over)
      offers_.erase(offers_.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
  return false;
}

void internode_messages::begin_stream(incoming_message& message, int owner_number, int server, std::uint32_t epoch) {
  receive_record* const to = message.receive.load(std::memory_order_relaxed);  // relaxed: read before by this rank
  streams_.push_back({.message = &message,
                      .to = to,
                      .owner_number = owner_number,
                      .is_own = owner_number == number(),
                      .server = server,
                      .epoch = epoch,
                      .bytes = std::min(message.bytes, to->buffer.bytes),
                      .next = message.next_piece,
                      .changed = now_,
                      .open = {}});
  if (owner_number != number()) ++streams_for_others_;
  if (message.header.kind == header_kind::pushed)
    receive_pushed(streams_.back());
  else
    ask_for_pieces(streams_.back());
  end_if_done(std::prev(streams_.end()));
}

// The library does not take less than all of it.
void internode_messages::receive_pushed(stream& of) {
  const message_header& header = of.message->header;
  open_piece piece{.ticket = ++tickets_, .tag = header.tag, .bytes = header.bytes};
  const bool is_direct = of.to->buffer.type == nullptr && header.bytes <= of.to->buffer.bytes;
  if (!is_direct) piece.staged = static_cast<std::byte*>(ranks_.blocks().allocate(piece.bytes));
  network_.receive_piece(header.from, header.tag, {is_direct ? of.to->buffer.address : piece.staged, piece.bytes},
                         piece.ticket);
  of.next = pieces_of(of);
  of.open.push_back(piece);
}

void internode_messages::ask_for_pieces(stream& of) {
  const user_buffer& buffer = of.to->buffer;
  const bool is_direct = buffer.type == nullptr && (buffer.is_shared() || of.is_own);
  while (!of.is_stopping && of.next < pieces_of(of) && of.open.size() < most_open_pieces) {
    open_piece piece{.piece = of.next++, .bytes = options_.sizes.in_piece(of.next - 1, of.bytes)};
    if (piece.bytes > 0) {
      piece.ticket = ++tickets_;
      piece.tag = free_tag();
      if (!is_direct) piece.staged = static_cast<std::byte*>(ranks_.blocks().allocate(piece.bytes));
      std::byte* const into = is_direct ? buffer.address + options_.sizes.offset(piece.piece) : piece.staged;
      network_.receive_piece(any_source, piece.tag, {into, piece.bytes}, piece.ticket);
      of.open.push_back(piece);
    }
    ask(of, piece, of.server);
  }
}

// A piece may be open for long, while others come and go.
int internode_messages::free_tag() {
  const auto is_open = [this](const stream& each) {
    return std::ranges::find(each.open, tags_, &open_piece::tag) != each.open.end();
  };
  do tags_ = (tags_ + 1) % tags_of_each_kind();
  while (std::ranges::any_of(streams_, is_open));
  return tags_;
}

void internode_messages::ask(const stream& of, const open_piece& piece, int server) {
  message_header header = of.message->header;
  header.kind = header_kind::pull;
  header.bytes = of.bytes;
  header.piece = piece.piece;
  header.tag = piece.tag;
  header.epoch = of.epoch;
  tell(server, header);
}

void internode_messages::piece_received(std::uint64_t ticket) {
  for (auto of = streams_.begin(); of != streams_.end(); ++of) {
    const auto found = std::ranges::find(of->open, ticket, &open_piece::ticket);
    if (found == of->open.end()) continue;
    open_piece piece = *found;
    piece.bytes = std::min(piece.bytes, of->bytes);  // of one that was pushed there may be more than was wanted
    of->open.erase(found);
    if (piece.staged != nullptr) unpack(*of, piece);
    ranks_.count_copied(*of->to, piece.bytes);
    if (of->message->header.kind != header_kind::pushed)
      endpoint_counters::add(of->is_own ? counters().pieces_received : counters().pieces_received_for_others);
    of->changed = now_;
    ask_for_pieces(*of);
    return end_if_done(of);
  }
}

void internode_messages::unpack(stream& of, const open_piece& piece) {
  const user_buffer& buffer = of.to->buffer;
  const std::uint64_t offset = options_.sizes.offset(piece.piece);
  if (buffer.type == nullptr) {
    if (!copy_data(part_of(buffer, offset, piece.bytes), {piece.staged, piece.bytes}, 0, piece.bytes, getpid()))
      of.to->failed = 1;
  } else if (!run_together(ranks_, unpack_operation, buffer, offset, piece.staged, piece.bytes)) {
    buffer.write(offset, piece.bytes, piece.staged);
  }
  ranks_.blocks().release(piece.staged);
}

void internode_messages::end_if_done(std::deque<stream>::iterator which) {
  stream& of = *which;
  if (!of.open.empty() || (of.next < pieces_of(of) && !of.is_stopped)) return;
  incoming_message& message = *of.message;
  host_messages& owner = *message.owner;
  receive_record& to = *of.to;
  const bool is_whole = of.next == pieces_of(of);
  const std::uint32_t next = of.next;
  const auto owner_number = static_cast<std::uint32_t>(of.owner_number);
  if (!of.is_own) --streams_for_others_;
  streams_.erase(which);
  if (!is_whole) {
    {
      const guard locked(owner.lock);
      message.next_piece = next;
      message.puller = -1;
    }
    owner.matched.fetch_add(1, std::memory_order_relaxed);  // relaxed: a hint
    return ranks_.wake(owner_number);
  }
  {
    const guard locked(owner.lock);
    incoming_message** link = &owner.incoming;
    while (*link != &message) link = &(*link)->next;
    *link = message.next;
  }
  ranks_.complete_received(to);
  message.~incoming_message();
  ranks_.blocks().release(&message);
}

// The rank that has offered the message sends no more of it to this one. Pieces before header.piece have been sent, or
// a receiver has asked the sender for them, too.
void internode_messages::stop_pulling(int server, const message_header& header) {
  const auto of = std::ranges::find_if(streams_, [&](const stream& each) {
    return each.server == server && each.epoch == header.epoch && each.is_of(header);
  });
  if (of == streams_.end()) return;
  if (of->is_own) {
    of->server = header.from;
    of->epoch = 0;
    of->is_stopping = false;
    for (const open_piece& each : of->open) ask(*of, each, of->server);
    return ask_for_pieces(*of);
  }
  std::erase_if(of->open, [&](const open_piece& each) {
    if (each.piece < header.piece) return false;
    network_.cancel_receive(each.ticket);
    if (each.staged != nullptr) ranks_.blocks().release(each.staged);
    return true;
  });
  of->next = std::min(of->next, header.piece);
  of->is_stopping = of->is_stopped = true;
  end_if_done(of);
}

// The sender of an own message does not answer, and a rank of its host offers it.
void internode_messages::take_offers_of_own() {
  for (stream& each : streams_) {
    if (!each.is_own || each.epoch != 0 || each.open.empty() || each.message->header.kind == header_kind::pushed ||
        !is_past(each.changed, timeout_))
      continue;
    const auto found = std::ranges::find_if(
        offers_, [&](const offer& one) { return one.server != one.header.from && each.is_of(one.header); });
    if (found == offers_.end()) continue;
    each.server = found->server;
    each.epoch = found->header.epoch;
    each.changed = now_;
    for (const open_piece& piece : each.open) ask(each, piece, each.server);
  }
}

// ---- progress

bool internode_messages::poll() noexcept {
  now_ = options_.clock();
  bool worked = network_.poll(*this);
  if (!withdrawals_.empty()) answer_withdrawals();
  if (!is_leaving_ && pull_own()) worked = true;
  if (!offers_.empty() && look_at_offers()) worked = true;
  if (is_waiting_ && !is_leaving_) {
    if (!streams_.empty() && !offers_.empty()) take_offers_of_own();
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
  for (stream& each : streams_) {
    if (each.epoch == 0 || each.is_stopping) continue;
    each.is_stopping = true;
    message_header header = each.message->header;
    header.kind = header_kind::withdraw;
    header.epoch = each.epoch;
    tell(each.server, header);
  }
}

bool internode_messages::may_leave() {
  if (std::ranges::any_of(sending_, [](const auto& each) { return each.second.is_offered; })) return false;
  withdraw_offers();
  if (std::ranges::any_of(streams_, [](const stream& each) { return each.epoch != 0; })) return false;
  is_waiting_ = is_leaving_ = false;
  own_.waits.store(false, std::memory_order_relaxed);  // relaxed: a hint
  return true;
}

void internode_messages::wait_ends() {
  if (--waiters_ > 0) return;
  begin_leaving();
  while (!may_leave()) {
    poll();
    ranks_.yield();
  }
  // Another thread may have begun to wait.
  is_waiting_ = waiters_ > 0;
  own_.waits.store(is_waiting_, std::memory_order_relaxed);  // relaxed: a hint
}

}  // namespace tri::mpi
