#include "mpi/startup/bootstrap_exchange.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <poll.h>
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
#include <ctime>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "mpi/abi/abi.hpp"
#include "mpi/heap/addresses.hpp"
#include "mpi/heap/job/job_name.hpp"
#include "mpi/heap/job/private_folder.hpp"
#include "mpi/startup/job_abort.hpp"
#include "mpi/startup/user_settings.hpp"
#include "os/hash.hpp"
#include "os/unique_fd.hpp"

namespace tri::mpi {
namespace {

constexpr std::size_t most_part_bytes = 128;
static_assert(most_part_bytes * most_slots <= os::most_packet_bytes);

// A rank's first message after connecting.
struct greeting {
  std::int32_t rank;
  std::int32_t ranks;
};

constexpr auto between_polls = std::chrono::microseconds(200);

// Bootstrap sockets in the private folder. A socket of this age without a listener was left by a rank that died in its
// bootstrap exchange.
constexpr std::string_view socket_prefix = "mpi-start.";
constexpr std::time_t longest_without_listener_s = 60;

using clock = std::chrono::steady_clock;
using moment = clock::time_point;

// 0 is for ever.
moment after(std::chrono::seconds limit) {
  return limit == std::chrono::seconds(0) ? moment::max() : clock::now() + limit;
}

bool is_number(std::string_view text, int number) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value == number;
}

// At rank 0: the connected ranks. No connection blocks another: one that has not sent its rank yet waits in parallel,
// and one from outside the job is rejected.
class reception {
 public:
  reception(os::packet_socket listener, int ranks)
      : listener_(std::move(listener)), ranks_(ranks), others_(static_cast<std::size_t>(ranks) - 1) {}

  // False when not all have connected in time.
  bool wait_for_all(moment until) {
    while (here_ < others_.size()) {
      if (!wait_for_any(until)) return false;
      let_in();
      std::erase_if(unnamed_, [&](os::packet_socket& each) { return !each || is_heard(each); });
    }
    return true;
  }
  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (std::size_t other = 0; other < others_.size(); ++other)
      if (!others_[other]) ranks.push_back(static_cast<int>(other) + 1);
    return ranks;
  }
  // A connection to each connected rank, in order.
  std::vector<os::packet_socket> take() {
    std::erase_if(others_, [](const os::packet_socket& each) { return !each; });
    return std::move(others_);
  }

 private:
  // At most this many at a time: a peer that keeps connecting must not starve the ranks that have connected.
  static constexpr int most_at_once = 64;
  static constexpr std::size_t most_unnamed = std::size_t{2} * most_slots;

  bool wait_for_any(moment until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
    if (left <= 0) return false;
    std::vector<pollfd> watched{{listener_.fd(), POLLIN, 0}};
    for (const os::packet_socket& each : unnamed_) watched.push_back({each.fd(), POLLIN, 0});
    poll(watched.data(), watched.size(), static_cast<int>(std::min<std::int64_t>(left, 1'000'000)));
    return true;
  }
  void let_in() {
    for (int count = 0; count < most_at_once; ++count) {
      os::packet_socket next = listener_.accept();
      if (!next) return;
      if (next.peer_user() != geteuid()) continue;  // not one of us
      if (unnamed_.size() == most_unnamed) unnamed_.erase(unnamed_.begin());
      unnamed_.push_back(std::move(next));
    }
  }
  // False when it must be called again.
  bool is_heard(os::packet_socket& next) {
    os::packet hello;
    try {
      hello = next.receive(false);
    } catch (const std::exception&) {  // no greeting
      return true;
    }
    if (hello.what == os::packet::state::nothing_yet) return false;
    greeting from{};
    if (hello.bytes.size() != sizeof from) return true;
    std::memcpy(&from, hello.bytes.data(), sizeof from);
    if (from.ranks != ranks_ || from.rank < 1 || from.rank >= ranks_) return true;
    os::packet_socket& place = others_[static_cast<std::size_t>(from.rank) - 1];
    if (place) return true;
    place = std::move(next);
    ++here_;
    return true;
  }

  os::packet_socket listener_;
  int ranks_;
  std::vector<os::packet_socket> others_;   // by rank - 1
  std::vector<os::packet_socket> unnamed_;  // the oldest first
  std::size_t here_ = 0;
};

// A socket in the user's folder, whose file is removed as soon as it is no longer needed.
class named_listener {
 public:
  named_listener(int folder, const std::string& name) : folder_(folder), name_(name) {
    unlinkat(folder_, name_.c_str(), 0);  // of a job whose launcher had the same number
    listener_ = os::packet_socket::listen_in(folder_, name_);
  }
  ~named_listener() { unlinkat(folder_, name_.c_str(), 0); }
  named_listener(const named_listener&) = delete;
  named_listener& operator=(const named_listener&) = delete;
  os::packet_socket take() { return std::move(listener_); }

 private:
  int folder_;
  const std::string& name_;
  os::packet_socket listener_;
};

