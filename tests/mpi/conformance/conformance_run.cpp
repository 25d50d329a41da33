#include "mpi/conformance/conformance_run.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <ostream>
#include <sstream>
#include <utility>

#include "os/unique_fd.hpp"

namespace mpi_programs {

using testing::StartsWith;

const std::vector<mpi> installed = {INSTALLED_MPIS};

const std::vector<mode> modes = {
    {"plain", "", ""},
    {"drop_in", "", "--mpi"},
    {"private_heap", "TRIREME_MPI_HEAP=off", "--mpi"},
    {"no_kernel_copies", "TRIREME_MPI_HEAP=off TRIREME_MPI_KERNEL_COPIES=off", "--mpi", true},
    {"two_hosts", "TRIREME_MPI_PRETEND_HOSTS=2", "--mpi", false, true},
    {"cyclic_hosts", "TRIREME_MPI_PRETEND_HOSTS=2,cyclic", "--mpi", false, true},
};

namespace {

// Faults of the MPI libraries, met with the programs as they are. Where the drop-in leaves the matter to the library,
// the case is left out with the drop-in, too.
enum class library_carries { nothing, between_cyclic_hosts, between_hosts, all };
struct library_fault {
  std::string mpi;
  std::string name;
  library_carries with_drop_in;
};
const library_fault library_faults[] = {
    // Open MPI 4.1.4: from the second start on, a persistent buffered send of more than an eager message sends what its
    // buffer holds when the receiver comes.
    {"openmpi", "persistent/buffered_mode", library_carries::nothing},
    // Open MPI 4.1.4: a message of more than an eager one is written as long as it is, however short its receive.
    {"openmpi", "errors/nothing_is_written_behind_truncated_receives", library_carries::nothing},
    // Open MPI 4.1.4: a buffered send that finds no space counts as pending all the same; MPI_Buffer_detach hangs.
    {"openmpi", "errors/buffered_sends_without_space", library_carries::nothing},
    // MPICH 4.0.2: the status of MPI_Isendrecv is never written.
    {"mpich", "point_to_point/nonblocking_exchanges", library_carries::nothing},
    // MPICH 4.0.2 with more ranks than cores: MPI_Win_wait returns before all data of a put is there (3 runs of 8).
    {"mpich", "one_sided/posts_and_starts", library_carries::between_hosts},
    {"mpich", "one_sided/posts_to_all", library_carries::between_hosts},
    // Open MPI 4.1.4: a nonblocking collective may use its communicator after MPI_Comm_free has freed it (4 runs of 40,
    // with delays and other load).
    {"openmpi", "collectives/nonblocking_with_types_and_freed_communicators", library_carries::between_hosts},
    // Open MPI 4.1.4: the file behind a window is named after the job and the communicator's number (osc/rdma,
    // allocate_state_shared), and communicators without a common rank have equal numbers. Windows that they make at the
    // same time share their memory, or MPI_Win_allocate ends the program. Mended in Open MPI 5.
    {"openmpi", "one_sided/windows_outlive_their_communicators", library_carries::between_hosts},
    // Open MPI 4.1.4: MPI_Compare_and_swap of 8 bytes ends in a segmentation fault in the shared memory transport.
    {"openmpi", "one_sided/swaps_of_8_bytes", library_carries::between_hosts},
    // Both, and the drop-in between hosts, cancel no sends: one without a receiver never ends, unless it was short
    // (MPI 4.0, section 3.8.4).
    {"openmpi", "requests/cancelled_sends", library_carries::between_hosts},
    {"mpich", "requests/cancelled_sends", library_carries::between_hosts},
    // MPICH 4.0.2: a persistent collective of a duplicate by MPI_Comm_idup ends the program, or gives nothing.
    {"mpich", "persistent_collectives/on_duplicates", library_carries::nothing},
    // MPICH 4.0.2: MPI_Irecv from MPI_PROC_NULL ends with a status of rank 0 and tag 0, or of any source.
    {"mpich", "point_to_point/status_of_irecv_from_proc_null", library_carries::nothing},
    // MPICH 4.0.2: a persistent receive from MPI_PROC_NULL ends with the empty status, which says "any source".
    {"mpich", "persistent/status_of_receives_from_proc_null", library_carries::nothing},
    // MPICH 4.0.2: MPI_Testany leaves the status as it is when all requests are inactive.
    {"mpich", "persistent/testany_of_inactive_requests_has_an_empty_status", library_carries::nothing},
    // MPICH 4.0.2: an error found by MPI_Wait goes to the handler of MPI_COMM_WORLD, not to that of the communicator.
    {"mpich", "errors/handlers_hear_of_truncation_in_waits", library_carries::nothing},
    // MPICH 4.0.2: so does one that MPI_Testall, MPI_Waitall or MPI_Request_get_status finds.
    {"mpich", "errors/truncated_between_groups_among_others", library_carries::nothing},
    {"mpich", "errors/truncated_in_library_among_others", library_carries::all},
    // MPICH 4.0.2: MPI_Testall completes a file's request again in each call until the others of the list are done, and
    // its counter of references ends the program (11 runs of 20 of the first, each of the second).
    {"mpich", "requests/files_and_messages_in_one_list", library_carries::between_hosts},
    {"mpich", "requests/written_files_wait_for_messages", library_carries::between_hosts},
    // Open MPI 4.1.4: MPI_Waitall hangs when one request has failed before another is complete (2 runs of 7).
    {"openmpi", "errors/truncated_between_groups_among_others", library_carries::nothing},
    {"openmpi", "errors/truncated_in_library_among_others", library_carries::between_hosts},
    {"openmpi", "errors/lists_whose_handlers_call_mpi", library_carries::between_hosts},
    // Gathers, scatters and reductions whose counts differ: the programs are erroneous, and each library does something
    // else.
    {"openmpi", "errors/gathers_of_different_counts", library_carries::between_hosts},
    {"mpich", "errors/gathers_of_different_counts", library_carries::nothing},
    {"openmpi", "errors/scatters_of_different_counts", library_carries::nothing},
    {"mpich", "errors/scatters_of_different_counts", library_carries::nothing},
    {"openmpi", "errors/large_reductions_of_different_counts", library_carries::between_hosts},
    {"mpich", "errors/large_reductions_of_different_counts", library_carries::between_hosts},
    // MPICH 4.0.2 with 2 ranks: one of these reductions is wrong, and writes outside its buffers.
    {"mpich", "collectives/reductions_of_elements_with_gaps", library_carries::nothing},
    // Open MPI 4.1.4: a persistent barrier, and one of a type that was freed meanwhile, end in a segmentation fault.
    {"openmpi", "persistent_collectives/nobody_leaves_early", library_carries::nothing},
    {"openmpi", "persistent_collectives/types_are_kept", library_carries::nothing},
    // MPICH 4.0.2: a persistent gather of any kind sends what its buffer held when the request was made, and a wait for
    // one that is not active hangs.
    {"mpich", "persistent_collectives/every_operation", library_carries::nothing},
    // MPICH 4.0.2: MPI_Testall fails when a persistent scan in its list is complete and another request is not.
    {"mpich", "persistent_collectives/in_the_order_of_ranks", library_carries::between_hosts},
    {"mpich", "persistent_collectives/starts_in_any_order", library_carries::nothing},
    {"mpich", "persistent_collectives/types_are_kept", library_carries::nothing},
    {"mpich", "persistent_collectives/among_other_requests", library_carries::nothing},
    // In a circle of one or two ranks, what is sent down has to come from above (MPI 4.0, section 8.6.2): MPICH 4.0.2
    // has it from below, and so has Open MPI 4.1.4 in nonblocking calls.
    {"openmpi", "neighborhoods/small_circles", library_carries::nothing},
    {"mpich", "neighborhoods/small_circles", library_carries::nothing},
    // MPICH 4.0.2: MPI_Neighbor_alltoall (not alltoallv) takes the second of two equal edges for the first, and
    // MPI_Neighbor_alltoallw loses a part of 6000 bytes of a rank that sends nothing.
    {"mpich", "neighborhoods/repeated_edges_and_loops", library_carries::nothing},
    {"mpich", "neighborhoods/distributed_graphs", library_carries::nothing},
    // MPICH 4.0.2: MPI_Ibcast of an inter-communicator from a root that is not the first of its group brings several
    // ranks something else.
    {"mpich", "between_groups/nonblocking_broadcasts", library_carries::nothing},
    {"mpich", "between_groups/persistent_broadcasts", library_carries::nothing},
    // Open MPI 4.1.4 checks the type of a broadcast on the ranks that take no part.
    {"openmpi", "between_groups/arguments_that_do_not_matter", library_carries::nothing},
    // MPICH 4.0.2: a persistent allgather there sends what its buffer held when the request was made.
    {"mpich", "between_groups/persistent_in_any_order", library_carries::nothing},
    // Open MPI 4.1.4: a persistent reduction needs its operation and type after they were freed: wrong sums, and
    // crashes.
    // The operations of these cases do not commute: where ranks are not numbered host by host they are the library's.
    {"openmpi", "own_operations/persistent", library_carries::between_cyclic_hosts},
    {"openmpi", "own_operations/persistent_with_gaps", library_carries::between_cyclic_hosts},
    {"openmpi", "between_groups/persistent_sums", library_carries::nothing},
    // MPICH 4.0.2: nonblocking reductions of elements with gaps write outside their buffers.
    {"mpich", "own_operations/nonblocking_with_gaps", library_carries::between_cyclic_hosts},
    {"mpich", "own_operations/persistent_with_gaps", library_carries::between_cyclic_hosts},
    // MPICH 4.0.2: MPI_Testall fails when a persistent scan in its list is complete and another request is not.
    {"mpich", "own_operations/persistent", library_carries::between_cyclic_hosts},
    // Open MPI 4.1.4 with 4 ranks and more: an MPI_Ialltoall in place of large parts loses some of them.
    {"openmpi", "in_place/nonblocking", library_carries::nothing},
    {"openmpi", "in_place/persistent", library_carries::nothing},
    // Counts that differ: the program is erroneous, and each library does something else.
    {"openmpi", "in_place/of_different_counts", library_carries::nothing},
    {"mpich", "in_place/of_different_counts", library_carries::nothing},
    // MPICH 4.0.2 holds a lock of its own while it calls a handler; one that calls MPI aborts under
    // MPI_THREAD_MULTIPLE.
    {"mpich", "errors/windows_whose_handlers_call_mpi", library_carries::between_hosts},
    {"mpich", "errors/lists_whose_handlers_call_mpi", library_carries::all},
};

// Open MPI: lets root run it, and more processes than cores. Ranks that are left are killed at once when a job fails,
// not after a second. And it takes the component ob1 without looking for fast networks first, which is half of a short
// job. Only in the mode no_kernel_copies it selects its component by itself, as it does for users: the one place where
// that is tested.
std::string quick_openmpi(const mode& how) {
  return fmt::format("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_odls_base_sigkill_timeout=0{}",
                     how.selects_pml ? "" : " OMPI_MCA_pml=ob1");
}

}  // namespace

void PrintTo(const mpi& value, std::ostream* out) { *out << value.name; }
void PrintTo(const mode& value, std::ostream* out) { *out << value.name; }

std::string left_out(const mpi& with, const mode& how) {
  std::string names = ",";
  for (const library_fault& each : library_faults) {
    const bool carries = each.with_drop_in == library_carries::all ||
                         (how.has_hosts && each.with_drop_in == library_carries::between_hosts) ||
                         (how.name == "cyclic_hosts" && each.with_drop_in == library_carries::between_cyclic_hosts);
    if (each.mpi == with.name && (carries || how.exec.empty())) names += each.name + ",";
  }
  return names;
}

std::string exec_of(const mode& how) {
  return how.exec.empty() ? "" : fmt::format("{} exec {} -- ", TRIREME_COMMAND, how.exec);
}

tri::testing::command_result run(const mpi& with, const mode& how, int ranks, const std::string& program,
                                 const std::string& arguments, const std::string& environment) {
  return tri::testing::run_command(fmt::format("export {} {} {}; {} {} -n {} {}{} {}", quick_openmpi(how),
                                               how.environment, environment, with.launcher,
                                               with.name == "openmpi" ? "--oversubscribe" : "", ranks, exec_of(how),
                                               program[0] == '/' ? program : with.programs + "/" + program, arguments));
}

counted_run run_counted(const mpi& with, mode how, int ranks, const std::string& program,
                        const std::string& arguments) {
  const tri::testing::temporary_folder folder;
  const auto file = folder.path() / "statistics.json";
  how.exec += " --stats-json " + file.string();
  counted_run made{run(with, how, ranks, program, arguments), nullptr};
  made.statistics = nlohmann::json::parse(tri::testing::contents_of(file), nullptr, false);
  return made;
}

tri::testing::command_result run_reference(int ranks, const std::string& arguments) {
  const auto run_it = [&] { return run(installed[0], modes[0], ranks, "conformance", arguments); };
  static std::map<std::pair<int, std::string>, tri::testing::command_result> done;
  const auto [place, is_new] = done.try_emplace({ranks, arguments});
  tri::testing::command_result& result = place->second;
  if (!is_new) return result;
  const char* const folder = std::getenv("CONFORMANCE_REFERENCES");
  if (folder == nullptr) return result = run_it();
  const std::string file =
      fmt::format("{}/{:x}", folder, std::hash<std::string>()(fmt::format("{} {}", ranks, arguments)));
  const tri::os::unique_fd lock(open((file + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.get() < 0 || flock(lock.get(), LOCK_EX) != 0) {
    ADD_FAILURE() << file << ".lock: errno " << errno;
    return result = run_it();
  }
  const auto left = nlohmann::json::parse(tri::testing::contents_of(file + ".json"), nullptr, false);
  if (left.is_object()) return result = {0, left.value("output", ""), left.value("errors", "")};
  result = run_it();
  if (result.status != 0) return result;
  const nlohmann::json kept{{"output", result.output}, {"errors", result.errors}};
  // Replaced is what is no UTF-8, which JSON cannot hold.
  tri::testing::write_file(file + ".new", kept.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  std::filesystem::rename(file + ".new", file + ".json");
  return result;
}

std::string expected_traffic(int ranks, const std::string& arguments) {
  const auto ended =
      tri::testing::run_command(fmt::format("{}/traffic --expected {} {}", installed[0].programs, ranks, arguments));
  EXPECT_THAT(ended.output, StartsWith(fmt::format("traffic/{}_ranks ok (", ranks))) << ended.errors;
  return ended.output;
}

std::vector<std::string> lines_of(const std::string& text, const std::string& what) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(what) != std::string::npos) found.push_back(line + '\n');
  return found;
}

}  // namespace mpi_programs
