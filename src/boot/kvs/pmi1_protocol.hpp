// The text protocol PMI-1 that hydra (mpiexec of MPICH) and others speak with the processes that they start: lines of
// blank-separated key=value, the first of which is cmd=. No I/O here: lines are built and parsed, binary values
// encoded, and a conversation matches arriving lines to requests. One thread at a time.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tri::boot::pmi1 {

// A line without its end.
struct message {
  std::string command;
  std::map<std::string, std::string> values;

  // Throw protocol_error where the value is missing or no number.
  const std::string& text(const std::string& key) const;
  int number(const std::string& key) const;
  // Throws protocol_error unless rc is 0 or absent; the launcher's own words are in the text.
  void check_success() const;
};

// Words without '=' belong to the value before them: launchers put sentences into msg=. Throws protocol_error.
message parse(std::string_view line);
// With its end. Throws std::invalid_argument for what would break the line.
std::string build(const std::string& command, const std::vector<std::pair<std::string, std::string>>& values = {});

std::string to_hex(std::span<const std::byte> bytes);
std::vector<std::byte> from_hex(std::string_view text);  // throws protocol_error

// Values longer than the launcher accepts (it would truncate them silently) are split: each piece has the number of
// pieces and its index. `most` is the launcher's limit (vallen_max).
std::vector<std::string> split_value(std::span<const std::byte> bytes, std::size_t most);
// Pieces are requested in order; the first has their number.
class value_assembler {
 public:
  void add(std::string_view piece);  // throws protocol_error for a piece that does not belong here
  bool complete() const { return wanted_ != 0 && taken_ == wanted_; }
  int taken() const { return taken_; }
  std::vector<std::byte> value() const { return from_hex(hex_); }

 private:
  int wanted_ = 0;
  int taken_ = 0;
  std::string hex_;
};

// Pending requests to the launcher: at most one query and, concurrently, at most one barrier, whose end may come before
// or after the answer.
class conversation {
 public:
  // The text to send. Throw std::logic_error while the previous one is still pending.
  std::string ask(const std::string& command, const std::vector<std::pair<std::string, std::string>>& values,
                  const std::string& answer_command);
  std::string enter_barrier();

  // Bytes as they come. Throws protocol_error for unsolicited lines.
  void receive(std::string_view bytes);
  bool released() const { return !in_barrier_; }
  bool answered() const { return answer_.has_value(); }
  message take_answer();

 private:
  void handle(std::string_view line);
  std::string waiting_;  // a line that is not complete
  bool in_barrier_ = false;
  std::string expected_;  // command of the answer; empty = no query
  std::optional<message> answer_;
};

}  // namespace tri::boot::pmi1
