// Jobs that go well: processes find each other, exchange descriptors, meet in barriers, and leave.
#include "boot/job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "config/configuration.hpp"
#include "launched_job.hpp"

namespace tri::boot {
namespace {

using boot::testing::launched_job;
using boot::testing::probe;
using ::testing::HasSubstr;

std::vector<std::string> sorted_lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

void expect_clean(launched_job& started) {
  EXPECT_EQ(started.wait(), 0) << started.output();
  EXPECT_FALSE(started.anything_left());
}

TEST(job, of_one_process_without_a_launcher) {
  config::configuration values;
  values.pes = 3;
  job own = job::join(values, 42, 1);
  EXPECT_EQ(own.process(), 0);
  EXPECT_EQ(own.processes(), 1);
  EXPECT_EQ(own.pes_per_process(), 3);
  EXPECT_EQ(own.hosts(), 1);
  EXPECT_FALSE(own.launched());
  ASSERT_EQ(own.peers().size(), 1u);
  EXPECT_EQ(own.peers()[0].pid, getpid());
  EXPECT_EQ(own.peers()[0].arena_fd, 42);
  own.barrier();
  own.leave(0);
}

TEST(job, needs_a_process_for_each_host) {
  config::configuration values;
  values.hosts = 2;
  try {
    job::join(values, -1, 1);
    FAIL();
  } catch (const config::configuration_error& problem) {
    EXPECT_STREQ(problem.what(), "hosts is 2, but the job has only 1 process; each host needs one");
  }
}

TEST(job, fail_without_a_launcher_prints_and_exits) {
  const job own = job::join({}, -1, 1);
  EXPECT_EXIT(own.fail("the disk is full"), ::testing::ExitedWithCode(1), "^trireme: the disk is full\n$");
}

TEST(job, broken_launcher_variables_are_named) {
  setenv(config::job_variable, "nobody-listens-here", 1);
  setenv(config::process_variable, "zero", 1);
  setenv(config::processes_variable, "2", 1);
  setenv(config::machines_variable, "1", 1);
  try {
    job::join({}, -1, 1);
    FAIL();
  } catch (const job_error& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("TRIREME_PROCESS is 'zero'"));
  }
  setenv(config::process_variable, "0", 1);
  try {
    job::join({}, -1, 1);
    FAIL();
  } catch (const job_error& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("cannot connect to the socket @nobody-listens-here"));
  }
  for (const char* each :
       {config::job_variable, config::process_variable, config::processes_variable, config::machines_variable})
    unsetenv(each);
}

TEST(job, one_launched_process) {
  launched_job started(probe(1, {"exchange"}));
  expect_clean(started);
  EXPECT_EQ(started.output(), "process 0 of 1 on host 0 of 1, pes 1: 0.0=memory-0\n");
}

TEST(job, is_joined_once_under_a_launcher) {
  launched_job started(probe(1, {"twice"}));
  EXPECT_NE(started.wait(), 0);
  EXPECT_THAT(started.output(), HasSubstr("joined 1\n"));
  EXPECT_THAT(started.output(), HasSubstr("tri::run may be called once"));
  EXPECT_FALSE(started.anything_left());
}

TEST(job, four_processes_read_each_others_memory) {
  launched_job started(probe(4, {"exchange", "--tri-pes=2"}));
  expect_clean(started);
  const std::string all = " 0.0=memory-0 0.1=memory-1 0.2=memory-2 0.3=memory-3";
  std::vector<std::string> expected;
  for (int i = 0; i < 4; ++i) expected.push_back("process " + std::to_string(i) + " of 4 on host 0 of 1, pes 2:" + all);
  EXPECT_EQ(sorted_lines(started.output()), expected);
}

TEST(job, emulated_hosts_share_no_memory) {
  launched_job started(probe(5, {"exchange", "--tri-hosts", "2"}));
  expect_clean(started);
  const std::string first = ": 0.0=memory-0 0.1=memory-1 1.0=none 1.1=none 1.2=none";
  const std::string second = ": 0.0=none 0.1=none 1.0=memory-2 1.1=memory-3 1.2=memory-4";
  std::vector<std::string> expected;
  for (int i = 0; i < 5; ++i) {
    expected.push_back("process " + std::to_string(i) + " of 5 on host " + (i < 2 ? "0" : "1") + " of 2, pes 1" +
                       (i < 2 ? first : second));
  }
  EXPECT_EQ(sorted_lines(started.output()), expected);
}

void expect_exchange_of(int processes) {
  launched_job started(probe(processes, {"exchange"}));
  expect_clean(started);
  const std::vector<std::string> lines = sorted_lines(started.output());
  ASSERT_EQ(lines.size(), static_cast<std::size_t>(processes));
  for (const std::string& line : lines) {
    for (int i = 0; i < processes; ++i) {
      const std::string rank = std::to_string(i);
      EXPECT_THAT(line + " ", HasSubstr(" 0." + rank + "=memory-" + rank + " "));
    }
    EXPECT_THAT(line, ::testing::Not(HasSubstr("wrong pid")));
  }
}

