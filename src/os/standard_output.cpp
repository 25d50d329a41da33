#include "os/standard_output.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace tri::os {
namespace {

// At its writing end a pipe tells how much is in it; a terminal tells what was typed instead.
bool is_pipe(int fd) {
  struct stat facts {};
  return fstat(fd, &facts) == 0 && S_ISFIFO(facts.st_mode);
}

}  // namespace

void write_out_standard_output() {
  if (ftrylockfile(stdout) != 0) return;
  fflush_unlocked(stdout);
  funlockfile(stdout);
}

void print_error_line(const std::string& text) {
  const std::string line = text + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void wait_until_output_is_read() {
  for (int tries = 0; tries < 1000; ++tries) {
    int unread = 0;
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      int bytes = 0;
      if (is_pipe(fd) && ioctl(fd, FIONREAD, &bytes) == 0) unread += bytes;
    }
    if (unread == 0) return;
    usleep(1000);
  }
}

}  // namespace tri::os
