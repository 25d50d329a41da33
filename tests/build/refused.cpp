#include "trireme/version.hpp"

template <class T>
void use() {
  static_assert(sizeof(T) == 0, "refused on purpose");
}

int main() { use<int>(); }
