// Requests to the page of `trireme top --web`: the part of HTTP/1.1 that a browser needs for it. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tri::tools {

inline constexpr std::size_t most_request_bytes = 8192;

struct http_request {
  enum class state {
    incomplete,  // more has to come
    complete,
    malformed,   // 400
    too_long,    // 431
    not_allowed  // 405: another method than GET
  };
  state what = state::incomplete;
  std::string path;  // without a query
  std::string host;  // as the client names us
};

/// Of what a client has sent so far. Bodies are not taken.
http_request read_request(std::string_view bytes);

/// A whole answer, after which the connection is closed. `type`: of the body.
std::string http_answer(int status, std::string_view type, std::string_view body, std::string_view more_headers = {});

/// In a time that does not depend on where they differ.
bool same_text(std::string_view one, std::string_view other);

}  // namespace tri::tools
