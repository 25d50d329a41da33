// Which send belongs to which begin of a method, and for messages between hosts the three segments of their way: from
// the worker that sends to the wire (queues of the port, memory of the receiver, coalescing), over the network, and
// from the wire to the worker that runs the method (its inbox).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace_folder.hpp"

namespace tri::tools {

struct message_path {
  int source = 0;       // PE
  int destination = 0;  // the PE that ran it
  std::uint64_t number = 0;
  std::uint32_t handler = 0;
  std::uint32_t bytes = 0;
  std::int64_t sent = 0;
  std::int64_t begun = 0;
  bool between_hosts = false;  // and both wires were traced: then these are known
  std::int64_t left = 0;
  std::int64_t arrived = 0;

  std::int64_t to_wire() const { return left - sent; }
  std::int64_t on_wire() const { return arrived - left; }
  std::int64_t to_method() const { return begun - arrived; }
  std::int64_t total() const { return begun - sent; }
};

/// Of all messages of which both ends were traced, by the time of their send.
std::vector<message_path> paths_of(const trace_folder& trace);

/// The segments of messages between hosts: median, mean and largest of each, and the `most` that took longest.
std::string text_of_segments(const trace_folder& trace, const std::vector<message_path>& paths, std::size_t most);

}  // namespace tri::tools
