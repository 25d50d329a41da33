// The archives that carry arguments and objects to another process, for cereal: bytes in a block of the arena, written
// where they will be sent from and read where they arrived. What another process has written may be wrong: the reader
// believes no size that the rest of the archive cannot hold, before anything is made for it.
//
// So each element of a container has to take a byte at least. Where elements take none (they are empty, or say so), the
// writer adds zeros at the end until the archive is as long as it says; those are never read.
#pragma once

#include <algorithm>
#include <cereal/archives/portable_binary.hpp>
#include <cereal/cereal.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "arena/arena.hpp"

namespace tri::sched {
struct envelope;
}  // namespace tri::sched

namespace tri::objects {

/// What an archive says cannot be true.
class archive_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Collects what is written in one growing block.
class output_archive : public cereal::OutputArchive<output_archive, cereal::AllowEmptyClassElision> {
 public:
  struct contents {
    void* block;  // never null: an archive of nothing still needs a block to own
    std::size_t bytes;
  };

  output_archive() : OutputArchive(this) {}
  ~output_archive() noexcept override {
    if (block_ != nullptr) arena::release(block_);
  }
  output_archive(const output_archive&) = delete;
  output_archive& operator=(const output_archive&) = delete;

  void write(const void* bytes, std::size_t count) {
    if (count == 0) return;
    std::memcpy(reserve(count), bytes, count);
    size_ += count;
  }
  /// So many elements follow.
  void write_size(std::uint64_t elements) {
    write(&elements, sizeof elements);
    least_ = std::max(least_, size_ + static_cast<std::size_t>(elements));
  }
  /// Hands the block over. Last.
  contents take() {
    if (size_ < least_ || block_ == nullptr) {
      const std::size_t zeros = std::max<std::size_t>(least_, size_) - size_;
      std::memset(reserve(std::max<std::size_t>(zeros, 1)), 0, zeros);
      size_ += zeros;
    }
    return {std::exchange(block_, nullptr), size_};
  }

 private:
  char* reserve(std::size_t more) {
    if (more > capacity_ - size_) {
      const std::size_t wanted = std::max(size_ + more, 2 * capacity_ + 256);
      auto* const larger = static_cast<char*>(arena::allocate(wanted));
      if (block_ != nullptr) {
        std::memcpy(larger, block_, size_);
        arena::release(block_);
      }
      block_ = larger;
      capacity_ = wanted;
    }
    return block_ + size_;
  }

  char* block_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t least_ = 0;  // bytes that the sizes in it ask for
};

/// Reads an archive in place. Throws archive_error where it ends too early, or says what it cannot hold.
class input_archive : public cereal::InputArchive<input_archive, cereal::AllowEmptyClassElision> {
 public:
  input_archive(const void* block, std::size_t bytes)
      : InputArchive(this), next_(static_cast<const char*>(block)), left_(bytes) {}
  input_archive(const input_archive&) = delete;
  input_archive& operator=(const input_archive&) = delete;

  std::size_t left() const { return left_; }
  void read(void* to, std::size_t count) {
    if (count > left_) [[unlikely]]
      too_short(count);
    if (count == 0) return;
    std::memcpy(to, next_, count);
    next_ += count;
    left_ -= count;
  }
  std::uint64_t read_size() {
    std::uint64_t elements = 0;
    read(&elements, sizeof elements);
    check_size(elements, 1);
    return elements;
  }
  /// Before anything is made for so many elements, each of which takes at least `bytes_each` of the archive.
  void check_size(std::uint64_t elements, std::size_t bytes_each) const {
    if (elements > left_ / bytes_each) [[unlikely]]
      too_many(elements, bytes_each);
  }

 private:
  [[noreturn]] void too_short(std::size_t wanted) const;
  [[noreturn]] void too_many(std::uint64_t elements, std::size_t bytes_each) const;

  const char* next_;
  std::size_t left_;
};

/// Ends the job, because the arguments of this message are wrong.
[[noreturn]] void refuse_arguments(const sched::envelope& message, const char* why);

// ---- what cereal calls for these archives

template <class T>
  requires std::is_arithmetic_v<T>
void save(output_archive& archive, const T& value) {
  archive.write(&value, sizeof value);
}
template <class T>
  requires std::is_arithmetic_v<T>
void load(input_archive& archive, T& value) {
  archive.read(&value, sizeof value);
}

template <class T>
void save(output_archive& archive, const cereal::BinaryData<T>& data) {
  archive.write(data.data, static_cast<std::size_t>(data.size));
}
template <class T>
void load(input_archive& archive, cereal::BinaryData<T>& data) {
  archive.read(data.data, static_cast<std::size_t>(data.size));
}

template <class T>
void save(output_archive& archive, const cereal::SizeTag<T>& tag) {
  archive.write_size(tag.size);
}
template <class T>
void load(input_archive& archive, cereal::SizeTag<T>& tag) {
  tag.size = archive.read_size();
}

template <class Archive, class T>
  requires(std::is_same_v<Archive, output_archive> || std::is_same_v<Archive, input_archive>)
void serialize(Archive& archive, cereal::NameValuePair<T>& named) {
  archive(named.value);
}

/// Plain structs that say nothing about serialization are written as their bytes, so that a std::vector of such
/// structs, or of handles, is an argument like any other. "Has no way of its own" is asked of another archive: of ours
/// it would ask for the functions below again.
template <class T>
concept silent_plain_struct = std::is_class_v<T> && std::is_trivially_copyable_v<T> &&
                              !cereal::traits::is_output_serializable<T, cereal::PortableBinaryOutputArchive>::value &&
                              !cereal::traits::is_input_serializable<T, cereal::PortableBinaryInputArchive>::value;

// The archive is tested first, which ends the recursion that the concept's question would start.
template <class Archive, class T>
  requires(std::is_same_v<Archive, output_archive>) && silent_plain_struct<T>
void save(Archive& archive, const T& value) {
  archive.write(&value, sizeof value);
}
template <class Archive, class T>
  requires(std::is_same_v<Archive, input_archive>) && silent_plain_struct<T>
void load(Archive& archive, T& value) {
  archive.read(&value, sizeof value);
}

/// What lies in a std::vector as it is written.
template <class T>
concept bulk_element = (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) || silent_plain_struct<T>;

template <class T, class Allocator>
  requires bulk_element<T>
void save(output_archive& archive, const std::vector<T, Allocator>& values) {
  archive.write_size(values.size());
  archive.write(values.data(), values.size() * sizeof(T));
}
template <class T, class Allocator>
  requires bulk_element<T>
void load(input_archive& archive, std::vector<T, Allocator>& values) {
  const std::uint64_t size = archive.read_size();
  archive.check_size(size, sizeof(T));
  values.resize(static_cast<std::size_t>(size));
  archive.read(values.data(), values.size() * sizeof(T));
}

}  // namespace tri::objects

CEREAL_REGISTER_ARCHIVE(tri::objects::output_archive)
CEREAL_REGISTER_ARCHIVE(tri::objects::input_archive)
CEREAL_SETUP_ARCHIVE_TRAITS(tri::objects::input_archive, tri::objects::output_archive)
