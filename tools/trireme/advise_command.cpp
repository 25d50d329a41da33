// `trireme advise`: how to split the cores of a host into processes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "advice/split_advice.hpp"
#include "command_line.hpp"
#include "config/configuration.hpp"
#include "subcommands.hpp"

namespace tri::tools {

int advise_command(int argc, char** argv) {
  const config::configuration values = config::configuration::from(argc, argv);
  CLI::App app("Says how to split the cores of a host into processes, why, and how to start them.", argv[0]);
  app.footer(
      "The advice follows from the topology alone: no process spans two NUMA domains, and a process is as large as "
      "that\n"
      "allows. Under a launcher that binds processes to cores it is for those cores.\n"
      "\n"
      "Examples:\n"
      "  trireme advise                              this machine\n"
      "  trireme advise --hosts 4 --comm-thread      four like it, a core of each process for the network\n"
      "  lstopo node.xml                             on another machine, and here:\n"
      "  trireme advise --tri-topology node.xml\n"
      "  trireme advise --tri-topology \"synthetic:pack:2 numa:1 l3:1 core:8 pu:2\"");
  split_wishes wishes;
  bool as_json = false;
  app.add_option("--hosts", wishes.hosts, "hosts of the job, 1 by default")
      ->type_name("N")
      ->check(whole_number_between(1, 1'000'000));
  app.add_flag("--comm-thread", wishes.comm_thread, "leave a core of each process to its communication thread");
  app.add_flag("--json", as_json, "JSON instead of text");
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  const os::topology& machine = os::topology::shared(values.topology);
  const split_advice advice = advise_split(machine, wishes);
  fmt::print("{}", as_json ? to_json(advice, machine, wishes).dump(2) + "\n" : to_text(advice, machine, wishes));
  return 0;
}

}  // namespace tri::tools
