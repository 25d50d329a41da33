#include "boot/kvs/pmi1_client.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "boot/bootstrap_messages.hpp"
#include "boot/membership.hpp"

namespace tri::boot {

pmi1_client::pmi1_client(int fd, int rank, int size) : fd_(fd), rank_(rank), size_(size) {
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  const auto version = ask("init", {{"pmi_version", "1"}, {"pmi_subversion", "1"}}, "response_to_init");
  version.check_success();
  if (version.number("pmi_version") != 1)
    throw job_error(fmt::format("the launcher speaks PMI version {}; trireme speaks 1", version.text("pmi_version")));
  const auto limits = ask("get_maxes", {}, "maxes");
  longest_key_ = static_cast<std::size_t>(std::max(0, limits.number("keylen_max")));
  longest_value_ = static_cast<std::size_t>(std::max(0, limits.number("vallen_max")));
  space_name_ = ask("get_my_kvsname", {}, "my_kvsname").text("kvsname");
}

void pmi1_client::send(const std::string& text) const {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t length = write(fd_.get(), text.data() + sent, text.size() - sent);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) throw std::system_error(errno, std::generic_category(), "cannot write to the launcher (PMI_FD)");
    sent += static_cast<std::size_t>(length);
  }
}

// A launcher that is gone ends this process.
std::string pmi1_client::read_some() const {
  std::array<char, 4096> buffer;
  ssize_t length = 0;
  do length = read(fd_.get(), buffer.data(), buffer.size());
  while (length < 0 && errno == EINTR);
  if (length < 0 && errno != ECONNRESET)
    throw std::system_error(errno, std::generic_category(), "cannot read from the launcher (PMI_FD)");
  if (length <= 0) {
    std::fputs("trireme: the launcher is gone; this process ends\n", stderr);
    _exit(1);
  }
  return {buffer.data(), static_cast<std::size_t>(length)};
}

pmi1::message pmi1_client::ask(const std::string& command,
                               const std::vector<std::pair<std::string, std::string>>& values,
                               const std::string& answer_command) {
  const std::lock_guard asking(asking_);
  std::unique_lock locked(lock_);
  send(talk_.ask(command, values, answer_command));
  reader_.wait_until(
      locked, [&] { return talk_.answered(); }, [&] { return read_some(); },
      [&](const std::string& bytes) { talk_.receive(bytes); });
  return talk_.take_answer();
}

std::string pmi1_client::piece_key(int rank, const std::string& key, int piece) const {
  std::string made = fmt::format("trireme.{}.{}.{}", key, rank, piece);
  if (made.size() >= longest_key_)
    throw protocol_error(fmt::format("the launcher takes PMI keys of {} bytes only", longest_key_));
  return made;
}

void pmi1_client::put(const std::string& key, std::span<const std::byte> value) {
  int piece = 0;
  for (const std::string& text : pmi1::split_value(value, longest_value_)) {
    const std::string name = piece_key(rank_, key, piece++);
    ask("put", {{"kvsname", space_name_}, {"key", name}, {"value", text}}, "put_result").check_success();
  }
}

void pmi1_client::fence(bool) {
  std::unique_lock locked(lock_);
  send(talk_.enter_barrier());
  reader_.wait_until(
      locked, [&] { return talk_.released(); }, [&] { return read_some(); },
      [&](const std::string& bytes) { talk_.receive(bytes); });
}

std::optional<std::vector<std::byte>> pmi1_client::get(int rank, const std::string& key) {
  pmi1::value_assembler assembled;
  while (!assembled.complete()) {
    const auto answer =
        ask("get", {{"kvsname", space_name_}, {"key", piece_key(rank, key, assembled.taken())}}, "get_result");
    if (assembled.taken() == 0 && answer.values.contains("rc") && answer.number("rc") != 0) return std::nullopt;
    answer.check_success();
    assembled.add(answer.text("value"));
  }
  return assembled.value();
}

void pmi1_client::finalize() { ask("finalize", {}, "finalize_ack"); }

// There is no answer: the launcher ends the job. The protocol cannot carry text; the caller printed it.
void pmi1_client::abort(int exit_status, const std::string&) {
  const std::lock_guard locked(lock_);
  send(pmi1::build("abort", {{"exitcode", std::to_string(exit_status)}}));
}

}  // namespace tri::boot
