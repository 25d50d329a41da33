// Stands in for std::atomic in the models: the same calls on a plain value, one call being one step.
#pragma once

#include <atomic>
#include <utility>

namespace tri::explore {

template <class Value>
struct plain_word {
  Value value{};

  Value load(std::memory_order) const { return value; }
  void store(Value desired, std::memory_order) { value = desired; }
  Value exchange(Value desired, std::memory_order) { return std::exchange(value, desired); }
  Value fetch_add(Value amount, std::memory_order) { return std::exchange(value, static_cast<Value>(value + amount)); }
  Value fetch_sub(Value amount, std::memory_order) { return std::exchange(value, static_cast<Value>(value - amount)); }
  Value fetch_or(Value bits, std::memory_order) { return std::exchange(value, static_cast<Value>(value | bits)); }
  Value fetch_and(Value bits, std::memory_order) { return std::exchange(value, static_cast<Value>(value & bits)); }
  bool compare_exchange_strong(Value& expected, Value desired, std::memory_order, std::memory_order) {
    if (value == expected) {
      value = desired;
      return true;
    }
    expected = value;
    return false;
  }
};

}  // namespace tri::explore
