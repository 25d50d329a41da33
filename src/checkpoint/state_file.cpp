#include "checkpoint/state_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "checkpoint/checksum.hpp"

namespace tri::checkpoint_files {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;   // larger blocks go to the kernel as they are
constexpr std::uint64_t disk_step = std::uint64_t{8} << 20;  // what a disk can write at full speed

using magic_word = std::array<char, 8>;
constexpr magic_word magic_of_disk{'T', 'R', 'I', 'S', 'T', 'A', 'T', 'E'};
constexpr magic_word magic_of_memory{'T', 'R', 'I', 'M', 'E', 'M', 'O', 'R'};

struct file_head {
  magic_word magic = magic_of_disk;
  std::uint64_t format = manifest::format;
  std::uint64_t token = 0;
  std::uint64_t part = 0;
};
static_assert(sizeof(file_head) == 32);

struct framed_record {
  record_head head;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;  // of the head and the size, then of the bytes
};
static_assert(sizeof(framed_record) == 40);

std::uint64_t checksum_of_head(const framed_record& record) {
  return checksum(&record, sizeof record - sizeof record.checksum);
}
std::uint64_t checksum_of(const framed_record& record, const void* bytes) {
  return checksum(bytes, record.bytes, checksum_of_head(record));
}

bool begins_a_state(const file_head& head) {
  return (head.magic == magic_of_disk || head.magic == magic_of_memory) && head.format == manifest::format;
}

void add(file_summary& summary, const framed_record& record) {
  summary.bytes += sizeof record + record.bytes;
  ++summary.records;
  summary.checksum = checksum(&record.checksum, sizeof record.checksum, summary.checksum);
}

}  // namespace

std::optional<file_identity> identity_of_file(const std::string& path) {
  const os::unique_fd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  file_head head;
  if (!file || read(file.get(), &head, sizeof head) != static_cast<ssize_t>(sizeof head)) return {};
  if (!begins_a_state(head)) return {};
  return file_identity{head.token, head.part};
}

// ---- writing

state_writer::state_writer(std::string path, const file_identity& identity)
    : path_(std::move(path)), file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)) {
  if (!file_) fail(errno);
  waiting_.reserve(buffer_bytes);
  begin(identity);
}

state_writer::state_writer(kept_memory& memory, const file_identity& identity)
    : path_(memory.path()), memory_(&memory) {
  memory.clear();
  begin(identity);
}

void state_writer::begin(const file_identity& identity) {
  file_head head;
  if (memory_ != nullptr) head.magic = magic_of_memory;
  head.token = identity.token;
  head.part = identity.part;
  put(&head, sizeof head);
  summary_.bytes = sizeof head;
}

void state_writer::fail(int error) const {
  throw checkpoint_error(fmt::format("{}: cannot be written: {}", path_, std::strerror(error)));
}

void state_writer::write(const record_head& head, const void* bytes, std::size_t count) {
  framed_record record{head, count, 0};
  record.checksum = memory_ != nullptr ? checksum_of_head(record) : checksum_of(record, bytes);
  put(&record, sizeof record);
  put(bytes, count);
  add(summary_, record);
}

char* state_writer::room_of_record(std::size_t least, std::size_t& capacity) {
  const std::size_t offset = memory_->size() + sizeof(framed_record);
  char* const room = memory_->room(offset, least);
  capacity = memory_->capacity() - offset;
  return room;
}

void state_writer::end_record(const record_head& head, std::size_t count) {
  framed_record record{head, count, 0};
  record.checksum = checksum_of_head(record);
  memory_->append(&record, sizeof record);
  memory_->extend_to(memory_->size() + count);
  add(summary_, record);
}

void state_writer::put(const void* bytes, std::size_t count) {
  if (memory_ != nullptr) return memory_->append(bytes, count);
  const auto* const first = static_cast<const char*>(bytes);
  if (waiting_.size() + count > buffer_bytes) {
    put_now(waiting_.data(), waiting_.size());
    waiting_.clear();
    if (count >= buffer_bytes) return put_now(first, count);
  }
  waiting_.insert(waiting_.end(), first, first + count);
}

