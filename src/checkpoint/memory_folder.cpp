#include "checkpoint/memory_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>

#include "checkpoint/state_file.hpp"
#include "os/folder.hpp"
#include "os/output_file.hpp"
#include "os/text_file.hpp"

namespace tri::checkpoint_files {
namespace {

constexpr std::string_view host_prefix = "host-", generation_prefix = "generation-";
constexpr int slots = 2;

std::string memory_of_host(const std::string& survival_folder, int host) {
  return fmt::format("{}/{}{}", survival_folder, host_prefix, host);
}
std::string path_of_processes(const std::string& memory) { return memory + "/processes"; }
std::string path_of_manifest(const std::string& slot) { return slot + "/manifest"; }

void make_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    throw checkpoint_error(fmt::format("{}: cannot be made: {}", path, std::strerror(errno)));
}

/// Folders of hosts.
std::vector<std::string> memories_in(const std::string& survival_folder) {
  std::vector<std::string> paths;
  for (const std::string& name : os::names_in(survival_folder))
    if (name.starts_with(host_prefix)) paths.push_back(fmt::format("{}/{}", survival_folder, name));
  return paths;
}

std::string text_in(const std::string& path) {
  std::string text, line;
  for (os::text_file lines(path); lines.next_line(line);) text += line + "\n";
  return text;
}

void write(const std::string& path, std::string_view text) {
  try {
    os::write_output_file(path, text);
  } catch (const std::exception& error) {
    throw checkpoint_error(error.what());
  }
}

std::optional<manifest> manifest_in(const std::string& slot) {
  const std::string path = path_of_manifest(slot);
  if (access(path.c_str(), F_OK) != 0) return {};
  try {
    return parse_manifest(text_in(path), path);
  } catch (const checkpoint_error&) {  // its writer died
    return {};
  }
}

void list_slot(const std::string& folder, int slot, held_memory& found) {
  for (const std::string& name : os::names_in(folder)) {
    const std::string path = fmt::format("{}/{}", folder, name);
    struct stat entry {};
    if (!name.starts_with("pe-") || stat(path.c_str(), &entry) != 0) continue;
    if (const std::optional<file_identity> identity = identity_of_file(path))
      found.files.push_back({path, slot, identity->token, identity->part, static_cast<std::uint64_t>(entry.st_size)});
  }
  if (manifest_in(folder)) found.manifests.push_back({slot, text_in(path_of_manifest(folder)), folder + "/job"});
}

}  // namespace

std::string slot_of_host(const std::string& survival_folder, int host, int slot) {
  return fmt::format("{}/slot-{}", memory_of_host(survival_folder, host), slot);
}

void make_slot(const std::string& survival_folder, int host, int slot) {
  make_folder(memory_of_host(survival_folder, host));
  make_folder(slot_of_host(survival_folder, host, slot));
}

std::string name_of_generation(std::uint64_t generation) { return fmt::format("{}{}", generation_prefix, generation); }

std::uint64_t generation_of(const manifest& contents) {
  std::string_view text = contents.states;
  if (!text.starts_with(generation_prefix)) return 0;
  text.remove_prefix(generation_prefix.size());
  std::uint64_t generation = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), generation);
  return error == std::errc() && end == text.data() + text.size() ? generation : 0;
}

held_memory list_memory(const std::string& survival_folder) {
  held_memory found;
  for (const std::string& memory : memories_in(survival_folder))
    for (int slot = 0; slot < slots; ++slot) list_slot(fmt::format("{}/slot-{}", memory, slot), slot, found);
  return found;
}

void count_generation(const std::string& slot, const manifest& contents, const std::string& job) {
  write(slot + "/job", job);
  write(path_of_manifest(slot), text_of(contents));
  for (const std::string& name : os::names_in(slot)) {
    if (!name.starts_with("pe-")) continue;
    const std::string path = fmt::format("{}/{}", slot, name);
    const std::optional<file_identity> identity = identity_of_file(path);
    if (!identity || identity->token != contents.token) unlink(path.c_str());
  }
}

void note_processes(const std::string& survival_folder, int host, int first, int count) {
  write(path_of_processes(memory_of_host(survival_folder, host)), fmt::format("{} {}\n", first, count));
}

void lose_memory_of(const std::string& survival_folder, int process) {
  for (const std::string& memory : memories_in(survival_folder)) {
    int first = 0, count = 0;
    const std::string text = text_in(path_of_processes(memory));
    const char* const end = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data(), end, first);
    if (error != std::errc() || after == end) continue;
    if (std::from_chars(after + 1, end, count).ec != std::errc()) continue;
    if (process >= first && process < first + count) os::remove_tree(memory);
  }
}

void remove_outdated(const std::string& survival_folder, std::uint64_t token) {
  for (const std::string& memory : memories_in(survival_folder)) {
    bool is_used = false;
    for (int slot = 0; slot < slots; ++slot) {
      const std::optional<manifest> found = manifest_in(fmt::format("{}/slot-{}", memory, slot));
      is_used = is_used || (found && found->token == token);
    }
    if (!is_used) os::remove_tree(memory);
  }
}

}  // namespace tri::checkpoint_files
