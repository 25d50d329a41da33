// The page that `trireme top --web` serves: one text without outside resources. It fetches the figures again and again
// and draws them.
#pragma once

#include <string>

namespace tri::tools {

struct made_page {
  std::string text;
  std::string nonce;  // only scripts and styles with this are to run
};
made_page web_page(const std::string& nonce, double interval_s);

}  // namespace tri::tools
