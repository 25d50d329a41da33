// gravity: gravitation of many bodies by a tree code on Trireme's objects.
//
//   gravity --input plummer --bodies 100000                      all cores
//   gravity --input collision --steps 2000 --tri-pes 2           two threads
//   trireme run -n 2 gravity --file cluster.txt                  two processes
//
// The same numbers, bit for bit, whichever it is.
#include <fmt/format.h>

#include <cstdio>

#include "gravity/options.hpp"
#include "gravity/parallel/simulation.hpp"
#include "trireme/run.hpp"

namespace {

int run(int argc, char** argv) {
  CLI::App app("Gravitation of many bodies by a tree code of message-driven objects", "gravity");
  gravity::options values;
  gravity::add_options(app, values);
  try {
    app.parse(argc, argv);
    gravity::complete(app, values);
    gravity::simulate(gravity::load_bodies(values), values);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "gravity: {}\n", gravity::describe_parse_error(app, error));
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "gravity: {}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return tri::run(argc, argv, &run); }
