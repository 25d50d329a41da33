#include "sched/remote/global_counts.hpp"

#include <fmt/format.h>
#include <cstring>
#include <string>
#include <utility>

#include "sched/remote/host_records.hpp"
#include "sched/remote/host_tree.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::sched {
namespace {

// `asker`: the PE that began.
void send_counts(pe& here, int destination, int asker, std::uint32_t handler, const message_counts& counts) {
  static_assert(sizeof counts <= inline_payload_bytes);
  here.send(destination, [&](envelope& message) {
    message.element = static_cast<std::uint64_t>(asker);
    message.collection = 0;
    message.handler = handler;
    message.kind = payload_kind::direct;
    message.flags = 0;
    message.bytes = sizeof counts;
    std::memcpy(message.payload, &counts, sizeof counts);
  });
  do_not_count_sent(here);
  here.counters().sent_to_others.add(~std::uint64_t{0});
  here.counters().sent_to_hosts.add(~std::uint64_t{0});
  here.job().process_record_of(here.job().process())->between_hosts.counting.add();
}

// First in a handler: its own end will be counted, and is taken back before that.
void taken(pe& here) {
  do_not_count_processed(here);
  here.job().process_record_of(here.job().process())->between_hosts.counting.add();
}

host_tree tree_of(const runtime& job, int asker) { return {job.hosts(), job.host_of(asker), 0}; }

void answer_handler(pe& here, envelope& message) {
  taken(here);
  here.global_counts().answered(here, message);
}
const std::uint32_t answer_message =
    with_role(message_role::service, register_handler(&answer_handler, "scheduler: counts of a host"));

void question_handler(pe& here, envelope& message) { here.global_counts().asked(here, message); }
const std::uint32_t question_message =
    with_role(message_role::service, register_handler(&question_handler, "scheduler: counts asked for"));

void ask_children(pe& here, int asker) {
  const runtime& job = here.job();
  tree_of(job, asker).for_each_child(job.host(), [&](int child) {
    send_counts(here, job.first_pe_of(child), asker, question_message, {});
  });
}

[[noreturn]] void refuse(const pe& here, const envelope& message, const std::string& what) {
  here.job().fail(fmt::format("PE {} sent PE {} a message '{}' of PE {}, {}", message.source, here.number(),
                              handler_table()[message.handler].name, message.element, what));
}

}  // namespace

void do_not_count_sent(pe& here) { here.counters().sent.add(~std::uint64_t{0}); }
void do_not_count_processed(pe& here) { here.counters().processed.add(~std::uint64_t{0}); }

void global_message_counts::begin(pe& here, os::unique_function<void(const message_counts&)> use) {
  use_ = std::move(use);
  rounds_ = {};
  begin_round(here);
}

void global_message_counts::begin_round(pe& here) {
  const runtime& job = here.job();
  job.process_record_of(job.process())->between_hosts.counting_rounds.add();
  own_.emplace(tree_of(job, here.number()).children(job.host()));
  ask_children(here, here.number());
  if (own_->add(job.counts_of_host())) round_ended(here);
}

void global_message_counts::round_ended(pe& here) {
  const std::optional<message_counts> result = rounds_.ended(own_->sum());
  if (!result) return begin_round(here);
  const auto use = std::exchange(use_, nullptr);
  use(*result);
}

// The counts are taken before anything else: `taken` changes them for a moment.
void global_message_counts::asked(pe& here, const envelope& question) {
  const runtime& job = here.job();
  const message_counts counts = job.counts_of_host();
  taken(here);
  const auto pes = static_cast<std::uint64_t>(job.pes());
  if (question.element >= pes || job.is_on_own_host(static_cast<int>(question.element)) ||
      of_other_pes_.contains(static_cast<int>(question.element)))
    refuse(here, question, "which does not ask for that");
  const auto asker = static_cast<int>(question.element);
  passed_on& mine = of_other_pes_
                        .try_emplace(asker, passed_on{counts_of_subtree(tree_of(job, asker).children(job.host())),
                                                      static_cast<int>(question.source)})
                        .first->second;
  ask_children(here, asker);
  if (!mine.counts.add(counts)) return;
  send_counts(here, mine.parent, asker, answer_message, mine.counts.sum());
  of_other_pes_.erase(asker);
}

void global_message_counts::answered(pe& here, const envelope& answer) {
  message_counts counts;
  std::memcpy(&counts, answer.payload, sizeof counts);
  const auto asker = static_cast<int>(answer.element);
  if (answer.element == static_cast<std::uint64_t>(here.number())) {
    if (!is_running() || !own_->is_missing_some()) refuse(here, answer, "which did not ask for it");
    if (own_->add(counts)) round_ended(here);
    return;
  }
  const auto found = of_other_pes_.find(asker);
  if (found == of_other_pes_.end()) refuse(here, answer, "which did not ask for it");
  if (!found->second.counts.add(counts)) return;
  send_counts(here, found->second.parent, asker, answer_message, found->second.counts.sum());
  of_other_pes_.erase(found);
}

}  // namespace tri::sched
