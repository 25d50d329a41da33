// The functions of the native OpenMP runtime behind our entry points of the same name.
#pragma once

#include "os/loaded_objects.hpp"

namespace tri::omp {

// The next definition of `name` behind ours: in the usual search order, or, when the runtime was loaded later and
// privately (a plug-in of an interpreter), in whichever loaded object defines it. Null if there is none.
void* find_native_function(const char* name);
// Only in the usual search order.
void* find_global_native_function(const char* name);
// In an object, or the libraries that it names, when it is loaded.
void* find_behind_object(const char* object, const char* name);
// A function of the object that holds `neighbour`: both runtimes may be loaded, and the wrong one's omp_get_thread_num
// does not know our team.
void* find_beside(void* neighbour, const char* name);
// Reports the missing function and ends the process: for functions that the program needs.
[[noreturn]] void report_missing(const char* name);

// The same, but ends the process with report_missing() when there is none.
void* require_native_function(const char* name);

/// A runtime loaded privately for one plug-in (an interpreter's wheel may bring its own) beside the one otherwise used.
/// Calls of that plug-in's code must go to its own runtime: no other knows the threads of its teams.
class other_runtime;

/// The runtime of the object that has `code`; null: the usual one, whose `entry` is `usual`. `entry` is a function that
/// begins regions. Remembered. Any thread.
const other_runtime* runtime_of(const void* code, const char* entry, void* usual);
/// Ends the process with report_missing() when it has no such function.
void* require_in(const other_runtime& runtime, const char* name);

/// Whose region the calling thread runs, as above.
extern thread_local const other_runtime* this_runtime [[gnu::tls_model("initial-exec")]];

/// From the beginning of a region to its end, on each of its threads.
class runtime_scope {
 public:
  explicit runtime_scope(const other_runtime* runtime) : before_(this_runtime) { this_runtime = runtime; }
  ~runtime_scope() { this_runtime = before_; }
  runtime_scope(const runtime_scope&) = delete;
  runtime_scope& operator=(const runtime_scope&) = delete;

 private:
  const other_runtime* const before_;
};

/// A function of the runtime whose region the thread runs. The usual one's is looked up by `find` on first use.
template <class Signature, void* (*find)(const char* name) = require_native_function>
class native_function {
 public:
  constexpr explicit native_function(const char* name) : name_(name), usual_(name) {}

  Signature* usual() { return usual_.get(); }
  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    if (this_runtime != nullptr) [[unlikely]]
      return reinterpret_cast<Signature*>(require_in(*this_runtime, name_))(arguments...);
    return usual_.get()(arguments...);
  }

 private:
  const char* name_;
  os::late_function<Signature, find> usual_;
};

}  // namespace tri::omp
