#include "any_array.hpp"

#include <iterator>
#include <stdexcept>

namespace tri::python {

template <int N>
std::shared_ptr<any_array> make_array_of(const std::string& kind, const numbers& extents,
                                         const asked_distribution& how);

std::shared_ptr<any_array> make_array(const std::string& kind, const numbers& extents, const asked_distribution& how) {
  constexpr std::shared_ptr<any_array> (*makers[])(const std::string&, const numbers&, const asked_distribution&) = {
      &make_array_of<1>, &make_array_of<2>, &make_array_of<3>, &make_array_of<4>, &make_array_of<5>, &make_array_of<6>};
  if (extents.empty() || extents.size() > std::size(makers))
    throw std::invalid_argument("global arrays have 1 to 6 dimensions; " + std::to_string(extents.size()) +
                                " were asked for");
  std::shared_ptr<any_array> made = makers[extents.size() - 1](kind, extents, how);
  if (made == nullptr)
    throw std::invalid_argument(
        "global arrays have elements of bool, (u)int8 to (u)int64, float32, float64, complex64 "
        "and complex128; '" +
        kind + "' was asked for");
  return made;
}

}  // namespace tri::python