void state_writer::put_now(const char* bytes, std::size_t count) {
  while (count != 0) {
    const ssize_t written = ::write(file_.get(), bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes += written;
    count -= static_cast<std::size_t>(written);
    written_ += static_cast<std::uint64_t>(written);
  }
  // The disk writes while the next records are made. An error of it comes with fsync.
  if (written_ - on_its_way_ < disk_step) return;
  sync_file_range(file_.get(), static_cast<off64_t>(on_its_way_), static_cast<off64_t>(written_ - on_its_way_),
                  SYNC_FILE_RANGE_WRITE);
  on_its_way_ = written_;
}

file_summary state_writer::finish() {
  if (memory_ != nullptr) {
    memory_->finish();
    return summary_;
  }
  put_now(waiting_.data(), waiting_.size());
  if (fsync(file_.get()) != 0) fail(errno);
  if (close(file_.release()) != 0) fail(errno);
  return summary_;
}

// ---- reading

state_reader::state_reader(std::string path, const file_identity& identity, const file_summary& expected)
    : path_(std::move(path)),
      file_(open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)),
      ahead_(buffer_bytes),
      expected_(expected) {
  struct stat entry {};
  if (!file_ || fstat(file_.get(), &entry) != 0)
    throw checkpoint_error(fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)));
  if (!S_ISREG(entry.st_mode)) fail("it is not a regular file");
  if (static_cast<std::uint64_t>(entry.st_size) != expected.bytes)
    fail(fmt::format("it has {} bytes; the manifest says {}", entry.st_size, expected.bytes));
  left_ = expected.bytes;
  file_head head;
  get(&head, sizeof head);
  if (!begins_a_state(head)) fail("it does not begin as a state file");
  has_checksums_ = head.magic == magic_of_disk;
  if (head.token != identity.token || head.part != identity.part) fail("it belongs to another checkpoint");
  so_far_.bytes = sizeof head;
}

void state_reader::fail(const std::string& why) const {
  throw checkpoint_error(fmt::format("{}: is damaged: {}", path_, why));
}

void state_reader::get(void* to, std::size_t count) {
  if (count > left_) fail(fmt::format("{} bytes are missing at its end", count - left_));
  left_ -= count;
  auto* at = static_cast<char*>(to);
  while (count != 0) {
    if (begin_ == end_) {
      begin_ = end_ = 0;
      const bool is_large = count >= ahead_.size();
      const ssize_t read = ::read(file_.get(), is_large ? at : ahead_.data(), is_large ? count : ahead_.size());
      if (read < 0 && errno == EINTR) continue;
      if (read < 0) throw checkpoint_error(fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)));
      if (read == 0) fail("it became shorter while it was read");
      if (is_large) {
        at += read;
        count -= static_cast<std::size_t>(read);
        continue;
      }
      end_ = static_cast<std::size_t>(read);
    }
    const std::size_t some = std::min(count, end_ - begin_);
    std::memcpy(at, ahead_.data() + begin_, some);
    begin_ += some;
    at += some;
    count -= some;
  }
}

bool state_reader::next() {
  if (left_ == 0) {
    if (so_far_ != expected_) fail("its records are not those that the manifest counts");
    return false;
  }
  framed_record record;
  get(&record, sizeof record);
  if (record.bytes > left_) fail(fmt::format("record {} would reach beyond its end", so_far_.records));
  bytes_.resize(record.bytes);
  get(bytes_.data(), bytes_.size());
  if (record.checksum != (has_checksums_ ? checksum_of(record, bytes_.data()) : checksum_of_head(record)))
    fail(fmt::format("the checksum of record {} is wrong", so_far_.records));
  add(so_far_, record);
  head_ = record.head;
  return true;
}

}  // namespace tri::checkpoint_files
