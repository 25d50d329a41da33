#include "host_list.hpp"

#include <gmock/gmock.h>

#include "config/configuration.hpp"

namespace tri::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(host_list, names_in_order) {
  EXPECT_THAT(parse_host_list("a"), ElementsAre("a"));
  EXPECT_THAT(parse_host_list("b.example,user@a,fe80::1"), ElementsAre("b.example", "user@a", "fe80::1"));
}

TEST(host_list, what_a_shell_would_take_for_something_else_is_refused) {
  for (const char* const wrong : {"-oProxyCommand=x", "a b", "a\tb", "a\nb", "$(x)", "`x`", "a;b", "a|b", "a&b", "a<b",
                                  "'a'", "\"a\"", "a\\b", "*", "~a", "\x1b[0m"}) {
    const std::string list = std::string("first,") + wrong;
    EXPECT_THAT([&] { parse_host_list(list); },
                ThrowsMessage<config::configuration_error>(HasSubstr(std::string("has the host '") + wrong + "'")));
  }
  for (const char* const empty : {"", ",", "a,", ",a", "a,,b"})
    EXPECT_THAT([&] { parse_host_list(empty); }, ThrowsMessage<config::configuration_error>(
                                                     HasSubstr("has the host ''; write names separated by commas")));
}

}  // namespace
}  // namespace tri::tools
