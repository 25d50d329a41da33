// An MPI library as a competitor: MPI_Pack, MPI_Unpack, and for a copy from layout to layout a message to itself.
#include <mpi.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "mpi_layout/competitor.hpp"
#include "mpi_layout/shapes.hpp"

namespace {

using namespace tri::bench;
using numbers = std::vector<int>;

struct library_types {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Datatype committed() {
    MPI_Type_commit(&made);
    return made;
  }
  MPI_Datatype vector(int count, int length, int stride) {
    MPI_Type_vector(count, length, stride, MPI_DOUBLE, &made);
    return committed();
  }
  MPI_Datatype subarray(const numbers& sizes, const numbers& subsizes, const numbers& starts) {
    MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), subsizes.data(), starts.data(), MPI_ORDER_C,
                             MPI_DOUBLE, &made);
    return committed();
  }
  MPI_Datatype indexed(const numbers& lengths, const numbers& places) {
    MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_DOUBLE, &made);
    return committed();
  }
  MPI_Datatype record() {
    const int lengths[] = {1, 1, 3};
    const MPI_Aint places[] = {0, 8, 13};
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR}, fields = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(3, lengths, places, types, &fields);
    MPI_Type_create_resized(fields, 0, 24, &made);
    MPI_Type_free(&fields);
    return committed();
  }
};

struct bench_state {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int count = 0;
  std::vector<double> memory = {}, other = {};
  std::vector<char> packed = {};
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bench_state state;
  const int result = answer([&](const std::string& name, const std::string& way) -> std::function<void()> {
    if (state.type != MPI_DATATYPE_NULL) MPI_Type_free(&state.type);
    for (const strided_shape& shape : strided_shapes) {
      if (shape.name != name) continue;
      state.type = make_strided_shape(name, library_types{});
      state.count = static_cast<int>(shape.count);
      state.memory.assign(shape.memory_doubles, 1.0);
      state.other.assign(shape.memory_doubles, 2.0);
    }
    int size = 0;
    MPI_Pack_size(state.count, state.type, MPI_COMM_SELF, &size);
    state.packed.assign(static_cast<std::size_t>(size), 0);
    if (way == "pack")
      return [&] {
        int position = 0;
        MPI_Pack(state.memory.data(), state.count, state.type, state.packed.data(),
                 static_cast<int>(state.packed.size()), &position, MPI_COMM_SELF);
      };
    if (way == "unpack")
      return [&] {
        int position = 0;
        MPI_Unpack(state.packed.data(), static_cast<int>(state.packed.size()), &position, state.memory.data(),
                   state.count, state.type, MPI_COMM_SELF);
      };
    return [&] {
      MPI_Sendrecv(state.memory.data(), state.count, state.type, 0, 0, state.other.data(), state.count, state.type, 0,
                   0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    };
  });
  if (state.type != MPI_DATATYPE_NULL) MPI_Type_free(&state.type);
  MPI_Finalize();
  return result;
}
