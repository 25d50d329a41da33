#include "omp_rewrite/source_backup.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "os/hash.hpp"
#include "os/unique_fd.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view head = "trireme omp-rewrite: the original follows this line; rewritten text: ";

[[noreturn]] void fail(const fs::path& file, const char* what) {
  throw source_file_error(fmt::format("{}: {}: {}", file.string(), what, std::strerror(errno)));
}

// Against edits that were forgotten, not against forgery.
std::string check_sum(std::string_view text) { return fmt::format("{} bytes, {:016x}", text.size(), os::hashed(text)); }

fs::path behind_links(const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  return error ? file : real;
}

// A reader of `file` sees the old text or the new one, also after a crash.
void write_whole(const fs::path& file, std::string_view text, mode_t mode) {
  std::string beside = file.string() + ".XXXXXX";
  const os::unique_fd out(mkostemp(beside.data(), O_CLOEXEC));
  if (!out) fail(file, "cannot write a file beside it");
  const auto give_up = [&](const char* what) {
    const int error = errno;
    unlink(beside.c_str());
    errno = error;
    fail(file, what);
  };
  while (!text.empty()) {
    const ssize_t written = write(out.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) give_up("cannot write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fchmod(out.get(), mode) != 0) give_up("cannot set the permissions");
  if (fsync(out.get()) != 0) give_up("cannot write");
  if (rename(beside.c_str(), file.c_str()) != 0) give_up("cannot replace it");
}

mode_t mode_of(const fs::path& file) {
  struct stat facts;
  if (stat(file.c_str(), &facts) != 0) fail(file, "cannot be looked at");
  return facts.st_mode & 07777;
}

struct backup {
  std::string original;
  std::string sum_of_rewritten;
};

std::optional<backup> read_backup(const fs::path& file) {
  const fs::path kept = backup_of(file);
  if (!fs::exists(kept)) return std::nullopt;
  const std::string text = read_source(kept);
  const std::size_t end = text.find('\n');
  if (!text.starts_with(head) || end == std::string::npos)
    throw source_file_error(
        fmt::format("{}: this is not a backup of omp-rewrite; move it out of the way", kept.string()));
  return backup{text.substr(end + 1), text.substr(head.size(), end - head.size())};
}

}  // namespace

std::string read_source(const fs::path& file) {
  if (fs::is_directory(file)) throw source_file_error(fmt::format("{}: is a folder", file.string()));
  const os::unique_fd in(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in) fail(file, "cannot be read");
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t length = read(in.get(), buffer, sizeof buffer);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) fail(file, "cannot be read");
    if (length == 0) return text;
    text.append(buffer, static_cast<std::size_t>(length));
  }
}

fs::path backup_of(const fs::path& file) { return behind_links(file).string() + ".before-omp-rewrite"; }

void replace_source(const fs::path& file, std::string_view original, std::string_view text) {
  const fs::path real = behind_links(file);
  if (read_source(real) != original)
    throw source_file_error(fmt::format("{}: was changed while it was being rewritten; run it again", file.string()));
  std::string first_text(original);
  // A backup with the very text that the file has was written just before a crash.
  if (std::optional<backup> earlier = read_backup(real); earlier.has_value() && earlier->original != original) {
    if (earlier->sum_of_rewritten != check_sum(original)) {
      throw source_file_error(
          fmt::format("{}: was edited after it had been rewritten, so undoing could not bring both back; move {} away "
                      "to keep the file as it is",
                      file.string(), backup_of(file).string()));
    }
    first_text = std::move(earlier->original);
  }
  // The backup comes first: without it, a crash in between would leave a change that cannot be undone.
  write_whole(backup_of(real), fmt::format("{}{}\n{}", head, check_sum(text), first_text), mode_of(real));
  write_whole(real, text, mode_of(real));
}

void restore_source(const fs::path& file) {
  const fs::path real = behind_links(file);
  const std::string text = read_source(real);
  const std::optional<backup> kept = read_backup(real);
  if (!kept.has_value()) {
    throw source_file_error(
        fmt::format("{}: was not rewritten in place; there is no {}", file.string(), backup_of(file).string()));
  }
  if (text != kept->original) {
    if (check_sum(text) != kept->sum_of_rewritten) {
      throw source_file_error(
          fmt::format("{}: was edited after it had been rewritten ({} then, {} now); the original is in {} behind its "
                      "first line",
                      file.string(), kept->sum_of_rewritten, check_sum(text), backup_of(file).string()));
    }
    write_whole(real, kept->original, mode_of(real));
  }
  if (unlink(backup_of(real).c_str()) != 0) fail(backup_of(real), "cannot be removed");
}

void write_copy(const fs::path& file, std::string_view text, const fs::path& like) {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (error) throw source_file_error(fmt::format("{}: {}", file.parent_path().string(), error.message()));
  write_whole(file, text, mode_of(like));
}

}  // namespace tri::tools
