// amr: advection on a mesh that refines itself, as blocks that are created and deleted on Trireme's objects.
//
//   amr --levels 4                                 all cores
//   trireme run -n 2 --pes 1 amr --start disc      two processes
//
// The same numbers, bit for bit, whichever it is.
#include <fmt/format.h>

#include <cstdio>

#include "amr/driver.hpp"
#include "trireme/run.hpp"

namespace {

int run(int argc, char** argv) {
  CLI::App app("Advection on a quadtree of blocks that refines itself, as message-driven objects", "amr");
  amr::options values;
  amr::add_options(app, values);
  try {
    app.parse(argc, argv);
    amr::complete(values);
    amr::simulate(values);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const std::exception& error) {  // of the command line, too
    fmt::print(stderr, "amr: {}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return tri::run(argc, argv, &run); }
