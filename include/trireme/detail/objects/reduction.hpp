// Reductions: the root that collects the parts, the parts that the PEs send, and broadcasts that end in a reduction.
//
// Each PE sends one base part per broadcast: the combined value of its elements, how many they were, and how many it
// created minus how many it destroyed so far. Elements in transit contribute a part of their own when they arrive. The
// reduction is complete when all PEs have sent their base part and the counts add up to the sum of created minus
// destroyed, which is the population at the moment of the broadcast: exact under migration, insertion and deletion.
//
// The parts of another host are combined on one of its PEs and sent as one (Mei 2012, M57); those of broadcasts go to
// the root along a tree of hosts, in which each host knows the PEs of its subtree and waits for their base parts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trireme/callback.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/objects/local_collection.hpp"
#include "trireme/detail/objects/part_of_subtree.hpp"
#include "trireme/future.hpp"
#include "trireme/reducers.hpp"

#pragma GCC visibility push(default)

namespace tri::objects {

/// Names the root and describes a part; plain data.
struct part_header {
  std::uint32_t slot;
  std::uint32_t generation;
  std::uint32_t count;       // elements whose values are in this part
  std::int32_t net_created;  // base parts: created minus destroyed on the sending PE; otherwise not_a_base
  static constexpr std::int32_t not_a_base = INT32_MIN;
};

/// The counts that a host or a part adds to a reduction.
struct part_counts {
  std::int64_t bases = 0;
  std::int64_t population = 0;  // created minus destroyed on the PEs of the bases
  std::int64_t elements = 0;    // whose values are in it
  static part_counts of(const part_header& header) {
    const bool base = header.net_created != part_header::not_a_base;
    return {base ? 1 : 0, base ? header.net_created : 0, header.count};
  }
};

/// End the job when a faulty process names a root on a PE that does not exist, or sends a contribution to the wrong PE
/// for the collection.
inline void check_root(const sched::pe& here, const sched::envelope& message, const root_name& root) {
  if (root.pe >= static_cast<std::uint32_t>(here.job().pes())) [[unlikely]]
    refuse_arguments(message, ("the root of its reduction is on PE " + std::to_string(root.pe) + "; there are PEs 0.." +
                               std::to_string(here.job().pes() - 1))
                                  .c_str());
}
inline void check_meet_here(const sched::pe& here, const sched::envelope& message, const local_collection& home) {
  if (here.number() != home.contribution_root_pe()) [[unlikely]]
    refuse_arguments(message,
                     ("contributions of this collection meet on PE " + std::to_string(home.contribution_root_pe()) +
                      ", not on PE " + std::to_string(here.number()))
                         .c_str());
}

// ---- the tree of hosts by which parts of a broadcast's reduction go to the host of the root

/// This host's place; not for the root's host.
struct place_in_reduction {
  int parent_pe;  // the first one of the parent; -1: that is the root's host
  std::int64_t subtree_pes;
};
place_in_reduction find_place_in_reduction(const sched::pe& here, const root_name& root);
/// Ends the job unless the part comes from this host or from a child.
void check_is_of_subtree(const sched::pe& here, const sched::envelope& message, const root_name& root,
                         const host_part& known);

/// A part has arrived, from another host perhaps: for figures.
void count_part(const sched::pe& here, const sched::envelope& message);

/// Runs a function of a reducer or the delivery of a result where no method could catch an exception: one that leaves
/// it ends the job. `what` is the reduction.
[[noreturn]] void report_escaped_reduction(sched::pe& here, const std::string& what, std::exception_ptr error);
template <class What, class Run>
void run_reducer(sched::pe& here, const What& what, Run&& run) {
  try {
    run();
  } catch (...) {
    if constexpr (std::is_invocable_v<What>)
      report_escaped_reduction(here, what(), std::current_exception());
    else
      report_escaped_reduction(here, what, std::current_exception());
  }
}

template <class Reducer, class Partial>
void combine_into(std::optional<Partial>& sum, Partial&& value) {
  if (sum.has_value())
    Reducer::combine(*sum, std::forward<Partial>(value));
  else
    sum.emplace(std::forward<Partial>(value));
}

/// Sends parts in the reducer's mode.
template <class Reducer>
void post_part(sched::pe& here, int to, std::uint32_t handler, std::uint32_t collection, std::uint64_t element,
               const packed_arguments& packed) {
  post_packed_as<passes_the_queues<Reducer>>(here, to, handler, collection, element, packed);
}

/// The collecting end of one reduction; lives on the heap of its PE until it is complete, then deletes itself.
template <class Reducer, class T>
class reduction_root final : public awaited_result {
 public:
  using partial = partial_of<Reducer, T>;
  using result = result_of_reduction<Reducer, T>;

