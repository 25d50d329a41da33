// Slots, job names, and windows of peers: what happens before the first block.
#include "mpi/heap/job/slot_claim.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>

#include "mpi/heap/addresses.hpp"
#include "mpi/heap/heap_window.hpp"
#include "mpi/heap/job/job_name.hpp"
#include "mpi/heap/job/private_folder.hpp"
#include "support/another_user.hpp"
#include "support/command_runner.hpp"

namespace {

using tri::mpi::open_private_folder;
using tri::mpi::open_private_folder_at;
using tri::mpi::private_folder;
using tri::mpi::start_environment;
using tri::mpi::text_line;

tri::mpi::slot_claim claim_slot(const std::string& job) {
  const private_folder folder = open_private_folder(start_environment());
  EXPECT_GE(folder.descriptor, 0) << folder.reason.view();
  tri::mpi::slot_claim claim = tri::mpi::claim_slot(job, folder);
  close(folder.descriptor);
  return claim;
}

template <std::size_t size>
std::string_view text(const char (&literal)[size]) {
  return {literal, size};
}

std::string unique_job() { return "test-" + std::to_string(getpid()); }

TEST(slot_claim, takes_the_lowest_free_slot) {
  const std::string job = unique_job();
  const auto first = claim_slot(job), second = claim_slot(job), third = claim_slot(job);
  EXPECT_EQ(first.slot, 0);
  EXPECT_EQ(second.slot, 1);
  EXPECT_EQ(third.slot, 2);
  EXPECT_EQ(tri::mpi::processes_of_job(first.file, job), 3U);
  close(second.file);
  EXPECT_EQ(tri::mpi::processes_of_job(third.file, job), 2U);
  const auto again = claim_slot(job);
  EXPECT_EQ(again.slot, 1);
  const auto other = claim_slot(job + "-other");
  EXPECT_EQ(other.slot, 0);
  for (int file : {first.file, third.file, again.file, other.file}) close(file);
}

TEST(slot_claim, a_killed_process_leaves_its_slot) {
  const std::string job = unique_job() + "-killed";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const char slot = static_cast<char>(claim_slot(job).slot);
    if (write(ready[1], &slot, 1) != 1) _exit(1);
    pause();
  }
  char slot = 9;
  ASSERT_EQ(read(ready[0], &slot, 1), 1);
  EXPECT_EQ(slot, 0);
  const auto beside = claim_slot(job);
  EXPECT_EQ(beside.slot, 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const auto after = claim_slot(job);
  EXPECT_EQ(after.slot, 0);
  for (int file : {ready[0], ready[1], beside.file, after.file}) close(file);
}

TEST(slot_claim, low_descriptors_are_left_to_the_program) {
  const auto claim = claim_slot(unique_job() + "-low");
  EXPECT_GE(claim.file, 32);
  close(claim.file);
}

TEST(slot_claim, says_when_all_slots_are_taken) {
  const std::string job = unique_job() + "-full";
  int files[tri::mpi::most_slots];
  for (int& file : files) file = claim_slot(job).file;
  const auto none = claim_slot(job);
  EXPECT_EQ(none.slot, -1);
  EXPECT_EQ(none.reason.view(), "all 256 slots of job " + job + " on this host are taken");
  for (int file : files) close(file);
}

// Other jobs, forked children that hold the same description, and files of other numbers.
TEST(slot_claim, a_slot_lasts_until_its_last_descriptor_is_closed) {
  const auto claim = claim_slot(unique_job() + "-last");
  ASSERT_EQ(claim.slot, 0);
  EXPECT_TRUE(tri::mpi::is_file_of_slots(claim.file));
  const int copy = dup(claim.file);
  close(claim.file);
  EXPECT_FALSE(tri::mpi::is_file_of_slots(claim.file));
  const auto beside = claim_slot(unique_job() + "-last");
  EXPECT_EQ(beside.slot, 1);
  close(copy);
  const auto after = claim_slot(unique_job() + "-last");
  EXPECT_EQ(after.slot, 0);
  for (int file : {beside.file, after.file}) close(file);
}

struct opened {
  int descriptor;
  std::string problem;
};
opened open_at(const std::filesystem::path& parent, const std::string& name) {
  private_folder folder;
  text_line problem;
  const bool is_open = open_private_folder_at(parent.c_str(), name, folder, problem);
  EXPECT_EQ(is_open, folder.descriptor >= 0);
  if (folder.descriptor >= 0) close(folder.descriptor);
  return {folder.descriptor, std::string(problem.view())};
}

TEST(private_folder, is_made_for_the_user_alone) {
  const tri::testing::temporary_folder parent;
  EXPECT_GE(open_at(parent.path(), "made").descriptor, 0);
  EXPECT_EQ(std::filesystem::status(parent.path() / "made").permissions(), std::filesystem::perms::owner_all);
  EXPECT_GE(open_at(parent.path(), "made").descriptor, 0) << "it is there already";
}

TEST(private_folder, is_refused_when_others_may_look_into_it) {
  const tri::testing::temporary_folder parent;
  const auto path = parent.path() / "shared";
  std::filesystem::create_directory(path);
  std::filesystem::permissions(path, std::filesystem::perms(0750));
  EXPECT_EQ(open_at(parent.path(), "shared").problem, path.string() + " has mode 750");
  std::filesystem::permissions(path, std::filesystem::perms(0500));
  EXPECT_EQ(open_at(parent.path(), "shared").problem, path.string() + " has mode 500");
}

TEST(private_folder, is_not_followed_through_a_link) {
  const tri::testing::temporary_folder parent;
  std::filesystem::create_directory(parent.path() / "target");
  std::filesystem::permissions(parent.path() / "target", std::filesystem::perms::owner_all);
  std::filesystem::create_symlink(parent.path() / "target", parent.path() / "link");
  EXPECT_EQ(open_at(parent.path(), "link").problem, (parent.path() / "link").string() + " is not a folder");
  std::filesystem::create_symlink(parent.path() / "nothing", parent.path() / "dangling");
  EXPECT_EQ(open_at(parent.path(), "dangling").problem, (parent.path() / "dangling").string() + " is not a folder");
  tri::testing::write_file(parent.path() / "file", "");
  EXPECT_EQ(open_at(parent.path(), "file").problem, (parent.path() / "file").string() + " is not a folder");
}

TEST(private_folder, of_another_user_is_refused) {
  if (!tri::testing::can_be_another_user()) GTEST_SKIP() << tri::testing::why_no_other_user;
  const tri::testing::temporary_folder parent;
  std::filesystem::create_directory(parent.path() / "taken");
  std::filesystem::permissions(parent.path() / "taken", std::filesystem::perms::owner_all);
  ASSERT_EQ(chown((parent.path() / "taken").c_str(), tri::testing::another_user, tri::testing::another_user), 0);
  EXPECT_EQ(open_at(parent.path(), "taken").problem, (parent.path() / "taken").string() + " belongs to user 65534");
}

TEST(private_folder, of_the_environment_comes_first) {
  const tri::testing::temporary_folder parent;
  const std::string environment = "XDG_RUNTIME_DIR=" + parent.path().string() + std::string(1, '\0');
  const private_folder folder = open_private_folder(start_environment(environment));
  EXPECT_EQ(folder.path.view(), parent.path().string() + "/trireme");
  close(folder.descriptor);
  const private_folder relative = open_private_folder(start_environment(text("XDG_RUNTIME_DIR=here")));
  EXPECT_NE(relative.descriptor, -1) << "a path that depends on where we are says nothing";
  EXPECT_NE(relative.path.view().substr(0, 4), "here");
  close(relative.descriptor);
}

std::string name_in(std::string_view environment) {
  return std::string(tri::mpi::job_name(tri::mpi::start_environment(environment)).view());
}

TEST(job_name, comes_from_our_variable_or_the_launcher) {
  EXPECT_EQ(name_in(text("A=1\0TRIREME_MPI_JOB=mine\0PMIX_NAMESPACE=x")), "mine");
  EXPECT_EQ(name_in(text("PMIX_NAMESPACE=3213164545\0OMPI_MCA_ess_base_jobid=5")), "pmix-3213164545");
  EXPECT_EQ(name_in(text("OMPI_MCA_ess_base_jobid=5\0B=2")), "ompi-5");
  // hydra: who made the connection, in a rank and in what a wrapper forks; the parent when there is no connection.
  int connection[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, connection), 0);
  const std::string with_connection = "PMI_RANK=1" + std::string(1, '\0') + "PMI_FD=" + std::to_string(connection[0]);
  const std::string us = "hydra-" + std::to_string(getpid());
  EXPECT_EQ(name_in(with_connection), us);
  const pid_t child = fork();
  if (child == 0) _exit(name_in(with_connection) == us ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(connection[0]);
  close(connection[1]);
  for (const char* value : {"999999", "-1", "x", "99999999999999"})
    EXPECT_EQ(name_in(std::string("PMI_FD=") + value), "hydra-" + std::to_string(getppid()));
  EXPECT_EQ(name_in(text("SLURM_JOB_ID=17\0SLURM_STEP_ID=3")), "slurm-17.3");
  EXPECT_EQ(name_in(text("SLURM_JOB_ID=17\0HOME=/")), "") << "a batch script is not a job step";
  EXPECT_EQ(name_in(text("XTRIREME_MPI_JOB=a\0TRIREME_MPI_JOBS=b\0TRIREME_MPI_JOB=")), "");
  const std::string longer = "TRIREME_MPI_JOB=" + std::string(200, 'j');
  EXPECT_THAT(name_in(longer), testing::AllOf(testing::StartsWith("0x"), testing::SizeIs(testing::Le(18))));
  EXPECT_NE(name_in(longer), name_in(longer + "k"));
}

TEST(heap_window, says_what_a_peer_sent_that_is_no_window) {
  const std::size_t bytes = std::size_t{1} << 30;
  auto window = tri::mpi::create_heap_window(200, bytes);
  ASSERT_EQ(static_cast<void*>(window.address), tri::mpi::heap_window_address(200)) << window.reason.c_str();
  EXPECT_TRUE(tri::mpi::in_mapped_heap(window.address, bytes));
  EXPECT_FALSE(tri::mpi::in_mapped_heap(window.address + 1, bytes));
  EXPECT_FALSE(tri::mpi::in_mapped_heap(window.address - 1, 1));
  EXPECT_FALSE(tri::mpi::in_mapped_heap(&bytes, 1));

  EXPECT_EQ(tri::mpi::map_peer_heap(201, window.file, bytes / 2), EINVAL);
  EXPECT_EQ(tri::mpi::map_peer_heap(tri::mpi::most_slots, window.file, bytes), EINVAL);
  EXPECT_EQ(tri::mpi::map_peer_heap(200, window.file, bytes), EEXIST);
  const int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(unsealed, static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(tri::mpi::map_peer_heap(201, unsealed, bytes), EINVAL) << "its owner could cut it off";
  EXPECT_NE(ftruncate(window.file, 4096), 0);

  ASSERT_EQ(tri::mpi::map_peer_heap(201, window.file, bytes), 0);
  window.address[12345] = std::byte{77};
  EXPECT_EQ(tri::mpi::heap_window_address(201)[12345], std::byte{77});
  EXPECT_EQ(tri::mpi::heap_slot_of(tri::mpi::heap_window_address(201) + 5), 201U);
  tri::mpi::unmap_peer_heap(201);
  EXPECT_FALSE(tri::mpi::in_mapped_heap(tri::mpi::heap_window_address(201), 1));
  tri::mpi::unmap_peer_heap(200);
  close(window.file);
  close(unsealed);
}

TEST(heap_window, names_the_place_that_is_taken) {
  std::byte* const place = tri::mpi::heap_window_address(210);
  ASSERT_EQ(mmap(place, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
            static_cast<void*>(place));
  const auto window = tri::mpi::create_heap_window(210, std::size_t{1} << 30);
  EXPECT_EQ(window.address, nullptr);
  EXPECT_EQ(window.file, -1);
  EXPECT_EQ(window.reason.view(), "something else lies at 1024 MiB at 0x3e2000000000 (errno 17)");
  munmap(place, 4096);
}

}  // namespace
