// Traces of MPI programs under `trireme exec --trace`: what was sent, who waited, and who copied what for whom.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "support/command_runner.hpp"
#include "trace/communication_matrix.hpp"
#include "trace/copies.hpp"
#include "trace/profile.hpp"
#include "trace/trace_folder.hpp"

namespace tri::tools {
namespace {

using testing::command_result;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class traced_mpi_job : public ::testing::Test {
 protected:
  traced_mpi_job() {
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    const std::ofstream go(folder_.path() / "go");  // it need not wait
  }
  command_result run(int ranks, const std::string& options) const {
    return testing::run_command(folder_.path(), WATCHED_MPIRUN WATCHED_MPIRUN_OPTIONS " -n " + std::to_string(ranks) +
                                                    " " TRIREME_COMMAND " exec --mpi " + options +
                                                    " -- " WATCHED_MPI " " + folder_.path().string());
  }
  testing::temporary_folder folder_;
};

constexpr std::uint64_t large_bytes = std::uint64_t{4} << 20;

TEST_F(traced_mpi_job, says_who_sent_and_copied_what_for_whom) {
  const command_result done = run(3, "--trace t");
  ASSERT_EQ(done.status, 0) << done.errors;
  const trace_folder trace = read_trace(folder_.path() / "t");
  ASSERT_EQ(trace.rows.size(), 3U);
  EXPECT_EQ(trace.hosts, 1);
  const communication_matrix matrix = matrix_of(trace);
  std::map<int, std::uint64_t> received;
  for (const auto& [who, sum] : copies_of(trace)) {
    const auto [copier, from, to] = who;
    EXPECT_EQ(from, 0) << "only rank 0 sends large ones";
    EXPECT_GE(copier, 0);
    EXPECT_LT(copier, 3);
    received[to] += sum.bytes;
  }
  for (int rank = 1; rank < 3; ++rank) {
    EXPECT_EQ(received[rank], large_bytes);
    EXPECT_EQ(matrix.at({0, rank}).messages, 1U) << "the short ones are not recorded";
    EXPECT_EQ(matrix.at({0, rank}).bytes, large_bytes);
  }
  const trace_profile profile = profile_of(trace);
  for (const row_profile& row : profile.rows) EXPECT_GT(row.busy, 0) << row.row->label();
  EXPECT_GT(profile.rows[1].idle + profile.rows[1].overhead, 0) << "it waits for rank 0";
  const command_result told = testing::run_command(folder_.path(), TRIREME_COMMAND " trace t");
  EXPECT_EQ(told.status, 0) << told.errors;
  EXPECT_THAT(told.output, ContainsRegex("large messages: 8388608 bytes copied, [0-9]+ of them by others than the "));
  // Again into the same folder: the files are those of the new job.
  EXPECT_EQ(run(3, "--trace t").status, 0);
  EXPECT_EQ(read_trace(folder_.path() / "t").rows.size(), 3U);
}

TEST_F(traced_mpi_job, whose_folder_cannot_be_made_runs_without_a_trace) {
  const command_result done = run(2, "--trace /proc/none/t");
  EXPECT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.errors, HasSubstr("trireme mpi: rank 0: cannot write a trace into the folder /proc/none/t: "));
}

}  // namespace
}  // namespace tri::tools
