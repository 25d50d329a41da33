// See program.hpp.
#include "md/program.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace md {

int run_program(const std::string& name, const std::string& description, int argc, char** argv,
                const std::function<void(const run_input&, const options&)>& simulate) {
  CLI::App app(description, name);
  options values;
  add_options(app, values);
  try {
    app.parse(argc, argv);
    simulate(load_input(app, values), values);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}: {}\n", name, describe_parse_error(app, error));
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
  return 0;
}

}  // namespace md