// Whether the socket has no listener any more; when that is unknown it is kept.
bool is_left_behind(int folder, const char* name) {
  struct stat facts {};
  if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(facts.st_mode) ||
      facts.st_mtime + longest_without_listener_s >= std::time(nullptr))
    return false;
  try {
    return !os::packet_socket::try_connect_in(folder, name);
  } catch (const std::exception&) {
    return false;
  }
}

// What dead ranks have left.
void remove_old_sockets(int folder) {
  const int readable = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = readable < 0 ? nullptr : fdopendir(readable);
  if (listing == nullptr) return;
  while (const dirent* const entry = readdir(listing))
    if (std::string_view(entry->d_name).starts_with(socket_prefix) && is_left_behind(folder, entry->d_name))
      unlinkat(folder, entry->d_name, 0);
  closedir(listing);
}

constexpr std::byte no{0};
constexpr std::byte yes{1};

}  // namespace

std::string job_on_this_host(int ranks) {
  const start_environment environment;
  std::uint64_t hash = os::hash_of_nothing;
  if (!is_number(environment[abi::ranks_variable], ranks) || !is_number(environment[abi::ranks_here_variable], ranks))
    return {};
  if (abi::launcher_is_pmix) {
    // Of the launcher, with its port: two launchers may give their jobs the same number.
    std::string_view server;
    for (const char* const name : {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI2"})
      if (server.empty()) server = environment[name];
    const std::string_view job = environment["PMIX_NAMESPACE"];
    if (server.empty() || job.empty()) return {};
    hash = os::hashed_name(hash, server);
    hash = os::hashed_name(hash, job);
  } else {
    // Programs that were spawned have the launcher of their parents.
    const pid_t launcher = process_behind(environment["PMI_FD"]);
    struct stat of_processes {};  // which process numbers these are: containers may share the names of sockets
    if (launcher <= 0 || !environment["PMI_SPAWNED"].empty() || stat("/proc/self/ns/pid", &of_processes) != 0)
      return {};
    hash = os::hashed_name(hash, fmt::format("{}.{}", launcher, of_processes.st_ino));
  }
  return fmt::format("{}{:016x}", socket_prefix, hash);
}

bootstrap_exchange::bootstrap_exchange(int rank, int ranks) : rank_(rank), ranks_(ranks), limits_(start_limits()) {
  hosts_.rank = rank;
  hosts_.size = ranks;
  if (ranks == 1) {
    connected_ = true;
    return;
  }
  const bool may_connect = ranks <= static_cast<int>(most_slots) && !pretends_hosts();
  const std::string name = may_connect ? job_on_this_host(ranks) : std::string();
  if (name.empty()) return;
  is_due_ = true;
  const private_folder found = open_private_folder(start_environment());
  const os::unique_fd folder(found.descriptor);
  if (!folder) {
    failure_ = found.reason.view();
    return;
  }
  try {
    rank == 0 ? wait_for_others(folder.get(), name) : come(folder.get(), name);
  } catch (const std::exception& failure) {  // no rank knows the name, or none will connect
    connections_.clear();
    failure_ = fmt::format("the ranks cannot connect in {}: {}", found.path.view(), failure.what());
  }
}

void bootstrap_exchange::wait_for_others(int folder, const std::string& name) {
  {
    remove_old_sockets(folder);
    named_listener here(folder, name);
    reception others(here.take(), ranks_);
    connected_ = others.wait_for_all(after(limits_.to_come));
    if (!connected_) {
      const std::vector<int> missing = others.missing();
      failure_ = fmt::format(
          "only {} of {} ranks connected within {} s of MPI_Init (missing: {}); 'trireme exec' must stand before "
          "every "
          "program of the job",
          static_cast<std::size_t>(ranks_) - missing.size(), ranks_, limits_.to_come.count(), fmt::join(missing, ", "));
    }
    connections_ = others.take();
  }
  for (const os::packet_socket& other : connections_) {
    try {
      other.send({connected_ ? &yes : &no, 1});
    } catch (const std::exception& failure) {
      if (connected_) end_job(failure.what());
    }
  }
  if (!connected_) connections_.clear();
}

void bootstrap_exchange::come(int folder, const std::string& name) {
  const moment until = after(limits_.to_come);
  os::packet_socket first;
  while (!(first = os::packet_socket::try_connect_in(folder, name))) {
    if (clock::now() > until) {
      failure_ = fmt::format(
          "rank 0 did not accept a connection within {} s of MPI_Init; 'trireme exec' must stand before every program "
          "of the job",
          limits_.to_come.count());
      return;
    }
    std::this_thread::sleep_for(between_polls);
  }
  const greeting hello{rank_, ranks_};
  first.send(std::as_bytes(std::span(&hello, 1)));
  // From here on rank 0 may count on us.
  connections_.push_back(std::move(first));
  os::packet answer;
  try {
    answer = connections_[0].receive_until(after(limits_.to_come + limits_.to_speak));
  } catch (const std::exception& failure) {
    end_job(failure.what());
  }
  if (answer.what == os::packet::state::nothing_yet)
    end_job(silence_of(connections_[0], limits_.to_come + limits_.to_speak).c_str());
  connected_ = answer.bytes.size() == 1 && answer.bytes[0] == yes;  // closed: rank 0 rejected us
  if (!connected_) connections_.clear();
}

std::vector<os::packet_socket> connect_through_library(const job_hosts& hosts) {
  const int rank = hosts.rank;
  const int ranks = hosts.size;
  const std::chrono::seconds patience = start_limits().through_library;
  std::array<char, 64> name{};
  os::packet_socket listener;
  if (rank == 0) {
    // A name that cannot be guessed cannot be taken first; once it exists, any process can see it and connect.
    std::snprintf(name.data(), name.size(), "trireme-mpi-%s", os::random_text().c_str());
    try {
      listener = os::packet_socket::listen(name.data());
    } catch (const std::exception&) {
      name[0] = '\0';  // the others wait for a name
    }
  }
  PMPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, hosts.of_host);
  if (name[0] == '\0') throw std::runtime_error("the first rank could not open a socket for the others to connect to");
  if (rank == 0) {
    reception others(std::move(listener), ranks);
    if (!others.wait_for_all(after(patience)))
      throw std::runtime_error(
          fmt::format("ranks {} did not come within {} s", fmt::join(others.missing(), ", "), patience.count()));
    return others.take();
  }
  std::vector<os::packet_socket> first;
  first.push_back(os::packet_socket::connect(name.data(), patience));
  if (first[0].peer_user() != geteuid()) throw std::runtime_error("the first rank's socket belongs to another user");
  const greeting hello{rank, ranks};
  first[0].send(std::as_bytes(std::span(&hello, 1)));
  return first;
}

// Nonblocking: libraries give such operations tags of their own, so ranks without us do not match it by a blocking one.
void bootstrap_exchange::meet() const {
  if (connected_) return;
  const moment until = after(limits_.to_speak);
  const bool is_limited = limits_.to_speak.count() > 0;
  int mine = 1;
  int all = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_BAND, MPI_COMM_WORLD, &request);
  for (int done = 0;;) {
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) break;
    if (is_limited && clock::now() > until)
      abort_job(fmt::format(
          "rank {} has waited {} s in MPI_Init for other ranks of the job (TRIREME_MPI_START_TIMEOUT); 'trireme exec' "
          "must stand before every program of the job, on each host, with the same settings",
          rank_, limits_.to_speak.count()));
    std::this_thread::yield();
  }
}

