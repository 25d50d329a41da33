#include "mpi/heap/slot_claim.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "mpi/heap/addresses.hpp"

namespace tri::mpi {

socklen_t slot_address(std::string_view job, unsigned slot, sockaddr_un& address) {
  text_line name;
  name << "trireme-mpi." << static_cast<std::uint64_t>(getuid()) << "." << job << "."
       << static_cast<std::uint64_t>(slot);
  const std::size_t length = std::min(name.view().size(), sizeof(address.sun_path) - 1);
  std::memset(&address, 0, sizeof(address));
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.c_str(), length);  // the leading zero byte makes the name abstract
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

int move_descriptor_up(int descriptor) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return descriptor;
  const rlim_t end = std::min<rlim_t>(limit.rlim_cur, 1024);
  if (end < 64) return descriptor;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(end - 32));
  if (moved < 0) return descriptor;
  close(descriptor);
  return moved;
}

slot_claim claim_slot(std::string_view job) {
  slot_claim claim;
  const int handle = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (handle < 0) {
    claim.reason << "no Unix socket for the slot of this process (errno " << static_cast<std::uint64_t>(errno) << ")";
    return claim;
  }
  for (unsigned slot = 0; slot < most_slots; ++slot) {
    sockaddr_un address;
    const socklen_t length = slot_address(job, slot, address);
    if (bind(handle, reinterpret_cast<const sockaddr*>(&address), length) == 0) {
      claim.slot = static_cast<int>(slot);
      claim.socket = move_descriptor_up(handle);
      return claim;
    }
    if (errno == EADDRINUSE) continue;
    claim.reason << "binding the socket of slot " << static_cast<std::uint64_t>(slot) << " failed (errno "
                 << static_cast<std::uint64_t>(errno) << ")";
    close(handle);
    return claim;
  }
  claim.reason << "all " << static_cast<std::uint64_t>(most_slots) << " slots of job " << job
               << " on this host are taken";
  close(handle);
  return claim;
}

}  // namespace tri::mpi
