// A loop schedule: a kind and its parameters, with a text form for options and environment variables. A plain value;
// errors of parsing and checking name the wrong value and valid ones. Kinds and aliases after V. Kale, PhD
// dissertation, Illinois 2015 (chapters in brackets).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)

namespace tri::schedules {

enum class schedule_kind : std::uint8_t {
  automatic,          ///< the default: learns from earlier executions of the same loop (automatic_schedule.hpp)
  static_blocks,      ///< one contiguous block per participant; with a chunk: round-robin
  dynamic,            ///< a shared pool, `chunk` iterations at a time
  guided,             ///< a shared pool, claims shrink with the remaining iterations
  trapezoid,          ///< a shared pool, claims shrink linearly
  factoring,          ///< a shared pool, in rounds of equal claims, each round half of the rest
  hybrid,             ///< the first `static_fraction` in blocks, the rest from a shared pool (chapter 2)
  tasklets,           ///< as hybrid, the rest split into tasklets that remember their last participant (chapter 2)
  weighted,           ///< blocks in proportion to the measured speed of each participant (chapter 3)
  weighted_tasklets,  ///< weighted blocks, then tasklets (chapter 3)
  staggered,          ///< every participant's rest follows its block; neighbours steal (chapter 5)
  static_hybrid,      ///< hybrid with the least dynamic fraction that the model requires (chapter 4)
  slack_conscious,    ///< static_hybrid, reduced by the predicted slack of this process (chapter 4)
  combined,           ///< slack_conscious fraction, staggered layout (chapter 6)
  user                ///< by the program: trireme/schedule.hpp
};

/// Which delay the model plans for, where the kind has a model (chapter 6).
enum class delay_source : std::uint8_t {
  noise,        ///< the length of a noise event
  application,  ///< imbalance of uneven iterations
  sum,          ///< both: noise hits the participant with the most work
  larger        ///< the larger of the two: it hits another one
};

struct schedule {
  schedule_kind kind = schedule_kind::automatic;
  std::uint64_t chunk = 0;                   ///< iterations per claim of the dynamic part; 0: chosen by the layout
  double static_fraction = 0.5;              ///< share assigned in advance; where the kind has one
  std::uint32_t tasklets = 32;               ///< number of tasklets of the dynamic part
  std::uint32_t queues = 1;                  ///< number of pools for the tasklets
  bool skewed = false;                       ///< tasklets of halving size instead of equal ones
  bool tags = true;                          ///< tasklets go first to the participant that ran them last
  double keep = 0.0;                         ///< constraint: share of a participant's dynamic part that is not stolen
  bool wrap = true;                          ///< neighbours of the first and last participant: round the ring, or none
  bool sharp = false;                        ///< the sharp slack rule instead of equation 4.11
  bool weights = false;                      ///< blocks in proportion to speed (weighted kinds: always)
  bool search = false;                       ///< the fraction is searched: all values, or near the model's
  delay_source delay = delay_source::noise;  ///< the delay that the model plans for
  std::uint32_t user = 0;                    ///< which one, with its values (user_schedule.hpp)

  friend bool operator==(const schedule&, const schedule&) = default;
};

inline constexpr std::uint32_t most_tasklets = 1u << 20;

/// Reads `name[,value...][,key=value...]`, such as `static`, `dynamic,4`, `hybrid,0.8`, `hybrid,static=0.8,chunk=8`,
/// `tasklets,static=0.5,count=64,sizes=skewed,tags=off,queues=2`, `staggered,0.5,chunk=8,keep=0.25,ends=clip`, or
/// features joined by `+` (`slack+staggered`, `weighted+staggered,0.7`). A prefix `tri:` is skipped; letters of either
/// case and the names of the dissertation (sd, sds, besf, combo, ...) are understood, and names that the program has
/// added (`mine`, `mine,0.5,8`: numbers).
/// Throws std::invalid_argument that names the error, the value, valid values and the nearest known name.
schedule parse_schedule(std::string_view text);
/// The same for loops that name their schedule in every execution: each thread remembers the last text it read.
schedule schedule_named(std::string_view text);

/// The shortest text that parses to the same schedule, in our own names.
std::string to_text(const schedule& which);

/// Throws std::invalid_argument when a parameter is out of its range or does not belong to the kind.
void check_schedule(const schedule& which);

/// The components of the schedule, for reports: "static part", "shared dynamic part", "neighbour stealing", "slack",
/// ...
std::vector<std::string_view> features_of(const schedule& which);

/// Whether the kind assigns a share in advance (given, or from the model).
bool has_static_fraction(schedule_kind kind);
/// Whether the fraction comes from the model unless it is searched.
bool has_model(schedule_kind kind);

/// The names that parse_schedule accepts: our own, the dissertation's, and those added by the program.
std::vector<std::string> schedule_names();

}  // namespace tri::schedules

#pragma GCC visibility pop
