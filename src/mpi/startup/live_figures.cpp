#include "mpi/startup/live_figures.hpp"

#include <unistd.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "live/live_page.hpp"
#include "mpi/heap/user_heap.hpp"
#include "os/clock.hpp"
#include "os/hash.hpp"

namespace tri::mpi {
namespace {

using live::figure_kind;
using live::figure_place;

// The blocks of a row.
constexpr std::uint32_t counters = 0;
constexpr std::uint32_t received = 1;

#define TRIREME_COUNTER(name) #name, figure_kind::count, counters, offsetof(endpoint_counters, name)
constexpr std::array<figure_place, 25> figures{{
    {"idle", figure_kind::idle, counters, offsetof(endpoint_counters, idle)},
    {TRIREME_COUNTER(inlined)},
    {TRIREME_COUNTER(eager)},
    {TRIREME_COUNTER(rendezvous)},
    {"received_by_itself", figure_kind::count, received, offsetof(received_counters, by_itself)},
    {"received_by_others", figure_kind::count, received, offsetof(received_counters, by_others)},
    {TRIREME_COUNTER(received_for_others)},
    {TRIREME_COUNTER(unexpected)},
    {"bytes_received", figure_kind::bytes, received, offsetof(received_counters, rendezvous_bytes)},
    {"bytes_copied", figure_kind::bytes, counters, offsetof(endpoint_counters, bytes_copied)},
    {"bytes_helped", figure_kind::bytes, counters, offsetof(endpoint_counters, bytes_helped)},
    {TRIREME_COUNTER(chunks_shared)},
    {TRIREME_COUNTER(chunks_copied)},
    {TRIREME_COUNTER(chunks_helped)},
    {TRIREME_COUNTER(chunks_far)},
    {TRIREME_COUNTER(refused)},
    {TRIREME_COUNTER(helped_ranks)},
    {TRIREME_COUNTER(staged)},
    {TRIREME_COUNTER(pieces_sent)},
    {TRIREME_COUNTER(pieces_sent_for_others)},
    {TRIREME_COUNTER(pieces_received)},
    {TRIREME_COUNTER(pieces_received_for_others)},
    {TRIREME_COUNTER(offers)},
    {TRIREME_COUNTER(sleeps)},
    {TRIREME_COUNTER(woken_helpers)},
}};
#undef TRIREME_COUNTER

}  // namespace

void publish_live_page(arena::heap& heap, const endpoint& own, const live_facts& facts) {
  const std::string_view name = user_heap().job;
  const live::row_place row{.number = facts.rank, .blocks = {&own.counters, &own.received}, .inbox = {}};
  const live::page page{.kind = live::job_kind::mpi,
                        .pid = getpid(),
                        .process = facts.rank,
                        .processes = facts.size,
                        .host = facts.host,
                        .hosts = facts.hosts,
                        .rows_of_job = facts.size,
                        .first_pid = facts.first_pid,
                        .job = name.empty()
                                   ? os::hashed_word(os::hash_of_nothing, static_cast<std::uint64_t>(facts.first_pid))
                                   : os::hashed(name),
                        .began_ticks = os::ticks(),
                        .ns_per_tick = os::ns_per_tick()};
  auto* const memory = static_cast<std::byte*>(heap.reserve(live::bytes_of_page(figures.size(), 1)));
  live::write_page(memory, page, figures, {&row, 1}, heap.own_window().address);
  heap.publish_live_page(memory);
}

}  // namespace tri::mpi
