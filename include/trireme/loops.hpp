// Parallel loops. They work in any program, without set-up: in a plain main the cores of the process share them; inside
// an entry method the idle PEs of the process join, and the loop never waits for busy ones.
//
//   tri::parallel_for(n, [&](int i) { c[i] = a[i] + b[i]; });
//   const double sum = tri::parallel_reduce(n, 0.0, [&](int i) { return a[i] * b[i]; }, std::plus<>());
//
// The default schedule, `automatic`, needs no tuning: it remembers each loop of the program, starts with contiguous
// blocks whose ends may be stolen, and moves their borders until stealing stops. Others are chosen by name:
// parallel_for(n, body, "dynamic,16"); docs/user/loops.md lists them all.
//
// A body may throw: the first exception reaches the caller after all running iterations have ended; iterations that
// have not started are skipped. Loops may be nested, and several threads may run loops at the same time.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/detail/loops/loop_record.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"
#include "trireme/detail/schedules/ordered_partials.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// The indices first, first + step, ... before last; with a negative step, down to above last. Any integer type; the
/// number of indices must fit into 64 bits. A range without indices is empty.
template <std::integral Index>
struct loop_range {
  using index_type = Index;
  Index first{};
  Index last{};
  std::int64_t step = 1;

  std::uint64_t count() const {
    const auto span = [](Index low, Index high, std::uint64_t by) {
      return (static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) - 1) / by + 1;
    };
    if (step > 0) return first < last ? span(first, last, static_cast<std::uint64_t>(step)) : 0;
    return last < first ? span(last, first, -static_cast<std::uint64_t>(step)) : 0;
  }
  /// Index number `index` of the range.
  Index at(std::uint64_t index) const {
    return static_cast<Index>(static_cast<std::uint64_t>(first) + index * static_cast<std::uint64_t>(step));
  }
};

/// Indices 0 to count - 1; first to last - 1; with a step (not 0: std::invalid_argument).
template <std::integral Index>
loop_range<Index> range(Index count) {
  return {Index{0}, count, 1};
}
template <std::integral Index>
loop_range<Index> range(Index first, std::type_identity_t<Index> last, std::int64_t step = 1) {
  if (step == 0) throw std::invalid_argument("loop range: the step is 0; it must be positive or negative");
  return {first, last, step};
}

/// A part of a loop that one participant runs from beginning to end: the argument of a body by chunks.
template <std::integral Index>
class loop_chunk {
 public:
  class iterator {
   public:
    using value_type = Index;
    using difference_type = std::int64_t;
    iterator() = default;
    iterator(const loop_range<Index>* whole, std::uint64_t index) : whole_(whole), index_(index) {}
    Index operator*() const { return whole_->at(index_); }
    iterator& operator++() {
      ++index_;
      return *this;
    }
    iterator operator++(int) {
      iterator before = *this;
      ++index_;
      return before;
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.index_ == b.index_; }

   private:
    const loop_range<Index>* whole_ = nullptr;
    std::uint64_t index_ = 0;
  };

  loop_chunk(const loop_range<Index>& whole, std::uint64_t first, std::uint64_t last, int participant)
      : whole_(&whole), first_(first), last_(last), participant_(participant) {}

  iterator begin() const { return {whole_, first_}; }
  iterator end() const { return {whole_, last_}; }
  std::uint64_t size() const { return last_ - first_; }
  Index front() const { return whole_->at(first_); }
  /// One step beyond the last index of the chunk; with a step of 1, `for (i = front(); i < stop(); ++i)`.
  Index stop() const { return whole_->at(last_); }
  std::int64_t step() const { return whole_->step; }
  /// Which participant runs it: 0 to loop_participants() - 1, each at most once at a time in a loop.
  int participant() const { return participant_; }

 private:
  const loop_range<Index>* whole_;
  std::uint64_t first_;
  std::uint64_t last_;
  int participant_;
};

