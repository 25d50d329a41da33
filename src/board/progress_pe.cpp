// See progress_pe.hpp.
#include "board/progress_pe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tri::board {

progress_pe::progress_pe(const board_view& view, std::uint32_t pe, std::span<const std::uint32_t> order)
    : view_(view),
      pe_(pe),
      process_(static_cast<std::int32_t>(view.process_of_pe()[pe])),
      order_(order),
      host_(view.progress_open_to(any_process)),
      process_words_(view.progress_open_to(process_)) {}

void progress_pe::register_entry(operation_id operation,
                                 const std::array<std::uint64_t, progress_argument_words>& arguments,
                                 std::int32_t process) {
  view_.operations->progress.check(operation);
  if (process != any_process && process != process_) {
    throw std::invalid_argument(fmt::format("progress entry of PE {}: process is {}; it must be any_process (-1) or {}",
                                            pe_, process, process_));
  }
  withdraw_progress();
  hold_own();
  progress_entry& entry = view_.entries()[pe_];
  entry.operation = operation;
  entry.process = process;
  std::copy(arguments.begin(), arguments.end(), entry.arguments);
  release(pe_);
  offered_to_ = process;
  registered_ = true;
}

void progress_pe::unregister_entry() {
  withdraw_progress();
  hold_own();
  view_.entries()[pe_].operation = no_operation;
  release(pe_);
  registered_ = false;
}

void progress_pe::offer_progress() {
  if (!registered_)
    throw std::logic_error(
        fmt::format("progress entry of PE {}: progress offered before an entry was registered", pe_));
  words_of(offered_to_).set(pe_);
}

bool progress_pe::help_in(host_words& words) {
  if (!words.any()) return false;
  return std::any_of(order_.begin(), order_.end(),
                     [&](std::uint32_t owner) { return words.test(owner) && run_entry(owner); });
}

bool progress_pe::run_entry(std::uint32_t owner) {
  progress_entry& entry = view_.entries()[owner];
  if (!try_claim(entry, pe_)) return false;
  // The bit was only a hint: the entry decides what may be run.
  const bool allowed = entry.process == any_process || entry.process == process_;
  const progress_function function = allowed ? view_.operations->progress.find(entry.operation) : nullptr;
  const bool did = function != nullptr && function(entry.arguments, static_cast<int>(owner), static_cast<int>(pe_));
  release_claim(entry);
  return did;
}

}  // namespace tri::board
