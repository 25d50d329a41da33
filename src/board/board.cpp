// Creation, validation and joining; nothing here is on a hot path.
#include "board/board.hpp"

#include <fmt/format.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "board/victim_order.hpp"

namespace tri::board {
namespace {

void construct_parts(const board_view& view) {
  for (std::int32_t process = any_process; process < static_cast<std::int32_t>(view.process_count); ++process) {
    const std::size_t scope = view.layout.scopes + view.layout.scope_bytes * static_cast<std::size_t>(process + 1);
    std::uninitialized_value_construct_n(view.at<host_word>(scope), view.layout.scope_bytes / sizeof(host_word));
  }
  std::uninitialized_value_construct_n(view.entries(), view.pe_count);
  for (std::uint32_t pe = 0; pe < view.pe_count; ++pe) view.entries()[pe].operation = no_operation;
  std::uninitialized_value_construct_n(view.slots(), std::size_t{view.pe_count} * slots_per_pe);
  for (std::uint32_t slot = 0; slot < view.pe_count * slots_per_pe; ++slot) {
    view.slots()[slot].poster = slot / slots_per_pe;
  }
  // The ranges are left alone, so that they cost no memory until used: a post stores the lines of its participants
  // before the task opens, and no one else's lines are read.
}

}  // namespace

std::size_t board::required_bytes(const board_shape& shape) {
  return board_layout::of(shape.pe_count(), shape.process_count()).bytes;
}

board board::initialise(std::span<std::byte> memory, const board_shape& shape, const operation_table& operations) {
  const board_layout layout = board_layout::of(shape.pe_count(), shape.process_count());
  check_memory(memory, layout.bytes);
  const board_view view = board_view::over(memory.data(), shape.pe_count(), shape.process_count(), operations);
  board_header& header = *::new (memory.data()) board_header{};
  header.version = board_version;
  header.pe_count = view.pe_count;
  header.process_count = view.process_count;
  header.slots_of_pe = slots_per_pe;
  header.bytes = layout.bytes;
  header.chunk_operations = operations.chunks.size();
  header.progress_operations = operations.progress.size();
  header.chunk_fingerprint = operations.chunks.fingerprint(header.chunk_operations);
  header.progress_fingerprint = operations.progress.fingerprint(header.progress_operations);
  std::uninitialized_copy(shape.process_of_pe.begin(), shape.process_of_pe.end(), view.process_of_pe());
  construct_parts(view);
  header.magic.store(board_magic, std::memory_order_release);  // board.initialise, pairs: check_header
  return board(view);
}

board board::attach(std::span<std::byte> memory, const operation_table& operations) {
  const board_header& header = check_header(memory, operations);
  const board_view view = board_view::over(memory.data(), header.pe_count, header.process_count, operations);
  for (std::uint32_t pe = 0; pe < view.pe_count; ++pe) {
    if (view.process_of_pe()[pe] >= view.process_count) {
      throw std::invalid_argument(fmt::format("board: PE {} belongs to process {}; there are {} processes", pe,
                                              view.process_of_pe()[pe], view.process_count));
    }
  }
  return board(view);
}

bool board::is_valid() const {
  const board_header& header = view_.header();
  if (header.magic.load(std::memory_order_relaxed) != board_magic) return false;  // relaxed: written once, long ago
  if (header.version != board_version || header.bytes != view_.layout.bytes) return false;
  if (header.pe_count != view_.pe_count || header.process_count != view_.process_count) return false;
  for (std::uint32_t index = 0; index < view_.pe_count * slots_per_pe; ++index) {
    task_slot& slot = view_.slots()[index];
    // Enters like a helper, so that the fields do not change. Inside cannot exceed the PEs and the visits of this
    // function.
    if (slot_inside(slot.state.load(std::memory_order_relaxed)) > std::uint64_t{2} * most_pes)
      return false;  // relaxed: one word
    bool sound = true;
    if (announce_in_slot(slot.state)) {
      const std::uint32_t finished = slot_finished(slot.state.load(std::memory_order_relaxed));  // relaxed: one word
      sound = slot.poster == index / slots_per_pe && slot.chunk > 0 && finished <= slot.chunks &&
              chunk_count(slot.total, slot.chunk) == slot.chunks && slot.rule.participants > 0 &&
              std::uint32_t{slot.rule.first_participant} + slot.rule.participants <= view_.pe_count;
      for (std::uint32_t pe = 0; sound && pe < view_.pe_count; ++pe) {
        if (!slot.rule.is_participant(pe)) continue;
        const claim_line& line = view_.lines_of_slot(index)[pe];
        const chunk_span range = line.range();
        // relaxed: one word; all its values are inside the range
        const chunk_span open = unpack_claim(line.claim.load(std::memory_order_relaxed));
        sound = open.first >= range.first && open.last <= range.last && open.first <= open.last;
      }
      leave_slot(slot.state, 0);
    } else {
      withdraw_from_slot(slot.state);
    }
    if (!sound) return false;
  }
  return true;
}

std::uint32_t board::process_of(std::uint32_t pe) const {
  if (pe >= view_.pe_count) throw std::invalid_argument(fmt::format("board: PE {}; there are {}", pe, view_.pe_count));
  return view_.process_of_pe()[pe];
}

board_pe board::join(std::uint32_t pe, std::span<const std::uint32_t> order) const {
  if (pe >= view_.pe_count) {
    throw std::invalid_argument(fmt::format("board: PE {} joins; there are PEs 0 to {}", pe, view_.pe_count - 1));
  }
  std::vector<bool> seen(view_.pe_count, false);
  seen[pe] = true;
  for (const std::uint32_t victim : order) {
    if (victim >= view_.pe_count || seen[victim]) {
      throw std::invalid_argument(fmt::format("board: victim order of PE {} has {}, which is {}", pe, victim,
                                              victim >= view_.pe_count ? "no PE of the board"
                                              : victim == pe           ? "the PE itself"
                                                                       : "there twice"));
    }
    seen[victim] = true;
  }
  if (order.size() + 1 != view_.pe_count) {
    throw std::invalid_argument(fmt::format("board: victim order of PE {} has {} PEs, all {} others must be in it", pe,
                                            order.size(), view_.pe_count - 1));
  }
  return board_pe(view_, pe, order);
}

board_pe board::join(std::uint32_t pe) const {
  if (pe >= view_.pe_count) return join(pe, {});  // which complains
  return join(pe, ring_order(pe, view_.pe_count));
}

}  // namespace tri::board
