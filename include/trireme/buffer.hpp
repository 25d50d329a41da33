// Buffers: arrays of plain data in the shared memory of the host, so that a message carries them as a pointer, between
// threads and between processes, without a copy.
//
//   tri::buffer<T>         one owner; moves with the message.
//   tri::shared_buffer<T>  read-only and reference-counted; one buffer can be sent to many receivers.
//
// Both may be created on any thread between the start of tri::run and its end. Not thread-safe per object, like
// std::vector; the count of a shared_buffer is atomic.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "trireme/detail/arena/allocate.hpp"

#pragma GCC visibility push(default)

namespace tri {

namespace detail {

/// Precedes the data of every buffer.
struct alignas(64) buffer_header {
  std::atomic<std::uint64_t> owners;
};

template <class T>
T* allocate_buffer(std::size_t size) {
  static_assert(std::is_trivially_copyable_v<T>, "tri::buffer holds plain data: T must be trivially copyable");
  static_assert(alignof(T) <= 64, "tri::buffer aligns to a cache line, no further");
  if (size > (~std::size_t{0} - sizeof(buffer_header)) / sizeof(T))
    throw std::length_error("tri::buffer: size overflows");
  void* const block = arena::allocate(sizeof(buffer_header) + size * sizeof(T));
  auto* const header = new (block) buffer_header{1};
  return reinterpret_cast<T*>(header + 1);
}

inline buffer_header* header_of(const void* data) {
  return reinterpret_cast<buffer_header*>(const_cast<void*>(data)) - 1;
}

inline void drop_buffer(const void* data) noexcept {
  if (data == nullptr) return;
  buffer_header* const header = header_of(data);
  // acq_rel: all other owners' reads happen before the last one reuses the memory. pairs: itself
  if (header->owners.load(std::memory_order_acquire) == 1 ||
      header->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
    arena::release(header);
}

/// For the runtime: the same memory as an array of another type.
struct buffer_access {
  template <class To, class From>
  static auto as(From&& from);
};

}  // namespace detail

/// A movable array of `size()` elements, uninitialised unless a value is given. A contiguous range, so it converts to
/// std::span.
template <class T>
class buffer {
 public:
  buffer() = default;
  /// Throws arena::arena_exhausted.
  explicit buffer(std::size_t size) : data_(detail::allocate_buffer<T>(size)), size_(size) {}
  buffer(std::size_t size, const T& value) : buffer(size) {
    for (std::size_t i = 0; i < size; ++i) data_[i] = value;
  }
  /// Copies the elements of a span.
  static buffer copy_of(std::span<const T> values) {
    buffer result(values.size());
    if (!values.empty()) std::memcpy(result.data_, values.data(), values.size_bytes());  // trivially copyable
    return result;
  }
  buffer(buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  buffer& operator=(buffer&& other) noexcept {
    if (this != &other) {
      detail::drop_buffer(data_);
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~buffer() { detail::drop_buffer(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  /// A second, independent buffer with the same contents.
  buffer clone() const { return copy_of(std::span<const T>(data_, size_)); }
  /// Shortens the buffer; the memory stays. Throws std::length_error when `size` is larger than size().
  void shrink(std::size_t size) {
    if (size > size_) throw std::length_error("tri::buffer::shrink: larger than the buffer");
    size_ = size;
  }

  template <class Archive>
  void save(Archive& archive) const {
    archive.write_size(size_);
    archive.write(data_, size_ * sizeof(T));
  }
  template <class Archive>
  void load(Archive& archive) {
    const auto size = static_cast<std::size_t>(archive.read_size());
    archive.check_size(size, sizeof(T));  // before memory is taken for it
    *this = buffer(size);
    archive.read(data_, size * sizeof(T));
  }

 private:
  template <class>
  friend class shared_buffer;
  friend struct detail::buffer_access;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A remainder shorter than a To is dropped.
template <class To, class From>
auto detail::buffer_access::as(From&& from) {
  static_assert(!std::is_lvalue_reference_v<From>, "the buffer is given away");
  buffer<To> result;
  result.size_ = std::exchange(from.size_, 0) * sizeof(*from.data_) / sizeof(To);
  result.data_ = reinterpret_cast<To*>(std::exchange(from.data_, nullptr));
  return result;
}

/// A read-only buffer; copies share it. Converts to std::span<const T>.
template <class T>
class shared_buffer {
 public:
  shared_buffer() = default;
  shared_buffer(
      buffer<T>&& from) noexcept  // NOLINT(google-explicit-constructor): giving up ownership is explicit enough
      : data_(std::exchange(from.data_, nullptr)), size_(std::exchange(from.size_, 0)) {}
  shared_buffer(const shared_buffer& other) noexcept : data_(other.data_), size_(other.size_) {
    // relaxed: only incremented here, by an owner of a share.
    if (data_ != nullptr) detail::header_of(data_)->owners.fetch_add(1, std::memory_order_relaxed);
  }
  shared_buffer(shared_buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  shared_buffer& operator=(shared_buffer other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~shared_buffer() { detail::drop_buffer(data_); }

  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  template <class Archive>
  void save(Archive& archive) const {
    archive.write_size(size_);
    archive.write(data_, size_ * sizeof(T));
  }
  template <class Archive>
  void load(Archive& archive) {
    buffer<T> loaded;
    loaded.load(archive);
    *this = shared_buffer(std::move(loaded));
  }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// True for types that a message may carry as bytes, also into another process of the host: trivially copyable data
/// without pointers into the sender's private memory (a plain pointer is not), buffers, and handles of objects.
template <class T>
inline constexpr bool is_plain = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;
template <class T>
inline constexpr bool is_plain<buffer<T>> = true;
template <class T>
inline constexpr bool is_plain<shared_buffer<T>> = true;

}  // namespace tri

#pragma GCC visibility pop