  /// With `expected_bases` > 0 the population comes with the base parts; otherwise it is `population`.
  static root_name make(sched::pe& here, std::string what, int expected_bases, std::int64_t population,
                        callback<result> target) {
    auto* const root = new reduction_root(here, std::move(what), expected_bases, population, std::move(target));
    root->name_ = pe_objects::of(here).results.add(*root);
    return {static_cast<std::uint32_t>(here.number()), root->name_.slot, root->name_.generation};
  }
  /// The same, and then `post(root)` sends the messages that request the parts. When that throws, the root is deleted:
  /// parts that still arrive are dropped.
  template <class Post>
  static void start(sched::pe& here, std::string what, int expected_bases, std::int64_t population,
                    callback<result> target, Post&& post) {
    const root_name made = make(here, std::move(what), expected_bases, population, std::move(target));
    try {
      post(made);
    } catch (...) {
      result_table& results = pe_objects::of(here).results;
      awaited_result* const root = results.find(made.slot, made.generation);
      results.remove({made.slot, made.generation});
      root->abandon();
      throw;
    }
  }
  void add(const part_counts& part, partial&& value) {
    bases_ += part.bases;
    population_ += part.population;
    count_ += part.elements;
    if (part.elements != 0) run_reducer(here_, what_, [&] { combine_into<Reducer>(value_, std::move(value)); });
    finish_if_complete();
  }
  bool is_ready() const override { return false; }
  std::string describe() const override {
    if (bases_ < expected_bases_)
      return what_ + ": parts of " + std::to_string(expected_bases_ - bases_) + " PEs are missing";
    return what_ + ": " + std::to_string(population_ - count_) + " of " + std::to_string(population_) +
           " contributions are missing";
  }
  void fail(std::exception_ptr) override {}
  void abandon() override { delete this; }
  void member_left() override {
    --population_;
    finish_if_complete();
  }

 private:
  reduction_root(sched::pe& here, std::string what, int expected_bases, std::int64_t population,
                 callback<result> target)
      : awaited_result(&kind_of_result<reduction_root>),
        here_(here),
        what_(std::move(what)),
        expected_bases_(expected_bases),
        population_(population),
        target_(std::move(target)) {}
  void finish_if_complete() {
    if (bases_ != expected_bases_ || count_ != population_) return;
    if (!value_.has_value()) here_.job().fail(what_ + ": a reduction over no elements has no value");
    pe_objects::of(here_).results.remove(name_);
    run_reducer(here_, what_, [&] {
      if constexpr (passes_the_queues<Reducer>)
        target_.immediately(Reducer::finish(std::move(*value_)));
      else
        target_(Reducer::finish(std::move(*value_)));
    });
    delete this;
  }

  sched::pe& here_;
  std::string what_;
  result_table::name name_{};
  int expected_bases_;
  std::int64_t bases_ = 0;
  std::int64_t population_;
  std::int64_t count_ = 0;
  std::optional<partial> value_;
  callback<result> target_;
};

template <class Reducer, class T>
struct part_handler {
  using partial = partial_of<Reducer, T>;
  using tuple = std::tuple<part_header, partial>;

  static void deliver(sched::pe& here, sched::envelope& message) {
    unpacked_arguments<tuple> arguments(message);
    auto& [header, value] = arguments.values();
    auto* const root = named_result<reduction_root<Reducer, T>>(here, message, header.slot, header.generation);
    if (root != nullptr) root->add(part_counts::of(header), std::move(value));
  }
  static inline const std::uint32_t handler =
      register_handler_of<tuple>(&deliver, "reduction part " + type_name<Reducer>() + " of " + type_name<T>());

