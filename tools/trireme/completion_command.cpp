// `trireme completion`: prints what makes a shell complete this command.
#include <fmt/format.h>

#include <string>

#include "command_line.hpp"
#include "manual/completion.hpp"
#include "subcommands.hpp"

namespace tri::tools {
namespace {

constexpr const char* footer =
    "Packages and `make install` put the scripts where the shells look for them; this is for a command that is not\n"
    "installed, or in a folder of its own.\n"
    "\n"
    "Examples:\n"
    "  source <(trireme completion bash)                                        this shell; zsh likewise\n"
    "  trireme completion fish > ~/.config/fish/completions/trireme.fish        all shells of this user";

}  // namespace

int completion_command(int argc, char** argv) {
  CLI::App app("Prints what makes a shell complete this command, its subcommands, options and values.",
               "trireme completion");
  app.footer(footer);
  std::string shell;
  app.add_option("shell", shell, "the shell")
      ->required()
      ->type_name("SHELL")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  const command_page all = all_pages();
  fmt::print("{}", shell == "bash"  ? bash_completion(all)
                   : shell == "zsh" ? zsh_completion(all)
                                    : fish_completion(all));
  return 0;
}

}  // namespace tri::tools
