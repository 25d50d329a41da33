// One line of text in fixed storage, put together without the C library's formatting: it is used inside the first
// malloc of a process, before the C library is set up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tri::mpi {

class text_line {
 public:
  text_line& operator<<(std::string_view text) {
    for (const char character : text) append(character);
    return *this;
  }
  text_line& operator<<(std::uint64_t number) { return digits(number, 10); }
  text_line& hexadecimal(std::uint64_t number) {
    *this << "0x";
    return digits(number, 16);
  }
  void clear() { text_[length_ = 0] = '\0'; }
  bool empty() const { return length_ == 0; }
  const char* c_str() const { return text_; }
  std::string_view view() const { return {text_, length_}; }

 private:
  void append(char character) {
    if (length_ + 1 >= sizeof(text_)) return;  // a line that is too long ends early
    text_[length_++] = character;
    text_[length_] = '\0';
  }
  text_line& digits(std::uint64_t number, unsigned base) {
    char reversed[20];
    unsigned count = 0;
    do {
      reversed[count++] = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0);
    while (count > 0) append(reversed[--count]);
    return *this;
  }

  char text_[496] = {};
  std::size_t length_ = 0;
};

}  // namespace tri::mpi
