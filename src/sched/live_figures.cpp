#include "sched/live_figures.hpp"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "arena/heap.hpp"
#include "live/live_page.hpp"
#include "os/clock.hpp"
#include "os/hash.hpp"
#include "sched/process_runtime.hpp"
#include "sched/remote/host_records.hpp"

namespace tri::sched {
namespace {

// Their order is that of the declaration; readers go by the names.
std::vector<live::figure_place> figures_of_pes() {
  std::vector<live::figure_place> figures{
      {"idle", live::figure_kind::idle, 0, offsetof(pe_record, live) + offsetof(pe_figures, idle)},
      {"overhead", live::figure_kind::ticks, 0, offsetof(pe_record, live) + offsetof(pe_figures, overhead)},
      {"own_queue", live::figure_kind::level, 0, offsetof(pe_record, live) + offsetof(pe_figures, own_queue)}};
#define TRIREME_SHOW_COUNTER(name, text)                                                                         \
  figures.push_back({#name,                                                                                      \
                     std::string_view(#name).find("bytes") == std::string_view::npos ? live::figure_kind::count  \
                                                                                     : live::figure_kind::bytes, \
                     0, offsetof(pe_record, counters) + offsetof(counter_block, name)});
  TRIREME_COUNTERS(TRIREME_SHOW_COUNTER)
#undef TRIREME_SHOW_COUNTER
  return figures;
}

// Launchers name their jobs; without one the first process stands for it.
std::uint64_t name_of_job(int first_pid) {
  std::uint64_t hash = os::hashed_word(os::hash_of_nothing, static_cast<std::uint64_t>(first_pid));
  for (const char* const variable : {"TRIREME_JOB", "PMIX_NAMESPACE", "PMI_JOBID"})
    if (const char* const value = std::getenv(variable)) hash = os::hashed_name(hash, value);
  return hash;
}

live::ring ring_of(const inbox_shared& inbox, const std::byte* window) {
  const auto offset = [&](const void* place) {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(place) - window);
  };
  return {.tickets = offset(inbox.ring.place_of_tickets()),
          .consumed = offset(inbox.ring.place_of_consumed()),
          .cells = offset(&inbox.ring.cell(0)),
          .capacity = static_cast<std::uint32_t>(inbox.ring.capacity()),
          .cell_bytes = sizeof(envelope),
          .stamp_at = offsetof(envelope, stamp),
          .source_at = offsetof(envelope, source)};
}

}  // namespace

void publish_live_page(arena::heap& heap, const process_record& own, const process_runtime& job, int first_pid) {
  const std::vector<live::figure_place> figures = figures_of_pes();
  const std::byte* const window = heap.own_window().address;
  const int pes = job.pes_per_process();
  std::vector<live::row_place> rows;
  for (int i = 0; i < pes; ++i) {
    const pe_record* const record = own.pe[i];
    rows.push_back(
        {.number = job.process() * pes + i, .blocks = {record, nullptr}, .inbox = ring_of(*record->inbox, window)});
  }
  const live::page facts{.kind = live::job_kind::objects,
                         .pid = getpid(),
                         .process = job.process(),
                         .processes = job.processes(),
                         .host = job.host(),
                         .hosts = job.hosts(),
                         .rows_of_job = job.pes(),
                         .first_pid = first_pid,
                         .job = name_of_job(first_pid),
                         .began_ticks = os::ticks(),
                         .ns_per_tick = os::ns_per_tick()};
  auto* const memory = static_cast<std::byte*>(heap.reserve(live::bytes_of_page(figures.size(), rows.size())));
  live::write_page(memory, facts, figures, rows, window);
  heap.publish_live_page(memory);
}

}  // namespace tri::sched
