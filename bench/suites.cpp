#include "suites.hpp"

#include <iterator>

#include "arrays/cache_rows.hpp"
#include "arrays/dense_rows.hpp"
#include "arrays/program_rows.hpp"
#include "arrays/rows.hpp"
#include "balance/rows.hpp"
#include "launch/rows.hpp"
#include "loop_model/rows.hpp"
#include "loops/rows.hpp"
#include "messages/rows.hpp"
#include "mpi/collective_rows.hpp"
#include "mpi/host_rows.hpp"
#include "mpi/rows.hpp"
#include "mpi/waiting_rows.hpp"
#include "mpi_slack/rows.hpp"
#include "wire/rows.hpp"

namespace tri::bench {
namespace {

void append(std::vector<row_definition>& rows, std::vector<row_definition> more) {
  rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

registry all_suites(const suite_options& options) {
  std::vector<row_definition> messages = machine_rows();
  append(messages, ping_pong_rows());
  append(messages, own_pe_rows());
  append(messages, rate_rows());
  append(messages, creation_rows());
  append(messages, collective_rows());
  append(messages, team_rows());
  append(messages, kneighbor_rows(options.kneighbor));
  append(messages, queue_rows());
  append(messages, allocator_rows());
  append(messages, private_variable_rows());

  std::vector<row_definition> mpi = mpi_rows(options.program);
  append(mpi, mpi_waiting_rows(options.program));
  append(mpi, mpi_host_message_rows(options.program));

  std::vector<row_definition> collectives = mpi_collective_rows(options.program);
  append(collectives, mpi_host_rows(options.program));
  append(collectives, plan_rows());

  std::vector<row_definition> arrays = array_rows();
  append(arrays, array_cache_rows());
  append(arrays, array_program_rows(options.program));
  append(arrays, dense_rows(options.program));

  std::vector<row_definition> balance = balancing_rows();
  append(balance, seed_rows());
  append(balance, checkpoint_rows(options.program));
  append(balance, balanced_program_rows(options.program));
  append(balance, watched_rows(options.program));

  registry known;
  known.add({.name = "messages", .description = "messages and entry methods between PEs", .rows = std::move(messages)});
  known.add({.name = "loops",
             .description = "parallel loops beside other runtimes, 2 threads",
             .rows = loop_rows(options.program)});
  known.add({.name = "loop_model",
             .description = "loops of jobs of many cores, in virtual time: the same on any machine",
             .rows = loop_model_rows()});
  if (std::vector<row_definition> rows = interception_rows(options.program); !rows.empty()) {
    known.add({.name = "mpi_slack",
               .description = "what it costs that MPI calls are timed, for each MPI that was found",
               .rows = std::move(rows)});
  }
  known.add({.name = "mpi",
             .description = "MPI programs under the drop-in beside MPI libraries, ranks bound to 2 cores",
             .rows = std::move(mpi)});
  known.add({.name = "coll",
             .description =
                 "collectives of MPI programs under the drop-in beside MPI libraries, ranks bound to 2 cores; plans",
             .rows = std::move(collectives)});
  known.add({.name = "arrays",
             .description = "global arrays: two processes of one host, and of two emulated ones; dense linear algebra",
             .rows = std::move(arrays)});
  known.add({.name = "balance",
             .description =
                 "objects that balance themselves: measuring, migrating, uneven programs, new objects without a place; "
                 "checkpoints",
             .rows = std::move(balance)});
  known.add({.name = "wire",
             .description = "messages between hosts, beside UCX called plainly: 2 processes on 2 cores",
             .rows = wire_rows(options.program)});
  known.add(
      {.name = "launch", .description = "starting jobs: processes and threads", .rows = launch_rows(options.program)});
  return known;
}

}  // namespace tri::bench
