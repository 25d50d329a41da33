// Which launcher started the process, from its environment.
#include "boot/launcher_detection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "boot/membership.hpp"

namespace tri::boot {
namespace {

void expect_refused(const std::vector<std::string>& environment, const std::string& text) {
  try {
    detect_launcher(environment);
    FAIL() << text;
  } catch (const job_error& problem) {
    EXPECT_THAT(problem.what(), ::testing::HasSubstr(text));
  }
}

TEST(launcher_detection, each_launcher_by_its_variable) {
  EXPECT_EQ(detect_launcher({"PATH=/bin", "PMI_FDX=3", "XPMI_FD=3"}).kind, launcher_kind::none);
  EXPECT_EQ(detect_launcher({"PMIX_NAMESPACE=1", "PMIX_RANK=0"}).kind, launcher_kind::pmix);
  const auto own = detect_launcher({"TRIREME_JOB=name", "TRIREME_PROCESS=0"});
  EXPECT_EQ(own.kind, launcher_kind::trireme);
  EXPECT_EQ(own.job_name, "name");
  const auto pmi1 = detect_launcher({"PMI_FD=7", "PMI_RANK=2", "PMI_SIZE=4"});
  EXPECT_EQ(pmi1.kind, launcher_kind::pmi1);
  EXPECT_EQ(pmi1.fd, 7);
  EXPECT_EQ(pmi1.rank, 2);
  EXPECT_EQ(pmi1.size, 4);
}

TEST(launcher_detection, two_at_once_are_named) {
  expect_refused(
      {"TRIREME_JOB=x", "PMIX_NAMESPACE=1"},
      "two launchers claim this process: PMIX_NAMESPACE is set (mpirun of Open MPI, or srun) and TRIREME_JOB "
      "is set (trireme run); start the program with one of them");
  expect_refused({"PMI_FD=7", "TRIREME_JOB=x", "PMI_RANK=0", "PMI_SIZE=1"}, "PMI_FD is set (mpiexec of MPICH");
  expect_refused({"PMI_FD=7", "PMIX_NAMESPACE=x"}, "PMIX_NAMESPACE is set");
}

TEST(launcher_detection, a_rank_alone_is_a_launcher_that_we_do_not_know) {
  expect_refused({"PMI_RANK=3", "PMI_SIZE=4"},
                 "PMI_RANK is '3', so a launcher started this program, but neither PMIX_NAMESPACE nor PMI_FD is set");
}

TEST(launcher_detection, broken_numbers_are_named) {
  expect_refused({"PMI_FD=x", "PMI_RANK=0", "PMI_SIZE=1"}, "PMI_FD is 'x', but with PMI_FD set it must be");
  expect_refused({"PMI_FD=7", "PMI_RANK=", "PMI_SIZE=1"}, "PMI_RANK is ''");
  expect_refused({"PMI_FD=7", "PMI_RANK=0"}, "PMI_SIZE is ''");
  expect_refused({"PMI_FD=7", "PMI_RANK=0", "PMI_SIZE=0"}, "PMI_SIZE is '0'");
  expect_refused({"PMI_FD=7", "PMI_RANK=1", "PMI_SIZE=1"}, "PMI_RANK is 1, but PMI_SIZE is 1");
}

}  // namespace
}  // namespace tri::boot
