#include "top/http_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tri::tools {
namespace {

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Service Unavailable";
  }
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return made;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char each) { return each > 0x20 && each < 0x7f; });
}

// GET /path HTTP/1.1
bool read_first_line(std::string_view line, http_request& request) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return false;
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (method.empty() ||
      !std::all_of(method.begin(), method.end(), [](char each) { return each >= 'A' && each <= 'Z'; }))
    return false;
  if (target.empty() || target[0] != '/' || !is_printable(target)) return false;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return false;
  request.path = target.substr(0, target.find('?'));
  request.what = method == "GET" ? http_request::state::complete : http_request::state::not_allowed;
  return true;
}

}  // namespace

http_request read_request(std::string_view bytes) {
  http_request request;
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() >= most_request_bytes) request.what = http_request::state::too_long;
    return request;
  }
  if (end > most_request_bytes) {
    request.what = http_request::state::too_long;
    return request;
  }
  const auto malformed = [&] {
    request.what = http_request::state::malformed;
    return request;
  };
  std::string_view head = bytes.substr(0, end + 2);
  const auto next_line = [&] {
    const std::size_t length = head.find("\r\n");
    const std::string_view line = head.substr(0, length);
    head.remove_prefix(length + 2);
    return line;
  };
  if (!read_first_line(next_line(), request)) return malformed();
  int hosts = 0;
  while (!head.empty()) {
    const std::string_view line = next_line();
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 || !is_printable(line.substr(0, colon))) return malformed();
    if (lower(line.substr(0, colon)) != "host") continue;
    request.host = lower(trimmed(line.substr(colon + 1)));
    ++hosts;
  }
  return hosts == 1 ? request : malformed();
}

std::string http_answer(int status, std::string_view type, std::string_view body, std::string_view more_headers) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n{}\r\n{}",
      status, reason_of(status), type, body.size(), more_headers, body);
}

bool same_text(std::string_view one, std::string_view other) {
  unsigned difference = one.size() == other.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i)
    difference |= static_cast<unsigned char>(one[i] ^ other[i]);
  return difference == 0;
}

}  // namespace tri::tools
