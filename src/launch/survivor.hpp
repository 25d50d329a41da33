// `trireme run --survive`: a job that goes on after the loss of processes, from its last checkpoint.
#pragma once

#include <string>

#include "launch/launcher.hpp"
#include "launch/survival.hpp"

namespace tri::launch {

struct survival_options {
  std::string folder;
  survival::after_loss after_loss = survival::after_loss::same;
  std::string resize_file;  ///< at SIGUSR1: its first line is how many processes the job is to have; empty: none
};

/// Runs the job, as launch(), as often as survival.hpp says. `how.folder`: where all hosts of the job can write, for
/// the checkpoint in memory and for what processes and launcher let each other know; empty: memory of this machine.
/// What is in it is removed at the end. Throws what launch() throws, and std::runtime_error when the folder cannot be
/// used.
int launch_surviving(launch_options options, const survival_options& how);

/// To the launcher with this process number on this machine, of the same user: from its next checkpoint on, its job is
/// to have so many processes. Throws std::runtime_error when there is none that runs with --survive.
void resize_job(int launcher, int processes);

}  // namespace tri::launch
