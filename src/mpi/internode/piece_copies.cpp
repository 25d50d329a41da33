#include "mpi/internode/piece_copies.hpp"

#include <unistd.h>

namespace tri::mpi {
namespace {

// A part of a piece of a buffer with a layout, from or to contiguous memory: arguments are the buffer, the offset of
// the piece in it, that memory, and the number of the rank that has posted the task.
user_buffer buffer_of(const board::task_view& task) { return *reinterpret_cast<const user_buffer*>(task.arguments[0]); }
std::byte* packed_of(const board::task_view& task, std::uint64_t first) {
  return reinterpret_cast<std::byte*>(task.arguments[2]) + first;
}
void count_chunks(const board::task_view& task, std::uint64_t bytes, int by) {
  endpoint_counters& counters = engine::of_pe(by)->own().counters;
  const bool is_own = task.arguments[3] == static_cast<std::uint64_t>(by);
  endpoint_counters::add(is_own ? counters.chunks_copied : counters.chunks_helped,
                         board::chunk_count(bytes, task.chunk));
}
void pack_entry(const board::task_view& task, std::uint64_t first, std::uint64_t last, int by) noexcept {
  buffer_of(task).read(task.arguments[1] + first, last - first, packed_of(task, first));
  count_chunks(task, last - first, by);
}
void unpack_entry(const board::task_view& task, std::uint64_t first, std::uint64_t last, int by) noexcept {
  buffer_of(task).write(task.arguments[1] + first, last - first, packed_of(task, first));
  count_chunks(task, last - first, by);
}
const board::operation_id pack_operation =
    board::operation_table::of_process().chunks.add("mpi: pack a piece for another host", &pack_entry);
const board::operation_id unpack_operation =
    board::operation_table::of_process().chunks.add("mpi: unpack a piece of another host", &unpack_entry);

// `buffer` is in a record, which all ranks of the host reach.
bool run_together(engine& ranks, board::operation_id operation, const user_buffer& buffer, std::uint64_t offset,
                  std::byte* packed, std::size_t bytes) {
  if (bytes < ranks.options().sharing.from || !buffer.is_shared() ||
      !ranks.run_together(
          operation,
          {reinterpret_cast<std::uint64_t>(&buffer), offset, reinterpret_cast<std::uint64_t>(packed), ranks.number()},
          bytes))
    return false;
  endpoint_counters::add(ranks.own().counters.chunks_shared, board::chunk_count(bytes, sharing_sizes::chunk_of(bytes)));
  return true;
}

// Contiguous bytes of it.
user_buffer part_of(const user_buffer& whole, std::uint64_t offset, std::size_t bytes) {
  return {whole.address + offset, bytes, nullptr, 0, whole.process};
}

}  // namespace

void pack_piece(engine& ranks, const user_buffer& from, std::uint64_t offset, std::byte* to, std::size_t bytes) {
  if (from.type == nullptr) {
    // Where the kernel refuses, the rank has ended, and the job with it.
    static_cast<void>(copy_data({to, bytes}, part_of(from, offset, bytes), 0, bytes, getpid()));
  } else if (!run_together(ranks, pack_operation, from, offset, to, bytes)) {
    from.read(offset, bytes, to);
  }
}

bool unpack_piece(engine& ranks, const user_buffer& to, std::uint64_t offset, std::byte* from, std::size_t bytes) {
  if (to.type == nullptr) return copy_data(part_of(to, offset, bytes), {from, bytes}, 0, bytes, getpid());
  if (!run_together(ranks, unpack_operation, to, offset, from, bytes)) to.write(offset, bytes, from);
  return true;
}

}  // namespace tri::mpi
