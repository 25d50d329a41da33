// The state of a port: outgoing packets, incoming bodies, and one record per peer ever communicated with (others cost a
// pointer). All of it belongs to the holder of the progress lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "flow/credit_pool.hpp"
#include "flow/memory_credit.hpp"
#include "wire/arrived_numbers.hpp"
#include "wire/conduit.hpp"
#include "wire/linked_list.hpp"
#include "wire/outbox.hpp"
#include "wire/packet_check.hpp"
#include "wire/packet_format.hpp"
#include "wire/port.hpp"

namespace tri::wire {

/// A packet of one message whose body stays in its block, or of many short messages that were copied into `bytes`.
struct outgoing_packet : packet_record {
  enum class kind : std::uint8_t { short_messages, one_message };

  const kind holds;
  outgoing_packet* previous = nullptr;  // in one list: open, or in flight
  outgoing_packet* next = nullptr;
  peer_number to = 0;
  std::uint32_t messages = 0;
  std::uint64_t opened_at = 0;  // ticks; short messages
  message_body body = {};       // one message
  std::size_t used = 0;         // bytes of `bytes`
  std::size_t capacity = 0;
  std::unique_ptr<std::byte[]> bytes;      // short messages: the packet; one message: its head and header
  std::vector<std::uint64_t> traced = {};  // message_body::trace of short messages that have one

  outgoing_packet(kind of, std::size_t size) : holds(of), capacity(size), bytes(new std::byte[size]) {}
  void append(const void* source, std::size_t size) {
    if (size != 0) std::memcpy(bytes.get() + used, source, size);
    used += size;
  }
  std::span<const std::byte> contents() const { return {bytes.get(), used}; }
};

/// The header of a message that had to wait, where it cannot change any more.
struct saved_header {
  std::uint32_t size = 0;
  std::array<std::byte, header_limit> bytes;

  explicit saved_header(std::span<const std::byte> header) : size(static_cast<std::uint32_t>(header.size())) {
    if (size != 0) std::memcpy(bytes.data(), header.data(), size);
  }
  std::span<const std::byte> view() const { return {bytes.data(), size}; }
};

/// A body that arrives by rendezvous.
struct incoming_body : packet_record {
  peer_number from;
  std::uint64_t sequence;
  saved_header header;
  std::size_t bytes;
  std::uint16_t copies;
  announcement announced;  // null once it was accepted
  check_value check;       // with port_options::checks
  void* memory = nullptr;
  bool whole = false;

  incoming_body(peer_number of, std::uint64_t number, std::span<const std::byte> head, std::size_t size,
                std::uint16_t counts, announcement body, const check_value& right)
      : from(of), sequence(number), header(head), bytes(size), copies(counts), announced(body), check(right) {}
};

/// A message that is complete, but was sent after one that is not.
struct early_message {
  saved_header header;
  void* body;
  std::size_t bytes;
  std::uint16_t copies;
};

/// A packet that has to wait for its turn among those of its peer.
struct early_packet {
  packet_kind kind;
  std::vector<early_message> messages = {};
  std::unique_ptr<incoming_body> body = {};  // instead of messages
};

struct peer_record {
  // Read by senders that do not hold the progress lock. pairs: port.reachable
  std::atomic<bool> reachable{false};   // connected, or failed: its address is no longer needed
  bool gone = false;                    // nothing is sent to it any more
  bool disconnected = false;            // in order: it sends nothing more
  bool reported = false;                // reported to the user as gone
  bool watching = false;                // it is, or is about to be connected because something came from it
  std::uint32_t missed_heartbeats = 0;  // since something came from it
  std::uint64_t filling_bytes = 0;      // of its bodies that have memory and are not whole
  packet_secret secret;                 // of it; once it is reachable
  std::uint64_t next_sequence = 0;      // of packets with an order
  std::uint64_t next_unordered = 0;
  arrived_numbers unordered;
  outgoing_packet* open = nullptr;  // takes short messages
  std::uint64_t expected = 0;       // sequence of the packet whose messages are next
  std::uint64_t next_to_ask = 0;    // of the first packet that may still need memory
  bool refused = false;             // its body got none, and memory will be requested again
  std::map<std::uint64_t, early_packet> early;
  flow::memory_credit credit;         // of its memory
  flow::peer_credits account;         // of ours
  linked_list<waiting_send> waiting;  // for its memory, in order
  std::uint64_t waiting_cost = 0;     // of all of them
};

}  // namespace tri::wire
