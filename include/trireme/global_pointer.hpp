// Pointers into global arrays: plain data that may be sent anywhere.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <compare>
#include <cstdint>
#include <memory>
#include <utility>

#include "trireme/element_reference.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// A pointer into a global array: plain data that may be sent anywhere. It counts elements in row-major order of the
/// whole array, across tiles and PEs; padding is no part of that. Dereferencing one that is out of range throws
/// std::out_of_range; on a PE that has not met its array, or after that was freed, std::logic_error.
template <class T>
class global_pointer {
 public:
  using difference_type = std::int64_t;
  global_pointer() = default;
  global_pointer(arrays::array_id array, std::int64_t number) : array_(array), number_(number) {}

  explicit operator bool() const { return array_ != 0; }
  /// The name of its array in the whole job.
  arrays::array_id array() const { return array_; }
  /// The number of its element in row-major order.
  std::int64_t number() const { return number_; }
  element_reference<T> operator*() const {
    arrays::local_array& array = known();
    const arrays::place place = array.place_of_number(number_);
    std::byte* const piece = array.piece_of(place.pe);
    if (piece == nullptr) return {array, place};
    return {reinterpret_cast<T*>(piece) + place.offset, array};
  }
  element_reference<T> operator[](difference_type n) const { return *(*this + n); }
  int owner() const { return known().place_of_number(number_).pe; }
  /// A plain pointer, for elements of this host only: the memory behind it is that of its tile, row by row. Throws
  /// std::logic_error for elements of other hosts.
  explicit operator T*() const {
    const element_reference<T> element = **this;
    if (element.local() == nullptr) arrays::report_remote_cast(known(), number_, element.owner());
    return element.local();
  }

  global_pointer& operator+=(difference_type n) {
    number_ += n;
    return *this;
  }
  global_pointer& operator-=(difference_type n) { return *this += -n; }
  global_pointer& operator++() { return *this += 1; }
  global_pointer& operator--() { return *this += -1; }
  global_pointer operator++(int) { return std::exchange(*this, *this + 1); }
  global_pointer operator--(int) { return std::exchange(*this, *this - 1); }
  friend global_pointer operator+(global_pointer p, difference_type n) { return p += n; }
  friend global_pointer operator+(difference_type n, global_pointer p) { return p += n; }
  friend global_pointer operator-(global_pointer p, difference_type n) { return p -= n; }
  /// Of pointers into one array.
  friend difference_type operator-(const global_pointer& a, const global_pointer& b) { return a.number_ - b.number_; }
  friend auto operator<=>(const global_pointer&, const global_pointer&) = default;

 private:
  arrays::local_array& known() const {
    const std::shared_ptr<arrays::local_array> array = arrays::find_array(array_);
    if (array == nullptr || array->type() != &arrays::type_mark<T>) arrays::report_unknown(array_);
    if (number_ < 0 || number_ >= array->element_count()) arrays::report_outside(*array, number_);
    return *array;  // kept by the table of this PE
  }
  arrays::array_id array_ = 0;
  std::int64_t number_ = 0;
};

}  // namespace tri

#pragma GCC visibility pop
