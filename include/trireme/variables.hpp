// Variables of a parallel program: one per PE, or one per process and read-only (Charm++'s Cpv, Csv and readonly
// globals). Both are declared at namespace scope.
//
//   tri::pe_local<int> counter;              // every PE has its own: ++*counter
//   tri::read_only<table> parameters;        // set once by the program, then the same everywhere: parameters->x
//
// PEs are threads, so a plain `thread_local` is one per PE too; pe_local adds that the value is reinitialised for every
// tri::run and can be a type without a trivial destructor in any translation unit. A plain global is shared by the PEs
// of a process, but not with other processes.
#pragma once

#include "trireme/detail/os/function_ref.hpp"
#include "trireme/detail/os/unique_function.hpp"
#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "trireme/nodegroup.hpp"

#pragma GCC visibility push(default)

namespace tri {
namespace objects {

/// Storage of all pe_local variables of the calling PE, by number.
struct pe_local_slot {
  void* value = nullptr;
  void (*destroy)(void*) = nullptr;
};
/// A plain pointer, so that reading it needs no initialisation. The slots of a PE are destroyed with its run, those of
/// other threads with the thread.
inline thread_local pe_local_slot* pe_local_slots = nullptr;
/// How checkpoints write the calling PE's value of a variable, read it, and take over that of a PE which the restarted
/// job does not have. All empty: the variable is not in checkpoints.
struct saved_variable {
  os::unique_function<void(output_archive&)> save;
  os::unique_function<void(input_archive&)> load;
  os::unique_function<void(input_archive&)> merge;
  bool is_same_everywhere = false;
};
std::uint32_t register_pe_local(saved_variable functions);
const std::vector<saved_variable>& pe_local_variables();
void create_pe_locals();
void destroy_pe_locals();

/// `drop` releases a message with a value that will not be stored; `make_remote` and `form` as in sched::handler_row.
/// `saved.save` writes nothing when the value was not published; empty functions: its type cannot be in a checkpoint.
std::uint32_t register_read_only(os::unique_function<void(sched::envelope&)> store, sched::handler_function drop,
                                 sched::handler_function make_remote, const sched::message_form& form,
                                 os::unique_function<bool()> is_published, saved_variable saved);
struct read_only_state {
  bool is_published;
  const saved_variable* saved;
};
std::vector<read_only_state> read_only_variables();
void reset_read_only();
future<int> publish_read_only(std::uint32_t variable, os::function_ref<packed_arguments(bool same_process)> pack);

}  // namespace objects

/// Declares that checkpoints contain a variable: `tri::pe_local<int> counter(tri::saved);`
struct saved_tag {};
inline constexpr saved_tag saved;

/// A value of which every PE has its own, created at first use with the given initial value. Checkpoints contain it
/// only if it is declared tri::saved; then its type must be serializable.
template <class T>
class pe_local {
 public:
  pe_local() : pe_local(T{}) {}
  explicit pe_local(T initial) : initial_(std::move(initial)), number_(objects::register_pe_local({})) {}
  explicit pe_local(saved_tag, T initial = T{})
      : initial_(std::move(initial)), number_(objects::register_pe_local(as_saved())) {}
  pe_local(const pe_local&) = delete;
  pe_local& operator=(const pe_local&) = delete;

  /// The calling PE's (or other thread's) value.
  T& operator*() {
    objects::pe_local_slot* const slots = objects::pe_local_slots;
    if (slots == nullptr || slots[number_].value == nullptr) [[unlikely]]
      make();
    return *static_cast<T*>(objects::pe_local_slots[number_].value);
  }
  T* operator->() { return &**this; }

 private:
  void make() {
    if (objects::pe_local_slots == nullptr) objects::create_pe_locals();
    objects::pe_local_slots[number_] = {new T(initial_), [](void* value) { delete static_cast<T*>(value); }};
  }
  objects::saved_variable as_saved() {
    static_assert(objects::is_serializable<T>, "a tri::pe_local that is tri::saved needs a serializable type");
    objects::saved_variable functions{[this](objects::output_archive& archive) { archive(**this); },
                                      [this](objects::input_archive& archive) { archive(**this); },
                                      {},
                                      objects::is_same_everywhere<T>()};
    if constexpr (requires(T& value) { value.on_shrink(value); })
      functions.merge = [this](objects::input_archive& archive) {
        T leaving(initial_);
        archive(leaving);
        (**this).on_shrink(leaving);
      };
    return functions;
  }
  const T initial_;
  const std::uint32_t number_;
};

/// A value that the program sets once and every PE then reads: one copy per process, or, for tri::shared_buffer and
/// types containing it, one per host.
template <class T>
class read_only {
 public:
  read_only()
      : number_(objects::register_read_only([this](sched::envelope& message) { store(message); },
                                            &objects::drop_arguments<std::tuple<T>>,
                                            objects::remote_form_of<std::tuple<T>>(), objects::form_of<std::tuple<T>>(),
                                            [this] { return value_ != nullptr; }, as_saved())) {}
  read_only(const read_only&) = delete;
  read_only& operator=(const read_only&) = delete;

  /// Sends the value to every process. Ready when all have it; messages sent after that find it everywhere. Throws
  /// std::logic_error when it was already set in this run.
  future<int> publish(const T& value) {
    if (value_ != nullptr) throw std::logic_error("tri::read_only: published a second time");
    auto& here = sched::this_pe();
    return objects::publish_read_only(number_, [&](bool same_process) {
      return objects::pack_arguments<std::tuple<T>>(here, same_process, false, value);
    });
  }
  /// Throws std::logic_error before the value was published.
  const T& operator*() const {
    if (value_ == nullptr) [[unlikely]]
      throw std::logic_error("tri::read_only: read before it was published");
    return *value_;
  }
  const T* operator->() const { return &**this; }

 private:
  // An empty message means the end of the run.
  void store(sched::envelope& message) {
    if (message.used_bytes() == 0 && message.kind == sched::payload_kind::direct) {
      value_.reset();
      return;
    }
    objects::unpacked_arguments<std::tuple<T>> arguments(message);
    value_ = std::make_unique<const T>(std::move(std::get<0>(arguments.values())));
  }
  objects::saved_variable as_saved() {
    if constexpr (objects::is_serializable<T> && std::is_default_constructible_v<T>)
      return {[this](objects::output_archive& archive) { archive(*value_); },
              [this](objects::input_archive& archive) {
                auto loaded = std::make_unique<T>();
                archive(*loaded);
                value_ = std::move(loaded);
              },
              {}};
    else
      return {};
  }
  std::unique_ptr<const T> value_;  // written by one PE before the acknowledgement that orders all readers
  const std::uint32_t number_;
};

}  // namespace tri

#pragma GCC visibility pop