/// A box of 1 to 3 dimensions cut into tiles. The last dimension runs fastest, of the tiles and inside a tile.
template <std::integral Index, std::size_t Dimensions>
struct tiled_range {
  static_assert(Dimensions >= 1 && Dimensions <= 3);
  using index_type = Index;
  std::array<loop_range<Index>, Dimensions> axes{};
  std::array<std::uint64_t, Dimensions> tile{};  ///< indices of a full tile along each axis

  std::uint64_t tiles_along(std::size_t axis) const {
    const std::uint64_t count = axes[axis].count();
    return count / tile[axis] + (count % tile[axis] != 0 ? 1 : 0);
  }
  std::uint64_t count() const {
    std::uint64_t tiles = 1;
    for (std::size_t axis = 0; axis < Dimensions; ++axis) tiles *= tiles_along(axis);
    return tiles;
  }
  /// The part of each axis that tile number `index` covers.
  std::array<loop_range<Index>, Dimensions> at(std::uint64_t index) const {
    std::array<loop_range<Index>, Dimensions> part{};
    for (std::size_t axis = Dimensions; axis-- > 0;) {
      const std::uint64_t along = tiles_along(axis);
      const std::uint64_t first = index % along * tile[axis];
      index /= along;
      const std::uint64_t last = std::min(first + tile[axis], axes[axis].count());
      part[axis] = {axes[axis].at(first), axes[axis].at(last), axes[axis].step};
    }
    return part;
  }
};

/// tiles({ny, nx}, {16, 256}): indices 0 to ny - 1 and 0 to nx - 1 in tiles of 16 by 256.
/// Throws std::invalid_argument when a tile has no indices.
template <std::size_t Dimensions>
tiled_range<std::int64_t, Dimensions> tiles(const std::int64_t (&counts)[Dimensions],
                                            const std::uint64_t (&tile)[Dimensions]) {
  tiled_range<std::int64_t, Dimensions> made;
  for (std::size_t axis = 0; axis < Dimensions; ++axis) {
    if (tile[axis] == 0) throw std::invalid_argument("tiled range: a tile has 0 indices along an axis; at least 1");
    made.axes[axis] = {0, counts[axis], 1};
    made.tile[axis] = tile[axis];
  }
  return made;
}

/// How a loop is run. Converts from the text of a schedule: parallel_for(n, body, "hybrid,0.8").
struct loop_options {
  schedules::schedule schedule{};
  /// Memory of the loop. Null: the memory of the body's type, hence, for a lambda, of the call site. A function pointer
  /// or a std::function has none of its own: then nothing is learned.
  loops::loop_record* record = nullptr;
  /// The location that reports name (trireme/loop_report.hpp).
  std::source_location location;

  loop_options(std::source_location here = std::source_location::current()) : location(here) {}
  /// Throws std::invalid_argument that describes the error in the text.
  loop_options(std::string_view schedule_text, std::source_location here = std::source_location::current())
      : schedule(schedules::schedule_named(schedule_text)), location(here) {}
  loop_options(const char* schedule_text, std::source_location here = std::source_location::current())
      : loop_options(std::string_view(schedule_text), here) {}
  loop_options(const schedules::schedule& chosen, std::source_location here = std::source_location::current())
      : schedule(chosen), location(here) {}
};

/// How many threads may share the loops that the calling thread runs, itself included: participant numbers are below.
inline int loop_participants() { return static_cast<int>(loops::participant_bound()); }

/// Whether an idle participant could join a loop right now. A hint for programs that also have a serial version; may be
/// outdated when it returns.
inline bool any_idle_pe() { return loops::any_participant_is_idle(); }

