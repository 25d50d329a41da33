// See body_files.hpp.
#include "gravity/bodies/body_files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gravity {
namespace {

constexpr std::string_view magic = "TRIGRAV1";
constexpr std::uint32_t byte_order_mark = 0x01020304;
constexpr std::size_t values_per_body = 7;

struct file_header {
  std::array<char, 8> magic;
  std::uint32_t byte_order;
  std::uint32_t zero;
  std::uint64_t bodies;
};
static_assert(sizeof(file_header) == 24);
using file_body = std::array<double, values_per_body>;

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", file.string(), what));
}

// `place` names the line or the body.
body make_body(const std::filesystem::path& file, const std::string& place, const file_body& values,
               std::size_t number) {
  constexpr std::array<std::string_view, values_per_body> names = {"x", "y", "z", "vx", "vy", "vz", "mass"};
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      fail(file, fmt::format("{}: {} is {}; it must be finite", place, names[i], values[i]));
  if (values[6] < 0.0) fail(file, fmt::format("{}: the mass is {}; it must be at least 0", place, values[6]));
  return {{values[0], values[1], values[2]},
          {values[3], values[4], values[5]},
          values[6],
          static_cast<std::int64_t>(number)};
}

std::vector<body> read_binary(const std::filesystem::path& file, const std::string& text) {
  file_header header{};
  if (text.size() < sizeof header) {
    fail(file, fmt::format("is {} bytes long; a binary file of bodies has at least {}", text.size(), sizeof header));
  }
  std::memcpy(&header, text.data(), sizeof header);
  if (header.byte_order != byte_order_mark) fail(file, "was written on a computer with another order of bytes");
  const std::size_t present = (text.size() - sizeof header) / sizeof(file_body);
  const bool whole = present * sizeof(file_body) == text.size() - sizeof header;
  if (header.bodies != present || !whole) {
    fail(file, fmt::format("says that it has {} bodies, but its length is right for {}{}; it may be cut off",
                           header.bodies, present, whole ? "" : " and a part"));
  }
  std::vector<body> bodies;
  bodies.reserve(present);
  for (std::size_t i = 0; i < present; ++i) {
    file_body values{};
    std::memcpy(values.data(), text.data() + sizeof header + i * sizeof values, sizeof values);
    bodies.push_back(make_body(file, fmt::format("body {}", i), values, i));
  }
  return bodies;
}

file_body parse_line(const std::filesystem::path& file, std::string_view line, std::size_t number) {
  constexpr std::string_view blank = " \t\r";
  file_body values{};
  std::size_t found = 0;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(blank), line.size()));
    if (line.empty()) break;
    const std::string_view word = line.substr(0, line.find_first_of(blank));
    double value = 0.0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      fail(file, fmt::format("line {}: '{}' is not a number that a double can hold", number, word));
    if (found < values.size()) values[found] = value;
    ++found;
    line.remove_prefix(word.size());
  }
  if (found != values.size())
    fail(file, fmt::format("line {}: has {} numbers; a body has 7: x y z vx vy vz mass", number, found));
  return values;
}

std::vector<body> read_text(const std::filesystem::path& file, std::string_view text) {
  std::vector<body> bodies;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    bodies.push_back(make_body(file, fmt::format("line {}", number), parse_line(file, line, number), bodies.size()));
  }
  return bodies;
}

std::filesystem::path unfinished_name(const std::filesystem::path& file) { return file.string() + ".part"; }

std::ofstream open_to_write(const std::filesystem::path& file) {
  std::ofstream out(file, std::ios::binary);
  if (!out) fail(file, fmt::format("cannot be written: {}", std::strerror(errno)));
  return out;
}

std::string as_text(std::span<const body> bodies) {
  std::string text = "# x y z vx vy vz mass\n";
  for (const body& each : bodies) {
    const auto& [x, v, mass, id] = each;
    text += fmt::format("{:.17g} {:.17g} {:.17g} {:.17g} {:.17g} {:.17g} {:.17g}\n", x[0], x[1], x[2], v[0], v[1], v[2],
                        mass);
  }
  return text;
}

std::string as_binary(std::span<const body> bodies) {
  file_header header{{}, byte_order_mark, 0, bodies.size()};
  std::memcpy(header.magic.data(), magic.data(), magic.size());
  std::string bytes(sizeof header + bodies.size() * sizeof(file_body), '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const auto& [x, v, mass, id] = bodies[i];
    const file_body values = {x[0], x[1], x[2], v[0], v[1], v[2], mass};
    std::memcpy(bytes.data() + sizeof header + i * sizeof values, values.data(), sizeof values);
  }
  return bytes;
}

}  // namespace

std::vector<body> read_bodies(const std::filesystem::path& file) {
  if (std::filesystem::is_directory(file)) fail(file, "is a folder");
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(file, fmt::format("cannot be opened: {}", std::strerror(errno)));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) fail(file, "cannot be read");
  std::vector<body> bodies = text.starts_with(magic) ? read_binary(file, text) : read_text(file, text);
  if (bodies.empty()) fail(file, "has no bodies; at least 1 is needed");
  return bodies;
}

void check_writable(const std::filesystem::path& file) {
  if (std::filesystem::is_directory(file)) fail(file, "is a folder");
  const std::filesystem::path unfinished = unfinished_name(file);
  open_to_write(unfinished).close();
  std::filesystem::remove(unfinished);
}

void write_bodies(const std::filesystem::path& file, std::span<const body> bodies) {
  const std::string contents = file.extension() == ".txt" ? as_text(bodies) : as_binary(bodies);
  const std::filesystem::path unfinished = unfinished_name(file);
  std::ofstream out = open_to_write(unfinished);
  out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  out.close();
  std::error_code error;
  if (out) {
    std::filesystem::rename(unfinished, file, error);
    if (!error) return;
  }
  const std::string why = error ? error.message() : std::strerror(errno);
  std::filesystem::remove(unfinished, error);
  fail(file, "cannot be written: " + why);
}

}  // namespace gravity
