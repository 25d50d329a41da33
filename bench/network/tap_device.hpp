// The network device `eth0` of a network namespace whose other end is this process (a TAP): what the hosts' programs
// send is read here frame by frame, what is written here arrives there. Segments pass whole: up to 64 KiB, with the
// checksum still to be made, as between virtual machines; each frame begins with what the kernel says about that
// (virtio_net_hdr). The device is gone when its descriptor is closed. Linux; needs root.
#pragma once

#include <cstddef>
#include <string>

#include "os/unique_fd.hpp"

namespace tri::bench {

inline constexpr std::size_t tap_header_bytes = 10;  ///< of virtio_net_hdr, whose header C++ cannot include
/// Of a frame with all headers.
inline constexpr std::size_t most_tap_frame_bytes = (std::size_t{64} << 10) + 64;

/// `namespace_name`: one of `ip netns`. This thread is in that namespace afterwards. Its reads and writes do not block.
/// Throws std::system_error.
os::unique_fd open_tap(const std::string& namespace_name);

}  // namespace tri::bench
