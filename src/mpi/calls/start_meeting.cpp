#include "mpi/calls/start_meeting.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "mpi/calls/abi.hpp"
#include "mpi/heap/addresses.hpp"
#include "mpi/heap/job_name.hpp"

namespace tri::mpi {
namespace {

constexpr std::size_t most_part_bytes = 128;
static_assert(most_part_bytes * most_slots <= host::most_packet_bytes);

// What a rank says when it has come.
struct greeting {
  std::int32_t rank;
  std::int32_t ranks;
};

// For ranks on a busy machine: all have left the library's MPI_Init, in which they wait for each other.
constexpr auto patience_at_start = std::chrono::seconds(5);
constexpr auto patience = std::chrono::seconds(20);
constexpr auto between_looks = std::chrono::microseconds(200);

using moment = std::chrono::steady_clock::time_point;

void add(std::uint64_t& hash, std::string_view text) {  // FNV-1a
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  hash = (hash ^ 0xffu) * 0x100000001b3;
}

bool is_number(std::string_view text, int number) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value == number;
}

// At rank 0: a connection to each other rank, in order; fewer when not all have come in time.
std::vector<host::packet_socket> welcome(host::packet_socket listener, int ranks, moment until) {
  std::vector<host::packet_socket> others(static_cast<std::size_t>(ranks) - 1);
  std::size_t here = 0;
  while (here < others.size()) {
    host::packet_socket next = listener.accept();
    if (!next) {
      if (std::chrono::steady_clock::now() > until) break;
      std::this_thread::sleep_for(between_looks);
      continue;
    }
    if (next.peer_user() != getuid()) continue;  // not one of us
    const host::packet hello = next.receive();
    greeting from{};
    if (hello.bytes.size() != sizeof from) continue;
    std::memcpy(&from, hello.bytes.data(), sizeof from);
    if (from.ranks != ranks || from.rank < 1 || from.rank >= ranks) continue;
    host::packet_socket& place = others[static_cast<std::size_t>(from.rank) - 1];
    if (place) continue;
    place = std::move(next);
    ++here;
  }
  if (here < others.size()) std::erase_if(others, [](const host::packet_socket& each) { return !each; });
  return others;
}

constexpr std::byte no{0};
constexpr std::byte yes{1};

}  // namespace

