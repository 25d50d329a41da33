// The data of a class that the runtime needs to move its objects to another process. Classes are registered by type
// before main, like entry methods, so that a number names the class in every process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "trireme/archive.hpp"
#include "trireme/detail/objects/type_name.hpp"

namespace tri {
class load_description;
}  // namespace tri

#pragma GCC visibility push(default)

namespace tri::objects {

class element_base;

struct element_type {
  std::string name;
  /// Writes the object's own state; null if the class has no serialize function.
  void (*save)(element_base&, output_archive&) = nullptr;
  /// Makes an object from an archive, inside a `construction`; null if the class cannot be made so.
  std::unique_ptr<element_base> (*load)(input_archive&) = nullptr;
  /// Makes one by the default constructor, inside a `construction`; null where there is none, and for user keys.
  std::unique_ptr<element_base> (*make)() = nullptr;
  /// Notifies the object that it has moved; null if it has no such function.
  void (*on_migrated)(element_base&) = nullptr;
  /// Asks the object what it knows of its load; null if it has no such function.
  void (*describe_load)(element_base&, load_description&) = nullptr;
  /// Notifies the object that the job has restarted from a checkpoint; null if it has no such function.
  void (*on_restored)(element_base&) = nullptr;
  /// Of a member of a group: takes over the state of one whose PE the restarted job does not have; null if the class
  /// does not say how.
  void (*on_shrink)(element_base&, element_base& leaving) = nullptr;
  /// All members of a group of this class have the same state.
  bool is_same_everywhere = false;
};

std::uint32_t register_element_type(element_type type);
const element_type& element_type_of(std::uint32_t number);
std::uint32_t element_types();  ///< the number of them
/// A hash of the names of all classes in order.
std::uint64_t element_type_fingerprint();
/// For a number received from another process. Throws archive_error when it is not the number of a readable class.
void check_element_type(std::uint32_t number);

template <class T>
element_type describe_element_type();

template <class T>
struct element_type_entry {
  static inline const std::uint32_t number = register_element_type(describe_element_type<T>());
};

}  // namespace tri::objects

#pragma GCC visibility pop
