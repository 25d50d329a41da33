// The sum of two vectors is not defined: their elements are added one by one only if that is asked for.
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  void give(tri::callback<std::vector<int>> target) { contribute(std::vector<int>(3), tri::sum, target); }
};
void use(tri::array<element> all, tri::callback<std::vector<int>> target) { all.broadcast<&element::give>(target); }
