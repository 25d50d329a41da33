// Flushes standard output and writes one line to standard error before the process exits abruptly.
#pragma once

#include <string>

namespace tri::os {

// Writes out what the user may lose: standard output that is not written yet. A thread that holds the lock of the
// stream (it may be blocked in a full pipe) does not keep the caller.
void write_out_standard_output();
// One line on standard error, in one piece: other processes write there too.
void print_error_line(const std::string& text);
// Until the launcher has read what this process wrote, or for a second: some drop the rest when the job ends.
void wait_until_output_is_read();

}  // namespace tri::os
