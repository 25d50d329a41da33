#include "collectives.hpp"

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "trireme/run.hpp"
#include "typed_array.hpp"

namespace tri::python {
namespace {

/// One PE's part of a reduction, as it travels.
struct contribution {
  std::string kind;
  std::string operation;
  std::string bytes;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(kind, operation, bytes);
  }
};

template <class T, class F>
void for_each_pair(std::string& into, const std::string& other, F&& f) {
  for (std::size_t at = 0; at < into.size(); at += sizeof(T)) {
    const T value = f(value_in<T>(into.data() + at), value_in<T>(other.data() + at));
    std::memcpy(into.data() + at, &value, sizeof(T));
  }
}

/// False: the type has no such operation.
template <class T>
bool combine_as(contribution& into, const contribution& other) {
  const auto by = [&](auto&& f) {
    for_each_pair<T>(into.bytes, other.bytes, f);
    return true;
  };
  const std::string& operation = into.operation;
  // Integers wrap, as those of NumPy do.
  using word = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  if (operation == "sum")
    return by([](T a, T b) { return static_cast<T>(static_cast<word>(a) + static_cast<word>(b)); });
  if (operation == "product")
    return by([](T a, T b) { return static_cast<T>(static_cast<word>(a) * static_cast<word>(b)); });
  if constexpr (std::is_arithmetic_v<T>) {
    const auto is_nan = [](T value) { return std::is_floating_point_v<T> && std::isnan(static_cast<double>(value)); };
    if (operation == "min") return by([&](T a, T b) { return b < a || is_nan(b) ? b : a; });  // as NumPy: NaN wins
    if (operation == "max") return by([&](T a, T b) { return a < b || is_nan(b) ? b : a; });
  }
  if constexpr (std::is_integral_v<T>) {
    if (operation == "and") return by([](T a, T b) { return a & b; });
    if (operation == "or") return by([](T a, T b) { return a | b; });
    if (operation == "xor") return by([](T a, T b) { return a ^ b; });
  }
  return false;
}

contribution combine(contribution into, const contribution& other) {
  if (into.kind != other.kind || into.operation != other.operation || into.bytes.size() != other.bytes.size())
    throw std::invalid_argument("allreduce: PEs gave " + into.operation + " of " + std::to_string(into.bytes.size()) +
                                " bytes of " + into.kind + ", and " + other.operation + " of " +
                                std::to_string(other.bytes.size()) + " bytes of " + other.kind);
  const bool is_done = into.kind == "i8"    ? combine_as<std::int64_t>(into, other)
                       : into.kind == "u8"  ? combine_as<std::uint64_t>(into, other)
                       : into.kind == "f8"  ? combine_as<double>(into, other)
                       : into.kind == "c16" ? combine_as<std::complex<double>>(into, other)
                                            : false;
  if (!is_done) throw std::invalid_argument("allreduce: elements of " + into.kind + " have no " + into.operation);
  return into;
}

}  // namespace

std::string allreduce(const std::string& kind, const std::string& operation, std::string bytes) {
  contribution own{kind, operation, std::move(bytes)};
  auto reduced = team::world().allreduce(
      std::move(own), by([](contribution a, const contribution& b) { return combine(std::move(a), b); }));
  return wait_for(reduced).bytes;
}

std::string broadcast(std::string bytes, int root) {
  auto come = team::world().broadcast(std::move(bytes), root);
  return wait_for(come);
}

std::vector<std::string> allgather(std::string bytes) {
  auto come = team::world().allgather(std::move(bytes));
  return wait_for(come);
}

}  // namespace tri::python
