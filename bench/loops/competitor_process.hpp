// A competitor seen from the benchmark program: a child process that is stopped, with all its threads, except while it
// runs a batch. So its pool's activity between loops disturbs no other competitor. Owned and used by one thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "loops/competitor.hpp"
#include "os/unique_fd.hpp"

namespace tri::bench {

class competitor_process {
 public:
  // Starts `program bench --loop-competitor which`. `preload`: a library that takes the place of another, or empty.
  // Throws std::runtime_error when it cannot start or does not answer.
  competitor_process(const std::string& program, const std::string& which, const comparison_setup& setup,
                     const std::string& preload = {});
  ~competitor_process();
  competitor_process(const competitor_process&) = delete;
  competitor_process& operator=(const competitor_process&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<std::string>& schedules() const { return schedules_; }

  // Throw std::runtime_error when the process has ended, or its loops had a wrong result.
  batch_reply run(const batch_request& request);
  double shared_part(std::size_t schedule);

 private:
  std::string ask(const std::string& line);  // the first line of the answer
  std::string read_line();
  void stop();
  void go_on();

  std::string which_;
  pid_t pid_ = 0;
  os::unique_fd connection_;
  std::string received_;
  std::string name_;
  std::vector<std::string> schedules_;
};

}  // namespace tri::bench
