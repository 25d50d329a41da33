// The command line of a small program in SPMD style. Every PE reads it; PE 0 prints help and errors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pgas {

/// Which versions of a kernel are run, and how often; the shortest time counts.
struct version_choice {
  std::vector<std::string> names;
  std::int64_t repeats = 1;
  bool prints_times = false;  // of every run, for programs that read them
};

/// Options are added, then parsed once. On PEs only; each PE has its own. The values named must outlive it.
class command_line {
 public:
  command_line(const std::string& program, const std::string& what_it_does);
  command_line(const command_line&) = delete;
  command_line& operator=(const command_line&) = delete;
  ~command_line();

  /// An integer from `least` to `most`; its default is the value it has.
  command_line& number(const std::string& name, std::int64_t& value, std::int64_t least, std::int64_t most,
                       const std::string& help);
  /// One of some words; its default is the value it has.
  command_line& word(const std::string& name, std::string& value, const std::vector<std::string>& allowed,
                     const std::string& help);
  /// --versions: some of these, with commas between them; all by default. --repeats: how often each is run. --times:
  /// a line "time <version> <seconds>" for each run.
  command_line& versions(version_choice& chosen, const std::vector<std::string>& known);

  /// Nothing: the program goes on. Otherwise its exit status, 0 for --help and 2 for an error; PE 0 has printed.
  std::optional<int> parse(int argc, char** argv);
  /// For options that are wrong together: PE 0 prints the fault. Returns the exit status, 2.
  int refuse(const std::string& fault) const;

 private:
  std::string program_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace pgas
