// The words by which code queries its thread, and functions that it may call without doing so. Constants.
#pragma once

#include <functional>
#include <set>
#include <string>

namespace tri::tools {

using name_set = std::set<std::string, std::less<>>;

/// Functions whose result depends on the thread that calls them.
extern const name_set thread_words;
/// Calls that are not thread data: words of the language, and functions whose result depends on their arguments alone
/// or that only print, wait or take time.
extern const name_set harmless_calls;
/// ... and of these also their results are the same for all threads.
bool is_uniform_call(const std::string& name);

}  // namespace tri::tools
