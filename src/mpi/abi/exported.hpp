// Marks the functions that the program calls in place of the MPI library's.
#pragma once

#define TRIREME_EXPORTED extern "C" [[gnu::visibility("default")]]
