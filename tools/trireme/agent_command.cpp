// `trireme agent`: what `trireme run --hosts` starts on another host.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>

#include "command_line.hpp"
#include "launch/agent.hpp"
#include "launch/host_memory.hpp"
#include "subcommands.hpp"
#include "top/agent_figures.hpp"

namespace tri::tools {

int agent_command(int argc, char** argv) {
  CLI::App app(
      "Starts and monitors the processes of a job on this host. Internal: `trireme run --hosts` starts it through a "
      "remote shell and communicates with it.",
      "trireme agent");
  std::string forgotten;
  app.add_option("--forget", forgotten, "removes what a job has left in memory")->type_name("PATH")->group("");
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  if (!forgotten.empty()) {
    launch::forget_host_memory(forgotten);
    return 0;
  }
  if (isatty(STDIN_FILENO) != 0) {
    std::fputs("trireme agent: no launcher is at the other end; `trireme run --hosts a,b ./app` starts the agent\n",
               stderr);
    return usage_status;
  }
  agent_figures figures;
  return launch::run_agent(
      [&figures](int watcher, const std::string& question) { return figures.answer(watcher, question); });
}

}  // namespace tri::tools
