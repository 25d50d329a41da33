#include "mpi/engine/rank_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "os/clock.hpp"

namespace tri::mpi {
namespace {

// The counters of a rank by name: added up, written and, with a title, shown.
struct count_row {
  const char* name;
  std::uint64_t rank_statistics::*value;
};
constexpr std::array<count_row, 21> counts{{
    {"inline", &rank_statistics::inlined},
    {"eager", &rank_statistics::eager},
    {"rendezvous", &rank_statistics::rendezvous},
    {"received_by_itself", &rank_statistics::received_by_itself},
    {"received_by_others", &rank_statistics::received_by_others},
    {"received_for_others", &rank_statistics::received_for_others},
    {"unexpected", &rank_statistics::unexpected},
    {"bytes_received", &rank_statistics::bytes_received},
    {"bytes_copied", &rank_statistics::bytes_copied},
    {"bytes_helped", &rank_statistics::bytes_helped},
    {"chunks_shared", &rank_statistics::chunks_shared},
    {"chunks_copied", &rank_statistics::chunks_copied},
    {"chunks_helped", &rank_statistics::chunks_helped},
    {"chunks_far", &rank_statistics::chunks_far},
    {"refused", &rank_statistics::refused},
    {"pieces_sent", &rank_statistics::pieces_sent},
    {"pieces_sent_for_others", &rank_statistics::pieces_sent_for_others},
    {"pieces_received", &rank_statistics::pieces_received},
    {"pieces_received_for_others", &rank_statistics::pieces_received_for_others},
    {"offers", &rank_statistics::offers},
    {"sleeps", &rank_statistics::sleeps},
}};
struct time_row {
  const char* name;
  double rank_statistics::*value;
};
constexpr std::array<time_row, 4> times{{
    {"total_s", &rank_statistics::total_s},
    {"waited_s", &rank_statistics::waited_s},
    {"helped_s", &rank_statistics::helped_s},
    {"slept_s", &rank_statistics::slept_s},
}};

rank_statistics sum_of(std::span<const rank_statistics> ranks) {
  rank_statistics sum;
  for (const rank_statistics& each : ranks) sum += each;
  return sum;
}

std::uint64_t sent(const rank_statistics& of) { return of.inlined + of.eager + of.rendezvous; }
std::uint64_t received(const rank_statistics& of) { return of.received_by_itself + of.received_by_others; }

double share(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 10'000 && unit + 1 < units.size(); ++unit) amount /= 1024;
  return fmt::format("{:.0f} {}", amount, units[unit]);
}

std::string line_of(const std::string& name, const rank_statistics& of) {
  return fmt::format(
      "{:>5}{:>10}{:>10}{:>12}{:>12}{:>10}{:>12}{:>12}{:>12}{:>8}{:>8}{:>8}{:>9.1f}{:>8.1f}{:>8.1f}{:>9}\n", name,
      of.inlined, of.eager, of.rendezvous, of.received_by_itself, of.received_by_others, bytes_text(of.bytes_received),
      bytes_text(of.bytes_copied), bytes_text(of.bytes_helped), of.chunks_shared, of.chunks_copied, of.chunks_helped,
      share(of.waited_s, of.total_s), share(of.helped_s, of.total_s), share(of.slept_s, of.total_s), of.sleeps);
}

std::string object_of(const rank_statistics& of) {
  std::string text;
  for (const count_row& each : counts) text += fmt::format("\"{}\": {}, ", each.name, of.*each.value);
  for (const time_row& each : times) text += fmt::format("\"{}\": {:.9f}, ", each.name, of.*each.value);
  if (of.domain != no_domain) text += fmt::format("\"domain\": {}, ", of.domain);
  text.resize(text.size() - 2);
  return "{" + text + "}";
}

}  // namespace

rank_statistics& rank_statistics::operator+=(const rank_statistics& other) {
  for (const count_row& each : counts) this->*each.value += other.*each.value;
  for (const time_row& each : times) this->*each.value += other.*each.value;
  return *this;
}

rank_statistics statistics_of(const endpoint& rank) {
  // relaxed: the ranks' writes happened before, by the barrier that ends the job
  const auto of = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  const auto seconds = [&](const std::atomic<std::uint64_t>& ticks) {
    return static_cast<double>(of(ticks)) * os::ns_per_tick() / 1e9;
  };
  const endpoint_counters& counted = rank.counters;
  rank_statistics made;
  made.domain = rank.domain;
  made.inlined = of(counted.inlined);
  made.eager = of(counted.eager);
  made.rendezvous = of(counted.rendezvous);
  made.received_by_itself = of(rank.received.by_itself);
  made.received_by_others = of(rank.received.by_others);
  made.received_for_others = of(counted.received_for_others);
  made.unexpected = of(counted.unexpected);
  made.bytes_received = of(rank.received.rendezvous_bytes);
  made.bytes_copied = of(counted.bytes_copied);
  made.bytes_helped = of(counted.bytes_helped);
  made.chunks_shared = of(counted.chunks_shared);
  made.chunks_copied = of(counted.chunks_copied);
  made.chunks_helped = of(counted.chunks_helped);
  made.chunks_far = of(counted.chunks_far);
  made.refused = of(counted.refused);
  made.pieces_sent = of(counted.pieces_sent);
  made.pieces_sent_for_others = of(counted.pieces_sent_for_others);
  made.pieces_received = of(counted.pieces_received);
  made.pieces_received_for_others = of(counted.pieces_received_for_others);
  made.offers = of(counted.offers);
  made.waited_s = seconds(counted.waited_ticks);
  made.helped_s = seconds(counted.helped_ticks);
  made.slept_s = seconds(counted.slept_ticks);
  made.sleeps = of(counted.sleeps);
  return made;
}

std::uint64_t unreceived(std::span<const rank_statistics> ranks) {
  const rank_statistics all = sum_of(ranks);
  return sent(all) - std::min(sent(all), received(all));
}

std::string check(std::span<const rank_statistics> ranks) {
  const rank_statistics all = sum_of(ranks);
  std::string faults;
  const auto demand = [&](const char* what, std::uint64_t one, std::uint64_t other) {
    if (one != other) faults += fmt::format("{}{}: {} and {}", faults.empty() ? "" : "; ", what, one, other);
  };
  if (received(all) > sent(all)) demand("messages sent and received", sent(all), received(all));
  demand("messages received by others and for others", all.received_by_others, all.received_for_others);
  demand("bytes received and copied", all.bytes_received, all.bytes_copied + all.bytes_helped);
  demand("pieces sent and received", all.pieces_sent + all.pieces_sent_for_others,
         all.pieces_received + all.pieces_received_for_others);
  demand("chunks shared and copied", all.chunks_shared, all.chunks_copied + all.chunks_helped);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].bytes_copied > ranks[rank].bytes_received)
      faults += fmt::format("{}rank {} copied {} of {} bytes that it received", faults.empty() ? "" : "; ", rank,
                            ranks[rank].bytes_copied, ranks[rank].bytes_received);
    if (ranks[rank].chunks_far > ranks[rank].chunks_helped)
      faults += fmt::format("{}rank {} copied {} chunks far away of {} for others", faults.empty() ? "" : "; ", rank,
                            ranks[rank].chunks_far, ranks[rank].chunks_helped);
  }
  return faults;
}