  static void send(sched::pe& here, const root_name& root, std::uint32_t count, std::int32_t net_created,
                   partial&& value) {
    const int to = static_cast<int>(root.pe);
    post_part<Reducer>(
        here, to, handler, 0, 0,
        pack_arguments<tuple>(here, here.is_in_this_process(to), false,
                              part_header{root.slot, root.generation, count, net_created}, std::move(value)));
  }
};

/// A part's information about others at the same host's PE of a reduction: how many have started, how many are
/// finished.
struct part_progress {
  std::int64_t begun = 0;
  std::int64_t over = 0;
};

/// The parts of one host for a root on another host. They are combined on one PE of the host and sent as one.
template <class Reducer, class T>
struct host_part_handler {
  using partial = partial_of<Reducer, T>;
  using tuple = std::tuple<root_name, part_counts, partial>;
  using tuple_in_host = std::tuple<root_name, part_counts, part_progress, partial>;
  struct collected final : host_part {
    std::optional<partial> value;
  };

  static void post(sched::pe& here, int to, const root_name& root, const part_counts& counts,
                   const part_progress& progress, partial&& value) {
    post_part<Reducer>(here, to, collector, 0, 0,
                       pack_arguments<tuple_in_host>(here, here.is_in_this_process(to), false, root, counts, progress,
                                                     std::move(value)));
  }
  /// A new row is that of a broadcast's reduction, or of one whose parts `expect` counts.
  static collected& row_of(sched::pe& here, const root_name& root, bool is_of_broadcast = true) {
    auto& slot = pe_objects::of(here).part_of_host(root.pe, root.slot, root.generation);
    if (slot == nullptr) {
      slot = std::make_unique<collected>();
      slot->kind = &kind_of_result<collected>;
      if (is_of_broadcast) {
        const place_in_reduction place = find_place_in_reduction(here, root);
        slot->missing_bases = place.subtree_pes;
        slot->parent_pe = place.parent_pe;
      }
    }
    if (slot->kind != &kind_of_result<collected>) [[unlikely]]
      here.job().fail("parts of two kinds come to one reduction, whose root is on PE " + std::to_string(root.pe));
    return static_cast<collected&>(*slot);
  }
  static void collect(sched::pe& here, sched::envelope& message) {
    unpacked_arguments<tuple_in_host> arguments(message);
    auto& [root, counts, progress, value] = arguments.values();
    check_root(here, message, root);
    count_part(here, message);
    collected& sum = row_of(here, root);
    // Members that have left the host only report that they are no longer pending.
    if (counts.bases != 0 || counts.population != 0 || counts.elements != 0)
      check_is_of_subtree(here, message, root, sum);
    sum.bases += counts.bases;
    sum.population += counts.population;
    sum.elements += counts.elements;
    sum.missing_bases -= counts.bases;
    sum.under_way += progress.begun - progress.over;
    if (counts.elements != 0)
      run_reducer(
          here, [&] { return sched::handler_table()[message.handler].name; },
          [&] { combine_into<Reducer>(sum.value, std::move(value)); });
    // Pending parts may finish before the base that counts them arrives.
    if (sum.missing_bases == 0 && sum.under_way == 0) pass_on(here, root, sum);
  }
  static void pass_on(sched::pe& here, const root_name& root, collected& sum) {
    const part_counts counts{sum.bases, sum.population, sum.elements};
    partial value = sum.value.has_value() ? std::move(*sum.value) : partial{};
    if (sum.parent_pe >= 0) {
      post(here, sum.parent_pe, root, counts, {0, sum.expected}, std::move(value));
    } else {
      const int to = static_cast<int>(root.pe);
      post_part<Reducer>(
          here, to, handler, 0, 0,
          pack_arguments<tuple>(here, here.is_in_this_process(to), false, root, counts, std::move(value)));
    }
    pe_objects::of(here).forget_part_of_host(root.pe, root.slot, root.generation);
  }
  static void deliver(sched::pe& here, sched::envelope& message) {
    unpacked_arguments<tuple> arguments(message);
    auto& [name, counts, value] = arguments.values();
    count_part(here, message);
    auto* const root = named_result<reduction_root<Reducer, T>>(here, message, name.slot, name.generation);
    if (root != nullptr) root->add(counts, std::move(value));
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(
      &deliver, "reduction part of a host " + type_name<Reducer>() + " of " + type_name<T>());
  static inline const std::uint32_t collector = register_handler_of<tuple_in_host>(
      &collect, "reduction part for a host " + type_name<Reducer>() + " of " + type_name<T>());

  /// The PE that combines the parts of a broadcast's reduction on this host; no_pe: at the root.
  static int combining_pe_of(sched::pe& here, const root_name& root) {
    return here.job().is_on_own_host(static_cast<int>(root.pe)) ? no_pe : here.job().first_pe_of_host();
  }
  /// On the PE that handed a message on and combines the parts that come back.
  static void expect(sched::pe& here, const root_name& root, const part_of_subtree& coming) {
    collected& sum = row_of(here, root, false);
    sum.under_way += static_cast<std::int64_t>(coming.parts);
    sum.expected += static_cast<std::int64_t>(coming.parts);
    sum.children = coming.children;
    const sched::runtime& job = here.job();
    sum.parent_pe = job.host_of(coming.from) == job.host_of(static_cast<int>(root.pe)) ? -1 : coming.from;
  }

  /// A base part of this PE. Elements that have started coroutines send their parts later.
  static void send_base(sched::pe& here, const root_name& root, std::uint32_t count, std::int64_t net_created,
                        std::int64_t begun, partial&& value) {
    if (const int combining_pe = combining_pe_of(here, root); combining_pe != no_pe)
      post(here, combining_pe, root, {1, net_created, count}, {begun, 0}, std::move(value));
    else
      part_handler<Reducer, T>::send(here, root, count, static_cast<std::int32_t>(net_created), std::move(value));
  }
  /// A part of elements that were counted as pending where the parts are combined (no_pe: at the root).
  static void send_part(sched::pe& here, int combining_pe, const root_name& root, std::uint32_t count,
                        partial&& value) {
    if (combining_pe == no_pe) {
      part_handler<Reducer, T>::send(here, root, count, part_header::not_a_base, std::move(value));
    } else if (here.job().is_on_own_host(combining_pe)) {
      post(here, combining_pe, root, {0, 0, count}, {0, count}, std::move(value));
    } else {  // a member that has left the host: the others there must not wait for it
      post(here, combining_pe, root, {}, {0, count}, partial{});
      part_handler<Reducer, T>::send(here, root, count, part_header::not_a_base, std::move(value));
    }
  }
};

// ---- broadcasts

/// Calls `each(element)` as a method of the element, for the elements a broadcast is for: one that catches up, or all
/// local ones that have not had it.
template <class Each>
void for_broadcast_targets(local_collection& home, const sched::envelope& message, element_base* only, Each&& each) {
  owner_sequence owners;
  const auto run = [&](element_base& element) {
    owners.next(&element.coroutines());
    each(element);
  };
  if (only != nullptr) {
    run(*only);
    return;
  }
  const auto& local = home.local_elements();
  for (std::size_t i = 0, count = local.size(); i < count; ++i)  // elements created meanwhile count as having had it
    if (local[i]->seen_broadcasts() <= message.element) run(*local[i]);
}

template <class Self>
struct broadcast_handler {
  static void deliver(sched::pe& here, sched::envelope& message) {
    pe_objects& objects = pe_objects::of(here);
    local_collection* const home = objects.find_or_hold(message);
    if (home == nullptr) return;
    method_scope scope(objects);
    if (message.element == unnumbered) [[unlikely]]
      home->number_broadcast(message);
    else
      home->broadcast_arrived(message, &Self::run);
  }
};

/// A broadcast: the method runs on every element.
template <auto Method>
struct broadcast_method : broadcast_handler<broadcast_method<Method>> {
  using facts = method_facts<Method>;
  using tuple = typename facts::arguments;
  static void run(sched::pe& here, local_collection& home, sched::envelope& message, element_base* only) {
    const tuple& arguments = shared_arguments<tuple>(message);
    for_broadcast_targets(home, message, only, [&](element_base& element) {
      try {
        if (entry_method<Method>::is_awaited) {  // waits for the coroutine that awaits it, like any other message
          sched::envelope single{};
          single.element = element.number();
          single.collection = message.collection;
          single.handler = entry_method<Method>::handler;
          single.source = message.source;
          std::apply(
              [&](const auto&... argument) { pack_arguments<tuple>(here, true, false, argument...).store(single); },
              arguments);
          element.awaited_message_arrived({single.handler, peek_reference<tuple, 0>(single)}, single);
          return;
        }
        auto& object = object_of<typename facts::object>(element);
        using result = typename facts::result;
        if constexpr (is_task<result>) {
          facts::invoke_shared(object, arguments)
              .detach(element.coroutines(), [&element](std::exception_ptr error, auto*) {
                if (error != nullptr) report_escaped(sched::this_pe(), element, method_name<Method>(), error);
              });
        } else {
          static_cast<void>(facts::invoke_shared(object, arguments));
        }
      } catch (...) {
        report_escaped(here, element, method_name<Method>(), std::current_exception());
      }
    });
  }
  static inline const std::uint32_t handler =
      register_handler_of<tuple>(&broadcast_method::deliver, "broadcast of " + method_name<Method>());
};

/// A broadcast whose results are reduced.
template <auto Method, class Reducer>
struct reducing_broadcast : broadcast_handler<reducing_broadcast<Method, Reducer>> {
  using facts = method_facts<Method>;
  using value = typename result_of_method<typename facts::result>::type;
  static_assert(!std::is_void_v<value>, "reduce: the method must return the value that is reduced");
  using contribution = std::decay_t<value>;
  using part = part_handler<Reducer, contribution>;
  using host_part = host_part_handler<Reducer, contribution>;
  using tuple = typename decltype([]<class... P>(std::tuple<P...>*) {
    return std::type_identity<std::tuple<root_name, P...>>{};
  }(static_cast<typename facts::arguments*>(nullptr)))::type;

