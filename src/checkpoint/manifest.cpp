#include "checkpoint/manifest.hpp"

#include <fmt/format.h>

#include <charconv>

#include "checkpoint/checksum.hpp"

namespace tri::checkpoint_files {
namespace {

constexpr std::string_view first_word = "trireme-checkpoint";

std::string line_of(const file_summary& file) {
  return fmt::format("{} {} {:016x}\n", file.bytes, file.records, file.checksum);
}

/// Takes words from a text, one after another.
class words {
 public:
  words(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw checkpoint_error(fmt::format("{}: is damaged: {}", path_, why));
  }
  std::string_view next() {
    const std::size_t first = text_.find_first_not_of(" \n", at_);
    if (first == std::string_view::npos) fail("it ends too early");
    at_ = std::min(text_.find_first_of(" \n", first), text_.size());
    return text_.substr(first, at_ - first);
  }
  void expect(std::string_view word) {
    if (const std::string_view found = next(); found != word) fail(fmt::format("'{}' instead of '{}'", found, word));
  }
  std::uint64_t number(int base = 10) {
    const std::string_view word = next();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (error != std::errc() || end != word.data() + word.size()) fail(fmt::format("'{}' is not a number", word));
    return value;
  }
  file_summary file() {
    file_summary read;
    read.bytes = number();
    read.records = number();
    read.checksum = number(16);
    return read;
  }
  std::size_t place() const { return at_; }

 private:
  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
};

}  // namespace

std::string text_of(const manifest& contents) {
  std::string text = fmt::format("{} {}\nprogram {:016x}\ntoken {:016x}\nstates {}\nprocesses {}\nelements {}\njob ",
                                 first_word, manifest::format, contents.program, contents.token, contents.states,
                                 contents.processes, contents.elements) +
                     line_of(contents.job) + fmt::format("pes {}\n", contents.pes.size());
  for (const file_summary& each : contents.pes) text += line_of(each);
  return text + fmt::format("end {:016x}\n", checksum(text.data(), text.size()));
}

manifest parse_manifest(std::string_view text, const std::string& path) {
  words from(text, path);
  if (text.substr(0, first_word.size()) != first_word)
    throw checkpoint_error(fmt::format("{}: is not the manifest of a checkpoint", path));
  from.expect(first_word);
  if (const std::uint64_t format = from.number(); format != manifest::format)
    throw checkpoint_error(fmt::format("{}: was written in format {} by another version of Trireme; this one has {}",
                                       path, format, manifest::format));
  // The check value first: whatever else is wrong is then not worth a line of its own.
  const std::size_t end = text.rfind("\nend ");
  if (end == std::string_view::npos) from.fail("its end is missing");
  words last(text.substr(end + 1), path);
  last.expect("end");
  if (last.number(16) != checksum(text.data(), end + 1)) from.fail("its checksum is wrong");

  manifest read;
  from.expect("program");
  read.program = from.number(16);
  from.expect("token");
  read.token = from.number(16);
  from.expect("states");
  read.states = from.next();
  from.expect("processes");
  read.processes = from.number();
  from.expect("elements");
  read.elements = from.number();
  from.expect("job");
  read.job = from.file();
  from.expect("pes");
  const std::uint64_t pes = from.number();
  if (pes == 0 || pes > text.size()) from.fail(fmt::format("it names {} PEs", pes));
  for (std::uint64_t pe = 0; pe < pes; ++pe) read.pes.push_back(from.file());
  if (from.place() != end) from.fail("it has more than it should");
  return read;
}

}  // namespace tri::checkpoint_files
