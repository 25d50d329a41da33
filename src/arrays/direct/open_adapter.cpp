#include <fmt/format.h>

#include <limits>
#include <memory>
#include <new>
#include <stdexcept>

#include "arena/arena.hpp"
#include "arrays/direct/emulated_adapter.hpp"
#include "arrays/direct/remote_memory_adapter.hpp"
#include "arrays/direct/ucx_adapter.hpp"
#include "config/configuration.hpp"

namespace tri::arrays {
namespace {

std::uint64_t limit_of(std::size_t bytes) { return bytes == 0 ? std::numeric_limits<std::uint64_t>::max() : bytes; }

key_table* make_key_table() { return new (arena::allocate(sizeof(key_table))) key_table; }

}  // namespace

std::unique_ptr<remote_memory_adapter> open_adapter(const sched::runtime& job) {
  const config::configuration& values = job.values();
  const registration_limits limits{.total_bytes = limit_of(values.rma_limit_bytes),
                                   .contiguous_bytes = limit_of(values.rma_contiguous_bytes)};
  if (values.rma == config::remote_memory_access::ucx)
    return std::make_unique<ucx_adapter>(
        ucx_adapter_options{.limits = limits, .transports = values.rma_transports, .machines = job.machines()});
  if (job.machines() > 1)
    throw std::invalid_argument(
        fmt::format("rma=emulated is for emulated hosts of one machine; this job runs on {} machines", job.machines()));
  if (!values.rma_transports.empty())
    throw std::invalid_argument(fmt::format(
        "rma_transports={} is for rma=ucx; the adapter of rma=emulated has no transports", values.rma_transports));
  arena::arena_space& memory = *arena::current();
  return std::make_unique<emulated_adapter>(*make_key_table(), memory.heap().own_window().address, memory.own_file(),
                                            limits);
}

}  // namespace tri::arrays
