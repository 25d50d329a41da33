// md: Lennard-Jones molecular dynamics on Trireme's objects.
//
//   md --data melt.data                          all cores
//   md --data melt.data --tri-pes 2              two threads
//   trireme run -n 2 md --data melt.data         two processes
//
// The same numbers, bit for bit, whichever it is; md_serial gives them too.
#include <fmt/format.h>

#include "md/parallel/simulation.hpp"
#include "md/program.hpp"
#include "trireme/run.hpp"

int main(int argc, char** argv) {
  return tri::run(argc, argv, [](int count, char** arguments) {
    return md::run_program("md", "Lennard-Jones molecular dynamics on message-driven objects", count, arguments,
                           md::simulate);
  });
}
