#include "boot/kvs/pmi1_protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "boot/bootstrap_messages.hpp"

namespace tri::boot::pmi1 {
namespace {

constexpr std::size_t longest_line = 65536;

// Of the launcher's text, for messages.
std::string quoted(std::string_view text) {
  std::string shown;
  for (const char each : text.substr(0, 80)) shown += each >= ' ' && each <= '~' ? each : '?';
  return fmt::format("'{}'{}", shown, text.size() > 80 ? "..." : "");
}

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

int digit_of(char hex) {
  if (hex >= '0' && hex <= '9') return hex - '0';
  if (hex >= 'a' && hex <= 'f') return hex - 'a' + 10;
  throw protocol_error(fmt::format("{} is not a hexadecimal digit of a PMI value", quoted(std::string_view(&hex, 1))));
}

// A piece is "<index>/<pieces>:<hex>".
constexpr std::size_t longest_prefix = 12;

}  // namespace

const std::string& message::text(const std::string& key) const {
  const auto found = values.find(key);
  if (found == values.end()) throw protocol_error(fmt::format("PMI '{}' came without {}=", command, key));
  return found->second;
}

int message::number(const std::string& key) const {
  const std::optional<int> found = number_of(text(key));
  if (!found) throw protocol_error(fmt::format("PMI '{}' came with {}={}", command, key, quoted(text(key))));
  return *found;
}

void message::check_success() const {
  if (!values.contains("rc") || number("rc") == 0) return;
  const auto reason = values.find("msg");
  throw protocol_error(fmt::format("PMI '{}' says rc={}{}", command, number("rc"),
                                   reason == values.end() ? "" : ": " + quoted(reason->second)));
}

message parse(std::string_view line) {
  message made;
  std::string* last = nullptr;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos && last != nullptr) {
      (*last += ' ') += word;
    } else if (equals == std::string_view::npos || equals == 0) {
      throw protocol_error(fmt::format("PMI line {} has the word {} without key=", quoted(line), quoted(word)));
    } else {
      last = &made.values[std::string(word.substr(0, equals))];
      *last = word.substr(equals + 1);
    }
  }
  const auto command = made.values.find("cmd");
  if (command == made.values.end()) throw protocol_error(fmt::format("PMI line {} has no cmd=", quoted(line)));
  made.command = command->second;
  made.values.erase(command);
  return made;
}

std::string build(const std::string& command, const std::vector<std::pair<std::string, std::string>>& values) {
  std::string line = "cmd=" + command;
  for (const auto& [key, value] : values) {
    if (key.empty() || key.find_first_of(" =\n") != std::string::npos ||
        value.find_first_of(" \n") != std::string::npos)
      throw std::invalid_argument(fmt::format("{}={} cannot stand in a PMI line", key, quoted(value)));
    line += fmt::format(" {}={}", key, value);
  }
  return line + "\n";
}

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte each : bytes) {
    text += digits[std::to_integer<unsigned>(each) >> 4];
    text += digits[std::to_integer<unsigned>(each) & 15];
  }
  return text;
}

std::vector<std::byte> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) throw protocol_error(fmt::format("a PMI value has {} hexadecimal digits", text.size()));
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(16 * digit_of(text[i]) + digit_of(text[i + 1])));
  return bytes;
}

std::vector<std::string> split_value(std::span<const std::byte> bytes, std::size_t most) {
  // The limit counts a zero byte at the end.
  if (most < longest_prefix + 3)
    throw protocol_error(fmt::format("the launcher takes PMI values of {} bytes only", most));
  const std::size_t bytes_of_piece = (most - 1 - longest_prefix) / 2;
  const std::size_t pieces = std::max<std::size_t>(1, (bytes.size() + bytes_of_piece - 1) / bytes_of_piece);
  if (pieces > 9999)
    throw std::length_error(fmt::format("a value of {} bytes needs too many PMI pieces", bytes.size()));
  std::vector<std::string> made;
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::size_t begin = i * bytes_of_piece;
    made.push_back(fmt::format("{}/{}:{}", i, pieces,
                               to_hex(bytes.subspan(begin, std::min(bytes_of_piece, bytes.size() - begin)))));
  }
  return made;
}

void value_assembler::add(std::string_view piece) {
  const std::size_t slash = piece.find('/');
  const std::size_t colon = piece.find(':');
  std::optional<int> index, pieces;
  if (slash != std::string_view::npos && colon != std::string_view::npos && slash < colon) {
    index = number_of(piece.substr(0, slash));
    pieces = number_of(piece.substr(slash + 1, colon - slash - 1));
  }
  if (!index || !pieces || *index != taken_ || *pieces < 1 || (wanted_ != 0 && *pieces != wanted_) || taken_ == *pieces)
    throw protocol_error(fmt::format("PMI value {} is not piece {} of {}", quoted(piece), taken_,
                                     wanted_ == 0 ? "a value" : std::to_string(wanted_)));
  wanted_ = *pieces;
  ++taken_;
  hex_ += piece.substr(colon + 1);
}

std::string conversation::ask(const std::string& command,
                              const std::vector<std::pair<std::string, std::string>>& values,
                              const std::string& answer_command) {
  if (!expected_.empty()) throw std::logic_error("a PMI query is pending");
  std::string line = build(command, values);
  expected_ = answer_command;
  return line;
}

std::string conversation::enter_barrier() {
  if (in_barrier_) throw std::logic_error("a PMI barrier is pending");
  in_barrier_ = true;
  return build("barrier_in");
}

void conversation::receive(std::string_view bytes) {
  waiting_ += bytes;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = waiting_.find('\n', begin)) != std::string::npos; begin = end + 1)
    handle(std::string_view(waiting_).substr(begin, end - begin));
  waiting_.erase(0, begin);
  if (waiting_.size() > longest_line) throw protocol_error("a PMI line of the launcher does not end");
}

void conversation::handle(std::string_view line) {
  message came = parse(line);
  if (came.command == "barrier_out" && in_barrier_) {
    came.check_success();
    in_barrier_ = false;
  } else if (!expected_.empty() && !answer_ && came.command == expected_) {
    answer_ = std::move(came);
  } else {
    throw protocol_error(fmt::format("the launcher sent {} instead of {}", quoted(line),
                                     !expected_.empty() && !answer_ ? quoted("cmd=" + expected_)
                                     : in_barrier_                  ? "'cmd=barrier_out'"
                                                                    : "nothing"));
  }
}

message conversation::take_answer() {
  if (!answer_) throw std::logic_error("no PMI answer is there");
  message taken = std::move(*answer_);
  answer_.reset();
  expected_.clear();
  return taken;
}

}  // namespace tri::boot::pmi1
