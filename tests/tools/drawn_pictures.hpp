// Pictures of documents are what the commands beside them draw.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "support/command_runner.hpp"

namespace tri::testing {

/// Runs each line `trireme SUBCOMMAND ... --svg FILE` of the document, and compares its file with that in
/// docs/pictures. Returns how many there are.
inline int pictures_drawn_again(const std::filesystem::path& docs, const std::string& document,
                                const std::string& command, const std::string& subcommand) {
  std::istringstream lines(contents_of(docs / document));
  const std::string begin = "    trireme " + subcommand + ' ', option = " --svg ";
  int pictures = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t named = line.find(option);
    if (!line.starts_with(begin) || named == std::string::npos) continue;
    ++pictures;
    const std::string file = line.substr(named + option.size());
    const temporary_folder folder;
    const command_result done =
        run_command(folder.path(), command + ' ' + subcommand + ' ' + line.substr(begin.size()));
    EXPECT_EQ(done.status, 0) << line << '\n' << done.errors;
    if (done.status != 0) continue;
    EXPECT_TRUE(contents_of(folder.path() / file) == contents_of(docs / "pictures" / file)) << "in docs/pictures, run\n"
                                                                                            << line;
  }
  return pictures;
}

}  // namespace tri::testing