namespace loops {

template <class Body>
concept has_own_type = !std::is_pointer_v<Body> && !requires(const Body& body) { body.target_type(); };

/// The memory of all loops with this body. Never destroyed: loops may run while the process ends.
template <class Body>
loop_record* record_of_type(const std::source_location& location) {
  if constexpr (has_own_type<Body>) {
    static loop_record* const record = new loop_record(location);
    return record;
  } else {
    return nullptr;
  }
}

template <class Body>
loop_record* record_for(const loop_options& options) {
  return options.record != nullptr ? options.record : record_of_type<std::remove_cvref_t<Body>>(options.location);
}

/// The body can be called by loops over the range.
template <class Body, class Range>
concept body_of = std::is_invocable_v<Body&, typename Range::index_type> ||
                  std::is_invocable_v<Body&, typename Range::index_type, int> ||
                  std::is_invocable_v<Body&, loop_chunk<typename Range::index_type>>;

/// Calls a body with a part of a range, in the form that the body accepts.
template <class Index, class Body>
void call_body(const loop_range<Index>& whole, Body& body, std::uint64_t first, std::uint64_t last, int participant) {
  if constexpr (std::is_invocable_v<Body&, Index>) {
    if (whole.step == 1) {  // lets the compiler see a plain loop, whose index stays within its type
      constexpr std::uint64_t most = std::uint64_t{1} << 30;
      while (first < last) {
        const Index begin = whole.at(first);
        const std::uint64_t count = std::min(last - first, most);
        for (std::uint64_t index = 0; index < count; ++index)
          body(static_cast<Index>(begin + static_cast<Index>(index)));
        first += count;
      }
    } else {
      for (std::uint64_t index = first; index < last; ++index) body(whole.at(index));
    }
  } else if constexpr (std::is_invocable_v<Body&, Index, int>) {
    for (std::uint64_t index = first; index < last; ++index) body(whole.at(index), participant);
  } else {
    static_assert(
        std::is_invocable_v<Body&, loop_chunk<Index>>,
        "the body of a loop is called with an index, with an index and the number of the participant (int), or "
        "with a tri::loop_chunk of the range's index type");
    body(loop_chunk<Index>(whole, first, last, participant));
  }
}
template <class Index, std::size_t Dimensions, class Body>
void call_body(const tiled_range<Index, Dimensions>& whole, Body& body, std::uint64_t first, std::uint64_t last,
               int participant) {
  for (std::uint64_t index = first; index < last; ++index) {
    const auto part = whole.at(index);
    if constexpr (std::is_invocable_v<Body&, const std::array<loop_range<Index>, Dimensions>&>) {
      body(part);
    } else if constexpr (std::is_invocable_v<Body&, const std::array<loop_range<Index>, Dimensions>&, int>) {
      body(part, participant);
    } else {
      const auto each = [](const loop_range<Index>& axis, auto&& use) {
        for (std::uint64_t i = 0, count = axis.count(); i < count; ++i) use(axis.at(i));
      };
      if constexpr (Dimensions == 1) {
        each(part[0], [&](Index i) { body(i); });
      } else if constexpr (Dimensions == 2) {
        each(part[0], [&](Index i) { each(part[1], [&](Index j) { body(i, j); }); });
      } else {
        each(part[0],
             [&](Index i) { each(part[1], [&](Index j) { each(part[2], [&](Index k) { body(i, j, k); }); }); });
      }
    }
  }
}

/// A range and a body, as used by the chunks of a loop. If the body is small and indistinguishable from a copy, a copy
/// is sent with the loop; otherwise all call the caller's. `Given`: the type as passed. A body that the caller may
/// continue to use and change (`T&`) is called itself.
template <class Range, class Given>
struct bound_body {
  using Body = std::remove_reference_t<Given>;
  static constexpr bool travels =
      (!std::is_lvalue_reference_v<Given> || std::is_const_v<Body>)&&std::is_trivially_copyable_v<Range> &&
      std::is_trivially_copyable_v<Body> && std::is_copy_constructible_v<Body> && std::is_class_v<Body> &&
      sizeof(Range) + sizeof(Body) + 16 <= travelling_bytes && alignof(Body) <= 16 && body_of<const Body, Range>;
  struct by_value {
    Range whole;
    const Body body;
    by_value(const Range& range, const Body& given) : whole(range), body(given) {}
  };
  struct by_reference {
    const Range& whole;
    Body& body;
    by_reference(const Range& range, Body& given) : whole(range), body(given) {}
  };
  using type = std::conditional_t<travels, by_value, by_reference>;
  static constexpr std::size_t bytes = travels ? sizeof(type) : 0;

