// Zero-copy sends: an argument of an entry method that refers to memory of its sender. The message carries a reference;
// the receiver says where the data is to go, and only then the data moves, once, straight from the sender's memory.
//
//   // the sender, in a coroutine
//   tri::exposure<double> row = tri::expose(std::span<const double>(cells));
//   right.send<&Block::ghost>(step, std::move(row.memory));
//   co_await row.reusable;                                   // from here on `cells` may change
//
//   // the receiver, whose method is a coroutine
//   tri::task<> Block::ghost(int step, tri::zero_copy<double> values) {
//     co_await values.into(ghost_row);                       // memory of its own; or: co_await values.get()
//   }
//
// Inside a host the receiver copies from the sender's memory. Between hosts the data leaves from there by rendezvous.
// Nothing is archived on either side.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "trireme/buffer.hpp"
#include "trireme/detail/objects/ends_elsewhere.hpp"
#include "trireme/future.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// Why exposed memory did not arrive, or was not received.
struct zero_copy_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace objects {

struct exposed_memory;
struct exposed;
/// Throws std::logic_error outside of a PE, arena_exhausted.
exposed expose_memory(const void* data, std::size_t bytes);

/// What a tri::zero_copy is, whatever its type: the name of exposed memory. One for each exposure, wherever it is; the
/// exposure ends with it.
class zero_copy_reference {
 public:
  zero_copy_reference() = default;
  zero_copy_reference(zero_copy_reference&& other) noexcept
      : memory_(other.memory_),
        number_(std::exchange(other.number_, 0)),
        bytes_(std::exchange(other.bytes_, 0)),
        pe_(other.pe_),
        run_(other.run_) {}
  zero_copy_reference& operator=(zero_copy_reference&& other) noexcept {
    zero_copy_reference ends(std::move(*this));
    memory_ = other.memory_;
    number_ = std::exchange(other.number_, 0);
    bytes_ = std::exchange(other.bytes_, 0);
    pe_ = other.pe_;
    run_ = other.run_;
    return *this;
  }
  ~zero_copy_reference() {
    if (number_ != 0) end_unread();
  }

  /// For archives: writing hands the reference over.
  void save(output_archive& archive) const;
  void load(input_archive& archive);

  std::uint64_t bytes() const { return bytes_; }
  /// Throws std::logic_error when it names no memory.
  void check_unreceived() const;

 private:
  friend class incoming_memory;
  friend exposed expose_memory(const void* data, std::size_t bytes);
  void end_unread() noexcept;
  bool is_readable_here(const sched::pe& here) const;
  void received() {
    number_ = 0;
    bytes_ = 0;
  }

  exposed_memory* memory_ = nullptr;  // in the arena of the sender's host; of no use on another
  mutable std::uint64_t number_ = 0;  // among the exposures of its PE; 0: of no memory
  mutable std::uint64_t bytes_ = 0;
  std::uint32_t pe_ = 0;
  std::uint32_t run_ = 0;  // of its process, so that one that outlives a run is known
};
static_assert(sizeof(zero_copy_reference) <= sched::inline_payload_bytes, "fits into an envelope");

/// A transfer of exposed memory to this PE, from the moment when the receiver has asked for it. A part of the state of
/// the receiver's future; on the PE that began it.
class incoming_memory {
 public:
  incoming_memory() = default;
  incoming_memory(const incoming_memory&) = delete;
  incoming_memory& operator=(const incoming_memory&) = delete;

  /// `to` has room for all of it. May end it at once. Throws arena_exhausted.
  void begin(zero_copy_reference&& from, void* to);
  /// The transfer has ended.
  void arrived() {
    key_ = 0;
    ended(nullptr);  // last: it may end this
  }
  void fail(const std::string& why) {
    key_ = 0;
    ended(std::make_exception_ptr(zero_copy_error(why)));
  }
  void arrived_in(const void* staged, std::uint64_t bytes);
  std::uint64_t bytes() const { return bytes_; }
  /// Its future has ended on another PE, and its memory may be gone. acquire: what the wire brought instead came then.
  bool is_unwanted() const {
    return target_.load(std::memory_order_acquire) == target::unwanted;  // pairs: incoming_memory.target
  }

 protected:
  ~incoming_memory() = default;
  /// Nothing writes to the memory any more: waits for what the wire writes there just now. Before the memory goes.
  void withdraw() noexcept {
    if (key_ != 0) withdraw_slowly();
  }
  /// The same by another PE of the process, to which the future has gone; this stays in the table of its own.
  void withdraw_elsewhere() noexcept;
  /// The job has ended.
  void abandon_transfer() { key_ = 0; }
  std::string describe_transfer() const;
  virtual void ended(std::exception_ptr error) = 0;

 private:
  enum class target : std::uint8_t { wanted, being_written, unwanted };
  void withdraw_slowly() noexcept;
  bool read_here(sched::pe& here, zero_copy_reference& from);

