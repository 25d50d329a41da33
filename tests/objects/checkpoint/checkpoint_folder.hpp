// Where a job of a test writes its checkpoint, and from where the next one begins: a folder that goes with the test.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/command_runner.hpp"
#include "support/run_on_pes.hpp"

namespace tri::testing {

class checkpoint_folder {
 public:
  /// Not there before the first checkpoint.
  std::string checkpoint() const { return (folder_.path() / "ckpt").string(); }
  /// The option with which a job begins with it.
  std::string restart_option() const { return "--tri-restart=" + checkpoint(); }

 private:
  temporary_folder folder_;
};

template <class Main>
int restart_on_pes(int pes, const checkpoint_folder& folder, Main&& main_program) {
  return run_on_pes(pes, std::forward<Main>(main_program), {folder.restart_option()});
}

}  // namespace tri::testing
