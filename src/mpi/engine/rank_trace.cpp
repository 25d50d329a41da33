#include "mpi/engine/rank_trace.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "os/clock.hpp"
#include "trace/trace_clock.hpp"

namespace tri::mpi {
namespace {

constexpr std::size_t events_of_buffer = 65536;
constexpr double slow_us = 10'000;

// Of an earlier job: its file would not be written over.
std::string prepared(const std::string& folder, int rank) {
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    throw std::runtime_error(fmt::format("cannot write a trace into the folder {}: {}", folder, std::strerror(errno)));
  std::string path = fmt::format("{}/pe-{}.trace", folder, rank);
  unlink(path.c_str());
  return path;
}

std::string description_of(const rank_trace_facts& facts) {
  return fmt::format(
      R"({{"process":{},"processes":{},"host":{},"hosts":{},"pes_per_process":1,"pe":{},"comm_thread":"off",)"
      R"("slow_us":{:.0f},"ns_per_tick":{:.17g},"clock":"{}","handlers":["message"],"kind":"mpi"}})",
      facts.rank, facts.size, facts.host, facts.hosts, facts.rank, slow_us, os::ns_per_tick(), trace::name_of_clock());
}

}  // namespace

rank_trace::rank_trace(const std::string& folder, rank_trace_facts facts)
    : facts_(std::move(facts)),
      row_(prepared(folder, facts_.rank), description_of(facts_), events_of_buffer, os::ns_to_ticks(1000 * slow_us)) {
  row_.mark(trace::event::on);
  row_.mark(trace::event::begin, os::ticks(), trace::main_program);
}

rank_trace::~rank_trace() {
  row_.mark(trace::event::end, os::ticks(), trace::main_program);
  row_.mark(trace::event::off);
}

void rank_trace::copied(const endpoint& from, const endpoint& to, std::uint64_t bytes, std::uint64_t began) {
  const std::uint64_t now = os::ticks();
  row_.add({.ticks = now,
            .number = bytes,
            .bytes = static_cast<std::uint32_t>(
                std::min<std::uint64_t>(now - began, std::numeric_limits<std::uint32_t>::max())),
            .peer = facts_.world_ranks[to.number],
            .handler = facts_.world_ranks[from.number],
            .what = trace::event::copied});
}

}  // namespace tri::mpi