std::string job_on_this_host(int ranks) {
  const start_environment environment;
  std::uint64_t hash = 0xcbf29ce484222325;
  if (!is_number(environment[abi::ranks_variable], ranks) || !is_number(environment[abi::ranks_here_variable], ranks))
    return {};
  if (abi::launcher_is_pmix) {
    // Of the launcher, with its port: two launchers may give their jobs the same number.
    std::string_view server;
    for (const char* const name : {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI2"})
      if (server.empty()) server = environment[name];
    const std::string_view job = environment["PMIX_NAMESPACE"];
    if (server.empty() || job.empty()) return {};
    add(hash, server);
    add(hash, job);
  } else {
    // Programs that were spawned have the launcher of their parents.
    const pid_t launcher = process_behind(environment["PMI_FD"]);
    struct stat of_processes {};  // which process numbers these are: containers may share the names of sockets
    if (launcher <= 0 || !environment["PMI_SPAWNED"].empty() || stat("/proc/self/ns/pid", &of_processes) != 0)
      return {};
    add(hash, fmt::format("{}.{}", launcher, of_processes.st_ino));
  }
  return fmt::format("trireme-mpi-start.{}.{:016x}", getuid(), hash);
}

start_meeting::start_meeting(int rank, int ranks) : rank_(rank), ranks_(ranks) {
  if (ranks == 1) {
    have_met_ = true;
    return;
  }
  const std::string job = ranks <= static_cast<int>(most_slots) ? job_on_this_host(ranks) : std::string();
  if (job.empty()) return;
  is_due_ = true;
  const moment until = std::chrono::steady_clock::now() + patience_at_start;
  if (rank == 0) {
    try {
      connections_ = welcome(host::packet_socket::listen(job), ranks, until);
    } catch (const std::exception&) {  // nobody has heard of it, or nobody will
      connections_.clear();
    }
    have_met_ = connections_.size() + 1 == static_cast<std::size_t>(ranks);
    if (!have_met_)
      why_in_vain_ = fmt::format(
          "only {} of {} ranks have come within {} s of MPI_Init; 'trireme exec' must stand before "
          "every program of the job",
          connections_.size() + 1, ranks, patience_at_start.count());
    for (const host::packet_socket& other : connections_) {
      try {
        other.send({have_met_ ? &yes : &no, 1});
      } catch (const std::exception& failure) {
        if (have_met_) end_job(failure.what());
      }
    }
    if (!have_met_) connections_.clear();
    return;
  }
  host::packet_socket first;
  while (!first) {
    try {
      first = host::packet_socket::connect(job);
    } catch (const std::exception&) {
      if (std::chrono::steady_clock::now() > until) {
        why_in_vain_ = fmt::format(
            "rank 0 has not come within {} s of MPI_Init; 'trireme exec' must stand before every "
            "program of the job",
            patience_at_start.count());
        return;
      }
      std::this_thread::sleep_for(between_looks);
    }
  }
  bool has_come = false;
  try {
    if (first.peer_user() != getuid()) return;
    const greeting hello{rank, ranks};
    first.send(std::as_bytes(std::span(&hello, 1)));
    has_come = true;
    const host::packet answer = first.receive();
    have_met_ = answer.bytes.size() == 1 && answer.bytes[0] == yes;  // closed: rank 0 did not let us in
  } catch (const std::exception& failure) {
    if (has_come) end_job(failure.what());
  }
  if (have_met_) connections_.push_back(std::move(first));
}

std::vector<host::packet_socket> meet_through_library(int rank, int ranks) {
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
  if (rank == 0) {
    auto others = welcome(std::move(listener), ranks, std::chrono::steady_clock::now() + patience);
    if (const std::size_t here = others.size() + 1; here < static_cast<std::size_t>(ranks))
      throw std::runtime_error(fmt::format("only {} of {} ranks came within {} s", here, ranks, patience.count()));
    return others;
  }
  std::vector<host::packet_socket> first;
  first.push_back(host::packet_socket::connect(name.data()));
  if (first[0].peer_user() != getuid()) throw std::runtime_error("the first rank's socket belongs to another user");
  const greeting hello{rank, ranks};
  first[0].send(std::as_bytes(std::span(&hello, 1)));
  return first;
}

void start_meeting::end_job(const char* why) const {
  fmt::print(stderr, "trireme mpi: rank {} lost the connection to another rank in MPI_Init: {}\n", rank_, why);
  PMPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

host::packet start_meeting::received_from(const host::packet_socket& rank) const {
  try {
    host::packet part = rank.receive();
    if (part.what == host::packet::state::message) return part;
  } catch (const std::length_error&) {  // descriptors were lost; the message itself is not wanted then
    return {};
  } catch (const std::exception& failure) {
    end_job(failure.what());
  }
  end_job("it was closed");
}

void start_meeting::gather(std::span<const std::byte> mine, std::span<std::byte> all) const {
  if (!have_met_) {
    const int bytes = static_cast<int>(mine.size());
    PMPI_Allgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
    return;
  }
  const auto take = [&](const host::packet_socket& from, std::span<std::byte> to) {
    const host::packet part = received_from(from);
    if (part.bytes.size() != to.size()) end_job("it sent something else than was agreed");
    std::copy(part.bytes.begin(), part.bytes.end(), to.begin());
  };
  const auto give = [&](const host::packet_socket& to, std::span<const std::byte> what) {
    try {
      to.send(what);
    } catch (const std::exception& failure) {
      end_job(failure.what());
    }
  };
  if (rank_ != 0) {
    give(connections_[0], mine);
    take(connections_[0], all);
    return;
  }
  std::copy(mine.begin(), mine.end(), all.begin());
  for (std::size_t other = 0; other < connections_.size(); ++other)
    take(connections_[other], all.subspan((other + 1) * mine.size(), mine.size()));
  for (const host::packet_socket& other : connections_) give(other, all);
}

int start_meeting::smallest(int mine) const {
  int found = mine;
  if (have_met_) {
    std::vector<int> all(static_cast<std::size_t>(ranks_));
    gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    found = *std::min_element(all.begin(), all.end());
  } else {
    PMPI_Allreduce(&mine, &found, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  return found;
}

void start_meeting::tell(std::span<std::byte> what) const {
  if (have_met_) {
    std::vector<std::byte> all(what.size() * static_cast<std::size_t>(ranks_));
    gather(what, all);
    std::copy_n(all.begin(), what.size(), what.begin());
  } else {
    PMPI_Bcast(what.data(), static_cast<int>(what.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  }
}

}  // namespace tri::mpi
