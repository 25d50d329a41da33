#include "sched/order/order_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "os/folder.hpp"
#include "os/hash.hpp"

namespace tri::sched {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t window_bytes = std::uint64_t{1} << 20;
constexpr unsigned payload_bits = 40;
constexpr unsigned class_bits = 3;
constexpr unsigned source_bits = 20;
constexpr unsigned handler_bits = payload_bits - class_bits - source_bits;
constexpr std::uint64_t payload_mask = (std::uint64_t{1} << payload_bits) - 1;

std::uint64_t payload_of(const recorded_message& message) {
  return static_cast<std::uint64_t>(message.what) | std::uint64_t{message.source} << class_bits |
         std::uint64_t{message.handler} << (class_bits + source_bits);
}
recorded_message message_of(std::uint64_t payload) {
  recorded_message message;
  message.what = static_cast<message_class>(payload & ((1u << class_bits) - 1));
  message.source = static_cast<std::uint32_t>(payload >> class_bits) & ((1u << source_bits) - 1);
  message.handler = static_cast<std::uint32_t>(payload >> (class_bits + source_bits));
  return message;
}

// Not 0: an empty word ends a file of a job that was killed.
std::uint64_t sealed(std::uint64_t payload, std::uint64_t check) {
  return payload | ((check >> payload_bits) | 1) << payload_bits;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::runtime_error(fmt::format("the record {} {}", path, why));
}

void write_all(int file, const void* bytes, std::size_t size, const std::string& path) {
  if (pwrite(file, bytes, size, 0) != static_cast<ssize_t>(size))
    refuse(path, fmt::format("cannot be written: {}", std::strerror(errno)));
}

std::vector<std::byte> content_of(const std::string& path) {
  const os::unique_fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat facts {};
  if (!file || fstat(file.get(), &facts) != 0) refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (!S_ISREG(facts.st_mode)) refuse(path, "is not a file");
  std::vector<std::byte> bytes(static_cast<std::size_t>(facts.st_size));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = pread(file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

order_header header_of(const std::vector<std::byte>& bytes, const std::string& path) {
  order_header header;
  if (bytes.size() < sizeof header) refuse(path, "is not one of --tri-record: it is too short");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != order_header::expected_magic)
    refuse(path, "is not one of --tri-record, or of another version of Trireme");
  if (header.check != header.computed_check()) refuse(path, "is damaged, or was edited: its header does not fit");
  return header;
}

void compare(const order_header& found, const order_header& expected, const std::string& path) {
  if (found.pes != expected.pes || found.processes != expected.processes || found.hosts != expected.hosts)
    refuse(path,
           fmt::format("is of a job of {} processes with {} PEs on {} hosts, but this job has {} processes with "
                       "{} PEs on {} hosts",
                       found.processes, found.pes, found.hosts, expected.processes, expected.pes, expected.hosts));
  if (found.program != expected.program) refuse(path, "is of another program, or of another build of it");
}

}  // namespace

std::uint64_t order_header::computed_check() const {
  std::uint64_t hash = os::hash_of_nothing;
  for (const std::uint64_t word :
       {magic, std::uint64_t{pe}, std::uint64_t{pes}, std::uint64_t{processes}, std::uint64_t{hosts}, program, seed})
    hash = os::hashed_word(hash, word);
  return hash;
}

std::string path_of_order(const std::string& folder, int pe) {
  return (fs::path(folder) / fmt::format("pe-{}.order", pe)).string();
}

void remove_old_orders(const std::string& folder) {
  try {
    os::clear_folder(folder, [](const fs::path& file) {
      return file.extension() == ".order" && file.filename().string().starts_with("pe-");
    });
  } catch (const fs::filesystem_error& error) {
    throw std::runtime_error(
        fmt::format("cannot record the order of messages in the folder {}: {}", folder, error.code().message()));
  }
}

order_writer::order_writer(const std::string& path, const order_header& header)
    : path_(path),
      file_(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)),
      check_(header.computed_check()) {
  if (!file_) refuse(path_, fmt::format("cannot be written: {}", std::strerror(errno)));
  if (header.pes > 1u << source_bits) refuse(path_, fmt::format("would be of more than {} PEs", 1u << source_bits));
  order_header sealed_header = header;
  sealed_header.check = check_;
  write_all(file_.get(), &sealed_header, sizeof sealed_header, path_);
  map_window(0);
  position_ = sizeof header;
}

