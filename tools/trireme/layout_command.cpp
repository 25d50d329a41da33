// `trireme layout`: which PE has what of a global array, without running anything.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "command_line.hpp"
#include "layout/layout_report.hpp"
#include "os/output_file.hpp"
#include "subcommands.hpp"

namespace tri::tools {
namespace {

constexpr const char* footer =
    "A global array is cut into tiles. They are dealt to the PEs in turn; or over a grid of PEs, each dimension for\n"
    "itself, as ScaLAPACK does; or in two levels, large tiles to the hosts and the tiles inside to their PEs. Without\n"
    "--tiles each PE gets one block. The table shows how even that is, how much memory is padding, and what an "
    "exchange of\n"
    "ghost cells (--halo) gets from other PEs and hosts.\n"
    "\n"
    "The options are those of the program: --tiles 64,64 --grid 2,4 is tri::global_array<double, 2> a({n, m},\n"
    "tri::tiles(64, 64), tri::grid(2, 4)). A host has its PEs in a run.\n"
    "\n"
    "Examples:\n"
    "  trireme layout --extents 6,9 --tiles 2,3 --pes 4             tiles in turn\n"
    "  trireme layout --extents 1000,1000 --pes 8 --hosts 2 --halo 1 --periodic     one block for each PE\n"
    "  trireme layout --extents 4000,4000 --tiles 128,128 --grid 2,2 --pes 4 --svg layout.svg\n"
    "  trireme layout --extents 512,512,512 --tiles 32,32,32 --host-tiles 256,256,512 --pes 16 --hosts 4 --json l.json";

}  // namespace

int layout_command(int argc, char** argv) {
  CLI::App app("Shows which PE has which part of a global array, how evenly, and what halos cost.", "trireme layout");
  app.footer(footer);
  array_description asked;
  std::string svg, json;
  const auto list = [&](const char* name, std::vector<std::int64_t>& values, const char* description) {
    return app.add_option(name, values, description)
        ->type_name("N,N,...")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(whole_number_between(0, std::int64_t{1} << 50));
  };
  list("--extents", asked.extents, "elements along each of 1 to 6 dimensions, the last one is contiguous")->required();
  list("--tiles", asked.tile, "elements of a tile; by default each PE has one block");
  list("--grid", asked.grid, "PEs along each dimension");
  list("--host-tiles", asked.host_tile, "elements of the tile of a host, multiples of the tile");
  app.add_option("--pes", asked.pes, "number of PEs in all, 1 by default")
      ->type_name("N")
      ->check(whole_number_between(1, 1 << 20));
  app.add_option("--hosts", asked.hosts, "number of hosts, 1 by default")
      ->type_name("N")
      ->check(whole_number_between(1, 1 << 20));
  app.add_option("--element", asked.bytes_of_element, "bytes of an element, 8 by default")
      ->type_name("BYTES")
      ->check(whole_number_between(1, 1 << 20));
  list("--halo", asked.halo,
       "ghost cells on each side of a tile, along each dimension or one number for all; none by default");
  app.add_flag("--periodic", asked.periodic, "ghost cells at the edges show elements of the opposite edge");
  app.add_option("--svg", svg, "draw an array of one or two dimensions")->type_name("FILE");
  app.add_option("--json", json, "write tiles and the share of each PE")->type_name("FILE");
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  const layout_report report = report_of(asked);
  if (!svg.empty()) os::write_output_file(svg, to_svg(report));
  if (!json.empty()) os::write_output_file(json, to_json(report).dump(1) + '\n');
  fmt::print("{}", table_of(report));
  return 0;
}

}  // namespace tri::tools