TEST(job, sixty_four_processes) { expect_exchange_of(64); }
TEST(job, more_processes_than_one_table_message_holds) { expect_exchange_of(150); }

TEST(job, addresses_are_fetched_by_several_threads_while_another_waits_in_barriers) {
  for (const int processes : {1, 4, 20}) {
    launched_job started(probe(processes, {"addresses", "2"}));
    expect_clean(started);
    std::vector<std::string> expected;
    for (int i = 0; i < processes; ++i) expected.push_back("process " + std::to_string(i) + ": 0 wrong addresses");
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(sorted_lines(started.output()), expected);
  }
}

TEST(job, an_address_is_published_once_and_has_a_limit) {
  job own = job::join({}, -1, 1);
  EXPECT_THROW(own.endpoint_address_of(0), job_error);
  EXPECT_THROW(own.endpoint_address_of(1), std::out_of_range);
  EXPECT_THROW(own.endpoint_address_of(-1), std::out_of_range);
  EXPECT_THROW(own.publish_endpoint_address(std::vector<std::byte>(most_endpoint_address_bytes + 1)),
               std::length_error);
  const std::vector<std::byte> address(most_endpoint_address_bytes, std::byte{7});
  own.publish_endpoint_address(address);
  EXPECT_EQ(own.endpoint_address_of(0), address);
  EXPECT_THROW(own.publish_endpoint_address(address), std::logic_error);
}

TEST(job, exit_status_is_the_first_that_is_not_zero) {
  launched_job started(probe(3, {"leave", "5"}));
  EXPECT_EQ(started.wait(), 5);
  EXPECT_EQ(started.output(), "");
}

TEST(job, programs_that_never_join_are_just_run) {
  launch::launch_options options;
  options.processes = 3;
  options.command = {"sh", "-c", "echo $TRIREME_PROCESS of $TRIREME_PROCESSES; exit $((TRIREME_PROCESS * 2))"};
  launched_job started(options);
  EXPECT_EQ(started.wait(), 2);
  EXPECT_EQ(sorted_lines(started.output()), (std::vector<std::string>{"0 of 3", "1 of 3", "2 of 3"}));
}

TEST(job, a_wrapper_script_may_stand_between) {
  launch::launch_options options = probe(2, {"exchange"});
  options.command = {"sh", "-c", std::string(JOB_PROBE) + " exchange; exit $?"};
  launched_job started(options);
  EXPECT_EQ(started.wait(), 0) << started.output();
  EXPECT_EQ(sorted_lines(started.output()).size(), 2u);
}

TEST(job, label_numbers_the_lines) {
  launch::launch_options options;
  options.processes = 2;
  options.label = true;
  options.command = {"sh", "-c", "echo one; echo two >&2; printf 'no end'"};
  launched_job started(options);
  EXPECT_EQ(started.wait(), 0);
  EXPECT_EQ(sorted_lines(started.output()),
            (std::vector<std::string>{"[0] no end", "[0] one", "[0] two", "[1] no end", "[1] one", "[1] two"}));
}

TEST(job, only_the_first_process_reads_standard_input) {
  launch::launch_options options;
  options.processes = 2;
  options.command = {"sh", "-c", "if [ $TRIREME_PROCESS = 1 ]; then cat; fi"};
  launched_job started(options);
  EXPECT_EQ(started.wait(), 0);
  EXPECT_EQ(started.output(), "");
}

TEST(job, an_untrusted_peer_that_sends_garbage_is_refused_and_does_no_harm) {
  launched_job started(probe(2, {"garbage", "1"}));
  EXPECT_EQ(started.wait(), 0) << started.output();
  EXPECT_THAT(started.output(), HasSubstr("garbage: a message starts with 0x"));
}

TEST(job, a_program_started_by_a_process_of_the_job_is_refused) {
  launched_job started(probe(2, {"nested", "1"}));
  EXPECT_EQ(started.wait(), 0) << started.output();
  EXPECT_THAT(started.output(), HasSubstr("process 1 of this job has joined already"));
  EXPECT_THAT(started.output(), HasSubstr("nested ended with status 95"));
}

TEST(job, a_daemon_does_not_outlive_it) {
  launched_job started(probe(2, {"daemon", "1"}));
  EXPECT_EQ(started.wait(), 0) << started.output();
  EXPECT_FALSE(started.anything_left());
}

TEST(job, hosts_are_contiguous_blocks) {
  for (int processes = 1; processes <= 12; ++processes) {
    for (int hosts = 1; hosts <= processes; ++hosts) {
      int next = 0;
      for (int host = 0; host < hosts; ++host) {
        EXPECT_EQ(first_process_of(host, processes, hosts), next);
        const int end = first_process_of(host + 1, processes, hosts);
        EXPECT_GT(end, next);
        for (; next < end; ++next) EXPECT_EQ(host_of(next, processes, hosts), host);
      }
      EXPECT_EQ(next, processes);
    }
  }
}

}  // namespace
}  // namespace tri::boot
