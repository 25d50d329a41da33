#include "mpi/internode/internode_messages.hpp"

#include <algorithm>
#include <utility>

#include "mpi/internode/piece_copies.hpp"

namespace tri::mpi {
namespace {

// Pieces that a rank asks for before the first has come.
constexpr std::size_t most_open_pieces = 4;
// Messages that a rank pulls at a time, of its own, and for others.
constexpr std::size_t most_pulls = 64;
constexpr std::size_t most_pulls_for_others = 2;
// So many polls pass between two looks at offers whose messages are not matched.
constexpr std::uint32_t polls_between_looks = 256;

}  // namespace

std::size_t internode_messages::most_own_pulls() const {
  const std::size_t by_tags = static_cast<std::size_t>(tags_of_each_kind()) / most_open_pieces;
  return std::clamp(by_tags - std::min(by_tags, most_pulls_for_others), std::size_t{1}, most_pulls);
}

bool internode_messages::pull_own() {
  const std::size_t own = pulls_.size() - pulls_for_others_;
  // relaxed: a hint
  if (own_.matched.load(std::memory_order_relaxed) == 0 || own >= most_own_pulls()) return false;
  const std::size_t room = most_own_pulls() - own;
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
  for (incoming_message* const each : mine) begin_pull(*each, number(), each->header.from, 0);
  return !mine.empty();
}

// For ranks that compute, where an offer says which rank sends their messages.
bool internode_messages::look_at_offers() {
  const bool may_help = is_waiting_ && !is_leaving_ && pulls_for_others_ < most_pulls_for_others;
  const bool looks_at_all = ++looks_ % polls_between_looks == 0;
  for (std::size_t i = 0; i < offers_.size();) {
    const auto [header, server] = offers_[i];
    const int owner_number = number_of(header.to);
    host_messages& owner = messages_of(owner_number);
    // relaxed: hints
    const bool may_need_help = may_help && owner_number != number() &&
                               owner.matched.load(std::memory_order_relaxed) > 0 &&
                               !owner.waits.load(std::memory_order_relaxed);
    incoming_message* claimed = nullptr;
    bool is_over = false;
    if (may_need_help || looks_at_all) {
      const guard locked(owner.lock);
      incoming_message* const found = find(owner.incoming, header.from, header.sequence);
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
      begin_pull(*claimed, owner_number, server, header.epoch);
      return true;
    }
    if (is_over)
      offers_.erase(offers_.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
  return false;
}

void internode_messages::begin_pull(incoming_message& message, int owner_number, int server, std::uint32_t epoch) {
  receive_record* const to = message.receive.load(std::memory_order_relaxed);  // relaxed: read before by this rank
  pulls_.push_back({.message = &message,
                    .to = to,
                    .owner_number = owner_number,
                    .is_own = owner_number == number(),
                    .server = server,
                    .epoch = epoch,
                    .bytes = std::min(message.bytes, to->buffer.bytes),
                    .next = message.next_piece,
                    .changed = now_,
                    .open = {}});
  if (owner_number != number()) ++pulls_for_others_;
  if (message.header.kind == header_kind::pushed)
    receive_pushed(pulls_.back());
  else
    ask_for_pieces(pulls_.back());
  end_if_done(pulls_.back());
}

// The library does not take less than all of it.
void internode_messages::receive_pushed(open_pull& of) {
  const message_header& header = of.message->header;
  open_piece piece{.ticket = ++last_ticket_, .tag = header.tag, .bytes = header.bytes};
  const bool is_direct = of.to->buffer.type == nullptr && header.bytes <= of.to->buffer.bytes;
  if (!is_direct) piece.staged = static_cast<std::byte*>(ranks_.blocks().allocate(piece.bytes));
  network_.receive_piece(header.from, header.tag, {is_direct ? of.to->buffer.address : piece.staged, piece.bytes},
                         piece.ticket);
  of.next = pieces_of(of);
  of.open.push_back(piece);
}

void internode_messages::ask_for_pieces(open_pull& of) {
  const user_buffer& buffer = of.to->buffer;
  const bool is_direct = buffer.type == nullptr && (buffer.is_shared() || of.is_own);
  while (!of.is_stopping && of.next < pieces_of(of) && of.open.size() < most_open_pieces) {
    open_piece piece{.piece = of.next++, .bytes = options_.sizes.in_piece(of.next - 1, of.bytes)};
    if (piece.bytes > 0) {
      piece.ticket = ++last_ticket_;
      piece.tag = free_tag();
      if (!is_direct) piece.staged = static_cast<std::byte*>(ranks_.blocks().allocate(piece.bytes));
      std::byte* const into = is_direct ? buffer.address + options_.sizes.offset(piece.piece) : piece.staged;
      network_.receive_piece(any_source, piece.tag, {into, piece.bytes}, piece.ticket);
      of.open.push_back(piece);
    }
    ask(of, piece);
  }
}

// A piece may be open for long, while others come and go.
int internode_messages::free_tag() {
  const auto is_open = [this](const open_pull& each) {
    return std::ranges::find(each.open, last_tag_, &open_piece::tag) != each.open.end();
  };
  do last_tag_ = (last_tag_ + 1) % tags_of_each_kind();
  while (std::ranges::any_of(pulls_, is_open));
  return last_tag_;
}

void internode_messages::ask(const open_pull& of, const open_piece& piece) {
  message_header header = of.message->header;
  header.kind = header_kind::pull;
  header.bytes = of.bytes;
  header.piece = piece.piece;
  header.tag = piece.tag;
  header.epoch = of.epoch;
  send_header(of.server, header);
}

void internode_messages::piece_received(std::uint64_t ticket) {
  for (auto of = pulls_.begin(); of != pulls_.end(); ++of) {
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
    return end_if_done(*of);
  }
}

void internode_messages::unpack(open_pull& of, const open_piece& piece) {
  if (!unpack_piece(ranks_, of.to->buffer, options_.sizes.offset(piece.piece), piece.staged, piece.bytes))
    of.to->failed = 1;
  ranks_.blocks().release(piece.staged);
}

void internode_messages::end_if_done(open_pull& of) {
  if (!of.open.empty() || (of.next < pieces_of(of) && !of.is_stopped)) return;
  incoming_message& message = *of.message;
  host_messages& owner = *message.owner;
  receive_record& to = *of.to;
  const bool is_whole = of.next == pieces_of(of);
  const std::uint32_t next = of.next;
  const auto owner_number = static_cast<std::uint32_t>(of.owner_number);
  if (!of.is_own) --pulls_for_others_;
  pulls_.erase(std::ranges::find(pulls_, &of, [](const open_pull& each) { return &each; }));
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
    owner.remove(message);
  }
  ranks_.complete_received(to);
  message.~incoming_message();
  ranks_.blocks().release(&message);
}

// The rank that has offered the message sends no more of it to this one. Pieces before header.piece have been sent, or
// a receiver has asked the sender for them, too.
void internode_messages::stop_pulling(int server, const message_header& header) {
  const auto of = std::ranges::find_if(pulls_, [&](const open_pull& each) {
    return each.server == server && each.epoch == header.epoch && each.message->header.is_of_same_message(header);
  });
  if (of == pulls_.end()) return;
  if (of->is_own) {
    of->server = header.from;
    of->epoch = 0;
    of->is_stopping = false;
    for (const open_piece& each : of->open) ask(*of, each);
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
  end_if_done(*of);
}

// The sender of an own message does not answer, and a rank of its host offers it.
void internode_messages::take_offers_of_own() {
  for (open_pull& each : pulls_) {
    if (!each.is_own || each.epoch != 0 || each.open.empty() || each.message->header.kind == header_kind::pushed ||
        !is_past(each.changed, timeout_))
      continue;
    const auto found = std::ranges::find_if(offers_, [&](const offer& one) {
      return one.server != one.header.from && each.message->header.is_of_same_message(one.header);
    });
    if (found == offers_.end()) continue;
    each.server = found->server;
    each.epoch = found->header.epoch;
    each.changed = now_;
    for (const open_piece& piece : each.open) ask(each, piece);
  }
}

}  // namespace tri::mpi
