#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "wire/tcp/tcp_engine.hpp"

namespace tri::wire {
namespace {

constexpr std::size_t scratch_bytes = std::size_t{256} << 10;

}  // namespace

// ---- frames out

tcp_conduit::engine::link& tcp_conduit::engine::link_of(peer_number peer) {
  if (links_[peer] == nullptr) links_[peer] = std::make_unique<link>();
  return *links_[peer];
}

send_result tcp_conduit::engine::send(peer_number to, sending how, std::span<const std::byte> header,
                                      std::span<const std::byte> body, packet_token token) {
  link& peer = link_of(to);
  if (peer.state != peer_state::connected || !peer.why.empty()) return send_result::done;
  const bool is_announced = how == sending::announced;
  if (header.size() > longest_frame_header || (!is_announced && body.size() > options_.longest_packet))
    throw std::length_error(fmt::format("a packet of {} and {} bytes; over TCP up to {} and {} are possible",
                                        header.size(), body.size(), longest_frame_header, options_.longest_packet));
  outgoing_frame frame = {.head = {.kind = is_announced ? frame_kind::announced : frame_kind::packet,
                                   .header_bytes = static_cast<std::uint16_t>(header.size()),
                                   .name = is_announced ? ++peer.names : 0,
                                   .body_bytes = body.size()},
                          .header = header};
  if (is_announced) {
    peer.offered_bodies[frame.head.name] = {.token = token, .body = body};
  } else {
    frame.body = body;
    frame.token = token;
  }
  if (!is_open(peer.ours) || !peer.packets.empty()) {
    peer.packets.push(frame);
    return send_result::under_way;
  }
  // The usual case: written at once.
  std::array<iovec, 3> pieces;
  msghdr message = {};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces_of(frame, 0, pieces);
  const ssize_t count = sendmsg(peer.ours->descriptor.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count == static_cast<ssize_t>(frame.bytes())) return is_announced ? send_result::under_way : send_result::done;
  if (count < 0 && !would_block(errno)) {
    break_off(*peer.ours, std::strerror(errno));
    if (is_announced) peer.offered_bodies.erase(frame.head.name);
    return send_result::done;
  }
  peer.packets.push(frame, count < 0 ? 0 : static_cast<std::size_t>(count));
  want_to_write(*peer.ours, true);
  return send_result::under_way;
}

void tcp_conduit::engine::flush(connection& of) {
  constexpr int most_writes = 4;  // then others have their turn
  send_queue& queue = queue_of(of);
  std::array<iovec, 96> pieces;
  for (int i = 0; i < most_writes && !queue.empty(); ++i) {
    msghdr message = {};
    message.msg_iov = pieces.data();
    message.msg_iovlen = queue.gather(pieces);
    const ssize_t count = sendmsg(of.descriptor.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && would_block(errno)) break;
    if (count < 0) return break_off(of, std::strerror(errno));
    queue.wrote(static_cast<std::size_t>(count), [&](packet_token token) { events_->sent(token); });
    if (of.now != stage::open) return;  // a callback sent something and found it broken
  }
  want_to_write(of, !queue.empty());
}

void tcp_conduit::engine::answer(incoming& body, frame_kind how) {
  link& peer = *links_[body.peer];
  peer.answers.push({.head = {.kind = how, .name = body.name}});
  // Answers refer to no memory of a sender, so this makes no callback.
  if (is_open(peer.theirs) && !peer.theirs->waits_to_write) flush(*peer.theirs);
}

void tcp_conduit::engine::accept(announcement body, void* memory, std::size_t, packet_token token) {
  auto& of = *static_cast<incoming*>(body);
  if (of.is_detached) {
    std::erase_if(detached_, [&](const auto& each) { return each.get() == &of; });
    filled_at_once_.push_back({token, false});  // may be inside a callback: reported at the end of progress()
    return wake();
  }
  of.memory = static_cast<std::byte*>(memory);
  of.token = token;
  of.accepted = true;
  answer(of, frame_kind::accept);
}

void tcp_conduit::engine::refuse(announcement body) {
  auto& of = *static_cast<incoming*>(body);
  if (of.is_detached) {
    std::erase_if(detached_, [&](const auto& each) { return each.get() == &of; });
    return;
  }
  answer(of, frame_kind::refuse);
  links_[of.peer]->incoming_bodies.erase(of.name);
}

// ---- frames in

void tcp_conduit::engine::read_frames(connection& of) {
  if (scratch_ == nullptr) scratch_ = std::make_unique_for_overwrite<std::byte[]>(scratch_bytes);
  const std::span<std::byte> memory = of.decoder.place();
  std::array<iovec, 2> pieces = {iovec{.iov_base = memory.data(), .iov_len = memory.size()},
                                 iovec{.iov_base = scratch_.get(), .iov_len = scratch_bytes}};
  msghdr message = {};
  message.msg_iov = memory.empty() ? &pieces[1] : &pieces[0];
  message.msg_iovlen = memory.empty() ? 1 : 2;
  const ssize_t count = recvmsg(of.descriptor.get(), &message, MSG_DONTWAIT);
  if (count < 0 && would_block(errno)) return;
  if (count < 0) return break_off(of, std::strerror(errno));
  if (count == 0)
    return break_off(of, of.decoder.is_between_frames() ? "it was closed at the other end"
                                                        : "it was closed at the other end in the middle of a packet");
  link& from = link_of(of.peer);
  if (!from.why.empty()) set_deadline(of.peer, drain_timeout_ns);  // it has not finished
  sink to(*this, from, of.peer);
  const std::size_t placed = std::min(static_cast<std::size_t>(count), memory.size());
  const std::span rest(scratch_.get(), static_cast<std::size_t>(count) - placed);
  if ((placed == 0 || of.decoder.placed(placed, to)) && of.decoder.take(rest, to)) return;
  break_off(of, of.decoder.fault(), /*at_once=*/true);
}

void tcp_conduit::engine::sink::packet(std::span<const std::byte> header, std::span<const std::byte> body) {
  owner.events_->packet(header, body);
}

bool tcp_conduit::engine::sink::announced(std::span<const std::byte> header, std::uint64_t bytes, std::uint32_t name) {
  const auto [entry, is_new] = peer.incoming_bodies.try_emplace(name);
  if (!is_new) return false;
  entry->second = std::make_unique<incoming>(incoming{.peer = from, .name = name, .bytes = bytes});
  owner.events_->announced(header, static_cast<std::size_t>(bytes), entry->second.get());
  return true;
}

std::span<std::byte> tcp_conduit::engine::sink::memory_of_body(std::uint32_t name, std::uint64_t bytes) {
  const auto known = peer.incoming_bodies.find(name);
  if (known == peer.incoming_bodies.end() || !known->second->accepted || known->second->bytes != bytes) return {};
  return {known->second->memory, static_cast<std::size_t>(bytes)};
}

void tcp_conduit::engine::sink::body_is_whole(std::uint32_t name) {
  const auto known = peer.incoming_bodies.find(name);
  const packet_token token = known->second->token;
  peer.incoming_bodies.erase(known);
  owner.events_->filled(token, true);
}

bool tcp_conduit::engine::sink::answered(std::uint32_t name, bool accepted) {
  const auto known = peer.offered_bodies.find(name);
  if (known == peer.offered_bodies.end()) return false;
  const offered body = known->second;
  peer.offered_bodies.erase(known);
  if (!accepted) {
    owner.events_->sent(body.token);
    return true;
  }
  const bool was_empty = peer.packets.empty();
  peer.packets.push({.head = {.kind = frame_kind::body, .name = name, .body_bytes = body.body.size()},
                     .body = body.body,
                     .token = body.token});
  if (was_empty && owner.is_open(peer.ours)) owner.flush(*peer.ours);
  return true;
}

}  // namespace tri::wire
