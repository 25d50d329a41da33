#include "mpi/heap/job/start_environment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>

namespace tri::mpi {
namespace {

constexpr std::size_t room_bytes = std::size_t{8} << 20;  // above what exec accepts (a quarter of the stack's limit)

}  // namespace

start_environment::start_environment() {
  const int file = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  // Shared, because the limit of data (ulimit -d) counts private memory before it is used.
  void* const room =
      mmap(nullptr, room_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room != MAP_FAILED) {
    room_ = room;
    auto* const text = static_cast<char*>(room);
    text_ = text;
    while (bytes_ < room_bytes) {
      const ssize_t count = read(file, text + bytes_, room_bytes - bytes_);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      bytes_ += static_cast<std::size_t>(count);
    }
  }
  close(file);
}

start_environment::~start_environment() {
  if (room_ != nullptr) munmap(room_, room_bytes);
}

std::string_view start_environment::operator[](std::string_view name) const {
  std::string_view rest(text_, bytes_);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    const std::string_view entry = rest.substr(0, end);
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
      return entry.substr(name.size() + 1);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return {};
}

}  // namespace tri::mpi
