#include "trace/trace_clock.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>

#include "os/text_file.hpp"

namespace tri::trace {

std::string name_of_clock() {
  std::string boot;
  if (!os::text_file("/proc/sys/kernel/random/boot_id").next_line(boot)) {
    utsname names{};
    if (uname(&names) == 0) boot = names.nodename;
  }
  std::array<char, 64> space{};  // no time namespaces: the boot alone identifies it
  const ssize_t length = readlink("/proc/self/ns/time", space.data(), space.size());
  return boot + " " + (length > 0 ? std::string(space.data(), static_cast<std::size_t>(length)) : std::string());
}

}  // namespace tri::trace
