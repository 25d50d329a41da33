// Contributions of the members of a section, by the members themselves. The n-th ones of all members belong together:
// each element counts its own for each section, and takes the counts along when it moves. Those that begin in one
// method of a PE (a multicast runs on all members there) are added up; the sums meet on one PE, which another section
// need not share. If that is on another host, one PE of this host adds up those that come to it before its turn to
// send.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "trireme/detail/objects/reduction.hpp"
#include "trireme/detail/os/function_ref.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// What a member needs of a section to contribute: 16 bytes of plain data, whatever its size (section::name).
struct section_name {
  std::uint64_t id = 0;    // unique in the job
  std::uint64_t size = 0;  // members
  friend bool operator==(const section_name&, const section_name&) = default;
};

namespace objects {

/// Of a section that this PE makes.
std::uint64_t draw_section_id();
/// How many this PE has made; after a restart, what to begin behind.
std::uint64_t sections_made_here();
void begin_sections_behind(std::uint64_t last);
/// The first contribution of a section that meets on this PE and is not complete; empty: there is none.
std::string incomplete_section_contribution();
/// Where contributions of a section meet.
int root_pe_of_section(const sched::pe& here, const section_name& section);
/// On that PE; pe == nowhere in a new one.
root_name& section_root(const section_name& section, std::uint64_t number);
void forget_section_root(const section_name& section, std::uint64_t number);
std::string describe_section_contribution(const section_name& section, std::uint64_t number);
[[noreturn]] void throw_no_section();
[[noreturn]] void refuse_mixed_section(sched::pe& here, const section_name& section, std::uint64_t number);
void check_section_root_here(sched::pe& here, const sched::envelope& message, const section_name& section);
/// Where this host adds up contributions of the section before they leave; -1: the root is here.
int collector_of_section(const sched::pe& here, const section_name& section);
void check_section_collector_here(sched::pe& here, const sched::envelope& message, const section_name& section);

/// Contributions of this PE to one number of a section.
class section_part {
 public:
  explicit section_part(const void* its_kind) : kind(its_kind) {}
  section_part(const section_part&) = delete;
  section_part& operator=(const section_part&) = delete;
  virtual ~section_part() = default;
  /// By the way of this PE's host.
  virtual void send(sched::pe& here, const section_name& section, std::uint64_t number) = 0;
  virtual void send_to_root(sched::pe& here, const section_name& section, std::uint64_t number) = 0;
  const void* const kind;  // &kind_of_result of the class
};
/// The part that leaves when the running method has ended.
section_part& section_part_here(sched::pe& here, const section_name& section, std::uint64_t number,
                                os::function_ref<std::unique_ptr<section_part>()> make);
/// The part of this host, on its collector: leaves behind the messages that wait there already.
section_part& section_part_of_host(sched::pe& here, const section_name& section, std::uint64_t number,
                                   os::function_ref<std::unique_ptr<section_part>()> make);

template <class Reducer, class T>
struct section_contribution {
  using partial = partial_of<Reducer, T>;
  using target = callback<result_of_reduction<Reducer, T>>;
  using root = reduction_root<Reducer, T>;
  using tuple = std::tuple<section_name, std::uint64_t, std::uint64_t, target, partial>;  // number, members in it

  class part final : public section_part {
   public:
    explicit part(const target& to) : section_part(&kind_of_result<part>), target_(to) {}
    void add(partial&& value, std::uint64_t members = 1) {
      combine_into<Reducer>(value_, std::move(value));
      count_ += members;
    }
    void send(sched::pe& here, const section_name& section, std::uint64_t number) override {
      if (count_ == 0) return;  // the first one was refused
      // Immediate ones do not wait for others.
      const int collector = passes_the_queues<Reducer> ? -1 : collector_of_section(here, section);
      if (collector == here.number()) return add_to_host(here, section, number, target_, std::move(*value_), count_);
      post(here, collector >= 0 ? collector : root_pe_of_section(here, section),
           collector >= 0 ? collected_handler : handler, section, number);
    }
    void send_to_root(sched::pe& here, const section_name& section, std::uint64_t number) override {
      post(here, root_pe_of_section(here, section), handler, section, number);
    }

   private:
    void post(sched::pe& here, int to, std::uint32_t by, const section_name& section, std::uint64_t number) {
      post_part<Reducer>(here, to, by, 0, 0,
                         pack_arguments<tuple>(here, here.is_in_this_process(to), false, section, number, count_,
                                               target_, std::move(*value_)));
    }
    std::uint64_t count_ = 0;
    std::optional<partial> value_;
    target target_;
  };

  static void add_to_host(sched::pe& here, const section_name& section, std::uint64_t number, const target& to,
                          partial&& value, std::uint64_t members) {
    section_part& all = section_part_of_host(here, section, number, [&] { return std::make_unique<part>(to); });
    if (all.kind != &kind_of_result<part>) [[unlikely]]
      refuse_mixed_section(here, section, number);
    run_reducer(
        here, [&] { return describe_section_contribution(section, number); },
        [&] { static_cast<part&>(all).add(std::move(value), members); });
  }
  static void collect(sched::pe& here, sched::envelope& message) {
    unpacked_arguments<tuple> arguments(message);
    auto& [section, number, count, to, value] = arguments.values();
    check_section_collector_here(here, message, section);
    add_to_host(here, section, number, to, std::move(value), count);
  }
  static inline const std::uint32_t collected_handler = register_handler_of<tuple>(
      &collect, "contribution of a section for a host " + type_name<Reducer>() + " of " + type_name<T>());

  static void deliver(sched::pe& here, sched::envelope& message) {
    unpacked_arguments<tuple> arguments(message);
    auto& [section, number, count, to, value] = arguments.values();
    check_section_root_here(here, message, section);
    root_name& name = section_root(section, number);
    if (name.pe == root_name::nowhere)
      name = root::make(here, describe_section_contribution(section, number), 0,
                        static_cast<std::int64_t>(section.size), to);
    awaited_result* const found = pe_objects::of(here).results.find(name.slot, name.generation);
    if (found->kind() != &kind_of_result<root>) [[unlikely]]
      refuse_mixed_section(here, section, number);
    static_cast<root*>(found)->add({0, 0, static_cast<std::int64_t>(count)}, std::move(value));
    if (pe_objects::of(here).results.find(name.slot, name.generation) == nullptr) forget_section_root(section, number);
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(
      &deliver, "contribution of a section " + type_name<Reducer>() + " of " + type_name<T>());
};

/// See array_element::contribute. The number is used only when nothing was thrown.
template <class Reducer, class T>
void contribute_to_section(element_base& element, const section_name& section, T&& value,
                           callback<result_of_reduction<Reducer, std::decay_t<T>>> target) {
  using part = typename section_contribution<Reducer, std::decay_t<T>>::part;
  if (section.size == 0) throw_no_section();
  sched::pe& here = element.home().here();
  if (pe_objects::of(here).is_ending()) return;
  std::uint64_t& number = element.section_contributions(section.id);
  section_part& found = section_part_here(here, section, number, [&] { return std::make_unique<part>(target); });
  if (found.kind != &kind_of_result<part>) [[unlikely]]
    throw_mixed_contributions();
  static_cast<part&>(found).add(Reducer::start(element.number(), std::decay_t<T>(std::forward<T>(value))));
  ++number;
}

}  // namespace objects
}  // namespace tri

#pragma GCC visibility pop
