// See trajectory.hpp.
#include "md/files/trajectory.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <stdexcept>

namespace md {

trajectory_writer::trajectory_writer(std::filesystem::path file, trajectory_format format, bool continued)
    : file_(std::move(file)), format_(format), out_(file_, continued ? std::ios::app : std::ios::trunc) {
  if (!out_) {
    throw std::runtime_error(fmt::format("cannot open trajectory file '{}': {}", file_.string(), std::strerror(errno)));
  }
}

void trajectory_writer::write(std::int64_t step, const box& box, std::span<const atom_record> atoms) {
  fmt::memory_buffer text;
  const auto to = std::back_inserter(text);
  if (format_ == trajectory_format::xyz) {
    fmt::format_to(to, "{}\nstep {} box {} {} {}\n", atoms.size(), step, box.length(0), box.length(1), box.length(2));
    for (const atom_record& atom : atoms) {
      fmt::format_to(to, "{} {} {} {}\n", atom.type + 1, atom.position[0], atom.position[1], atom.position[2]);
    }
  } else {
    fmt::format_to(to, "ITEM: TIMESTEP\n{}\nITEM: NUMBER OF ATOMS\n{}\nITEM: BOX BOUNDS pp pp pp\n", step,
                   atoms.size());
    for (std::size_t d = 0; d < 3; ++d) fmt::format_to(to, "{} {}\n", box.low[d], box.high[d]);
    fmt::format_to(to, "ITEM: ATOMS id type x y z ix iy iz\n");
    for (const atom_record& atom : atoms) {
      fmt::format_to(to, "{} {} {} {} {} {} {} {}\n", atom.id, atom.type + 1, atom.position[0], atom.position[1],
                     atom.position[2], atom.image[0], atom.image[1], atom.image[2]);
    }
  }
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  out_.flush();
  if (!out_) {
    throw std::runtime_error(
        fmt::format("cannot write trajectory file '{}': {}", file_.string(), std::strerror(errno)));
  }
}

}  // namespace md
