#include "checkpoint/folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "os/folder.hpp"
#include "os/hash.hpp"
#include "os/output_file.hpp"
#include "os/packet_socket.hpp"
#include "os/text_file.hpp"

namespace tri::checkpoint_files {
namespace {

constexpr std::string_view states_prefix = "states-", pe_prefix = "pe-";

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw checkpoint_error(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

std::string path_of_manifest(const std::string& folder) { return folder + "/manifest"; }

/// The number of a folder of states, of whose names there are no others.
std::optional<std::uint64_t> number_of_states(std::string_view name) {
  if (!name.starts_with(states_prefix)) return {};
  name.remove_prefix(states_prefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return number;
}

// Only what a checkpoint puts there: a file of the user's keeps its folder.
void remove_states(const std::string& states) {
  for (const std::string& name : os::names_in(states))
    if (name == "job" || name.starts_with(pe_prefix)) unlink(fmt::format("{}/{}", states, name).c_str());
  rmdir(states.c_str());
}

/// Names that were made or replaced in a folder survive a loss of power.
void sync_folder(const std::string& path) {
  const os::unique_fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some network file systems know no fsync of a folder: they have written it by then.
  if (!folder || (fsync(folder.get()) != 0 && errno != EINVAL && errno != ENOTSUP)) fail(path, "cannot be written");
}

}  // namespace

std::string path_of_pe(const std::string& states, std::uint64_t pe) {
  return fmt::format("{}/{}{}", states, pe_prefix, pe);
}
std::string path_of_job(const std::string& states) { return states + "/job"; }

// What has no number stays: remove_states() comes afterwards.
void remove_share_of_states(const std::string& states, int share, int shares) {
  for (const std::string& name : os::names_in(states)) {
    int pe = 0;
    if (!name.starts_with(pe_prefix)) continue;
    const char* const end = name.data() + name.size();
    if (std::from_chars(name.data() + pe_prefix.size(), end, pe).ptr == end && pe % shares == share)
      unlink(fmt::format("{}/{}", states, name).c_str());
  }
}

manifest read_manifest(const std::string& folder) {
  const std::string path = path_of_manifest(folder);
  if (access(path.c_str(), F_OK) != 0) {
    const int error = errno;
    struct stat entry {};
    if (stat(folder.c_str(), &entry) != 0) fail(folder, "cannot be read");
    if (error == ENOENT)
      throw checkpoint_error(fmt::format("{}: has no checkpoint: there is no file 'manifest' in it", folder));
  }
  if (access(path.c_str(), R_OK) != 0) fail(path, "cannot be read");
  std::string text, line;
  for (os::text_file lines(path); lines.next_line(line);) text += line + "\n";
  manifest read = parse_manifest(text, path);
  if (!number_of_states(read.states))
    throw checkpoint_error(fmt::format("{}: is damaged: '{}' is no folder of states", path, read.states));
  return read;
}

unfinished_checkpoint::unfinished_checkpoint(std::string folder) : folder_(std::move(folder)) {
  if (mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST) fail(folder_, "cannot be made");
  lock_ = os::unique_fd(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock_) fail(folder_, "cannot be opened as a folder");
  // File systems without locks: then nothing protects from a second job that writes into the folder.
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw checkpoint_error(fmt::format("{}: another job is writing a checkpoint into it", folder_));
  std::string kept;
  if (access(path_of_manifest(folder_).c_str(), F_OK) == 0) {
    try {
      kept = read_manifest(folder_).states;
      remove_states_but(kept);
    } catch (const checkpoint_error&) {  // of another version, perhaps: its states stay until ours are complete
    }
  } else {
    remove_states_but(kept);
  }
  std::uint64_t number = number_of_states(kept).value_or(0) + 1;
  while (mkdir((name_ = fmt::format("{}{}", states_prefix, number), states()).c_str(), 0777) != 0) {
    if (errno != EEXIST) fail(states(), "cannot be made");
    ++number;  // something of the user's is in it
  }
  token_ = os::hashed(os::random_text());
}

unfinished_checkpoint::~unfinished_checkpoint() {
  if (!is_finished_) remove_states(states());
}

void unfinished_checkpoint::commit(manifest contents) {
  contents.states = name_;
  contents.token = token_;
  sync_folder(states());
  sync_folder(folder_);
  try {
    os::output_file file(path_of_manifest(folder_));
    file.write(text_of(contents));
    file.sync();
    file.finish();
  } catch (const std::exception& error) {
    throw checkpoint_error(error.what());
  }
  is_finished_ = true;  // whatever happens now, the manifest names these
  sync_folder(folder_);
}

std::vector<std::string> unfinished_checkpoint::replaced() const { return states_but(name_); }
void unfinished_checkpoint::remove_replaced() const { remove_states_but(name_); }

std::vector<std::string> unfinished_checkpoint::states_but(const std::string& kept) const {
  std::vector<std::string> paths;
  for (const std::string& name : os::names_in(folder_))
    if (name != kept && number_of_states(name)) paths.push_back(folder_ + "/" + name);
  return paths;
}

void unfinished_checkpoint::remove_states_but(const std::string& kept) const {
  for (const std::string& path : states_but(kept)) remove_states(path);
}

}  // namespace tri::checkpoint_files
