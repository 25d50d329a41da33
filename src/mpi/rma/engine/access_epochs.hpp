// Which targets this rank may currently access, and in which kind of epoch: the epochs of MPI's one-sided communication
// on the rank's own side. Each function returns whether MPI allows the step, and performs it only then. Private memory,
// one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tri::mpi {

class access_epochs {
 public:
  enum class held : std::uint8_t { nothing, shared, exclusive, unchecked };  // unchecked: no lock was needed

  explicit access_epochs(std::uint32_t ranks) : locks_(ranks, held::nothing) {}

  bool may_access(std::uint32_t target) const {
    return fenced_ || all_ != held::nothing || locks_[target] != held::nothing ||
           (started_ && std::find(targets_.begin(), targets_.end(), target) != targets_.end());
  }
  bool is_passive() const { return all_ != held::nothing || locked_ > 0; }
  bool is_passive(std::uint32_t target) const { return all_ != held::nothing || locks_[target] != held::nothing; }
  /// Nothing is open that has to be closed by another call.
  bool is_idle() const { return !is_passive() && !started_ && !posted_; }

  /// A fence ends the epoch of the last one, and starts a new one unless it is declared the last.
  bool fence(bool begins) {
    if (!is_idle()) return false;
    fenced_ = begins;
    return true;
  }
  bool lock(std::uint32_t target, held how) {
    if (started_ || all_ != held::nothing || locks_[target] != held::nothing) return false;
    fenced_ = false;  // nothing has been accessed since: otherwise a fence had to come first
    locks_[target] = how;
    ++locked_;
    return true;
  }
  /// The lock that was held; `nothing` is an error.
  held unlock(std::uint32_t target) {
    const held was = locks_[target];
    if (was != held::nothing) --locked_;
    locks_[target] = held::nothing;
    return was;
  }
  bool lock_all(held how) {
    if (started_ || is_passive()) return false;
    fenced_ = false;
    all_ = how;
    return true;
  }
  held unlock_all() {
    const held was = all_;
    all_ = held::nothing;
    return was;
  }
  bool start(std::span<const std::uint32_t> targets) {
    if (started_ || is_passive()) return false;
    fenced_ = false;
    started_ = true;
    targets_.assign(targets.begin(), targets.end());
    return true;
  }
  bool is_started() const { return started_; }
  const std::vector<std::uint32_t>& targets() const { return targets_; }
  void complete() {
    started_ = false;
    targets_.clear();
  }
  bool post() {
    if (posted_) return false;
    fenced_ = false;
    return posted_ = true;
  }
  bool is_posted() const { return posted_; }
  void exposure_ends() { posted_ = false; }

 private:
  bool fenced_ = false;
  bool started_ = false;
  bool posted_ = false;
  held all_ = held::nothing;
  std::uint32_t locked_ = 0;
  std::vector<held> locks_;
  std::vector<std::uint32_t> targets_;
};

}  // namespace tri::mpi
