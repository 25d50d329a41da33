// The rows as people read them in a terminal. Lines appear one by one as the rows are measured.
#pragma once

#include <cstdio>
#include <string>

#include "framework/row.hpp"

namespace tri::bench {

class table {
 public:
  // Colours say met (green), missed (red) and failed; every mark is also a word, so nothing is lost without them.
  table(std::FILE* output, bool colours) : output_(output), colours_(colours) {}

  void begin_suite(const std::string& name, const std::string& description) const;
  void print(const row& measured) const;

 private:
  std::FILE* output_;
  bool colours_;
};

// "0.000123", "12.3", "4,560": three significant digits, so that columns stay narrow.
std::string short_number(double value);

// One row without colours and line end, the columns as in the table.
std::string table_line(const row& measured);

}  // namespace tri::bench
