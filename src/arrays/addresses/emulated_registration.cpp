#include "arrays/addresses/emulated_registration.hpp"

#include <algorithm>

namespace tri::arrays {
namespace {

constexpr std::uint64_t page_bytes = 4096;

std::uint64_t pages_of(std::uint64_t begin, std::uint64_t bytes) {
  return bytes == 0 ? 0 : (begin + bytes - 1) / page_bytes - begin / page_bytes + 1;
}

}  // namespace

std::optional<remote_address> emulated_registration::register_memory(std::uint64_t begin, std::uint64_t bytes) {
  if (bytes > limits_.contiguous_bytes || bytes > limits_.total_bytes - bytes_) {
    ++count_.refused;
    return std::nullopt;
  }
  ++count_.registrations;
  count_.cost_ns += costs_.register_ns + costs_.register_page_ns * pages_of(begin, bytes);
  bytes_ += bytes;
  count_.most_bytes = std::max(count_.most_bytes, bytes_);
  areas_[++last_key_] = {.begin = begin, .bytes = bytes};
  return remote_address{.address = begin, .key = last_key_};
}

void emulated_registration::deregister_memory(const remote_address& where) {
  const auto found = areas_.find(where.key);
  if (found == areas_.end() || found->second.begin != where.address) {
    ++count_.errors;
    return;
  }
  ++count_.deregistrations;
  count_.cost_ns += costs_.deregister_ns;
  bytes_ -= found->second.bytes;
  areas_.erase(found);
}

bool emulated_registration::is_valid(std::uint64_t address, std::uint64_t bytes, registration_key key) const {
  const auto found = areas_.find(key);
  if (found == areas_.end()) return false;
  const area& of = found->second;
  return address >= of.begin && address - of.begin <= of.bytes && bytes <= of.bytes - (address - of.begin);
}

bool emulated_registration::check(std::uint64_t address, std::uint64_t bytes, registration_key key) {
  ++count_.accesses;
  const bool valid = is_valid(address, bytes, key);
  if (!valid) ++count_.errors;
  return valid;
}

}  // namespace tri::arrays