order_writer::~order_writer() {
  if (window_ != nullptr) munmap(window_, window_bytes);
  if (finished_ && ftruncate(file_.get(), static_cast<off_t>(window_begin_ + position_)) != 0) return;  // it is valid
}

// Allocated before it is mapped: a full disk is an error here and no signal later.
void order_writer::map_window(std::uint64_t begin) {
  if (window_ != nullptr) munmap(window_, window_bytes);
  window_ = nullptr;
  const auto offset = static_cast<off_t>(begin);
  if (const int error = posix_fallocate(file_.get(), offset, static_cast<off_t>(window_bytes)); error != 0)
    refuse(path_, fmt::format("cannot grow: {}", std::strerror(error)));
  void* const mapped = mmap(nullptr, window_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), offset);
  if (mapped == MAP_FAILED) refuse(path_, fmt::format("cannot be mapped: {}", std::strerror(errno)));
  window_ = static_cast<std::byte*>(mapped);
  window_begin_ = begin;
  position_ = 0;
}

void order_writer::put(std::uint64_t word) {
  if (position_ == window_bytes) map_window(window_begin_ + window_bytes);
  check_ = os::hashed_word(check_, word);
  const std::uint64_t whole = sealed(word, check_);
  std::memcpy(window_ + position_, &whole, sizeof whole);
  position_ += sizeof whole;
}

void order_writer::add(const recorded_message& message) {
  if (finished_) return;  // what destructors of dropped messages draw
  if (message.handler >> handler_bits != 0)
    refuse(path_, fmt::format("cannot name the method {}: it has room for {}", message.handler, 1u << handler_bits));
  put(payload_of(message));
  if (has_number(message.what)) put(message.number & payload_mask);
  ++messages_;
}

void order_writer::finish() {
  if (finished_) return;
  put(payload_of({.what = message_class::end}));
  put(messages_ & payload_mask);
  finished_ = true;
}

order_reader::order_reader(const std::string& folder, const order_header& expected) {
  // The first PE's has the shape of the job, also where this PE has none.
  const std::string first = path_of_order(folder, 0);
  compare(header_of(content_of(first), first), expected, first);
  const std::string path = path_of_order(folder, static_cast<int>(expected.pe));
  const std::vector<std::byte> bytes = content_of(path);
  const order_header header = header_of(bytes, path);
  compare(header, expected, path);
  if (header.pe != expected.pe) refuse(path, fmt::format("is of PE {}", header.pe));
  std::vector<std::uint64_t> words((bytes.size() - sizeof header) / sizeof(std::uint64_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data() + sizeof header, words.size() * sizeof(std::uint64_t));
  read(path, words, header.check);
}

void order_reader::read(const std::string& path, const std::vector<std::uint64_t>& words, std::uint64_t check) {
  std::size_t at = 0;
  const auto is_valid = [&](std::uint64_t word) {
    check = os::hashed_word(check, word & payload_mask);
    return sealed(word & payload_mask, check) == word;
  };
  for (; at < words.size() && words[at] != 0; ++at) {
    const auto refuse_here = [&] {
      refuse(path,
             fmt::format("is damaged, or was edited: its entry {} does not fit those before it", messages_.size() + 1));
    };
    if (is_complete_ || !is_valid(words[at])) refuse_here();
    recorded_message message = message_of(words[at] & payload_mask);
    if (message.what > message_class::end) refuse_here();
    if (has_number(message.what)) {
      if (at + 1 == words.size() || words[at + 1] == 0) return;  // the job was killed in between
      if (!is_valid(words[++at])) refuse_here();
      message.number = words[at] & payload_mask;
    }
    if (message.what != message_class::end) {
      messages_.push_back(message);
    } else {
      if (message.number != (messages_.size() & payload_mask)) refuse_here();
      is_complete_ = true;
    }
  }
  for (; at < words.size(); ++at)
    if (words[at] != 0)
      refuse(path, fmt::format("is damaged, or was edited: behind its entry {} is a gap", messages_.size()));
}

}  // namespace tri::sched
