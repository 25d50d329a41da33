// What a fuzz target is: a reader of the program behind one function, and inputs that the program itself has written.
// The main is that of libFuzzer (fuzzer_entry.cpp), which changes the inputs as long as it is given time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tri::fuzz {

/// Gives the bytes to the reader. True when it took them, false when it refused them by the error that it documents.
/// Everything else is a fault: another exception, a signal, what a sanitizer reports, too much time or memory. Keeps
/// nothing between calls.
bool read(std::string_view input);

/// Inputs that read() takes, made by the writers of the program. The first byte may select one of several readers.
std::vector<std::string> seeds();

/// The bytes of plain structs as a part of an input.
template <class T>
std::string raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Stops the program: a reader broke a promise that no sanitizer sees, such as writing what it reads back differently.
[[noreturn]] void broken(const std::string& promise);
inline void expect(bool kept, const std::string& promise) {
  if (!kept) broken(promise);
}

}  // namespace tri::fuzz
