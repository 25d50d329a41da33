// Opens a port over the conduit that was chosen (wire_choice.hpp), after checking its options.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "boot/mpi/mpi_library.hpp"
#include "wire/conduit_port.hpp"
#include "wire/mpi/mpi_conduit.hpp"
#include "wire/packet_check.hpp"
#include "wire/packet_format.hpp"
#include "wire/packet_secret.hpp"
#include "wire/port_checks.hpp"
#include "wire/tcp/tcp_conduit.hpp"
#include "wire/ucx/ucx_conduit.hpp"

namespace tri::wire {

const port_options& checked(peer_number self, std::size_t peers, const port_options& options) {
  if (self >= peers)
    throw std::invalid_argument(fmt::format("a port of process {} among {} processes: the last one is {}", self, peers,
                                            static_cast<long>(peers) - 1));
  if (options.short_limit > options.eager_limit) {
    throw std::invalid_argument(
        fmt::format("messages up to {} bytes cannot be short while those above {} bytes go by "
                    "rendezvous: short_limit must not exceed eager_limit",
                    options.short_limit, options.eager_limit));
  }
  const std::size_t needed =
      sizeof(packet_head) + sizeof(check_value) + sizeof(message_head) + std::max(options.short_limit, header_limit);
  if (options.packet_bytes < needed || options.packet_bytes > 1'000'000) {
    throw std::invalid_argument(
        fmt::format("packets of {} bytes: with short messages of up to {} bytes they need {} to 1000000 bytes",
                    options.packet_bytes, options.short_limit, needed));
  }
  if (options.heartbeats_until_failed < 2)
    throw std::invalid_argument(
        "heartbeats_until_failed: 2 to 255; a peer is asked at one heartbeat and has until the next");
  if (options.least_bytes_per_heartbeat == 0) throw std::invalid_argument("least_bytes_per_heartbeat: 1 or more");
  if (options.coalesce_messages > 65535)
    throw std::invalid_argument(fmt::format("{} messages in one packet: at most 65535", options.coalesce_messages));
  return options;
}

void refuse_send(peer_number to, peer_number self, std::size_t peers, std::size_t header_bytes) {
  if (header_bytes > header_limit) {
    throw std::invalid_argument(
        fmt::format("a message header of {} bytes; the wire takes up to {}", header_bytes, header_limit));
  }
  if (to == self) throw std::invalid_argument(fmt::format("process {} sends to itself over the wire", self));
  throw std::invalid_argument(fmt::format("a message to process {} of {} processes: the last one is {}", to, peers,
                                          static_cast<long>(peers) - 1));
}

void missing_memory(peer_number from, std::size_t bytes) {
  fmt::print(stderr,
             "trireme: port_user::memory_for gave no memory for a body of {} bytes from process {}, which only bodies "
             "above port_options::eager_limit may be refused\n",
             bytes, from);
  std::abort();
}

conduit_choice conduit_named(std::string_view name) {
  if (name == "tcp") return conduit_choice::tcp;
  if (name == "ucx") return conduit_choice::ucx;
  if (name == "mpi") return conduit_choice::mpi;
  throw std::invalid_argument(fmt::format("there is no conduit '{}'; known: tcp, ucx, mpi", name));
}

const char* name_of(conduit_choice conduit) {
  switch (conduit) {
    case conduit_choice::tcp:
      return "tcp";
    case conduit_choice::ucx:
      return "ucx";
    case conduit_choice::mpi:
      return "mpi";
  }
  return "unknown conduit";
}

namespace {

std::unique_ptr<port> open_port_over_mpi(peer_number self, std::size_t peers, port_user& user, address_lookup lookup,
                                         const port_options& options) {
  boot::mpi_calls* const mpi = boot::started_mpi();
  if (mpi == nullptr) {
    throw std::runtime_error(
        "the wire 'mpi' exists only where MPI starts the processes: use mpirun or mpiexec instead of `trireme run`, or "
        "--tri-wire ucx");
  }
  constexpr std::size_t longest = most_size_classes * size_class_bytes;
  if (options.eager_limit > longest) {
    throw std::invalid_argument(
        fmt::format("bodies of {} bytes that are not announced: over MPI up to {} are possible (eager_limit)",
                    options.eager_limit, longest));
  }
  const mpi_options conduit = {
      .small_bytes = options.mpi.small_bytes,
      .small_receives = options.mpi.small_receives,
      .posted = {.fixed = read_posted_ahead(options.mpi.posted), .adaptive_classes = options.mpi.adaptive_classes}};
  return std::make_unique<conduit_port<mpi_conduit>>(self, peers, user, std::move(lookup), options, *mpi, peers,
                                                     conduit);
}

}  // namespace

std::unique_ptr<port> open_port(conduit_choice conduit, peer_number self, std::size_t peers, port_user& user,
                                address_lookup lookup, const port_options& with) {
  port_options options = with;
  options.secret = packet_secret::make();
  switch (conduit) {
    case conduit_choice::tcp:
      return std::make_unique<conduit_port<tcp_conduit>>(
          self, peers, user, std::move(lookup), options, self, peers,
          tcp_options{.network = options.devices,
                      .longest_packet = std::max(options.eager_limit, options.packet_bytes)});
    case conduit_choice::ucx:
      return std::make_unique<conduit_port<ucx_conduit>>(
          self, peers, user, std::move(lookup), options, peers,
          ucx_options{.transports = options.transports, .devices = options.devices});
    case conduit_choice::mpi:
      return open_port_over_mpi(self, peers, user, std::move(lookup), options);
  }
  throw std::invalid_argument(fmt::format("there is no conduit of number {}", static_cast<int>(conduit)));
}

}  // namespace tri::wire
