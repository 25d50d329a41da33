#include "network/tap_device.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace tri::bench {
namespace {

os::unique_fd opened(const std::string& path, int flags) {
  os::unique_fd made(open(path.c_str(), flags | O_CLOEXEC));
  if (!made) throw std::system_error(errno, std::generic_category(), path);
  return made;
}

void check(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

os::unique_fd open_tap(const std::string& namespace_name) {
  const os::unique_fd host = opened("/run/netns/" + namespace_name, O_RDONLY);
  check(setns(host.get(), CLONE_NEWNET), "setns");
  os::unique_fd tap = opened("/dev/net/tun", O_RDWR | O_NONBLOCK);
  ifreq request = {};
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  std::strncpy(request.ifr_name, "eth0", sizeof request.ifr_name - 1);
  check(ioctl(tap.get(), TUNSETIFF, &request), "TUNSETIFF");
  int header_bytes = tap_header_bytes;
  check(ioctl(tap.get(), TUNSETVNETHDRSZ, &header_bytes), "TUNSETVNETHDRSZ");
  check(ioctl(tap.get(), TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN), "TUNSETOFFLOAD");
  return tap;
}

}  // namespace tri::bench
