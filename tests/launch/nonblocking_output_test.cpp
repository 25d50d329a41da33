// Output to a slow reader: kept in order without blocking, for pipes, sockets and files.
#include "launch/nonblocking_output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace tri::launch {
namespace {

struct two_ends {
  os::unique_fd read_end, write_end;
};
two_ends a_pipe() {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  return {os::unique_fd(ends[0]), os::unique_fd(ends[1])};
}
two_ends a_socket() {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {os::unique_fd(ends[0]), os::unique_fd(ends[1])};
}

std::string numbered_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i) + "\n";
  return text;
}

std::string read_bytes(int fd, std::size_t bytes) {
  std::string text(bytes, ' ');
  const ssize_t length = read(fd, text.data(), text.size());
  text.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return text;
}

void expect_all_in_order(const two_ends& ends) {
  nonblocking_output output(ends.write_end.get());
  const std::string text = numbered_lines(200'000);
  output.add(text);  // more than fits; must come back
  EXPECT_GT(output.waiting(), 0U);
  EXPECT_TRUE(output.full());
  EXPECT_FALSE(output.flush());
  std::string received;
  while (received.size() < text.size()) {
    received += read_bytes(ends.read_end.get(), 5000);
    output.flush();
  }
  EXPECT_EQ(received, text);
  EXPECT_EQ(output.waiting(), 0U);
}

TEST(nonblocking_output, keeps_what_a_pipe_does_not_take) { expect_all_in_order(a_pipe()); }
TEST(nonblocking_output, keeps_what_a_socket_does_not_take) { expect_all_in_order(a_socket()); }

TEST(nonblocking_output, leaves_the_descriptor_of_others_blocking) {
  const two_ends ends = a_pipe();
  const nonblocking_output output(ends.write_end.get());
  EXPECT_EQ(fcntl(ends.write_end.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(output.fd(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(nonblocking_output, continues_a_file_where_it_is) {
  const os::unique_fd file(memfd_create("file", MFD_CLOEXEC));
  ASSERT_EQ(write(file.get(), "before ", 7), 7);
  nonblocking_output output(file.get());
  output.add("and after");
  char text[32] = {};
  EXPECT_EQ(pread(file.get(), text, sizeof text, 0), 16);
  EXPECT_STREQ(text, "before and after");
}

TEST(nonblocking_output, lets_go_when_nobody_can_read_any_more) {
  std::signal(SIGPIPE, SIG_IGN);
  two_ends ends = a_pipe();
  nonblocking_output output(ends.write_end.get());
  output.add(numbered_lines(200'000));
  ends.read_end.reset();
  EXPECT_FALSE(output.flush());
  EXPECT_EQ(output.waiting(), 0U);
  output.add("more");
  EXPECT_EQ(output.waiting(), 0U);
}

TEST(nonblocking_output, knows_equal_targets) {
  const two_ends one = a_pipe();
  const two_ends two = a_pipe();
  const os::unique_fd copy(dup(one.write_end.get()));
  EXPECT_TRUE(nonblocking_output::same_target(one.write_end.get(), copy.get()));
  EXPECT_FALSE(nonblocking_output::same_target(one.write_end.get(), two.write_end.get()));
  EXPECT_FALSE(nonblocking_output::same_target(one.write_end.get(), -1));
}

}  // namespace
}  // namespace tri::launch