  static void run(sched::pe& here, local_collection& home, sched::envelope& message, element_base* only) {
    const tuple& arguments = shared_arguments<tuple>(message);
    const root_name root = std::get<0>(arguments);
    check_root(here, message, root);
    std::optional<typename part::partial> combined;
    std::uint32_t count = 0;
    std::int64_t begun = 0;
    // One that catches up is not counted in a base part.
    const int combining_pe = only == nullptr ? host_part::combining_pe_of(here, root) : no_pe;
    for_broadcast_targets(home, message, only, [&](element_base& element) {
      auto& object = object_of<typename facts::object>(element);
      const auto invoke = [&]() -> decltype(auto) {
        return std::apply(
            [&](const root_name&, const auto&... argument) -> decltype(auto) {
              return (object.*Method)(std::decay_t<decltype(argument)>(argument)...);
            },
            arguments);
      };
      try {
        if constexpr (is_task<typename facts::result>) {
          ++begun;
          invoke().detach(element.coroutines(), [&element, root, combining_pe](std::exception_ptr error,
                                                                               contribution* returned) {
            sched::pe& now = sched::this_pe();  // the element may have moved to another PE of the process by now
            if (error != nullptr) report_escaped(now, element, method_name<Method>(), error);
            if (returned == nullptr)
              now.job().fail("a reduction cannot be completed: " +
                             describe_escaped(now, element, method_name<Method>(), deleted_too_early()));
            try {  // the coroutine has ended: an exception from here has nowhere to go
              host_part::send_part(now, combining_pe, root, 1, Reducer::start(element.number(), std::move(*returned)));
            } catch (...) {
              report_escaped(now, element, method_name<Method>(), std::current_exception());
            }
          });
        } else {
          auto one = Reducer::start(element.number(), contribution(invoke()));
          if (combined.has_value())
            Reducer::combine(*combined, std::move(one));
          else
            combined.emplace(std::move(one));
          ++count;
        }
      } catch (...) {
        report_escaped(here, element, method_name<Method>(), std::current_exception());
      }
    });
    auto value = combined.has_value() ? std::move(*combined) : typename part::partial{};
    if (only == nullptr)
      host_part::send_base(here, root, count, home.net_created(), begun, std::move(value));
    else if (count != 0)
      part::send(here, root, count, part_header::not_a_base, std::move(value));
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(
      &reducing_broadcast::deliver, "reducing broadcast of " + method_name<Method>() + " by " + type_name<Reducer>());
};

/// Posts a broadcast message of a collection to every PE: others first, so that they start while we work; of another
/// host one message reaches all. The number is drawn after packing: an exception of packing must not leave a number
/// behind that every PE waits for.
template <class Tuple, class... A>
void post_broadcast(sched::pe& here, const local_collection& home, std::uint32_t handler, const A&... arguments) {
  const sched::runtime& job = here.job();
  const collection_facts& facts = home.facts();
  if (!job.is_on_own_host(facts.creator)) {  // the numbers are drawn there
    post_packed(here, facts.creator, handler, facts.id, unnumbered,
                pack_arguments<Tuple>(here, false, false, arguments...));
    return;
  }
  const int first = job.first_pe_of_host();
  const int pes = job.pes_of_host();
  const int copies = pes + (job.hosts() > 1 ? 1 : 0);  // the last is for the other hosts
  const auto destination = [&](int step) { return first + (here.number() - first + 1 + step) % pes; };
  const auto pack = [&](int step) {
    return pack_arguments<Tuple>(here, step < pes && here.is_in_this_process(destination(step)), false, arguments...);
  };
  const auto post = [&](auto&& packed_for) {
    // relaxed: only the order of the numbers matters; the messages carry everything else
    const std::uint64_t number = here.repeatable(facts.shared->next_broadcast.fetch_add(1, std::memory_order_relaxed));
    try {
      if (copies > pes) {
        sched::envelope message{};
        message.element = number;
        message.collection = facts.id;
        message.handler = handler;
        packed_for(pes).store(message);
        here.send_to_other_hosts(message);
      }
      for (int step = 0; step < pes; ++step)
        post_packed(here, destination(step), handler, facts.id, number, packed_for(step));
    } catch (const std::exception& error) {  // no memory for a message: the PEs without it would wait for this number
      here.job().fail("a broadcast of " + home.name() + " did not reach all PEs: " + error.what());
    }
  };
  if constexpr (tuple_facts<Tuple>::fits_inline && tuple_facts<Tuple>::own_nothing) {
    const packed_arguments packed = pack(0);  // the same bytes for all
    post([&](int) -> const packed_arguments& { return packed; });
  } else {
    std::vector<packed_arguments> packed;
    try {
      for (int step = 0; step < copies; ++step) packed.push_back(pack(step));
    } catch (...) {
      for (const packed_arguments& each : packed) drop_packed<Tuple>(here, each);
      throw;
    }
    post([&](int step) -> const packed_arguments& { return packed[static_cast<std::size_t>(step)]; });
  }
}

// ---- contributions by the elements themselves

/// The elements contribute values of different types to one reduction, or with different reducers.
[[noreturn]] void throw_mixed_contributions();
[[noreturn]] void refuse_mixed_contributions(sched::pe& here, const local_collection& home, std::uint64_t number);

template <class Reducer, class T>
struct contribution_root_handler;
template <class Reducer, class T>
struct host_contribution_handler;

/// The part of one contribute() number: of a PE, or of a host.
template <class Reducer, class T>
class local_contribution final : public contribution_base {
 public:
  using partial = partial_of<Reducer, T>;
  explicit local_contribution(callback<result_of_reduction<Reducer, T>> target)
      : contribution_base(&kind_of_result<local_contribution>), target_(std::move(target)) {}
  void add(partial&& value) {
    if (value_.has_value())
      Reducer::combine(*value_, std::move(value));
    else
      value_ = std::move(value);
  }
  void send_to_root(local_collection& home, std::uint64_t number) override {
    contribution_root_handler<Reducer, T>::send(home, number, count, std::move(*value_), target_);
  }
  void send_to_combine(local_collection& home, int to, std::uint64_t number, const reported_watermark& level) override {
    host_contribution_handler<Reducer, T>::send(home, to, number, level, count, std::move(*value_), target_);
  }

