// Objects that are counted, so that a test sees whether all of them have ended.
#pragma once

#include <atomic>

namespace tri::testing {

inline std::atomic<int> alive{0};

struct counted {  // counts the objects that exist; not plain, so it travels as an object
  counted() { ++alive; }
  counted(const counted&) { ++alive; }
  counted(counted&&) noexcept { ++alive; }
  counted& operator=(const counted&) = default;
  ~counted() { --alive; }
  template <class Archive>
  void serialize(Archive&) {}
};

}  // namespace tri::testing
