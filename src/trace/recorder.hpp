// One row of a trace: events in a buffer of fixed size that is written to the row's file when full. Used by one thread
// at a time. Nothing is recorded while the row is off; callers check that first (pe.hpp has a pointer that is null
// then).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "os/clock.hpp"
#include "os/unique_fd.hpp"
#include "trace/format.hpp"

namespace tri::trace {

class recorder {
 public:
  /// Creates the file. Throws std::runtime_error that names it and the reason.
  recorder(std::string path, const std::string& description, std::size_t records, std::uint64_t slow_ticks);
  ~recorder() { close(); }
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  /// A handler has started; pass the result to `end`.
  struct began {
    std::uint64_t ticks;
    std::uint64_t slow_before;
  };
  began begin(std::uint32_t handler, std::uint32_t source, std::uint64_t bytes, std::uint8_t tag,
              std::uint64_t now = os::ticks()) {
    idle_ = false;
    add({.ticks = now, .bytes = short_of(bytes), .peer = source, .handler = handler, .what = event::begin, .tag = tag});
    return {now, slow_ticks_reported_};
  }
  void end(std::uint32_t handler, const began& start, std::uint64_t now = os::ticks()) {
    add({.ticks = now, .handler = handler, .what = event::end});
    call_ended(handler, start, now);
  }
  /// Some other call has ended: an event if it was slow. Slow calls inside it have been reported and do not count.
  void call_ended(std::uint32_t handler, const began& start, std::uint64_t now = os::ticks()) {
    const std::uint64_t taken = now - start.ticks - (slow_ticks_reported_ - start.slow_before);
    if (taken >= slow_ticks_) [[unlikely]]
      slow(handler, taken, now);
  }
  began call_begins(std::uint64_t now = os::ticks()) const { return {now, slow_ticks_reported_}; }

  /// Returns the number of the send.
  std::uint64_t send(std::uint32_t handler, target to, std::uint32_t peer, std::uint64_t bytes,
                     std::uint64_t now = os::ticks()) {
    add({.ticks = now,
         .number = ++sends_,
         .bytes = short_of(bytes),
         .peer = peer,
         .handler = handler,
         .what = event::send,
         .to = to});
    return sends_;
  }
  std::uint64_t last_send() const { return sends_; }

  void idle(std::uint64_t now = os::ticks()) {
    if (idle_) return;
    idle_ = true;
    add({.ticks = now, .what = event::idle});
  }
  /// Events that consist of their time, and of a handler where they have one.
  void mark(event what, std::uint64_t now = os::ticks(), std::uint32_t handler = 0) {
    idle_ = false;
    add({.ticks = now, .handler = handler, .what = what});
  }
  /// Events of the program, under a name that is written when it is new. `value`: of a mark.
  void mark_of_program(event what, std::string_view name, double value = 0);
  /// The load of a PE before a balancing step, and after its moves as they are expected to work.
  void balanced(std::uint32_t step, std::uint32_t pe, std::uint64_t load_ns, std::uint64_t expected_ns);
  void add(const record& one) {
    if (used_ == buffer_.size()) [[unlikely]]
      write_out();
    buffer_[used_++] = one;
  }

  /// Writes what is in the buffer. When the file cannot be written, reports that once and stops recording.
  void write_out();
  void close();

 private:
  static std::uint32_t short_of(std::uint64_t bytes) {
    constexpr std::uint32_t most = ~std::uint32_t{0};
    return bytes < most ? static_cast<std::uint32_t>(bytes) : most;
  }
  void slow(std::uint32_t handler, std::uint64_t taken, std::uint64_t now);
  void note_clock();
  std::uint32_t number_of(std::string_view name);
  bool write(const void* bytes, std::size_t size);

  const std::string path_;
  const std::uint64_t slow_ticks_;
  os::unique_fd file_;
  std::vector<record> buffer_;
  std::size_t used_ = 0;
  std::uint64_t sends_ = 0;
  std::uint64_t slow_ticks_reported_ = 0;  // of all calls that were reported as slow, together
  bool idle_ = false;
  std::map<std::string, std::uint32_t, std::less<>> names_;  // of the program, by their order
};

}  // namespace tri::trace
