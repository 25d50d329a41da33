// Manual pages in man(7), the language of troff, generated from the command line's description.
#pragma once

#include <string>

#include "manual/command_page.hpp"

namespace tri::tools {

struct page_origin {
  std::string version;  // of Trireme
  std::string date;     // 2026-11-23
};

/// trireme-run(1) and so on, or trireme(1) for the front page; commands below a subcommand are sections of its page.
std::string man_page_of(const command_page& command, const page_origin& origin);

/// trireme-config(7): the options and the other variables TRIREME_*.
std::string man_page_of_options(const page_origin& origin);

/// The name of a command's page: "trireme-run".
std::string man_name(const command_page& command);

}  // namespace tri::tools