  static void run(const void* context, std::uint64_t first, std::uint64_t last, int participant) {
    auto& bound = *static_cast<const type*>(context);
    call_body(bound.whole, bound.body, first, last, participant);
  }
};

template <class Range>
concept any_range = requires(const Range& given) {
  typename Range::index_type;
  { given.count() } -> std::same_as<std::uint64_t>;
};

template <any_range Range>
const Range& as_range(const Range& given) {
  return given;
}
template <std::integral Index>
loop_range<Index> as_range(Index count) {
  return {Index{0}, count, 1};
}

}  // namespace loops

/// Runs the body for every index of a range: an integer n (0 to n - 1), tri::range(...) or tri::tiles(...).
/// The body is called as body(index), body(index, participant) or body(tri::loop_chunk<Index>); for tiles as
/// body(i, j, k), or body(part) with a tri::loop_range of each axis. Returns when all have run.
template <class Range, class Body>
  requires std::integral<Range> || loops::any_range<Range>
void parallel_for(const Range& over, Body&& body, const loop_options& options = {}) {
  const auto& whole = loops::as_range(over);
  using binding = loops::bound_body<std::remove_cvref_t<decltype(whole)>, Body>;
  const typename binding::type bound(whole, body);
  loops::loop_call call(&binding::run, &bound, binding::bytes);
  loops::run_loop(call, whole.count(), options.schedule, loops::record_for<Body>(options));
  call.rethrow();
}

/// Combines value(index) over a range, starting with `initial`: combine(T, T) -> T, which must be associative and need
/// not be commutative: operands keep the order of the indices (strings are concatenated in order). T must be movable
/// and need not have a neutral element. `value` may also be value(index, participant). The bracketing depends on which
/// participant ran which chunk, and with it the last bits of floating-point sums; with `reproducible` it depends on the
/// number of indices alone, and the result has the same bits on any number of threads, under any schedule.
enum class combination_order { any, reproducible };

template <class Range, class T, class Value, class Combine>
  requires std::integral<Range> || loops::any_range<Range>
T parallel_reduce(const Range& over, T initial, Value&& value, Combine&& combine, const loop_options& options = {},
                  combination_order order = combination_order::any) {
  const auto& whole = loops::as_range(over);
  using index_type = typename std::remove_cvref_t<decltype(whole)>::index_type;
  const auto value_at = [&](index_type index, int participant) -> T {
    if constexpr (std::is_invocable_v<Value&, index_type, int>)
      return value(index, participant);
    else
      return value(index);
  };
  const std::uint64_t count = whole.count();
  loops::loop_record* const record = loops::record_for<Value>(options);
  if (order == combination_order::reproducible) {
    constexpr std::uint64_t most_blocks = 1024;
    const std::uint64_t blocks = std::min(count, most_blocks);
    std::vector<std::optional<T>> partial(blocks);
    const auto run_block = [&](std::uint64_t block, int participant) {
      const auto [first, last] = std::pair(count / blocks * block + std::min(block, count % blocks),
                                           count / blocks * (block + 1) + std::min(block + 1, count % blocks));
      T running = value_at(whole.at(first), participant);
      for (std::uint64_t index = first + 1; index < last; ++index)
        running = combine(std::move(running), value_at(whole.at(index), participant));
      partial[block] = std::move(running);
    };
    loop_options inner = options;
    inner.record = record;
    parallel_for(blocks, run_block, inner);
    for (std::optional<T>& each : partial) initial = combine(std::move(initial), std::move(*each));
    return initial;
  }
  schedules::ordered_partials<T> partial(static_cast<std::size_t>(loop_participants()));
  const auto run_chunk = [&](const loop_chunk<std::uint64_t>& chunk) {
    std::uint64_t index = chunk.front();
    T running = value_at(whole.at(index), chunk.participant());
    while (++index < chunk.stop())
      running = combine(std::move(running), value_at(whole.at(index), chunk.participant()));
    partial.add(chunk.participant(), chunk.front(), chunk.stop(), std::move(running), combine);
  };
  loop_options inner = options;
  inner.record = record;
  parallel_for(count, run_chunk, inner);
  return partial.combined(std::move(initial), combine);
}