 private:
  std::optional<partial> value_;
  callback<result_of_reduction<Reducer, T>> target_;
};

/// Parts of contribute() are combined on PE (collection mod PEs), which keeps one root per number; those of other hosts
/// first along a tree of hosts.
template <class Reducer, class T>
struct contribution_root_handler {
  using partial = partial_of<Reducer, T>;
  using target = callback<result_of_reduction<Reducer, T>>;
  using tuple = std::tuple<std::uint64_t, target, partial>;
  static void send(local_collection& home, std::uint64_t number, std::uint64_t count, partial&& value,
                   const target& to) {
    auto& here = home.here();
    const int root = home.contribution_root_pe();
    post_part<Reducer>(here, root, handler, home.facts().id, number,
                       pack_arguments<tuple>(here, here.is_in_this_process(root), false, count, to, std::move(value)));
  }
  static void deliver(sched::pe& here, sched::envelope& message) {
    local_collection* const home = pe_objects::of(here).find_or_hold(message);
    if (home == nullptr) return;
    check_meet_here(here, message, *home);
    count_part(here, message);
    unpacked_arguments<tuple> arguments(message);
    auto& [count, to, value] = arguments.values();
    root_name& root = home->contribution_root(message.element);
    if (root.pe == root_name::nowhere)
      root = reduction_root<Reducer, T>::make(here,
                                              "contribution " + std::to_string(message.element) + " of " + home->name(),
                                              0, home->contributors(message.element), to);
    awaited_result* const found = pe_objects::of(here).results.find(root.slot, root.generation);
    if (found->kind() != &kind_of_result<reduction_root<Reducer, T>>) [[unlikely]]
      refuse_mixed_contributions(here, *home, message.element);
    static_cast<reduction_root<Reducer, T>*>(found)->add({0, 0, static_cast<std::int64_t>(count)}, std::move(value));
    if (pe_objects::of(here).results.find(root.slot, root.generation) == nullptr)
      home->forget_contribution_root(message.element);
  }
  static inline const std::uint32_t handler =
      register_handler_of<tuple>(&deliver, "contribution " + type_name<Reducer>() + " of " + type_name<T>());
};

/// Parts for a root on another host are first combined on a PE of their own host (host_contributions.hpp), which gets
/// the sums of the hosts below, too.
template <class Reducer, class T>
struct host_contribution_handler {
  using partial = partial_of<Reducer, T>;
  using target = callback<result_of_reduction<Reducer, T>>;
  using tuple = std::tuple<reported_watermark, std::uint64_t, target, partial>;
  static void send(local_collection& home, int combining_pe, std::uint64_t number, const reported_watermark& level,
                   std::uint64_t count, partial&& value, const target& to) {
    auto& here = home.here();
    post_part<Reducer>(
        here, combining_pe, handler, home.facts().id, number,
        pack_arguments<tuple>(here, here.is_in_this_process(combining_pe), false, level, count, to, std::move(value)));
  }
  static void deliver(sched::pe& here, sched::envelope& message) {
    local_collection* const home = pe_objects::of(here).find_or_hold(message);
    if (home == nullptr) return;
    home->check_combined_here(message);
    count_part(here, message);
    unpacked_arguments<tuple> arguments(message);
    auto& [level, count, to, value] = arguments.values();
    using part = local_contribution<Reducer, T>;
    auto& slot = home->contribution_of_hosts(message.element);
    if (slot == nullptr) slot = std::make_unique<part>(to);
    if (slot->kind != &kind_of_result<part>) refuse_mixed_contributions(here, *home, message.element);
    auto& sum = static_cast<part&>(*slot);
    run_reducer(
        here, [&] { return "contribution " + std::to_string(message.element) + " of " + home->name(); },
        [&] { sum.add(std::move(value)); });
    sum.count += count;
    home->level_reported(static_cast<int>(message.source), level);
  }
  static inline const std::uint32_t handler =
      register_handler_of<tuple>(&deliver, "contribution for a host " + type_name<Reducer>() + " of " + type_name<T>());
};

template <class Reducer, class T>
void contribute(element_base& element, T&& value, callback<result_of_reduction<Reducer, std::decay_t<T>>> target) {
  using local = local_contribution<Reducer, std::decay_t<T>>;
  local_collection& home = element.home();
  contribution_base& found = home.contribution(element, [&] { return std::make_unique<local>(target); });
  if (found.kind != &kind_of_result<local>) [[unlikely]]
    throw_mixed_contributions();
  auto& part = static_cast<local&>(found);
  part.add(Reducer::start(element.number(), std::decay_t<T>(std::forward<T>(value))));
  home.contributed(element);
}

}  // namespace tri::objects

#pragma GCC visibility pop
