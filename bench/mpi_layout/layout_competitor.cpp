// Layouts as a competitor; or memcpy of as many bytes with the argument --memcpy.
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "mpi/datatypes/layout/layout_encoder.hpp"
#include "mpi/datatypes/layout/transfer.hpp"
#include "mpi_layout/competitor.hpp"
#include "mpi_layout/shapes.hpp"

namespace {

using namespace tri::bench;
using tri::mpi::array_order;
using tri::mpi::datatype;
using tri::mpi::element_kind;

std::vector<std::int64_t> wide(const std::vector<int>& values) { return {values.begin(), values.end()}; }

struct layout_types {
  datatype element = datatype::basic(element_kind::float64);
  datatype vector(int count, int length, int stride) { return datatype::vector(count, length, stride, element); }
  datatype subarray(const std::vector<int>& sizes, const std::vector<int>& subsizes, const std::vector<int>& starts) {
    return datatype::subarray(wide(sizes), wide(subsizes), wide(starts), array_order::c, element);
  }
  datatype indexed(const std::vector<int>& lengths, const std::vector<int>& places) {
    return datatype::indexed(wide(lengths), wide(places), element);
  }
  datatype record() {
    const std::vector<std::int64_t> lengths = {1, 1, 3}, places = {0, 8, 13};
    const std::vector<datatype> types = {element, datatype::basic(element_kind::int32),
                                         datatype::basic(element_kind::character)};
    return datatype::resized(datatype::structure(lengths, places, types), 0, 24);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bool plain = argc > 1 && std::strcmp(argv[1], "--memcpy") == 0;
  tri::mpi::owned_layout type = encode(datatype::basic(element_kind::float64));
  std::uint64_t count = 0;
  std::vector<double> memory, other;
  std::vector<char> packed;
  return answer([&](const std::string& name, const std::string& way) -> std::function<void()> {
    for (const strided_shape& shape : strided_shapes) {
      if (shape.name != name) continue;
      type = encode(make_strided_shape(name, layout_types{}));
      count = shape.count;
      memory.assign(shape.memory_doubles, 1.0);
      other.assign(shape.memory_doubles, 2.0);
    }
    const std::uint64_t bytes = count * type->size;
    packed.assign(bytes, 0);
    const tri::mpi::typed_buffer here{type.get(), count, memory.data()}, there{type.get(), count, other.data()};
    if (plain) return [&, bytes] { std::memcpy(packed.data(), memory.data(), bytes); };
    if (way == "pack") return [&, here, bytes] { tri::mpi::pack(here, 0, bytes, packed.data()); };
    if (way == "unpack") return [&, here, bytes] { tri::mpi::unpack(here, 0, bytes, packed.data()); };
    return [here, there, bytes] { tri::mpi::copy(here, there, 0, bytes); };
  });
}