std::string to_table(std::span<const rank_statistics> ranks, const std::string& library) {
  double longest_s = 0;
  for (const rank_statistics& each : ranks) longest_s = std::max(longest_s, each.total_s);
  std::string text = fmt::format(
      "trireme mpi: {} ranks, {}, {:.3f} s from MPI_Init to MPI_Finalize\n"
      "               messages sent                 received           bytes of rendezvous messages         chunks of "
      "them           % of the time\n"
      "{:>5}{:>10}{:>10}{:>12}{:>12}{:>10}{:>12}{:>12}{:>12}{:>8}{:>8}{:>8}{:>9}{:>8}{:>8}{:>9}\n",
      ranks.size(), library, longest_s, "rank", "inline", "eager", "rendezvous", "by itself", "by others", "received",
      "copied", "helped", "shared", "copied", "helped", "waiting", "helping", "asleep", "sleeps");
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) text += line_of(std::to_string(rank), ranks[rank]);
  if (ranks.size() > 1) text += line_of("all", sum_of(ranks));
  if (const rank_statistics all = sum_of(ranks); all.pieces_sent + all.pieces_sent_for_others > 0)
    text += fmt::format(
        "large messages between hosts: {} pieces, {} of them sent and {} received by other ranks than their own\n",
        all.pieces_sent + all.pieces_sent_for_others, all.pieces_sent_for_others, all.pieces_received_for_others);
  if (const std::uint64_t left = unreceived(ranks); left > 0)
    text += fmt::format("{} messages were sent and never received\n", left);
  if (const std::string faults = check(ranks); !faults.empty()) text += "inconsistent counts: " + faults + "\n";
  return text;
}

std::string to_json(std::span<const rank_statistics> ranks, const std::string& library, const std::string& calls) {
  std::string rows;
  for (const rank_statistics& each : ranks) rows += (rows.empty() ? "\n    " : ",\n    ") + object_of(each);
  return fmt::format(
      "{{\n  \"library\": \"{}\",\n  \"unreceived\": {},\n  \"faults\": \"{}\",\n  \"ranks\": [{}\n  ],\n  \"all\": "
      "{},\n  \"calls\": {}\n}}\n",
      library, unreceived(ranks), check(ranks), rows, object_of(sum_of(ranks)), calls);
}

}  // namespace tri::mpi