/// The running combination: output(index, combine(... combine(initial, value(first)) ..., value(index))) for every
/// index, and returns the last one. combine must be associative; `value` is called twice for every index. The
/// combination is bracketed by blocks that depend on the number of indices alone: reproducible.
template <class Range, class T, class Value, class Combine, class Output>
  requires std::integral<Range> || loops::any_range<Range>
T parallel_scan(const Range& over, T initial, Value&& value, Combine&& combine, Output&& output,
                const loop_options& options = {}) {
  const auto& whole = loops::as_range(over);
  const std::uint64_t count = whole.count();
  constexpr std::uint64_t most_blocks = 256;
  const std::uint64_t blocks = std::min(count, most_blocks);
  const auto begin_of = [&](std::uint64_t block) { return count / blocks * block + std::min(block, count % blocks); };
  std::vector<std::optional<T>> before(blocks);  // first the sum of a block, then of all blocks before it
  parallel_for(
      blocks,
      [&](std::uint64_t block) {
        T running = value(whole.at(begin_of(block)));
        for (std::uint64_t index = begin_of(block) + 1; index < begin_of(block + 1); ++index)
          running = combine(std::move(running), value(whole.at(index)));
        before[block] = std::move(running);
      },
      loop_options(options.schedule, options.location));
  for (std::optional<T>& each : before) {
    T running = combine(T(initial), std::move(*each));
    each = std::exchange(initial, std::move(running));
  }
  parallel_for(
      blocks,
      [&](std::uint64_t block) {
        T running = std::move(*before[block]);
        for (std::uint64_t index = begin_of(block); index < begin_of(block + 1); ++index) {
          running = combine(std::move(running), value(whole.at(index)));
          output(whole.at(index), std::as_const(running));
        }
      },
      loop_options(options.schedule, options.location));
  return initial;
}

namespace loops {

/// A started loop with its data, type-erased.
struct any_started_loop {
  virtual ~any_started_loop() = default;
  virtual void wait() = 0;
  virtual bool finished() const = 0;
};

template <class Range, class Body>
struct started_loop_of final : any_started_loop {
  started_loop_of(const Range& over, Body&& given, const loop_options& options)
      : whole(over),
        body(std::move(given)),
        bound(whole, body),
        call(&binding::run, &bound, binding::bytes),
        started(start_loop(call, whole.count(), options.schedule, record_for<Body>(options))) {}
  void wait() override {
    wait_for(*started);
    call.rethrow();
  }
  bool finished() const override { return has_finished(*started); }

  using binding = bound_body<Range, Body>;
  Range whole;
  Body body;
  typename binding::type bound;
  loop_call call;
  started_loop_ptr started;
};

}  // namespace loops

/// A started loop that runs in other threads while the caller does other work.
class loop_handle {
 public:
  loop_handle() = default;
  explicit loop_handle(std::unique_ptr<loops::any_started_loop> started) : started_(std::move(started)) {}
  /// Takes part in the remaining iterations and returns when all have run. Rethrows a body's exception; throws
  /// std::logic_error on another thread than the one that started the loop. A second call returns at once.
  void wait() {
    if (started_ == nullptr) return;
    started_->wait();
    started_.reset();
  }
  /// Every iteration has run. For the thread that started the loop, as wait().
  bool finished() const { return started_ == nullptr || started_->finished(); }

 private:
  std::unique_ptr<loops::any_started_loop> started_;
};

/// Posts a loop and returns at once; the others start, the caller takes part in wait(), at the latest in the destructor
/// of the handle, which must run on the thread that started the loop: on another it ends the program. In a child of
/// fork() the handle is empty. The body is moved into the handle. A thread may have a few started loops at a time; a
/// further loop has completed when start_for returns.
template <class Range, class Body>
  requires std::integral<Range> || loops::any_range<Range>
[[nodiscard]] loop_handle start_for(const Range& over, Body body, const loop_options& options = {}) {
  using range_type = std::remove_cvref_t<decltype(loops::as_range(over))>;
  return loop_handle(
      std::make_unique<loops::started_loop_of<range_type, Body>>(loops::as_range(over), std::move(body), options));
}

}  // namespace tri

#pragma GCC visibility pop
