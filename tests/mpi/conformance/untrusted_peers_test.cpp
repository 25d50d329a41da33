// Who disturbs the start of an MPI job under the drop-in, and what becomes of the job: other users who take the names
// first or connect to all that they see, processes of the same user that come and are silent, and what the dead have
// left. The job runs as a user of its own, so that its folders are nobody else's; that takes root. Its programs are
// copies in a folder of that user: the build may lie where only root comes.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/another_user.hpp"
#include "support/command_runner.hpp"
#include "support/untrusted_client.hpp"

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

struct mpi {
  std::string name;
  std::string launcher;
  std::string programs;
  std::string applications;
  std::string nbody;
};
const mpi installed[] = {INSTALLED_MPIS};

fs::path in_tmp_of(uid_t user) { return fmt::format("/tmp/trireme-{}", user); }
fs::path in_shm_of(uid_t user) { return fmt::format("/dev/shm/trireme-{}", user); }
fs::path in_run_of(uid_t user) { return fmt::format("/run/user/{}", user); }

// A user of this process alone, among those that nobody has and that containers have, too: by the process number, so
// that tests that run at the same time have their own, and without folders of jobs that are not ours.
uid_t unused_user() {
  constexpr uid_t first = 40000, users = 20000;
  for (uid_t user = first + static_cast<uid_t>(getpid()) % users;; user = first + (user + 1 - first) % users)
    if (!fs::exists(in_tmp_of(user)) && !fs::exists(in_shm_of(user)) && !fs::exists(in_run_of(user))) return user;
}
const uid_t job_user = unused_user();
const fs::path in_tmp = in_tmp_of(job_user);
const fs::path in_shm = in_shm_of(job_user);