  void* to_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t key_ = 0;         // in the table of the PE, while it is under way; 0: it is not
  std::uint32_t pe_ = 0;          // the sender's
  std::uint64_t posted_key_ = 0;  // the same key from the beginning on, for other PEs
  std::atomic<target> target_{target::wanted};
};

/// Into memory of the receiver's.
class incoming_span final : public result_state<void>, public incoming_memory, public ends_elsewhere {
 public:
  ~incoming_span() override { withdraw(); }
  void future_ends() noexcept override { withdraw_elsewhere(); }
  std::string describe() const override { return describe_transfer(); }
  void abandon() override {
    abandon_transfer();
    result_state<void>::abandon();
  }

 private:
  void ended(std::exception_ptr error) override {
    if (error != nullptr)
      result_state<void>::fail(std::move(error));
    else
      set({});
  }
};

/// Into memory of the runtime.
template <class T>
class incoming_buffer final : public result_state<buffer<T>>, public incoming_memory {
 public:
  explicit incoming_buffer(std::size_t size) : to_(size) {}
  ~incoming_buffer() override { withdraw(); }
  std::string describe() const override { return describe_transfer(); }
  void abandon() override {
    abandon_transfer();
    result_state<buffer<T>>::abandon();
  }
  T* data() { return to_.data(); }

 private:
  void ended(std::exception_ptr error) override {
    if (error != nullptr)
      result_state<buffer<T>>::fail(std::move(error));
    else
      this->set(std::move(to_));
  }
  buffer<T> to_;
};

struct exposed {
  zero_copy_reference memory;
  future<void> reusable;
};

[[noreturn]] void throw_too_small(std::size_t room, std::size_t size);

}  // namespace objects

/// The argument: memory of `size()` elements that its sender has exposed (tri::expose). Move-only: it goes to one
/// receiver. It follows its element like any argument, and may be kept in the state of an element, but not in a
/// checkpoint. If it is destroyed without having been received, its sender's future ends with a zero_copy_error. On PEs
/// only.
template <class T>
class zero_copy {
  static_assert(std::is_trivially_copyable_v<T>, "tri::zero_copy is for plain data: T must be trivially copyable");

 public:
  zero_copy() = default;
  explicit zero_copy(objects::zero_copy_reference&& memory) : memory_(std::move(memory)) {}

  /// 0 after it has been received or given away.
  std::size_t size() const { return static_cast<std::size_t>(memory_.bytes() / sizeof(T)); }
  bool empty() const { return size() == 0; }

  /// Receives into the first size() elements of `to`, which must stay until the future is ready or has ended. Ending
  /// the future earlier stops the transfer, and waits for what arrives just then. The future throws zero_copy_error
  /// when the sender has withdrawn its memory. Throws std::length_error when `to` is too small (then it can still be
  /// received), std::logic_error when it was received before.
  future<void> into(std::span<T> to) {
    memory_.check_unreceived();
    if (to.size() < size()) objects::throw_too_small(to.size(), size());
    auto state = std::make_shared<objects::incoming_span>();
    return begin<void>(std::move(state), to.data());
  }
  /// The same into a new buffer. Throws also arena::arena_exhausted.
  future<buffer<T>> get() {
    memory_.check_unreceived();
    auto state = std::make_shared<objects::incoming_buffer<T>>(size());
    T* const data = state->data();
    return begin<buffer<T>>(std::move(state), data);
  }

  void save(objects::output_archive& archive) const { memory_.save(archive); }
  void load(objects::input_archive& archive) {
    memory_.load(archive);
    if (memory_.bytes() % sizeof(T) != 0) throw objects::archive_error("a tri::zero_copy has a part of an element");
  }

 private:
  template <class R, class State>
  future<R> begin(std::shared_ptr<State> state, T* to) {
    State& transfer = *state;
    future<R> result(std::move(state));
    transfer.count_for_owner();  // its element stays in this process until it has ended
    transfer.begin(std::move(memory_), to);
    return result;
  }
  objects::zero_copy_reference memory_;
};

template <class T>
inline constexpr bool is_plain<zero_copy<T>> = true;

namespace objects {
template <class T>
inline constexpr bool owns_when_archived<zero_copy<T>> = true;
}  // namespace objects

/// What tri::expose returns.
template <class T>
struct [[nodiscard]] exposure {
  /// The argument to send, with std::move.
  zero_copy<T> memory;
  /// Ready when the memory may be changed or freed again; throws zero_copy_error if it was not received. Must end
  /// before the memory does, so declare it behind: ending it early withdraws the memory, and waits for what is read
  /// just then.
  future<void> reusable;
};

/// Exposes memory to the receiver of one message. It must stay as it is until `reusable` is ready or has ended. On a
/// PE, which `reusable` belongs to. Throws arena::arena_exhausted.
template <class T>
exposure<std::remove_const_t<T>> expose(std::span<T> values) {
  objects::exposed made = objects::expose_memory(values.data(), values.size_bytes());
  return {zero_copy<std::remove_const_t<T>>(std::move(made.memory)), std::move(made.reusable)};
}

}  // namespace tri

#pragma GCC visibility pop
