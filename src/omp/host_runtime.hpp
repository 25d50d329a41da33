// The functions of the host OpenMP runtime behind our entry points of the same name.
#pragma once

#include "host/loaded_objects.hpp"

namespace tri::omp {

// The next definition of `name` behind ours: in the usual search order, or, when the runtime was loaded later and
// privately (a plug-in of an interpreter), in whichever loaded object has it. Null if there is none.
void* find_host_function(const char* name);
// Only in the usual search order.
void* find_global_host_function(const char* name);
// In an object, or the libraries that it names, when it is loaded.
void* find_behind_object(const char* object, const char* name);
// A function of the object that holds `neighbour`: both runtimes may be loaded, and omp_get_thread_num of the wrong one
// knows nothing about our team.
void* find_beside(void* neighbour, const char* name);
// Says what is missing and ends the process: called for a function that a program needs.
[[noreturn]] void report_missing(const char* name);

// The same, but ends the process with report_missing() when there is none.
void* require_host_function(const char* name);

// A host function, looked up when it is first called.
template <class Signature>
using host_function = host::late_function<Signature, require_host_function>;

}  // namespace tri::omp
