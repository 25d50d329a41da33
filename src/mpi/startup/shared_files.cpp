#include "mpi/startup/shared_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "mpi/heap/heap_window.hpp"
#include "mpi/heap/user_heap.hpp"
#include "os/packet_socket.hpp"

namespace tri::mpi {
namespace {

constexpr std::byte with_files{1};
constexpr std::byte without_files{0};
constexpr const char* advice = "is the limit of open files (ulimit -n) too low?";

// Sends the files, or a refusal that the other side waits for. False: refused.
bool send_or_refuse(const os::packet_socket& to, std::span<const int> files) {
  if (!files.empty()) {
    try {
      to.send({&with_files, 1}, files);
      return true;
    } catch (const std::system_error&) {  // too many are on their way, or one is not open
    }
  }
  to.send({&without_files, 1});
  return false;
}

}  // namespace

heap_location own_heap() {
  const user_heap_state& heap = user_heap();
  if (heap.phase != heap_phase::shared) return {};
  return {heap.slot, 0, heap.window_bytes};
}

shared_files exchange_files(int own_arena, const std::vector<heap_location>& locations,
                            const bootstrap_exchange& bootstrap) {
  const int rank = bootstrap.hosts().rank;
  const int ranks = bootstrap.hosts().size;
  // Our own go when we throw, and the others throw, too. Those of the bootstrap exchange stay: on them, refusals are
  // sent.
  std::vector<os::packet_socket> own;
  if (!bootstrap.connected()) own = connect_through_library(bootstrap.hosts());
  const std::vector<os::packet_socket>& connections = bootstrap.connected() ? bootstrap.connections() : own;
  const auto receive = [&](const os::packet_socket& from) {
    if (bootstrap.connected()) return bootstrap.received_from(from);
    os::packet part = from.receive();
    if (part.what != os::packet::state::message) throw std::runtime_error("another rank has closed the connection");
    return part;
  };
  const auto has_heap = [&](std::size_t of) { return locations[of].slot >= 0; };
  shared_files files{std::vector<os::unique_fd>(static_cast<std::size_t>(ranks)),
                     std::vector<os::unique_fd>(static_cast<std::size_t>(ranks))};
  std::size_t in_all = static_cast<std::size_t>(ranks);
  for (std::size_t of = 0; of < locations.size(); ++of) in_all += has_heap(of) ? 1 : 0;
  const std::size_t messages = (in_all + os::most_packet_fds - 1) / os::most_packet_fds;
  if (rank != 0) {
    std::vector<int> mine{own_arena};
    if (has_heap(static_cast<std::size_t>(rank))) mine.push_back(user_heap().file);
    send_or_refuse(connections[0], mine);
    std::vector<os::unique_fd> came;
    std::size_t count = 0;
    for (bool refused = false; count < messages && !refused; ++count) {
      os::packet part = receive(connections[0]);
      refused = part.bytes == std::vector{without_files};
      for (os::unique_fd& file : part.fds) came.push_back(std::move(file));
    }
    if (came.size() != in_all)
      throw std::runtime_error(
          fmt::format("the files of the job's memory did not all come: {} of {}; {}", came.size(), in_all, advice));
    std::size_t at = 0;
    for (os::unique_fd& file : files.arenas) file = std::move(came[at++]);
    for (std::size_t of = 0; of < locations.size(); ++of)
      if (has_heap(of)) files.heaps[of] = std::move(came[at++]);
    return files;
  }
  // Each of the others has sent its files or a refusal; each gets all files, or the notice that some are missing.
  bool complete = true;
  files.arenas[0] = os::unique_fd(dup(own_arena));
  if (has_heap(0)) files.heaps[0] = os::unique_fd(dup(user_heap().file));
  for (std::size_t of = 1; of < locations.size(); ++of) {
    os::packet part = receive(connections[of - 1]);
    if (part.fds.size() != (has_heap(of) ? 2U : 1U)) {
      complete = false;
      continue;
    }
    files.arenas[of] = std::move(part.fds[0]);
    if (has_heap(of)) files.heaps[of] = std::move(part.fds[1]);
  }
  std::vector<int> numbers;
  for (const os::unique_fd& file : files.arenas) numbers.push_back(file.get());
  for (std::size_t of = 0; of < locations.size(); ++of)
    if (has_heap(of)) numbers.push_back(files.heaps[of].get());
  complete = complete && std::find(numbers.begin(), numbers.end(), -1) == numbers.end();
  for (const os::packet_socket& other : connections) {
    bool goes_on = true;
    for (std::size_t at = 0; at < numbers.size() && goes_on; at += os::most_packet_fds) {
      const auto part = std::span(numbers).subspan(at, std::min(os::most_packet_fds, numbers.size() - at));
      goes_on = send_or_refuse(other, complete ? part : std::span<const int>());
    }
    complete = complete && goes_on;
  }
  if (!complete)
    throw std::runtime_error(fmt::format("the files of the job's memory could not be passed on; {}", advice));
  return files;
}

void map_heaps(const shared_files& files, const std::vector<heap_location>& locations, int rank) {
  for (std::size_t of = 0; of < locations.size(); ++of) {
    if (static_cast<int>(of) == rank || locations[of].slot < 0) continue;
    if (const int error =
            map_peer_heap(static_cast<unsigned>(locations[of].slot), files.heaps[of].get(), locations[of].bytes))
      throw std::runtime_error(fmt::format("cannot map the heap of rank {} ({} MiB): {}", of, locations[of].bytes >> 20,
                                           std::strerror(error)));
  }
}

}  // namespace tri::mpi
