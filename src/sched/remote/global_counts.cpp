#include "sched/remote/global_counts.hpp"

#include <cstring>
#include <utility>

#include "trireme/detail/sched/pe.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::sched {
namespace {

void send_counts(pe& here, int destination, std::uint32_t handler, const message_counts& counts) {
  static_assert(sizeof counts <= inline_payload_bytes);
  here.send(destination, [&](envelope& message) {
    message.element = 0;
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
}

void answer_handler(pe& here, envelope& message) {
  do_not_count_processed(here);
  message_counts counts;
  std::memcpy(&counts, message.payload, sizeof counts);
  here.global_counts().answered(here, counts);
}
const std::uint32_t answer_message = register_handler(&answer_handler, "scheduler: counts of a host");

void question_handler(pe& here, envelope& message) {
  // First: this handler's own end will be counted, and is taken back only afterwards.
  const message_counts counts = here.job().counts_of_host();
  do_not_count_processed(here);
  send_counts(here, static_cast<int>(message.source), answer_message, counts);
}
const std::uint32_t question_message = register_handler(&question_handler, "scheduler: counts asked for");

}  // namespace

void do_not_count_sent(pe& here) { here.counters().sent.add(~std::uint64_t{0}); }
void do_not_count_processed(pe& here) { here.counters().processed.add(~std::uint64_t{0}); }

void global_message_counts::begin(pe& here, os::unique_function<void(const message_counts&)> use) {
  use_ = std::move(use);
  first_round_ = true;
  ask(here);
}

void global_message_counts::ask(pe& here) {
  runtime& job = here.job();
  missing_ = job.hosts();
  sums_.sent = sums_.held = sums_.released = 0;
  for (int host = 0; host < job.hosts(); ++host)
    if (host != job.host()) send_counts(here, job.first_pe_of(host), question_message, {});
  answered(here, job.counts_of_host());
}

void global_message_counts::answered(pe& here, const message_counts& of_host) {
  if (first_round_) sums_.processed += of_host.processed;
  sums_.sent += of_host.sent;
  sums_.held += of_host.held;
  sums_.released += of_host.released;
  if (--missing_ > 0) return;
  if (std::exchange(first_round_, false)) return ask(here);
  const auto use = std::exchange(use_, nullptr);
  use(std::exchange(sums_, {}));
}

}  // namespace tri::sched
