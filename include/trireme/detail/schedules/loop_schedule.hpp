// A loop schedule as the user names it: a kind and its parameters, with a text form for options and environment
// variables. A plain value; parsing and checking name what is wrong and what would be right.
// Kinds and aliases after V. Kale, PhD dissertation, Illinois 2015 (chapters in brackets).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)

namespace tri::loops {

enum class schedule_kind : std::uint8_t {
  automatic,          ///< the default: learns from earlier executions of the same loop (automatic_schedule.hpp)
  static_blocks,      ///< one contiguous block per participant; with a chunk: dealt out in turn
  dynamic,            ///< a shared pool, `chunk` iterations at a time
  guided,             ///< a shared pool, claims shrink with what is left
  trapezoid,          ///< a shared pool, claims shrink linearly
  factoring,          ///< a shared pool, in rounds of equal claims, each round half of what is left
  hybrid,             ///< the first `static_fraction` in blocks, the rest from a shared pool (chapter 2)
  tasklets,           ///< as hybrid, the rest cut into tasklets with memory of who ran them last (chapter 2)
  weighted,           ///< blocks in proportion to the measured speed of each participant (chapter 3)
  weighted_tasklets,  ///< weighted blocks, then tasklets (chapter 3)
  staggered,          ///< every participant's rest lies behind its block; neighbours steal (chapter 5)
  static_hybrid,      ///< hybrid with the least dynamic fraction that the model asks for (chapter 4)
  slack_conscious,    ///< static_hybrid, reduced by the predicted slack of this process (chapter 4)
  combined,           ///< slack_conscious fraction, staggered layout (chapter 6)
  user                ///< by the program: trireme/schedule.hpp
};

/// Which delay the model plans for, where the kind has a model (chapter 6).
enum class delay_source : std::uint8_t {
  noise,        ///< the length of a noise event
  application,  ///< what uneven iterations amount to
  sum,          ///< both: noise hits the participant with the most work
  larger        ///< the larger of the two: it hits another one
};

struct schedule {
  schedule_kind kind = schedule_kind::automatic;
  std::uint64_t chunk = 0;                   ///< iterations per claim of what is dynamic; 0: chosen by the layout
  double static_fraction = 0.5;              ///< share that is dealt out in advance; where the kind has one
  std::uint32_t tasklets = 32;               ///< into how many the dynamic part is cut
  std::uint32_t queues = 1;                  ///< over how many pools the tasklets are spread
  bool skewed = false;                       ///< tasklets of halving size instead of equal ones
  bool tags = true;                          ///< tasklets go first to whoever ran them last
  double keep = 0.0;                         ///< constraint: share of a participant's dynamic part that nobody steals
  bool wrap = true;                          ///< neighbours of the first and last participant: round the ring, or none
  bool sharp = false;                        ///< the sharp slack rule instead of equation 4.11
  bool weights = false;                      ///< blocks in proportion to speed (weighted kinds: always)
  bool search = false;                       ///< the fraction is found by trying: all, or near what the model says
  delay_source delay = delay_source::noise;  ///< what the model plans for
  std::uint32_t user = 0;                    ///< which one, with its values (user_schedule.hpp)

  friend bool operator==(const schedule&, const schedule&) = default;
};

inline constexpr std::uint32_t most_tasklets = 1u << 20;

/// Reads `name[,value...][,key=value...]`, such as `static`, `dynamic,4`, `hybrid,0.8`, `hybrid,static=0.8,chunk=8`,
/// `tasklets,static=0.5,count=64,sizes=skewed,tags=off,queues=2`, `staggered,0.5,chunk=8,keep=0.25,ends=clip`, or
/// features joined by `+` (`slack+staggered`, `weighted+staggered,0.7`). A prefix `tri:` is skipped; letters of either
/// case and the names of the dissertation (sd, sds, besf, combo, ...) are understood, and names that the program has
/// added (`mine`, `mine,0.5,8`: numbers).
/// Throws std::invalid_argument: what is wrong, its value, what would be right, the nearest known name.
schedule parse_schedule(std::string_view text);
/// The same for loops that name their schedule in every execution: each thread remembers the last text it read.
schedule schedule_named(std::string_view text);

/// The shortest text that parses to the same schedule, in our own names.
std::string to_text(const schedule& which);

/// Throws std::invalid_argument when a parameter is out of its range or does not belong to the kind.
void check_schedule(const schedule& which);

/// What the schedule combines, for reports: "static part", "shared dynamic part", "neighbour stealing", "slack", ...
std::vector<std::string_view> features_of(const schedule& which);

/// Does the kind deal out a share in advance (given, or from the model)?
bool has_static_fraction(schedule_kind kind);
/// Does the fraction come from the model unless it is searched?
bool has_model(schedule_kind kind);

/// The names that parse_schedule knows: our own, the dissertation's, those that the program has added.
std::vector<std::string> schedule_names();

}  // namespace tri::loops

#pragma GCC visibility pop
