// Another user of the host, whose process connects to every socket of jobs that it sees and sends nonsense to each.
#pragma once

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "support/another_user.hpp"

namespace tri::testing {

/// From construction to destruction. A test that has one looks whether he was there: `connections`.
class untrusted_client {
 public:
  /// At the abstract sockets whose names begin so.
  explicit untrusted_client(std::string names_begin_with)
      : prefix_(std::move(names_begin_with)), test_(getpid()), connections_(shared_counter()) {
    child_ = start_as_another_user([this] { return connect_to_all(); });
  }
  ~untrusted_client() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    munmap(connections_, sizeof *connections_);
  }
  untrusted_client(const untrusted_client&) = delete;
  untrusted_client& operator=(const untrusted_client&) = delete;

  /// How often he was let in by processes that this test has started. relaxed: a count, and nothing beside it is read.
  long connections() const { return connections_->load(std::memory_order_relaxed); }

 private:
  using counter = std::atomic<long>;

  static counter* shared_counter() {
    void* const memory = mmap(nullptr, sizeof(counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "shared memory");
    return new (memory) counter(0);
  }

  // Begins anew when he has a few hundred connections.
  int connect_to_all() const {
    std::vector<int> held;
    while (getppid() == test_) {
      std::ifstream sockets("/proc/net/unix");
      for (std::string line; std::getline(sockets, line);) {
        const auto at = line.find(" @" + prefix_);
        if (at == std::string::npos) continue;
        const std::string name = line.substr(at + 2);
        for (int i = 0; i < 100; ++i) {
          const int guest = connect_to(name);
          if (guest >= 0) held.push_back(guest);
        }
      }
      if (held.size() < 500) continue;
      for (const int guest : held) close(guest);
      held.clear();
    }
    return 0;
  }
  // Also where he is not let in (yet), he keeps his end. Jobs of others than this test see him once, not for long.
  int connect_to(const std::string& name) const {
    const int guest = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), std::min(name.size(), sizeof address.sun_path - 1));
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (connect(guest, reinterpret_cast<const sockaddr*>(&address), length) == 0) {
      ucred listener{};
      socklen_t bytes = sizeof listener;
      if (getsockopt(guest, SOL_SOCKET, SO_PEERCRED, &listener, &bytes) != 0 || !was_started_by_test(listener.pid)) {
        close(guest);
        return -1;
      }
      connections_->fetch_add(1, std::memory_order_relaxed);  // relaxed: as in `connections`
    }
    send(guest, "nonsense", 8, MSG_NOSIGNAL);
    return guest;
  }
  bool was_started_by_test(pid_t process) const {
    while (process > 1 && process != test_) {
      std::ifstream status("/proc/" + std::to_string(process) + "/stat");
      std::string text;
      std::getline(status, text);
      const auto behind_name = text.rfind(") ");  // then its state, and its parent
      process = behind_name == std::string::npos ? 0 : std::atoi(text.c_str() + behind_name + 4);
    }
    return process == test_;
  }

  std::string prefix_;
  pid_t test_;
  counter* connections_;
  pid_t child_ = -1;
};

}  // namespace tri::testing
