#include "arrays/direct/emulated_adapter.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "arena/window.hpp"
#include "os/unique_fd.hpp"

namespace tri::arrays {
namespace {

// relaxed: an adapter orders nothing but its own accesses; fences and messages order them for the programs.
template <class Word>
void copy_word(std::byte* to, const std::byte* from) {
  const Word value = __atomic_load_n(reinterpret_cast<const Word*>(from), __ATOMIC_RELAXED);
  __atomic_store_n(reinterpret_cast<Word*>(to), value, __ATOMIC_RELAXED);
}

template <class Word>
bool is_word(const std::byte* to, const std::byte* from, std::size_t bytes) {
  return bytes == sizeof(Word) && reinterpret_cast<std::uintptr_t>(to) % sizeof(Word) == 0 &&
         reinterpret_cast<std::uintptr_t>(from) % sizeof(Word) == 0;
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (is_word<std::uint64_t>(to, from, bytes)) return copy_word<std::uint64_t>(to, from);
  if (is_word<std::uint32_t>(to, from, bytes)) return copy_word<std::uint32_t>(to, from);
  if (is_word<std::uint16_t>(to, from, bytes)) return copy_word<std::uint16_t>(to, from);
  if (is_word<std::uint8_t>(to, from, bytes)) return copy_word<std::uint8_t>(to, from);
  std::memcpy(to, from, bytes);
}

/// Where another process finds memory and keys of this one.
struct file_of_process {
  std::uint64_t key_table;  // from the first byte of the file
  std::int32_t pid;
  std::int32_t file;
};

/// It has no state: the windows take any thread.
class emulated_port final : public access_port {
 public:
  void carry_out(std::span<const adapter_access> accesses) override {
    for (const adapter_access& one : accesses) {
      const auto& window = *static_cast<const remote_window*>(one.through.peer);
      if (!window.access(one.how, one.where, one.offset, one.local, one.bytes)) [[unlikely]]
        throw std::runtime_error(fmt::format("a direct {} of {} bytes at {} has the key {}, which is not valid there",
                                             one.how == remote_access::get ? "get" : "put", one.bytes,
                                             one.where.address + one.offset, one.where.key));
    }
  }
};

}  // namespace

emulated_adapter::emulated_adapter(key_table& keys, const std::byte* file_begin, int file,
                                   const registration_limits& limits)
    : keys_(keys),
      file_begin_(reinterpret_cast<std::uintptr_t>(file_begin)),
      file_(file),
      pid_(getpid()),
      registration_(limits) {
  for (std::size_t i = key_table::slots; i-- > 0;) free_.push_back(static_cast<std::uint32_t>(i));
}

// A key is the number of the registration and its slot, so that it is never used again.
std::optional<remote_address> emulated_adapter::register_memory(std::uint64_t begin, std::uint64_t bytes) {
  if (free_.empty()) return std::nullopt;
  const std::optional<remote_address> made = registration_.register_memory(begin - file_begin_, bytes);
  if (!made) return std::nullopt;
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  const registration_key key = made->key * key_table::slots + slot;
  key_table::slot& of = keys_.of(key);
  of.begin.store(made->address, std::memory_order_relaxed);  // relaxed, both: before the key
  of.bytes.store(bytes, std::memory_order_relaxed);
  of.key.store(key, std::memory_order_release);  // pairs: key_table.key
  return remote_address{.address = made->address, .key = key};
}

void emulated_adapter::deregister_memory(const remote_address& where) {
  key_table::slot& of = keys_.of(where.key);
  if (of.key.load(std::memory_order_relaxed) == where.key) {  // relaxed: written by this thread, or under its lock
    of.key.store(0, std::memory_order_release);               // pairs: key_table.key
    free_.push_back(static_cast<std::uint32_t>(where.key % key_table::slots));
  }
  registration_.deregister_memory({.address = where.address, .key = where.key / key_table::slots});
}

adapter_bytes emulated_adapter::bytes_for(const remote_address&) {
  return bytes_of(
      file_of_process{.key_table = reinterpret_cast<std::uintptr_t>(&keys_) - file_begin_, .pid = pid_, .file = file_});
}

void emulated_adapter::learn(int process, const remote_address&, const adapter_bytes& bytes) {
  std::unique_ptr<remote_window>& window = windows_[process];
  if (window != nullptr) return;
  const auto at = plain_of<file_of_process>(bytes);
  window = std::make_unique<remote_window>(at.pid, at.file, at.key_table);
}

reachable_memory emulated_adapter::find(int process, const remote_address& where) const {
  return {.peer = windows_.find(process)->second.get(), .key = where.key};
}

void emulated_adapter::forget(int, const remote_address&) {}

std::unique_ptr<access_port> emulated_adapter::open_port() { return std::make_unique<emulated_port>(); }

remote_window::remote_window(std::int32_t pid, std::int32_t file, std::uint64_t key_table_offset) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, file);
  const os::unique_fd opened(open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat facts {};
  if (!opened || fstat(opened.get(), &facts) != 0)
    throw std::runtime_error(fmt::format("emulated remote memory access: cannot open the memory of process {} ({}): {}",
                                         pid, path, std::strerror(errno)));
  bytes_ = static_cast<std::size_t>(facts.st_size);
  if (key_table_offset > bytes_ || sizeof(key_table) > bytes_ - key_table_offset)
    throw std::runtime_error(
        fmt::format("emulated remote memory access: process {} says that its keys are at {}; its memory has {} bytes",
                    pid, key_table_offset, bytes_));
  void* const mapped =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, opened.get(), /*offset=*/0);
  if (mapped == MAP_FAILED)
    throw std::runtime_error(
        fmt::format("emulated remote memory access: cannot map the {} MiB of address space of process {}: {}",
                    bytes_ >> 20U, pid, std::strerror(errno)));
  madvise(mapped, bytes_, MADV_DONTDUMP);
  madvise(mapped, bytes_, MADV_DONTFORK);  // a forked child is no member of the job
  begin_ = static_cast<std::byte*>(mapped);
  keys_ = reinterpret_cast<key_table*>(begin_ + key_table_offset);
}

// A forked child does not have the mapping: something else may lie there.
remote_window::~remote_window() {
  if (!arena::in_forked_child()) munmap(begin_, bytes_);
}

bool remote_window::access(remote_access how, const remote_address& where, std::uint64_t offset, std::byte* local,
                           std::size_t bytes) const {
  key_table::slot& of = keys_->of(where.key);
  const auto fails = [this] {
    keys_->errors.fetch_add(1, std::memory_order_relaxed);  // relaxed: a figure
    return false;
  };
  // acquire: what it is for. pairs: key_table.key
  if (of.key.load(std::memory_order_acquire) != where.key) return fails();
  const std::uint64_t begin = of.begin.load(std::memory_order_relaxed);  // relaxed, both: the key came first
  const std::uint64_t size = of.bytes.load(std::memory_order_relaxed);
  const std::uint64_t first = where.address + offset - begin;
  if (first > size || bytes > size - first || begin > bytes_ || size > bytes_ - begin) return fails();
  std::byte* const there = begin_ + begin + first;
  if (how == remote_access::get)
    copy_bytes(local, there, bytes);
  else
    copy_bytes(there, local, bytes);
  // Memory must not be deregistered while an access is under way. seq_cst: the access comes before the second look.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return of.key.load(std::memory_order_relaxed) == where.key || fails();  // relaxed: the fence orders it
}

}  // namespace tri::arrays
