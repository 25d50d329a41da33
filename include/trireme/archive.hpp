// The archives that carry arguments and objects to another process: bytes in a block of the arena, written and read in
// place. serialization.hpp defines how values of each type are written. Data from another process may be wrong: before
// it allocates anything, the reader rejects sizes that the rest of the archive cannot hold.
//
// So each element of a container must take at least one byte. When elements take none (they are empty, or declare it),
// the writer pads the archive with zeros to the declared length; these are never read.
//
// Users' functions get the interface of other C++ serialization libraries: archive(a, b, c), archive & a, is_saving and
// is_loading, and for their own save() and load(): write, write_size, read, read_size, check_size.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/detail/arena/allocate.hpp"

#pragma GCC visibility push(default)

namespace tri::sched {
struct envelope;
}  // namespace tri::sched

namespace tri::objects {

class output_archive;
class input_archive;
template <class T>
void write_value(output_archive& archive, const T& value);  // serialization.hpp
template <class T>
void read_value(input_archive& archive, T& value);

/// The contents of an archive are invalid.
class archive_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Writes into one growing block, or in place into room that another has.
class output_archive {
 public:
  using is_saving = std::true_type;
  using is_loading = std::false_type;
  class outside_room {
   public:
    /// Room for at least so many bytes, with those written so far at its begin; sets for how many.
    virtual char* enlarge(std::size_t least, std::size_t& capacity) = 0;

   protected:
    ~outside_room() = default;
  };
  struct contents {
    void* block;  // never null: an archive of nothing still needs a block to own
    std::size_t bytes;
  };

  output_archive() = default;
  /// The room lives as long; take() gives a place in it, which is not a block to release.
  explicit output_archive(outside_room& room) : room_(&room) {}
  ~output_archive() {
    if (block_ != nullptr && room_ == nullptr) arena::release(block_);
  }
  output_archive(const output_archive&) = delete;
  output_archive& operator=(const output_archive&) = delete;

  template <class... T>
  output_archive& operator()(const T&... values) {
    (write_value(*this, values), ...);
    return *this;
  }
  template <class T>
  output_archive& operator&(const T& value) {
    return (*this)(value);
  }
  template <class T>
  output_archive& operator<<(const T& value) {
    return (*this)(value);
  }

  void write(const void* bytes, std::size_t count) {
    if (count == 0) return;
    std::memcpy(append(count), bytes, count);
  }
  /// Room for so many bytes, which the caller writes before the next call.
  char* append(std::size_t count) {
    char* const room = reserve(count);
    size_ += count;
    return room;
  }
  /// Writes the number of elements that follow.
  void write_size(std::uint64_t elements) {
    write(&elements, sizeof elements);
    const std::size_t least = size_ + static_cast<std::size_t>(elements);
    if (least > least_) least_ = least;
  }
  /// The number of an object that std::shared_ptrs in this archive share, and whether it is new, so that its value
  /// follows. `kind` identifies its type. The object lives until the archive ends, so that no other one gets its
  /// address.
  struct shared_number {
    std::uint32_t number;
    bool is_new;
  };
  shared_number number_of_shared(std::shared_ptr<const void> object, const void* kind);

  /// Transfers ownership of the block; the last call.
  contents take() {
    if (size_ < least_ || block_ == nullptr) {
      const std::size_t zeros = least_ > size_ ? least_ - size_ : 0;
      std::memset(reserve(zeros > 0 ? zeros : 1), 0, zeros);
      size_ += zeros;
    }
    return {std::exchange(block_, nullptr), size_};
  }

 private:
  char* reserve(std::size_t more) {
    if (more > capacity_ - size_ && room_ != nullptr) {
      block_ = room_->enlarge(size_ + more, capacity_);
    } else if (more > capacity_ - size_) {
      const std::size_t doubled = 2 * capacity_ + 256;
      const std::size_t wanted = size_ + more > doubled ? size_ + more : doubled;
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
  std::size_t least_ = 0;         // bytes that the sizes in it require
  outside_room* room_ = nullptr;  // null: the block is ours
  struct shared_objects;
  std::shared_ptr<shared_objects> shared_;  // when there are any
};

/// Reads an archive in place. Throws archive_error when it ends too early or declares sizes that it cannot hold.
class input_archive {
 public:
  using is_saving = std::false_type;
  using is_loading = std::true_type;

  input_archive(const void* block, std::size_t bytes) : next_(static_cast<const char*>(block)), left_(bytes) {}
  input_archive(const input_archive&) = delete;
  input_archive& operator=(const input_archive&) = delete;

  template <class... T>
  input_archive& operator()(T&&... values) {
    (read_value(*this, values), ...);
    return *this;
  }
  template <class T>
  input_archive& operator&(T&& value) {
    return (*this)(value);
  }
  template <class T>
  input_archive& operator>>(T&& value) {
    return (*this)(value);
  }

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
  /// Call before allocating for `elements` elements, each of which takes at least `bytes_each` of the archive. Throws
  /// archive_error.
  void check_size(std::uint64_t elements, std::size_t bytes_each) const {
    if (elements > left_ / bytes_each) [[unlikely]]
      too_many(elements, bytes_each);
  }

  /// While it lives, reads are one level deeper in a recursive type. Throws archive_error when another process's data
  /// nests so deep that the stack would overflow.
  class level {
   public:
    explicit level(input_archive& archive) : archive_(archive) {
      if (++archive_.levels_ > most_levels) [[unlikely]]
        archive_.too_deep();
    }
    ~level() { --archive_.levels_; }
    level(const level&) = delete;
    level& operator=(const level&) = delete;

   private:
    input_archive& archive_;
  };
  static constexpr std::uint32_t most_levels = 1000;

  /// The number of the one of `alternatives` that follows (of a variant; or whether a value follows).
  std::uint32_t read_choice(std::uint64_t alternatives);

  /// Objects that std::shared_ptrs share, by their number; null: its value follows; then call add_shared().
  const std::shared_ptr<void>* shared_of(std::uint32_t number, const void* kind) const;
  void add_shared(std::shared_ptr<void> object, const void* kind) { shared_.push_back({std::move(object), kind}); }

 private:
  [[noreturn]] void too_deep();
  [[noreturn]] void too_short(std::size_t wanted) const;
  [[noreturn]] void too_many(std::uint64_t elements, std::size_t bytes_each) const;

  const char* next_;
  std::size_t left_;
  std::uint32_t levels_ = 0;
  struct shared_object {
    std::shared_ptr<void> object;
    const void* kind;
  };
  std::vector<shared_object> shared_;
};

/// Ends the job, because the arguments of this message are wrong.
[[noreturn]] void refuse_arguments(const sched::envelope& message, const char* why);

}  // namespace tri::objects

#include "trireme/detail/objects/serialization.hpp"  // what the archives above write values with

#pragma GCC visibility pop
