#include "mpi/calls/shared_files.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

#include "host/packet_socket.hpp"
#include "mpi/heap/heap_window.hpp"
#include "mpi/heap/user_heap.hpp"

namespace tri::mpi {
namespace {

// What one process tells the first one of the host, beside its descriptors.
struct greeting {
  std::int32_t rank;
};

constexpr auto patience = std::chrono::seconds(20);

}  // namespace

heap_place own_heap() {
  const user_heap_state& heap = user_heap();
  if (heap.phase != heap_phase::shared) return {};
  return {heap.slot, 0, heap.window_bytes};
}

shared_files exchange_files(int own_arena, const std::vector<heap_place>& places, int rank, int ranks) {
  std::array<char, 64> name{};
  host::packet_socket listener;
  if (rank == 0) {
    std::snprintf(name.data(), name.size(), "trireme-mpi.%d.%llx", getpid(),
                  static_cast<unsigned long long>(std::chrono::steady_clock::now().time_since_epoch().count()));
    try {
      listener = host::packet_socket::listen(name.data());
    } catch (const std::exception&) {
      name[0] = '\0';  // the others wait for a name
    }
  }
  PMPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (name[0] == '\0') throw std::runtime_error("the first rank could not open a socket for the others to meet at");
  const auto has_heap = [&](std::size_t of) { return places[of].slot >= 0; };
  std::vector<int> mine{own_arena};
  if (has_heap(static_cast<std::size_t>(rank))) mine.push_back(user_heap().file);
  shared_files files{std::vector<host::unique_fd>(static_cast<std::size_t>(ranks)),
                     std::vector<host::unique_fd>(static_cast<std::size_t>(ranks))};
  if (rank == 0) {
    std::vector<host::packet_socket> others;
    const auto until = std::chrono::steady_clock::now() + patience;
    while (others.size() + 1 < static_cast<std::size_t>(ranks)) {
      host::packet_socket next = listener.accept();
      if (!next) {
        if (std::chrono::steady_clock::now() > until)
          throw std::runtime_error(
              fmt::format("only {} of {} ranks came within {} s", others.size() + 1, ranks, patience.count()));
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        continue;
      }
      if (next.peer_user() != getuid()) continue;  // not one of us
      host::packet hello = next.receive();
      greeting from{};
      if (hello.bytes.size() != sizeof from) continue;
      std::memcpy(&from, hello.bytes.data(), sizeof from);
      const auto of = static_cast<std::size_t>(from.rank);
      if (from.rank < 1 || from.rank >= ranks || hello.fds.size() != (has_heap(of) ? 2 : 1)) continue;
      files.arenas[of] = std::move(hello.fds[0]);
      if (has_heap(of)) files.heaps[of] = std::move(hello.fds[1]);
      others.push_back(std::move(next));
    }
    files.arenas[0] = host::unique_fd(dup(own_arena));
    if (has_heap(0)) files.heaps[0] = host::unique_fd(dup(user_heap().file));
    std::vector<int> numbers;
    for (const host::unique_fd& file : files.arenas) numbers.push_back(file.get());
    for (const host::unique_fd& file : files.heaps)
      if (file) numbers.push_back(file.get());
    for (const host::packet_socket& other : others) {
      for (std::size_t at = 0; at < numbers.size(); at += host::most_packet_fds) {
        const std::byte nothing{};
        other.send({&nothing, 1}, std::span(numbers).subspan(at, std::min(host::most_packet_fds, numbers.size() - at)));
      }
    }
    return files;
  }
  const host::packet_socket first = host::packet_socket::connect(name.data());
  if (first.peer_user() != getuid()) throw std::runtime_error("the first rank's socket belongs to another user");
  const greeting hello{rank};
  first.send(std::as_bytes(std::span(&hello, 1)), mine);
  std::vector<host::unique_fd*> wanted;
  for (host::unique_fd& file : files.arenas) wanted.push_back(&file);
  for (std::size_t of = 0; of < places.size(); ++of)
    if (has_heap(of)) wanted.push_back(&files.heaps[of]);
  for (std::size_t have = 0; have < wanted.size();) {
    host::packet part = first.receive();
    if (part.what != host::packet::state::message) throw std::runtime_error("the first rank has closed the connection");
    for (host::unique_fd& file : part.fds)
      if (have < wanted.size()) *wanted[have++] = std::move(file);
  }
  return files;
}

void map_heaps(const shared_files& files, const std::vector<heap_place>& places, int rank) {
  for (std::size_t of = 0; of < places.size(); ++of) {
    if (static_cast<int>(of) == rank || places[of].slot < 0) continue;
    if (const int error =
            map_peer_heap(static_cast<unsigned>(places[of].slot), files.heaps[of].get(), places[of].bytes))
      throw std::runtime_error(
          fmt::format("cannot map the heap of rank {} ({} MiB): {}", of, places[of].bytes >> 20, std::strerror(error)));
  }
}

}  // namespace tri::mpi
