// A job under a launcher of its own process, for tests: collects what the job prints and sees whether anything of it is
// left. All processes of the job are in the process group of our launcher; those of others make groups of their own,
// and are found because they descend from the test.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "launch/launcher.hpp"
#include "os/unique_fd.hpp"

namespace tri::boot::testing {

// Options for the probe with these arguments.
launch::launch_options probe(int processes, std::vector<std::string> arguments);

class launched_job {
 public:
  // `standard_output`, `standard_error`: descriptors that take the place of the one that collects; they stay the
  // caller's.
  explicit launched_job(const launch::launch_options& options, int standard_output = -1, int standard_error = -1);
  // Under a launcher of others: a program with its arguments.
  explicit launched_job(const std::vector<std::string>& command);
  ~launched_job();  // kills what is left
  launched_job(const launched_job&) = delete;
  launched_job& operator=(const launched_job&) = delete;

  pid_t launcher() const { return launcher_; }
  int wait();                  // for the launcher's end: its wait status as shells report it
  std::string output() const;  // standard output and error of all, so far, as far as they are collected
  void wait_for_lines(const std::string& line, int count) const;
  bool anything_left() const;  // of the group, zombies included, and of our descendants, now; not who was there before
  void wait_until_nothing_is_left() const;

 private:
  void prepare();
  std::vector<pid_t> left() const;
  os::unique_fd output_;
  std::vector<pid_t> others_;  // that descend from the test, but were there before
  pid_t launcher_ = -1;
  bool waited_ = false;
};

}  // namespace tri::boot::testing