std::string bootstrap_exchange::silence_of(const os::packet_socket& other, std::chrono::seconds limit) const {
  std::size_t rank = 0;
  if (rank_ == 0)
    while (rank < connections_.size() && connections_[rank++].fd() != other.fd()) {
    }
  return fmt::format("rank {} (pid {}) has said nothing for {} s (TRIREME_MPI_START_TIMEOUT)", rank, other.peer_pid(),
                     limit.count());
}

void bootstrap_exchange::end_job(const char* why) const {
  abort_job(fmt::format("rank {} lost the connection to another rank in MPI_Init: {}", rank_, why));
}

os::packet bootstrap_exchange::received_from(const os::packet_socket& rank) const {
  // Rank 0 knows which rank is silent; the others, which wait for rank 0, leave it the time to say so.
  const bool is_limited = limits_.to_speak.count() > 0;
  const std::chrono::seconds limit = limits_.to_speak + std::chrono::seconds(rank_ > 0 && is_limited ? 2 : 0);
  try {
    os::packet part = rank.receive_until(after(limit));
    if (part.what == os::packet::state::message) return part;
    if (part.what == os::packet::state::nothing_yet) end_job(silence_of(rank, limit).c_str());
  } catch (const std::length_error&) {  // descriptors were lost; the message itself is not wanted then
    return {};
  } catch (const std::exception& failure) {
    end_job(failure.what());
  }
  end_job("it was closed");
}

void bootstrap_exchange::gather(std::span<const std::byte> mine, std::span<std::byte> all) const {
  if (!connected_) {
    const int bytes = static_cast<int>(mine.size());
    PMPI_Allgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, hosts_.of_host);
    return;
  }
  const auto take = [&](const os::packet_socket& from, std::span<std::byte> to) {
    const os::packet part = received_from(from);
    if (part.bytes.size() != to.size()) end_job("it sent something else than was agreed");
    std::copy(part.bytes.begin(), part.bytes.end(), to.begin());
  };
  const auto give = [&](const os::packet_socket& to, std::span<const std::byte> what) {
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
  for (const os::packet_socket& other : connections_) give(other, all);
}

int bootstrap_exchange::smallest(int mine) const {
  int found = mine;
  if (connected_) {
    std::vector<int> all(static_cast<std::size_t>(ranks_));
    gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    found = *std::min_element(all.begin(), all.end());
  } else {
    PMPI_Allreduce(&mine, &found, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  return found;
}

void bootstrap_exchange::tell(std::span<std::byte> what) const {
  if (connected_) {
    std::vector<std::byte> all(what.size() * static_cast<std::size_t>(ranks_));
    gather(what, all);
    std::copy_n(all.begin(), what.size(), what.begin());
  } else {
    PMPI_Bcast(what.data(), static_cast<int>(what.size()), MPI_BYTE, 0, hosts_.of_host);
  }
}

}  // namespace tri::mpi
