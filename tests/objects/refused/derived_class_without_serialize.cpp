// A class that is sent by pointers to its base says itself how.
#include <memory>
#include <string>
#include <trireme/objects.hpp>
struct shape {
  virtual ~shape() = default;
};
struct named_shape : shape {
  std::string name;
};
const tri::derived_class<shape, named_shape> named_shape_is_a_shape;
