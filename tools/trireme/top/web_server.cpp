#include "top/web_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "os/clock.hpp"
#include "os/unique_fd.hpp"
#include "top/http_request.hpp"
#include "top/job_figures.hpp"
#include "top/job_text.hpp"
#include "top/web_page.hpp"

namespace tri::tools {
namespace {

constexpr std::size_t most_connections = 32;
constexpr std::int64_t longest_connection_ns = 10'000'000'000;
constexpr std::int64_t show_end_for_ns = 3'000'000'000;  // at least, so that the page learns of it

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) fail("no random numbers");
  std::string text;
  for (const unsigned char each : bytes) text += fmt::format("{:02x}", each);
  return text;
}

class web_server {
 public:
  web_server(std::uint16_t port, double interval_s)
      : token_(random_token()), page_(web_page(random_token(), interval_s)) {
    listener_.reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener_) fail("a socket for the page cannot be made");
    const int yes = 1;
    setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::system_error(errno, std::generic_category(), fmt::format("port {} of 127.0.0.1", port));
    socklen_t length = sizeof address;
    if (listen(listener_.get(), static_cast<int>(most_connections)) != 0 ||
        getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
      fail("the page cannot be served");
    port_ = ntohs(address.sin_port);
  }

  std::string address() const { return fmt::format("http://127.0.0.1:{}/{}/", port_, token_); }
  void show(std::string figures) { figures_ = std::move(figures); }

  /// Serves for so long.
  void serve(std::int64_t ns) {
    const std::int64_t until = os::now_ns() + ns;
    for (std::int64_t now = os::now_ns(); now < until; now = os::now_ns()) {
      std::vector<pollfd> waiting{{listener_.get(), POLLIN, 0}};
      for (const connection& each : connections_)
        waiting.push_back({each.socket.get(), static_cast<short>(each.answer.empty() ? POLLIN : POLLOUT), 0});
      const auto left_ms = static_cast<int>(std::min<std::int64_t>((until - now) / 1'000'000 + 1, 1000));
      if (poll(waiting.data(), waiting.size(), left_ms) < 0 && errno != EINTR) fail("cannot wait for the browser");
      for (std::size_t i = 0; i < connections_.size(); ++i)
        if (waiting[i + 1].revents != 0) advance(connections_[i]);
      const std::int64_t after = os::now_ns();
      std::erase_if(connections_, [&](const connection& each) { return each.done || after > each.until_ns; });
      if (waiting[0].revents != 0) accept();
    }
  }

 private:
  struct connection {
    os::unique_fd socket;
    std::int64_t until_ns = 0;
    std::string request;
    std::string answer;
    std::size_t sent = 0;
    bool done = false;
  };

  void accept() {
    os::unique_fd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket || connections_.size() >= most_connections) return;  // it is closed; a browser tries again
    connection& made = connections_.emplace_back();
    made.socket = std::move(socket);
    made.until_ns = os::now_ns() + longest_connection_ns;
  }

  void advance(connection& of) {
    if (of.answer.empty()) {
      std::array<char, 4096> bytes{};
      const ssize_t came = recv(of.socket.get(), bytes.data(), bytes.size(), 0);
      if (came <= 0) {
        of.done = came == 0 || (errno != EAGAIN && errno != EINTR);
        return;
      }
      of.request.append(bytes.data(), static_cast<std::size_t>(came));
      of.answer = answer_to(read_request(of.request));
    }
    if (of.answer.empty()) return;
    const ssize_t gone = send(of.socket.get(), of.answer.data() + of.sent, of.answer.size() - of.sent, MSG_NOSIGNAL);
    if (gone < 0) {
      of.done = errno != EAGAIN && errno != EINTR;
      return;
    }
    of.sent += static_cast<std::size_t>(gone);
    of.done = of.sent == of.answer.size();
  }

  // Empty: the request is not complete.
  std::string answer_to(const http_request& request) {
    const auto refuse = [](int status, std::string_view text) { return http_answer(status, "text/plain", text); };
    switch (request.what) {
      case http_request::state::incomplete:
        return {};
      case http_request::state::malformed:
        return refuse(400, "this is no request\n");
      case http_request::state::too_long:
        return refuse(431, "the request is too long\n");
      case http_request::state::not_allowed:
        return refuse(405, "only GET\n");
      case http_request::state::complete:
        break;
    }
    if (request.host != fmt::format("127.0.0.1:{}", port_) && request.host != fmt::format("localhost:{}", port_))
      return refuse(403, "not for this host\n");
    const std::string_view path = request.path;
    const std::size_t end = path.find('/', 1);
    if (end == std::string_view::npos || !same_text(path.substr(1, end - 1), token_))
      return refuse(403, "the address lacks the token that `trireme top --web` has printed\n");
    const std::string_view what = path.substr(end);
    if (what == "/")
      return http_answer(200, "text/html; charset=utf-8", page_.text,
                         fmt::format("Content-Security-Policy: default-src 'none'; script-src 'nonce-{0}'; style-src "
                                     "'nonce-{0}'; connect-src 'self'; base-uri 'none'; form-action 'none'\r\n",
                                     page_.nonce));
    if (what == "/figures.json") return http_answer(200, "application/json", figures_);
    return refuse(404, "there is nothing\n");
  }

  const std::string token_;
  const made_page page_;
  os::unique_fd listener_;
  std::uint16_t port_ = 0;
  std::string figures_ = "{}";
  std::vector<connection> connections_;
};

}  // namespace

void serve_page(job_watch& job, double interval_s, std::uint16_t port) {
  web_server server(port, interval_s);
  fmt::print("{}\n", server.address());
  std::fflush(stdout);
  const auto interval_ns = static_cast<std::int64_t>(interval_s * 1e9);
  std::uint64_t look = 0;
  const auto show = [&](const job_figures& now, bool ended) {
    nlohmann::json figures = to_json(now);
    figures["look"] = ++look;
    figures["has_ended"] = ended;
    server.show(figures.dump());
  };
  job_figures now = job.next();
  show(now, false);
  while (!job.has_ended()) {
    server.serve(interval_ns);
    job_figures next = job.next();
    if (!next.rows.empty()) now = std::move(next);  // nothing is left of a job that was watched through its launcher
    show(now, job.has_ended());
  }
  server.serve(std::max(show_end_for_ns, 2 * interval_ns));
}

}  // namespace tri::tools
