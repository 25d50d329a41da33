// The poster's side.
#include "board/board_pe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tri::board {

board_pe::board_pe(const board_view& view, std::uint32_t pe, std::span<const std::uint32_t> order)
    : view_(view),
      pe_(pe),
      process_(static_cast<std::int32_t>(view.process_of_pe()[pe])),
      process_pes_(static_cast<std::uint32_t>(
          std::count(view.process_of_pe(), view.process_of_pe() + view.pe_count, view.process_of_pe()[pe]))),
      order_(std::make_unique<const std::vector<std::uint32_t>>(order.begin(), order.end())),
      host_tasks_(view.tasks_open_to(any_process)),
      process_tasks_(view.tasks_open_to(process_)),
      progress_(view, pe, *order_) {}

void board_pe::check(const task_spec& spec) const {
  check_task(spec, {view_.pe_count, view_.process_count});
  view_.operations->chunks.check(spec.operation);
  if (spec.process != any_process && spec.process != process_) {
    throw std::invalid_argument(
        fmt::format("divisible task: process is {}, but PE {}, which posts it and takes part, belongs to process {}",
                    spec.process, pe_, process_));
  }
}

// A slot without an unfinished task and without a participant inside. A helper that was descheduled inside an exhausted
// task costs one slot until it runs again, never a wait.
task_slot* board_pe::find_slot(const task_spec& spec) {
  for (std::uint32_t number = 0; number < slots_per_pe; ++number) {
    const std::uint32_t index = pe_ * slots_per_pe + number;
    task_slot& slot = view_.slots()[index];
    if (slot.in_use != 0) continue;
    // These lines were last written by helpers. Prefetch them together instead of missing one after the other.
    os::prefetch_to_write(&slot.state);
    os::prefetch_to_write(slot.arguments);
    os::prefetch_to_write(slot.arguments + argument_words / 2);
    const auto lines = view_.lines_of_slot(index).subspan(spec.first_participant, spec.participants);
    for (const claim_line& line : lines) os::prefetch_to_write(&line);
    if (recycle_slot(slot.state)) return &slot;
  }
  return nullptr;
}

void board_pe::fill(task_slot& slot, std::uint32_t index, const task_spec& spec, std::uint32_t chunks) {
  slot.total = spec.total;
  slot.chunk = spec.chunk;
  slot.operation = spec.operation;
  slot.process = spec.process;
  slot.chunks = chunks;
  slot.rule = rule_of(spec);
  std::copy(spec.arguments.begin(), spec.arguments.end(), slot.arguments);
  slot.finished_by_poster = 0;
  fill_lines(spec, chunks, view_.lines_of_slot(index));
}

post_result board_pe::post(const task_spec& spec) {
  check(spec);
  return post_checked(spec, static_cast<std::uint32_t>(chunk_count(spec.total, spec.chunk)));
}

post_result board_pe::post_if_divisible(const task_spec& spec) {
  check(spec);
  const auto chunks = static_cast<std::uint32_t>(chunk_count(spec.total, spec.chunk));
  return chunks > 1 ? post_checked(spec, chunks) : post_result{};
}

post_result board_pe::post_checked(const task_spec& spec, std::uint32_t chunks) {
  host_words& words = words_of(spec.process);
  task_slot* const slot = find_slot(spec);
  if (slot == nullptr) return {};
  const auto index = static_cast<std::uint32_t>(slot - view_.slots());
  fill(*slot, index, spec, chunks);
  slot->in_use = 1;
  ++slot->generation;
  if (chunks > 0) {
    open_slot(slot->state);
    words.set(index);
  }
  const std::uint32_t others = (spec.process == any_process ? view_.pe_count : process_pes_) - 1;
  return {{index, slot->generation}, std::min(chunks > 0 ? chunks - 1 : 0, others)};
}

task_slot& board_pe::slot_of(task_handle handle) const {
  if (handle.slot / slots_per_pe != pe_ || !handle) {
    throw std::logic_error(fmt::format("task handle with slot {} is not one of PE {}", handle.slot, pe_));
  }
  task_slot& slot = view_.slots()[handle.slot];
  if (slot.in_use == 0 || slot.generation != handle.generation) {
    throw std::logic_error(fmt::format("task handle of PE {} is outdated: it names task {} of slot {}, which {} {}",
                                       pe_, handle.generation, handle.slot % slots_per_pe,
                                       slot.in_use == 0 ? "is free after task" : "now holds task", slot.generation));
  }
  return slot;
}

std::uint32_t board_pe::run_own(task_handle handle) {
  task_slot& slot = slot_of(handle);
  claim_search search(slot.place_of(pe_), *order_);
  ++in_chunks_;
  const portion done = run_own_range(opened(slot, handle.slot), search, pe_, [] { return true; });
  --in_chunks_;
  slot.finished_by_poster += done.chunks;
  return done.chunks;
}

std::uint32_t board_pe::run_rest(task_handle handle) {
  task_slot& slot = slot_of(handle);
  claim_search search(slot.place_of(pe_), *order_);
  ++in_chunks_;
  const portion rest = run_everywhere(opened(slot, handle.slot), search, pe_, [] { return true; });
  --in_chunks_;
  slot.finished_by_poster += rest.chunks;
  if (rest.exhausted) words_of(slot.process).clear(handle.slot);
  return rest.chunks;
}

std::uint32_t board_pe::run_reserved_chunks(task_handle handle) {
  task_slot& slot = slot_of(handle);
  release_reserved_ranges(opened(slot, handle.slot).claims);
  return run_rest(handle);
}

bool board_pe::finished(task_handle handle) const {
  const task_slot& slot = slot_of(handle);
  return finished_in_slot(slot.state) + slot.finished_by_poster == slot.chunks;
}

void board_pe::release(task_handle handle) {
  task_slot& slot = slot_of(handle);
  words_of(slot.process).clear(handle.slot);  // already done, unless helpers ran the last chunks
  slot.in_use = 0;
}

void board_pe::run_in_place(const task_spec& spec) {
  if (spec.total == 0) return;
  const task_view view{spec.arguments.data(), spec.total, spec.chunk, pe_};
  view_.operations->chunks.find(spec.operation)(view, 0, spec.total, static_cast<int>(pe_));
}

}  // namespace tri::board
