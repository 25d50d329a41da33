#include "sweep/job_memory.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>

#include "os/text_file.hpp"

namespace tri::tools {
namespace {

// "Rss:    123 kB"
std::optional<std::uint64_t> bytes_of(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return std::nullopt;
  line.remove_prefix(name.size());
  const std::size_t digits = line.find_first_of("0123456789");
  if (digits == std::string_view::npos) return std::nullopt;
  std::uint64_t kibibytes = 0;
  if (std::from_chars(line.data() + digits, line.data() + line.size(), kibibytes).ec != std::errc())
    return std::nullopt;
  return kibibytes * 1024;
}

std::optional<std::uint64_t> field(const std::string& path, std::string_view name) {
  os::text_file file(path);
  std::string line;
  while (file.next_line(line))
    if (const std::optional<std::uint64_t> bytes = bytes_of(line, name)) return bytes;
  return std::nullopt;
}

}  // namespace

std::optional<process_memory> memory_of(pid_t process) {
  const std::optional<std::uint64_t> resident = field(fmt::format("/proc/{}/status", process), "VmRSS:");
  if (!resident) return std::nullopt;  // ended, or a zombie
  return process_memory{.resident_bytes = *resident,
                        .proportional_bytes = field(fmt::format("/proc/{}/smaps_rollup", process), "Pss:")};
}

process_memory memory_of_all(std::span<const pid_t> processes) {
  process_memory all{.resident_bytes = 0, .proportional_bytes = 0};
  for (const pid_t process : processes) {
    const std::optional<process_memory> each = memory_of(process);
    if (!each) continue;
    all.resident_bytes += each->resident_bytes;
    if (!each->proportional_bytes)
      all.proportional_bytes.reset();
    else if (all.proportional_bytes)
      *all.proportional_bytes += *each->proportional_bytes;
  }
  return all;
}

}  // namespace tri::tools
