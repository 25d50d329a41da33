#include "top/live_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include "arena/heap.hpp"
#include "os/text_file.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view window_name = "/memfd:trireme-arena";
constexpr std::uint32_t most_rows = 4096;
constexpr std::uint32_t most_figures = 1024;

// Its number where it runs: in a container that is another one.
pid_t own_number_of(pid_t pid) {
  os::text_file status(fmt::format("/proc/{}/status", pid));
  for (std::string line; status.next_line(line);)
    if (line.starts_with("NSpid:")) return std::atoi(line.substr(line.find_last_of("\t ") + 1).c_str());
  return pid;
}

std::string program_of(pid_t pid) {
  std::error_code unknown;
  const fs::path file = fs::read_symlink(fmt::format("/proc/{}/exe", pid), unknown);
  return file.filename().string();
}

bool read_bytes(int file, void* to, std::size_t bytes, std::uint64_t offset) {
  return pread(file, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

}  // namespace

std::vector<std::unique_ptr<live_process>> live_process::open(pid_t pid) {
  std::vector<std::unique_ptr<live_process>> found;
  const std::string folder = fmt::format("/proc/{}", pid);
  struct stat owner {};
  if (::stat(folder.c_str(), &owner) != 0 || owner.st_uid != geteuid()) return found;
  const pid_t own_number = own_number_of(pid);
  std::uint32_t other_version = 0;
  std::set<ino_t> known;  // a window may be open twice
  std::error_code problem;
  for (fs::directory_iterator at(folder + "/fd", problem), end; !problem && at != end; at.increment(problem)) {
    std::error_code closed;
    if (!fs::read_symlink(at->path(), closed).string().starts_with(window_name)) continue;
    const os::unique_fd file(::open(at->path().c_str(), O_RDONLY | O_CLOEXEC));
    arena::window_header header{};
    struct stat facts {};
    if (!file || fstat(file.get(), &facts) != 0 || !read_bytes(file.get(), &header, sizeof header, 0) ||
        header.magic != arena::window_header::expected_magic || !known.insert(facts.st_ino).second)
      continue;
    if (header.version != arena::window_header::expected_version) {
      other_version = header.version;
      continue;
    }
    if (header.live_page == 0) continue;  // it starts
    std::unique_ptr<live_process> made(new live_process);
    made->pid_ = pid;
    made->window_bytes_ = static_cast<std::size_t>(facts.st_size);
    if (made->map(file.get(), header, own_number)) found.push_back(std::move(made));
  }
  if (found.empty() && other_version != 0)
    throw unreadable_process(
        fmt::format("process {} runs another version of Trireme: its windows have version {}, this command reads {}",
                    pid, other_version, arena::window_header::expected_version));
  return found;
}

// False: the window of another process of the host, or the process has gone.
bool live_process::map(int file, const arena::window_header& header, pid_t own_number) {
  live::page page;
  if (!read_bytes(file, &page, sizeof page, header.live_page))
    throw unreadable_process(
        fmt::format("process {}: its live page is damaged: it would begin at byte {} of a window of {}", pid_,
                    header.live_page, window_bytes_));
  if (page.magic == live::page_magic && page.version == live::page_version && page.pid != own_number) return false;
  alive_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (!alive_) return false;
  void* const mapped = mmap(nullptr, window_bytes_, PROT_READ, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (mapped == MAP_FAILED)
    throw unreadable_process(fmt::format("process {}: its window of {} MiB cannot be mapped: {}", pid_,
                                         window_bytes_ >> 20, std::strerror(errno)));
  window_ = static_cast<const std::byte*>(mapped);
  read_page(place_of_page(), header.window_bytes);
  program_ = program_of(pid_);
  return true;
}

live_process::~live_process() {
  if (window_ != nullptr) munmap(const_cast<std::byte*>(window_), window_bytes_);
}

void live_process::check_word(std::uint64_t offset, const char* what) const {
  if (offset % 8 != 0 || offset > window_bytes_ || window_bytes_ - offset < 8)
    throw unreadable_process(
        fmt::format("process {}: its live page is damaged: {} would lie at byte {} of a window of {}", pid_, what,
                    offset, window_bytes_));
}

void live_process::check_row(const live::row& each) const {
  for (const live::figure& figure : figures_) check_word(each.blocks[figure.block] + figure.offset, figure.name);
  const live::ring& inbox = each.inbox;
  if (inbox.capacity == 0) return;
  check_word(inbox.tickets, "the count of an inbox");
  check_word(inbox.consumed, "the count of an inbox");
  const std::uint64_t bytes = std::uint64_t{inbox.capacity} * inbox.cell_bytes;
  if (!std::has_single_bit(inbox.capacity) || inbox.cell_bytes % 8 != 0 || inbox.stamp_at % 8 != 0 ||
      inbox.source_at % 4 != 0 || std::uint64_t{inbox.stamp_at} + 8 > inbox.cell_bytes ||
      std::uint64_t{inbox.source_at} + 4 > inbox.cell_bytes || inbox.cells % 8 != 0 || inbox.cells > window_bytes_ ||
      window_bytes_ - inbox.cells < bytes)
    throw unreadable_process(
        fmt::format("process {}: its live page is damaged: the inbox of row {} has {} cells of {} "
                    "bytes at byte {} of a window of {}",
                    pid_, each.number, inbox.capacity, inbox.cell_bytes, inbox.cells, window_bytes_));
}

// Now for its contents: the header that was read before may be older than the page.
std::uint64_t live_process::place_of_page() const {
  // acquire: the page was complete before the header named it. pairs: window.live_page
  return std::atomic_ref(
             const_cast<arena::window_header*>(reinterpret_cast<const arena::window_header*>(window_))->live_page)
      .load(std::memory_order_acquire);
}

// A copy that no other process can change is checked, and used.
void live_process::read_page(std::uint64_t offset, std::uint64_t window_bytes) {
  const auto damaged = [&](const std::string& why) {
    throw unreadable_process(fmt::format("process {}: its live page is damaged: {}", pid_, why));
  };
  if (window_bytes != window_bytes_ || offset % 8 != 0 || offset > window_bytes_ - sizeof page_)
    damaged(fmt::format("its window should have {} bytes and has {}", window_bytes, window_bytes_));
  std::memcpy(&page_, window_ + offset, sizeof page_);
  if (page_.magic != live::page_magic) damaged(fmt::format("it begins with {:#x}", page_.magic));
  if (page_.version != live::page_version)
    throw unreadable_process(
        fmt::format("process {} runs another version of Trireme: its live page has version {}, this command reads {}",
                    pid_, page_.version, live::page_version));
  const std::uint64_t bytes =
      sizeof(live::page) + std::uint64_t{page_.figures} * sizeof(live::figure) + page_.rows * sizeof(live::row);
  if (page_.figures > most_figures || page_.rows > most_rows || page_.bytes != bytes || window_bytes_ - offset < bytes)
    damaged(fmt::format("it has {} figures and {} rows in {} bytes", page_.figures, page_.rows, page_.bytes));
  if (!(page_.ns_per_tick > 0 && page_.ns_per_tick < 1e6))
    damaged(fmt::format("a tick would last {} ns", page_.ns_per_tick));
  figures_.resize(page_.figures);
  rows_.resize(page_.rows);
  const std::byte* at = window_ + offset + sizeof page_;
  std::memcpy(figures_.data(), at, figures_.size() * sizeof(live::figure));
  at += figures_.size() * sizeof(live::figure);
  std::memcpy(rows_.data(), at, rows_.size() * sizeof(live::row));
  for (live::figure& figure : figures_) {
    figure.name[sizeof(figure.name) - 1] = 0;
    if (figure.block >= live::row::most_blocks) damaged(fmt::format("'{}' is in block {}", figure.name, figure.block));
  }
  for (const live::row& each : rows_) check_row(each);
}

std::uint64_t live_process::word(std::uint64_t offset) const {
  // relaxed: each figure stands alone. The mapping is read-only, and so is this access.
  return std::atomic_ref(*const_cast<std::uint64_t*>(reinterpret_cast<const std::uint64_t*>(window_ + offset)))
      .load(std::memory_order_relaxed);
}

std::uint64_t live_process::tickets(const live::row& row) const {
  return row.inbox.capacity == 0 ? 0 : word(row.inbox.tickets) & ~live::ring_sleep_bit;
}
std::uint64_t live_process::consumed(const live::row& row) const {
  return row.inbox.capacity == 0 ? 0 : word(row.inbox.consumed);
}

// The cell may be written while it is read: then the stamp is another one before or after, mostly. A message that is
// attributed to a wrong sender now and then changes no picture.
std::optional<std::int32_t> live_process::source_of(const live::row& row, std::uint64_t ticket) const {
  const live::ring& inbox = row.inbox;
  const std::uint64_t cell = inbox.cells + (ticket & (inbox.capacity - 1)) * inbox.cell_bytes;
  if (word(cell + inbox.stamp_at) != ticket + 1) return std::nullopt;
  const std::uint64_t both = word((cell + inbox.source_at) & ~std::uint64_t{7});
  const auto source = static_cast<std::uint32_t>(inbox.source_at % 8 == 0 ? both : both >> 32);
  if (word(cell + inbox.stamp_at) != ticket + 1) return std::nullopt;
  return static_cast<std::int32_t>(source);
}

std::uint64_t live_process::arena_bytes() const {
  return word(offsetof(arena::window_header, spans_in_use)) * arena::span_bytes;
}
std::uint64_t live_process::arena_limit_bytes() const { return word(offsetof(arena::window_header, limit_bytes)); }

bool live_process::has_ended() const {
  pollfd end{alive_.get(), POLLIN, 0};
  return poll(&end, 1, 0) > 0;
}

}  // namespace tri::tools
