// The operations of tasks, by number. Code has different addresses in each process, so the arena holds the number and
// each process looks it up in its own table. Every process registers the same names in the same order (static
// initialisers of one binary do that automatically); the board compares fingerprints when a process attaches.
// Registration: one thread at a time, at start. Look-up: any thread, no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "os/hash.hpp"

namespace tri::board {

using operation_id = std::uint32_t;
inline constexpr operation_id no_operation = ~operation_id{0};
inline constexpr int argument_words = 16;          // two cache lines, which travel together with the slot
inline constexpr int progress_argument_words = 6;  // an entry is one line

// The task as passed to a running chunk. `arguments` points into the arena.
struct task_view {
  const std::uint64_t* arguments = nullptr;  // argument_words of them
  std::uint64_t total = 0;                   // items of the whole task
  std::uint64_t chunk = 1;                   // items of a chunk
  std::uint32_t poster = 0;                  // the PE that posted it
};

// Runs the items [first, last) on `pe`. noexcept: a helper has no caller to handle an exception; operations that can
// fail report through their arguments.
using chunk_function = void (*)(const task_view& task, std::uint64_t first, std::uint64_t last, int pe) noexcept;

// Makes progress on behalf of `owner` on `by`; true if it did anything.
using progress_function = bool (*)(const std::uint64_t* arguments, int owner, int by) noexcept;

namespace detail {
// Throws std::invalid_argument / std::length_error with the name and what would be right.
void check_registration(std::string_view kind, std::string_view name, bool has_function, bool taken,
                        std::uint32_t count, std::uint32_t capacity);
[[noreturn]] void report_unknown_operation(std::string_view kind, operation_id id, std::uint32_t count);
}  // namespace detail

template <class Function>
class function_table {
 public:
  static constexpr std::uint32_t capacity = 1024;

  operation_id add(std::string_view name, Function function) {
    const std::uint32_t count = size();
    bool taken = false;
    for (std::uint32_t id = 0; id < count; ++id) taken = taken || *names_[id] == name;
    detail::check_registration(kind_, name, function != nullptr, taken, count, capacity);
    names_[count] = std::make_unique<const std::string>(name);
    functions_[count] = function;
    count_.store(count + 1, std::memory_order_release);  // table.publish, pairs: table.size
    return count;
  }

  std::uint32_t size() const { return count_.load(std::memory_order_acquire); }  // table.size, pairs: table.publish

  // nullptr when this process does not know the operation.
  Function find(operation_id id) const { return id < size() ? functions_[id] : nullptr; }

  void check(operation_id id) const {
    if (id >= size()) detail::report_unknown_operation(kind_, id, size());
  }

  // Of the first `count` names, in order.
  std::uint64_t fingerprint(std::uint32_t count) const {
    std::uint64_t hash = os::hash_of_nothing;
    for (std::uint32_t id = 0; id < count && id < size(); ++id) hash = os::hashed_name(hash, *names_[id]);
    return hash;
  }

 private:
  static constexpr std::string_view kind_ =
      std::is_same_v<Function, chunk_function> ? "chunk operation" : "progress operation";
  // Initially all zeros, so that a process's table uses pages only for registered operations.
  std::array<std::unique_ptr<const std::string>, capacity> names_{};
  std::array<Function, capacity> functions_{};
  std::atomic<std::uint32_t> count_{0};
};

struct operation_table {
  function_table<chunk_function> chunks;
  function_table<progress_function> progress;

  // The table of this process, alive before any static registration that uses it.
  static operation_table& of_process();
};

}  // namespace tri::board
