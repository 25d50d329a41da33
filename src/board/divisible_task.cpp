// Checks of a task before it is posted.
#include "board/divisible_task.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace tri::board {
namespace {

template <class... Values>
[[noreturn]] void refuse(fmt::format_string<Values...> text, Values&&... values) {
  throw std::invalid_argument("divisible task: " + fmt::format(text, std::forward<Values>(values)...));
}

}  // namespace

void check_task(const task_spec& spec, const board_limits& limits) {
  if (spec.chunk == 0) refuse("chunk is 0 items; it must be at least 1");
  if (chunk_count(spec.total, spec.chunk) > most_chunks) {
    refuse("{} items in chunks of {} are {} chunks; at most {} are possible, so chunks of at least {}", spec.total,
           spec.chunk, chunk_count(spec.total, spec.chunk), most_chunks, chunk_count(spec.total, most_chunks));
  }
  if (spec.participants == 0) refuse("participants is 0; at least one PE must own a range");
  if (spec.first_participant >= limits.pe_count || spec.participants > limits.pe_count - spec.first_participant) {
    refuse("participants are PEs {} to {}; the board has PEs 0 to {}", spec.first_participant,
           std::uint64_t{spec.first_participant} + spec.participants - 1, limits.pe_count - 1);
  }
  if (!(spec.static_fraction >= 0.0 && spec.static_fraction <= 1.0)) {
    refuse("static_fraction is {}; it must lie between 0 and 1", spec.static_fraction);
  }
  if (spec.owner_step == 0) refuse("owner_step is 0 chunks; it must be at least 1");
  if (spec.steal_step == 0) refuse("steal_step is 0 chunks; it must be at least 1");
  if (spec.process < any_process || spec.process >= static_cast<std::int32_t>(limits.process_count)) {
    refuse("process is {}; it must be any_process (-1) or 0 to {}", spec.process, limits.process_count - 1);
  }
}

}  // namespace tri::board
