#include "exec/child_output.hpp"

#include <fcntl.h>

#include <stdexcept>
#include <utility>

#include "os/child_process.hpp"

namespace tri::tools {

std::string output_of(const std::string& program, const std::vector<std::string>& arguments,
                      const std::vector<std::string>& variables) {
  const os::unique_fd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  os::start_request request;
  request.arguments = {program};
  request.arguments.insert(request.arguments.end(), arguments.begin(), arguments.end());
  request.environment = os::environment_with(variables);
  request.error = nowhere.get();
  try {
    return os::run_program(std::move(request)).output;
  } catch (const std::runtime_error&) {
    return {};
  }
}

std::string loader_list(const std::string& program, const std::string& preload) {
  std::vector<std::string> variables{"LD_TRACE_LOADED_OBJECTS=1"};
  if (!preload.empty()) variables.push_back("LD_PRELOAD=" + preload);
  return output_of(program, {}, variables);
}

}  // namespace tri::tools
