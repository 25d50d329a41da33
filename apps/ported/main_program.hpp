// The main program of each of these: reads the command line, runs, and says what went wrong; or explains itself.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "ported/arguments.hpp"
#include "trireme/objects.hpp"

namespace ported {

/// For --help.
struct description {
  const char* name;
  const char* computes;  // lines
  const char* example;   // of its arguments
};

inline std::string help_text(const description& about, const arguments& read) {
  std::string usage = about.name, rows;
  std::size_t width = std::string("verify").size();
  for (const arguments::number& each : read.asked()) width = std::max(width, each.name.size());
  for (const arguments::number& each : read.asked()) {
    usage += fmt::format(" [{}", each.name);
    rows += fmt::format("  {:<{}}  from {} to {}; {} if it is left out\n", each.name, width, each.least, each.most,
                        each.otherwise);
  }
  usage += std::string(read.asked().size(), ']') + " [verify]";
  return fmt::format(
      "{}\n\nUsage: {}\n\n{}  {:<{}}  computes the same in loops in one thread, and compares each object's result\n\n"
      "Options of the runtime stand anywhere: --tri-pes 2 is for two cores, `trireme info --config` lists all.\n\n"
      "Example, in two processes:\n  trireme run -n 2 {} {}\n",
      about.computes, usage, rows, "verify", width, about.name, about.example);
}

/// `read(arguments&)` makes the settings of the command line, or throws std::invalid_argument; `run(settings, verify)`
/// is the program. Both run on PE 0.
template <class Read, class Run>
int main_program(int argc, char** argv, const description& about, Read read, Run run) {
  return tri::run(argc, argv, [&](int count, char** given) {
    try {
      arguments all(count, given);
      const auto settings = [&] {
        try {
          const auto made = read(all);
          all.end();
          return made;
        } catch (const std::invalid_argument& error) {
          throw std::invalid_argument(fmt::format("{}; --help explains the arguments", error.what()));
        }
      }();
      if (all.help())
        fmt::print("{}", help_text(about, all));
      else
        run(settings, all.verify());
      return 0;
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", about.name, error.what());
      return 1;
    }
  });
}

}  // namespace ported
