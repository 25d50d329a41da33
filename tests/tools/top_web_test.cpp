// The page of `trireme top --web`: who gets it and who does not, by requests as bytes, and in a browser where there is
// one.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "os/unique_fd.hpp"
#include "support/command_runner.hpp"
#include "tools/watched_job.hpp"

namespace tri::tools {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class served_page : public ::testing::Test {
 protected:
  served_page()
      : job_(testing::objects_job(2, 2), "traffic"),
        server_(TRIREME_COMMAND " top " + std::to_string(job_.pid()) + " --web --interval 0.1",
                folder_.path() / "out") {
    server_.wait_for("\n");
    std::smatch parts;
    const std::string said = server_.output();
    EXPECT_TRUE(std::regex_match(said, parts, std::regex("(http://127\\.0\\.0\\.1:([0-9]+)/([0-9a-f]{32})/)\n")))
        << said;
    address_ = parts[1];
    port_ = parts[2].str().empty() ? 0 : std::stoi(parts[2]);
    token_ = parts[3];
  }

  os::unique_fd connect() const {
    os::unique_fd made(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port_));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(made.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    return made;
  }
  std::string ask(const std::string& bytes) const {
    const os::unique_fd socket = connect();
    EXPECT_EQ(send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    std::string answer;
    std::array<char, 4096> part{};
    for (ssize_t came = 0; (came = recv(socket.get(), part.data(), part.size(), 0)) > 0;)
      answer.append(part.data(), static_cast<std::size_t>(came));
    return answer;
  }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string get(const std::string& path) const { return get(path, host()); }
  std::string get(const std::string& path, const std::string& as) const {
    return ask("GET " + path + " HTTP/1.1\r\nHost: " + as + "\r\n\r\n");
  }
  json figures() const {
    const std::string answer = get("/" + token_ + "/figures.json");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    return json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }

  testing::temporary_folder folder_;
  testing::watched_job job_;
  testing::background_command server_;
  std::string address_;
  int port_ = 0;
  std::string token_;
};

TEST_F(served_page, has_the_figures_of_the_job) {
  const std::string page = get("/" + token_ + "/");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/html"));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'nonce-"));
  EXPECT_THAT(page, HasSubstr("<svg id=\"timelines\""));
  EXPECT_EQ(page.find("http://", page.find("<html")), page.find("http://www.w3.org/2000/svg")) << "an outside resource";
  EXPECT_EQ(page.find("NONCE"), std::string::npos);
  json shown = figures();
  while (shown["messages"].empty()) shown = figures();  // as soon as PEs had a core between two looks
  EXPECT_GT(shown["interval_s"], 0.0);
  EXPECT_EQ(shown["rows"].size(), 4U);
  EXPECT_EQ(shown["has_ended"], false);
}

TEST_F(served_page, is_for_those_with_its_address_only) {
  const std::string refusal = "HTTP/1.1 403 Forbidden\r\n";
  EXPECT_THAT(get("/"), StartsWith(refusal));
  EXPECT_THAT(get("/figures.json"), StartsWith(refusal));
  EXPECT_THAT(get("/" + std::string(32, '0') + "/figures.json"), StartsWith(refusal));
  EXPECT_THAT(get("/" + token_.substr(1) + "/"), StartsWith(refusal));
  EXPECT_THAT(get("/" + token_), StartsWith(refusal));
  // A page of another site makes the browser ask under that site's name.
  EXPECT_THAT(get("/" + token_ + "/figures.json", "evil.example:" + std::to_string(port_)), StartsWith(refusal));
  EXPECT_THAT(get("/" + token_ + "/nothing"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(get("/" + token_ + "/../etc/passwd"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
}

TEST_F(served_page, bad_requests_are_answered_and_harm_nobody) {
  EXPECT_THAT(ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(ask(std::string(3, '\0') + "\r\n\r\n"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(ask("POST /" + token_ + "/ HTTP/1.1\r\nHost: " + host() + "\r\n\r\n"),
              StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(ask("GET /" + std::string(9000, 'a')), StartsWith("HTTP/1.1 431 "));
  // One that says nothing, one that stops in the middle, and one that leaves: others are served meanwhile.
  const os::unique_fd silent = connect();
  const os::unique_fd half = connect();
  send(half.get(), "GET /", 5, MSG_NOSIGNAL);
  connect();
  EXPECT_EQ(figures()["rows"].size(), 4U);
}

TEST_F(served_page, is_bound_to_the_loopback_address) {
  std::array<char, 16> port{};
  std::snprintf(port.data(), port.size(), ":%04X", static_cast<unsigned>(port_));
  // While others open and close sockets the list may lack one, or have it twice.
  for (int listening = 0; listening == 0;) {
    std::ifstream sockets("/proc/net/tcp");
    for (std::string line; std::getline(sockets, line);) {
      if (line.find(std::string(port.data()) + " 00000000:0000 0A") == std::string::npos) continue;
      ++listening;
      EXPECT_THAT(line, HasSubstr(std::string("0100007F") + port.data()));
    }
  }
}

// A page asks again and again meanwhile; the server ends some seconds after it has seen the end.
TEST_F(served_page, ends_with_the_job) {
  job_.let_it_end();
  while (!figures()["has_ended"].get<bool>()) {
  }
  EXPECT_EQ(server_.wait(), 0);
  EXPECT_THAT(server_.output(), ContainsRegex("\njob [0-9]+ has ended\n$"));
}

TEST_F(served_page, a_port_in_use_is_named) {
  const testing::command_result second =
      testing::run_command(TRIREME_COMMAND " top " + std::to_string(job_.pid()) + " --web " + std::to_string(port_));
  EXPECT_EQ(second.status, 1);
  EXPECT_EQ(second.errors, "trireme top: port " + std::to_string(port_) + " of 127.0.0.1: Address already in use\n");
}

TEST_F(served_page, draws_in_a_browser) {
  if (std::string(CHROMIUM).empty()) GTEST_SKIP() << "chromium is not installed";
  while (figures()["look"] < 3) {
  }
  testing::command_result drawn;
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (std::size_t at = 0; (at = drawn.output.find(what, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  // Until all PEs had a core before the last look that is drawn: then the ring of messages is complete.
  while (count("<rect class=\"busy pair\"") < 4) {
    drawn = testing::run_command(
        folder_.path(), "HOME=" + folder_.path().string() +
                            " timeout 100 " CHROMIUM
                            " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-extensions "
                            "--user-data-dir=profile --virtual-time-budget=20000 --dump-dom " +
                            address_);
    if (drawn.output.empty()) GTEST_SKIP() << "chromium does not run here: " << drawn.errors.substr(0, 300);
  }
  EXPECT_THAT(drawn.output, HasSubstr("watched_program</h1>"));
  EXPECT_THAT(drawn.output, HasSubstr("2 processes, 4 PEs, running for"));
  EXPECT_GE(count("<rect class=\"over\""), 4) << "a look at each PE";
  EXPECT_EQ(count("<tr><td>"), 4) << "a line for each PE";
}

}  // namespace
}  // namespace tri::tools
