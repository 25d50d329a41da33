#include "sched/order/process_order.hpp"

#include <stdexcept>

#include "config/configuration.hpp"
#include "trireme/detail/sched/handler_table.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::sched {

bool process_order::is_wanted(const config::configuration& values) {
  if (!values.replay.empty() && !values.record.empty())
    throw std::invalid_argument(
        "--tri-replay and --tri-record exclude each other: a replay has the order of the record it reads");
  if (!values.replay.empty() && values.shuffle != 0)
    throw std::invalid_argument("--tri-replay and --tri-shuffle exclude each other: a replay has the order recorded");
  const bool keeps_record = !values.replay.empty() || !values.record.empty();
  if (keeps_record && values.rma != config::remote_memory_access::off)
    throw std::invalid_argument(
        "--tri-record and --tri-replay need --tri-rma=off: direct accesses end by the clock, not by messages");
  return keeps_record || values.shuffle != 0;
}

bool process_order::shuffles() const { return job_.values().shuffle != 0; }
bool process_order::records() const { return !job_.values().record.empty(); }
bool process_order::replays() const { return !job_.values().replay.empty(); }

order_header process_order::header_of(int pe) const {
  order_header header;
  header.pe = static_cast<std::uint32_t>(pe);
  header.pes = static_cast<std::uint32_t>(job_.pes());
  header.processes = static_cast<std::uint32_t>(job_.processes());
  header.hosts = static_cast<std::uint32_t>(job_.hosts());
  header.program = handler_fingerprint();
  header.seed = job_.values().shuffle;
  return header;
}

std::unique_ptr<order_writer> process_order::writer_of(int pe) const {
  return std::make_unique<order_writer>(path_of_order(job_.values().record, pe), header_of(pe));
}

std::unique_ptr<order_reader> process_order::reader_of(int pe) const {
  return std::make_unique<order_reader>(job_.values().replay, header_of(pe));
}

}  // namespace tri::sched