sockaddr_un address_of(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

void PrintTo(const mpi& value, std::ostream* out) { *out << value.name; }

class untrusted_peers : public testing::TestWithParam<mpi> {
 protected:
  void SetUp() override {
    if (!tri::testing::can_be_another_user()) GTEST_SKIP() << tri::testing::why_no_other_user;
    clear();
    const fs::path command = TRIREME_COMMAND;
    for (const char* const folder : {"bin", "lib"}) {
      fs::create_directory(home.path() / folder);
      fs::permissions(home.path() / folder, fs::perms(0755));
    }
    copy_program(command, "bin");
    copy_program(GetParam().programs + "/bootstrap", "bin");
    for (const auto& each : fs::directory_iterator(command.parent_path().parent_path() / "lib"))
      if (each.path().filename().string().starts_with("libtrireme-mpi-")) copy_program(each.path(), "lib");
    ASSERT_EQ(chown(home.path().c_str(), job_user, job_user), 0);
    fs::permissions(home.path(), fs::perms(0755));
    const auto ready = run_as_job_user(
        fmt::format("for each in /tmp /dev/shm; do [ -w $each ] || echo it cannot write to $each; done >&2; "
                    "for each in {} {}/*/*; do [ -x $each ] || echo it cannot run $each; done >&2; {} --version",
                    GetParam().launcher, home.path().string(), copied("trireme")));
    ASSERT_EQ(ready.status, 0) << "user " << job_user << " cannot run the programs of this test: " << ready.errors;
    ASSERT_EQ(ready.errors, "") << "of user " << job_user << ", who runs the jobs of this test";
  }
  void TearDown() override {
    for (const pid_t each : children_) {
      kill(each, SIGKILL);
      waitpid(each, nullptr, 0);
    }
    if (tri::testing::can_be_another_user()) clear();
  }
  void copy_program(const fs::path& program, const char* folder) const {
    const fs::path copy = home.path() / folder / program.filename();
    fs::copy_file(program, copy);
    fs::permissions(copy, fs::perms(0755));
  }
  std::string copied(const char* program) const { return (home.path() / "bin" / program).string(); }

  tri::testing::command_result run_as_job_user(const std::string& command) const {
    const fs::path out = home.path() / "out", err = home.path() / "err";
    const std::string whole = fmt::format("cd / && {{ {}\n}} >{} 2>{}", command, out.string(), err.string());
    const int status = tri::testing::run_as(job_user, [&] {
      execl("/bin/sh", "sh", "-c", whole.c_str(), nullptr);
      return 127;
    });
    return {status, tri::testing::contents_of(out), tri::testing::contents_of(err)};
  }
  static void clear() {
    fs::remove_all(in_tmp);
    fs::remove_all(in_shm);
  }

  // Three ranks of the program that counts the collective operations of the library in MPI_Init. Their environment is
  // what the launcher gives them, and then this.
  tri::testing::command_result run_bootstrap(const std::string& environment = {}) const {
    const mpi& with = GetParam();
    return run_as_job_user(fmt::format(
        "unset XDG_RUNTIME_DIR TRIREME_MPI_JOB; env HOME={0} TMPDIR={0} "
        "OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_pml=ob1 OMPI_MCA_odls_base_sigkill_timeout=0 "
        "{1} {2} -n 3 env {3} {4} exec --mpi -- {5}",
        home.path().string(), with.launcher, with.name == "openmpi" ? "--oversubscribe" : "", environment,
        copied("trireme"), copied("bootstrap")));
  }
  void take(const fs::path& folder) const {
    fs::create_directory(folder);
    fs::permissions(folder, fs::perms::owner_all);
    ASSERT_EQ(chown(folder.c_str(), tri::testing::another_user, tri::testing::another_user), 0);
  }
  template <class What>
  void start_as(uid_t user, const What& what) {
    children_.push_back(tri::testing::start_as(user, [&] {
      what();
      return 0;
    }));
  }

  const tri::testing::temporary_folder home{"/tmp"};  // where $TMPDIR is, other users may not come

 private:
  std::vector<pid_t> children_;
};
INSTANTIATE_TEST_SUITE_P(mpi, untrusted_peers, testing::ValuesIn(installed),
                         [](const testing::TestParamInfo<mpi>& which) { return which.param.name; });

constexpr const char* met = "no collective operations, 0 wrong\n";

// The socket at which rank 0 waits, as soon as it is there.
fs::path bootstrap_socket() {
  while (true) {
    DIR* const listing = opendir(in_tmp.c_str());
    while (const dirent* const entry = listing == nullptr ? nullptr : readdir(listing))
      if (std::strncmp(entry->d_name, "mpi-start.", 10) == 0) {
        const fs::path found = in_tmp / entry->d_name;
        closedir(listing);
        return found;
      }
    if (listing != nullptr) closedir(listing);
    usleep(100);
  }
}
int connection_to(const fs::path& path) {
  const int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(path);
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return connection;
  close(connection);
  return -1;
}

// The socket has its name a moment before anybody is let in.
int first_bootstrap_connection() {
  while (true) {
    const int connection = connection_to(bootstrap_socket());
    if (connection >= 0) return connection;
    usleep(100);
  }
}

TEST_P(untrusted_peers, leave_nothing_behind_and_need_nothing) {
  const auto ended = run_bootstrap();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(ended.output, met) << ended.errors;
  EXPECT_EQ(fs::status(in_tmp).permissions(), fs::perms::owner_all);
  for (const auto& each : fs::directory_iterator(in_tmp)) EXPECT_EQ(each.path().filename(), "mpi-slots");
  EXPECT_EQ(tri::testing::run_as_another_user([] { return access((in_tmp / "mpi-slots").c_str(), F_OK) == 0 ? 1 : 0; }),
            0)
      << "another user looks into the folder";
}

TEST_P(untrusted_peers, take_the_folders_first) {
  take(in_tmp);
  const auto in_memory = run_bootstrap();
  EXPECT_EQ(in_memory.output, met) << in_memory.errors;
  EXPECT_TRUE(fs::exists(in_shm));
  fs::remove_all(in_shm);
  take(in_shm);
  const auto at_home = run_bootstrap();
  EXPECT_EQ(at_home.output, met) << at_home.errors;
  EXPECT_TRUE(fs::exists(home.path() / ".trireme"));
  const auto nowhere = run_bootstrap("HOME=/nonexistent");
  EXPECT_EQ(nowhere.status, 0) << nowhere.errors;
  EXPECT_THAT(nowhere.output, HasSubstr(", 0 wrong\n"));
  EXPECT_THAT(
      nowhere.errors,
      HasSubstr(fmt::format("no folder for the bootstrap sockets of a job: /run/user/{0}/trireme cannot be made "
                            "(errno 2), /tmp/trireme-{0} belongs to user {1}, /dev/shm/trireme-{0} belongs to user {1}",
                            job_user, tri::testing::another_user)));
  EXPECT_THAT(nowhere.errors, HasSubstr("set XDG_RUNTIME_DIR to a folder of yours with mode 0700"));
}

TEST_P(untrusted_peers, put_links_where_the_folder_should_be) {
  fs::create_directory(home.path() / "target");
  fs::create_symlink(home.path() / "target", in_tmp);
  const auto ended = run_bootstrap();
  EXPECT_EQ(ended.output, met) << ended.errors;
  EXPECT_TRUE(fs::is_empty(home.path() / "target"));
}

// More of them than rank 0 keeps, all before the last rank comes.
TEST_P(untrusted_peers, of_the_same_user_are_silent_during_bootstrap) {
  const fs::path are_in = home.path() / "are_in";
  start_as(job_user, [&] {
    send(first_bootstrap_connection(), "nonsense", 8, MSG_NOSIGNAL);
    const fs::path where = bootstrap_socket();
    for (int i = 0; i < 600; ++i)
      if (const int guest = connection_to(where); i % 2 == 0) send(guest, "nonsense", i % 8, MSG_NOSIGNAL);
    std::ofstream(are_in.string()) << "in\n";
    pause();
  });
  const auto ended = run_bootstrap(fmt::format("BOOTSTRAP_WAITS_FOR={} TRIREME_MPI_START_TIMEOUT=60", are_in.string()));
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(ended.output, met) << ended.errors;
}

// It says that it is rank 1, before rank 1 does, and nothing more.
TEST_P(untrusted_peers, of_the_same_user_that_pass_for_a_rank_end_the_job_in_time) {
  const fs::path is_in = home.path() / "is_in";
  start_as(job_user, [&] {
    const int guest = first_bootstrap_connection();
    const std::array<std::int32_t, 2> greeting{2, 3};
    send(guest, greeting.data(), sizeof greeting, MSG_NOSIGNAL);
    std::ofstream(is_in.string()) << "in\n";
    pause();
  });
  const auto ended = run_bootstrap(fmt::format("BOOTSTRAP_WAITS_FOR={} TRIREME_MPI_START_TIMEOUT=5", is_in.string()));
  EXPECT_NE(ended.status, 0);
  EXPECT_THAT(ended.errors, testing::ContainsRegex("rank 2 \\(pid [0-9]+\\) has said nothing for 5 s "
                                                   "\\(TRIREME_MPI_START_TIMEOUT\\)"));
}

// What a rank that died in its bootstrap exchange has left goes with the next job; what is new may be somebody's.
TEST_P(untrusted_peers, that_died_leave_sockets_which_the_next_job_removes) {
  EXPECT_EQ(run_bootstrap().output, met);
  for (const char* const name : {"mpi-start.old", "mpi-start.new", "other.old"}) {
    const int left = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(in_tmp / name);
    ASSERT_EQ(bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(chown((in_tmp / name).c_str(), job_user, job_user), 0);
    close(left);
  }
  const std::array<timespec, 2> long_ago{timespec{1000, 0}, timespec{1000, 0}};
  for (const char* const name : {"mpi-start.old", "other.old"})
    ASSERT_EQ(utimensat(AT_FDCWD, (in_tmp / name).c_str(), long_ago.data(), 0), 0);
  EXPECT_EQ(run_bootstrap().output, met);
  EXPECT_FALSE(fs::exists(in_tmp / "mpi-start.old"));
  EXPECT_TRUE(fs::exists(in_tmp / "mpi-start.new"));
  EXPECT_TRUE(fs::exists(in_tmp / "other.old"));
}

// The ranks that agree by the library hand memory over at an abstract socket, which everybody sees.
TEST_P(untrusted_peers, connect_to_every_socket_that_they_see) {
  const tri::testing::untrusted_client untrusted("trireme-mpi-");
  // On a busy machine he may come late to the first ones.
  for (int round = 0; round < 3 || (untrusted.connections() == 0 && round < 100); ++round) {
    const auto ended = run_bootstrap("MPI_LOCALNRANKS=2 OMPI_COMM_WORLD_LOCAL_SIZE=2");
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_THAT(ended.output, HasSubstr(", 0 wrong\n"));
    EXPECT_THAT(ended.errors, Not(HasSubstr("are left to ")));
    if (HasFailure()) return;
  }
  EXPECT_GT(untrusted.connections(), 0) << "no connection came to these jobs";
}

}  // namespace
