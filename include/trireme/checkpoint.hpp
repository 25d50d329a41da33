// Checkpoints on disk: the state of all objects of a job in a folder, and a later job that begins with it.
//
//   co_await tri::checkpoint("ckpt", state);     // `state`: what the main program needs to go on: handles, a step
//   number
//
//   auto now = tri::is_restarted() ? tri::restored_state<program_state>() : begin();      // ./app --tri-restart ckpt
//
// A restarted job has the collections with all their elements, under the same handles, and tri::read_only values; it
// may have another number of PEs, processes and hosts. docs/user/checkpoint.md says what else is in a checkpoint.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <string>

#include "trireme/archive.hpp"
#include "trireme/detail/objects/type_name.hpp"
#include "trireme/future.hpp"

#pragma GCC visibility push(default)

namespace tri {

namespace objects {

/// A value of the program as a checkpoint has it.
struct program_state {
  std::string type;   // as messages name it
  std::string bytes;  // an archive
  template <class Archive>
  void serialize(Archive& archive) {
    archive(type, bytes);
  }
};
future<void> begin_checkpoint(const std::string& folder, program_state state);
/// Whether the launcher lets the job survive; and the checkpoint in memory for that.
bool survives_losses();
future<void> begin_checkpoint_in_memory(program_state state);
future<void> ready_future();
/// Throws std::logic_error when the job was not restarted.
const program_state& restored_program_state();
[[noreturn]] void report_other_state(const program_state& found, const std::string& wanted);

template <class T>
program_state as_program_state(const T& value) {
  static_assert(is_serializable<T>,
                "tri::checkpoint: the state is neither plain data nor has its type a member 'template <class Archive> "
                "void serialize(Archive&)'");
  output_archive archive;
  archive(value);
  const output_archive::contents written = archive.take();
  program_state state{type_name<T>(), std::string(static_cast<const char*>(written.block), written.bytes)};
  arena::release(written.block);
  return state;
}

}  // namespace objects

/// Writes the state of the job into `folder`: all elements of all collections, tri::read_only values, and the
/// tri::pe_local ones that are tri::saved. Waits until no message is in flight and no timer is pending, as
/// tri::quiescence() does; then all PEs write at the same time. The folder is made if it does not exist; all hosts must
/// see it. A checkpoint in it is replaced when the new one is complete and on the disk, in one step: whatever happens
/// before, the old one stays.
///
/// Called once at a time, on any PE: by the main program, or by a coroutine of an element; that one is not part of the
/// checkpoint, but the members of its element are. Nothing else of the program may run meanwhile. When the future is
/// ready the checkpoint is complete. It throws tri::remote_error, and the program may go on, when
///   - an element has a suspended coroutine, or its class has no serialize function: the text names it;
///   - elements have contributed to a reduction that is not complete;
///   - other parts of the program send while the checkpoint is written;
///   - the folder cannot be written (the text has the path and the system's reason).
/// In programs of tri::run; those of tri::run_everywhere and tri::init have main programs that nothing restarts.
template <class State>
[[nodiscard]] future<void> checkpoint(const std::string& folder, const State& state) {
  return objects::begin_checkpoint(folder, objects::as_program_state(state));
}
/// The same without a state of the main program.
[[nodiscard]] inline future<void> checkpoint(const std::string& folder) {
  return objects::begin_checkpoint(folder, {});
}

/// A checkpoint that is needed only as long as the job lives: `co_await tri::checkpoint(tri::in_memory, state)`.
struct in_memory_tag {};
inline constexpr in_memory_tag in_memory;

/// Under `trireme run --survive` the same as above, into memory that outlives the processes of the job: when one of
/// them is lost, the launcher starts the job again with this state. Otherwise it does nothing, and the future is ready
/// soon.
template <class State>
[[nodiscard]] future<void> checkpoint(in_memory_tag, const State& state) {
  if (!objects::survives_losses()) return objects::ready_future();
  return objects::begin_checkpoint_in_memory(objects::as_program_state(state));
}
/// The same without a state of the main program.
[[nodiscard]] inline future<void> checkpoint(in_memory_tag) {
  if (!objects::survives_losses()) return objects::ready_future();
  return objects::begin_checkpoint_in_memory({});
}

/// Whether this job began with a checkpoint (--tri-restart, or after a loss under `trireme run --survive`).
/// On PEs.
bool is_restarted();

/// The state that the main program gave to tri::checkpoint. On any PE, any number of times. Throws std::logic_error
/// when the job was not restarted, std::runtime_error when the state was of another type, and
/// tri::objects::archive_error when it was written by another version of the type.
template <class State>
State restored_state() {
  const objects::program_state& found = objects::restored_program_state();
  if (const std::string wanted = objects::type_name<State>(); found.type != wanted)
    objects::report_other_state(found, wanted);
  State state{};
  objects::input_archive archive(found.bytes.data(), found.bytes.size());
  archive(state);
  return state;
}

}  // namespace tri

#pragma GCC visibility pop
