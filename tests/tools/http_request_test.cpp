// What the page of `trireme top --web` takes for a request, and what it refuses.
#include "top/http_request.hpp"

#include <gmock/gmock.h>

#include <random>
#include <string>

namespace tri::tools {
namespace {

using state = http_request::state;

TEST(http_request, a_browser_is_understood) {
  const http_request request =
      read_request("GET /abc/figures.json?x=1 HTTP/1.1\r\nHost: Localhost:8080\r\nAccept: */*\r\n\r\n");
  EXPECT_EQ(request.what, state::complete);
  EXPECT_EQ(request.path, "/abc/figures.json");
  EXPECT_EQ(request.host, "localhost:8080");
}

TEST(http_request, comes_in_parts) {
  const std::string whole = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_EQ(read_request(whole.substr(0, length)).what, state::incomplete) << length;
  EXPECT_EQ(read_request(whole).what, state::complete);
}

TEST(http_request, other_things_are_refused) {
  for (const char* const wrong :
       {"\r\n\r\n", "GET\r\n\r\n", "GET /\r\nHost: a\r\n\r\n", "get / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/2\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nHost a\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\n: a\r\n\r\n"})
    EXPECT_EQ(read_request(wrong).what, state::malformed) << wrong;
  EXPECT_EQ(read_request("POST / HTTP/1.1\r\nHost: a\r\n\r\n").what, state::not_allowed);
  EXPECT_EQ(read_request(std::string(most_request_bytes, 'a')).what, state::too_long);
  EXPECT_EQ(read_request("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(most_request_bytes, 'a') + "\r\n\r\n").what,
            state::too_long);
}

// Whatever comes, it is read to its end and judged.
TEST(http_request, survives_any_bytes) {
  std::mt19937 random(1);
  const std::string letters = std::string("GET /: HTTP1.\r\nost\xff") + '\0';
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto length = random() % 60; length > 0; --length) text += letters[random() % letters.size()];
    text += "\r\n\r\n";
    EXPECT_NE(read_request(text).what, state::incomplete);
  }
}

TEST(http_request, texts_are_compared_as_a_whole) {
  EXPECT_TRUE(same_text("abc", "abc"));
  EXPECT_FALSE(same_text("abc", "abd"));
  EXPECT_FALSE(same_text("abc", "ab"));
  EXPECT_FALSE(same_text("", "a"));
  EXPECT_TRUE(same_text("", ""));
}

TEST(http_request, an_answer_says_how_long_it_is) {
  const std::string answer = http_answer(403, "text/plain", "no\n", "X-More: 1\r\n");
  EXPECT_THAT(answer, ::testing::StartsWith("HTTP/1.1 403 Forbidden\r\n"));
  EXPECT_THAT(answer, ::testing::HasSubstr("\r\nContent-Length: 3\r\n"));
  EXPECT_THAT(answer, ::testing::EndsWith("\r\nX-More: 1\r\n\r\nno\n"));
}

}  // namespace
}  // namespace tri::tools
