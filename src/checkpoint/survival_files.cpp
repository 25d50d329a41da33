#include "checkpoint/survival_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <exception>

#include "checkpoint/manifest.hpp"
#include "os/output_file.hpp"
#include "os/text_file.hpp"

namespace tri::checkpoint_files {
namespace {

std::string path_of_last(const std::string& folder) { return folder + "/last"; }
std::string path_of_mark(const std::string& folder) { return folder + "/shared"; }
std::string path_of_request(const std::string& folder) { return folder + "/processes"; }

void write(const std::string& path, const std::string& text) {
  try {
    os::write_output_file(path, text);
  } catch (const std::exception& error) {
    throw checkpoint_error(error.what());
  }
}

std::optional<std::string> first_line(const std::string& path) {
  std::string line;
  if (!os::text_file(path).next_line(line)) return {};
  return line;
}

template <class Number>
std::optional<Number> number_in(std::string_view text, int base) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

std::string memory_checkpoint_of(const std::string& survival_folder) { return survival_folder + "/checkpoint"; }

bool is_shared(const std::string& survival_folder) { return access(path_of_mark(survival_folder).c_str(), F_OK) == 0; }
void mark_as_shared(const std::string& survival_folder) { write(path_of_mark(survival_folder), "\n"); }

void note_checkpoint(const std::string& survival_folder, const last_checkpoint& completed) {
  write(path_of_last(survival_folder), fmt::format("{:016x} {}\n", completed.token, completed.folder));
}

std::optional<last_checkpoint> find_checkpoint(const std::string& survival_folder) {
  const std::optional<std::string> line = first_line(path_of_last(survival_folder));
  constexpr std::size_t digits = 16;
  if (!line || line->size() < digits + 2) return {};
  const auto token = number_in<std::uint64_t>(std::string_view(*line).substr(0, digits), 16);
  if (!token) return {};
  return last_checkpoint{*token, line->substr(digits + 1)};
}

void request_processes(const std::string& survival_folder, int processes) {
  write(path_of_request(survival_folder), fmt::format("{}\n", processes));
}

std::optional<int> requested_processes(const std::string& survival_folder) {
  const std::optional<std::string> line = first_line(path_of_request(survival_folder));
  return line ? number_in<int>(*line, 10) : std::nullopt;
}

void forget_request(const std::string& survival_folder) { unlink(path_of_request(survival_folder).c_str()); }

}  // namespace tri::checkpoint_files
