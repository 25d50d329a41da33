// Lists of hosts as users write them (--hosts). A pure function, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tri::tools {

/// "a,b" -> {a, b}. The names become arguments of a remote shell, so they do not begin with '-' and have no
/// blanks, control characters or characters that a shell interprets. Throws config::configuration_error that names the
/// faulty one.
std::vector<std::string> parse_host_list(std::string_view text);

}  // namespace tri::tools
