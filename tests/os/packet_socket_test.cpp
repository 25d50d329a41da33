// Packet sockets: message boundaries, order, descriptors, the end of a connection.
#include "os/packet_socket.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <system_error>

namespace tri::os {
namespace {

std::string unused_name() {
  static int count = 0;
  return "trireme-test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

struct pair {
  pair() : listener(packet_socket::listen(name)), a(packet_socket::connect(name)), b(listener.accept()) {}
  std::string name = unused_name();
  packet_socket listener, a, b;
};

TEST(packet_socket, keeps_message_boundaries_and_order) {
  pair ends;
  ends.a.send(bytes_of("one"));
  ends.a.send(bytes_of("second"));
  EXPECT_EQ(ends.b.receive().bytes, bytes_of("one"));
  EXPECT_EQ(ends.b.receive().bytes, bytes_of("second"));
  EXPECT_EQ(ends.b.receive(false).what, packet::state::nothing_yet);
  EXPECT_EQ(ends.b.peer_pid(), getpid());
  EXPECT_EQ(ends.b.peer_user(), geteuid());
}

TEST(packet_socket, what_was_sent_before_the_end_arrives) {
  pair ends;
  ends.a.send(bytes_of("last"));
  ends.a.close();
  EXPECT_EQ(ends.b.receive().bytes, bytes_of("last"));
  EXPECT_EQ(ends.b.receive().what, packet::state::closed);
  EXPECT_THROW(ends.b.send(bytes_of("x")), std::system_error);
}

// Linux tells first of an end with unread messages (ECONNRESET), and only then gives what that end had sent.
TEST(packet_socket, what_was_sent_before_an_end_that_did_not_read_arrives) {
  pair ends;
  ends.b.send(bytes_of("never read"));
  ends.a.send(bytes_of("first"));
  ends.a.send(bytes_of("last"));
  ends.a.close();
  EXPECT_EQ(ends.b.receive(false).bytes, bytes_of("first"));
  EXPECT_EQ(ends.b.receive().bytes, bytes_of("last"));
  EXPECT_EQ(ends.b.receive().what, packet::state::closed);
}

TEST(packet_socket, listener_that_goes_closes_connections_that_were_not_accepted) {
  const std::string name = unused_name();
  packet_socket listener = packet_socket::listen(name);
  const packet_socket outside = packet_socket::connect(name);
  outside.send(bytes_of("never read"));
  listener.close();
  EXPECT_EQ(outside.receive().what, packet::state::closed);
}

TEST(packet_socket, descriptors_travel) {
  pair ends;
  const unique_fd memory(memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(pwrite(memory.get(), "abc", 3, 0), 3);
  const std::vector<int> many(most_packet_fds, memory.get());
  ends.a.send(bytes_of("here"), many);
  const packet received = ends.b.receive();
  ASSERT_EQ(received.fds.size(), most_packet_fds);
  char text[3];
  EXPECT_EQ(pread(received.fds.back().get(), text, 3, 0), 3);
  EXPECT_EQ(std::string(text, 3), "abc");
  EXPECT_NE(received.fds[0].get(), memory.get());
}

TEST(packet_socket, accept_without_anybody_and_connect_to_nobody) {
  packet_socket listener = packet_socket::listen(unused_name());
  EXPECT_FALSE(listener.accept());
  EXPECT_THROW(packet_socket::connect(unused_name()), std::system_error);
  EXPECT_THROW(packet_socket::connect(std::string(200, 'x')), std::invalid_argument);
}

}  // namespace
}  // namespace tri::os
