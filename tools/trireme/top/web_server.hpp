// The page of `trireme top --web`: a server on the loopback address for the browser of the user. Who has not the token
// of the address gets nothing, and so does a page of another site that a browser lets ask (by the Host header). One
// thread, which also looks at the job; clients cost it one buffer each.
#pragma once

#include <cstdint>
#include <string>

#include "top/job_watch.hpp"

namespace tri::tools {

/// Prints the address of the page, then serves it until the job has ended and the page has shown that, or an interrupt.
/// `port` 0: any that is free. Throws std::system_error when the port cannot be had.
void serve_page(job_watch& job, double interval_s, std::uint16_t port);

}  // namespace tri::tools
