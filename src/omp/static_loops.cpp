// Static loops of clang: where a program requests its block of a loop without chunks (kind 34), and weighted schedules
// provide it. Everything else, above all chunked loops, is the native runtime's. Signatures as in LLVM 16; bounds are
// inclusive. A section of `omp sections` counts as an iteration here.
#include "omp/static_loops.hpp"
#include "omp/call_sites.hpp"
#include "omp/loop_choice.hpp"
#include "omp/memory_table.hpp"
#include "omp/native_runtime.hpp"
#include "omp/settings.hpp"
#include "omp/team_context.hpp"
#include "os/clock.hpp"

namespace tri::omp {
namespace {

struct location {  // ident_t of libomp
  std::int32_t reserved[4];
  const char* source;
};

constexpr std::int32_t order_bits = 3 << 29;  // monotonic, nonmonotonic
constexpr std::int32_t unchunked = 34;

using memories = memory_table<static_memory>;
memories& table() {
  static memories loops;  // all null: no constructor runs
  return loops;
}

native_function<std::int32_t(location*)> native_team_size("__kmpc_bound_num_threads");

// The block of this thread; false: call the native runtime.
template <class Value>
bool take_block(const void* site, location* where, std::int32_t kind, std::int32_t* is_last, Value* lower, Value* upper,
                std::make_signed_t<Value>* stride, std::make_signed_t<Value> step) {
  if (!the_settings().weights || (kind & ~order_bits) != unchunked) return false;
  thread_context* const context = followed();
  if (context == nullptr) return false;
  context->in_static = nullptr;
  const std::optional<iteration_space> space = inclusive_space(*lower, *upper, step, 1);
  if (!space || space->items == 0) return false;
  location nowhere{{0, 2, 0, 0}, ";unknown;unknown;0;0;;"};
  const auto threads = static_cast<std::uint32_t>(native_team_size(&nowhere));
  if (threads < 2 || threads > schedules::most_worksharing_threads || context->thread >= threads) return false;
  static_share* const share = context->of.shares.of(space->items, threads, [&] {
    const schedules::loop_key key = key_of(site, {space->items, 1, threads, false});
    return table().find(key, [&] { return std::make_unique<memories::entry>(key, threads); });
  });
  if (share == nullptr) return false;
  if (context->thread == 0) count_by_weights(site, where != nullptr ? where->source : nullptr);
  const std::uint64_t first = share->first_of(context->thread);
  const std::uint64_t last = share->last_of(context->thread);
  const Value end = *upper;
  if (first < last) {
    *lower = static_cast<Value>(space->value_of(first));
    *upper = static_cast<Value>(space->value_of(last - 1));
  } else {
    *lower =
        static_cast<Value>(static_cast<std::uint64_t>(end) + space->step);  // as the native runtime: behind the end
  }
  if (is_last != nullptr) *is_last = first < last && last == space->items ? 1 : 0;
  *stride = static_cast<std::make_signed_t<Value>>(space->items);
  context->in_static = share;
  context->static_since = os::ticks();
  return true;
}

}  // namespace

std::string static_weights_of(const void* site) {
  std::string text;
  table().for_each([&](memories::entry& there) {
    if (there.key.site != site) return;
    const std::string weights = there.memory.text();
    if (!weights.empty()) text += learned_line(there.key, "weights " + weights);
  });
  return text;
}

}  // namespace tri::omp

using namespace tri::omp;

#define TRIREME_HERE __builtin_return_address(0)
#define TRIREME_PUBLIC extern "C" [[gnu::visibility("default")]]

#define TRIREME_STATIC_INIT(suffix, value, signed_value)                                                             \
  TRIREME_PUBLIC void __kmpc_for_static_init_##suffix(location* where, std::int32_t thread, std::int32_t kind,       \
                                                      std::int32_t* is_last, value* lower, value* upper,             \
                                                      signed_value* stride, signed_value step, signed_value chunk) { \
    static native_function<void(location*, std::int32_t, std::int32_t, std::int32_t*, value*, value*, signed_value*, \
                                signed_value, signed_value)>                                                         \
        native("__kmpc_for_static_init_" #suffix);                                                                   \
    if (!take_block<value>(TRIREME_HERE, where, kind, is_last, lower, upper, stride, step))                          \
      native(where, thread, kind, is_last, lower, upper, stride, step, chunk);                                       \
  }
TRIREME_STATIC_INIT(4, std::int32_t, std::int32_t)
TRIREME_STATIC_INIT(4u, std::uint32_t, std::int32_t)
TRIREME_STATIC_INIT(8, std::int64_t, std::int64_t)
TRIREME_STATIC_INIT(8u, std::uint64_t, std::int64_t)

// The end of a static loop, before its barrier. A thread that got its block from us does not call the native runtime.
TRIREME_PUBLIC void __kmpc_for_static_fini(location* where, std::int32_t thread) {
  static native_function<void(location*, std::int32_t)> native("__kmpc_for_static_fini");
  thread_context* const context = followed();
  if (context == nullptr || context->in_static == nullptr) return native(where, thread);
  context->in_static->took(context->thread, tri::os::ticks() - context->static_since);
  context->in_static = nullptr;
}
