// Our layouts beside the MPI library that the program is linked with, one program per ABI, run as a job of one process:
// what we read of a datatype packs to the bytes that PMPI_Pack makes, unpacks to the same memory, has the library's
// bounds and counts of elements.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "mpi/datatypes/layout/cursor.hpp"
#include "mpi/datatypes/layout/element_count.hpp"
#include "mpi/datatypes/layout/layout_encoder.hpp"
#include "mpi/datatypes/layout/transfer.hpp"
#include "mpi/datatypes/library_packing.hpp"
#include "mpi/datatypes/mpi_types.hpp"
#include "mpi/datatypes/random_type.hpp"
#include "mpi/datatypes/read_datatype.hpp"
#include "mpi/datatypes/type_map.hpp"

#ifdef OMPI_MAJOR_VERSION
extern "C" {
extern struct ompi_predefined_datatype_t ompi_mpi_lb;
extern struct ompi_predefined_datatype_t ompi_mpi_ub;
}
#endif

namespace {

#ifdef OMPI_MAJOR_VERSION
const MPI_Datatype lower_marker = OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_lb);
const MPI_Datatype upper_marker = OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_ub);
#else
const MPI_Datatype lower_marker = MPI_LB;
const MPI_Datatype upper_marker = MPI_UB;
#endif

using namespace tri::mpi;
using namespace tri::mpi::test_types;

struct library_bounds {
  MPI_Count size = 0, lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  explicit library_bounds(MPI_Datatype type) {
    succeed(MPI_Type_size_x(type, &size), "MPI_Type_size_x");
    succeed(MPI_Type_get_extent_x(type, &lower, &extent), "MPI_Type_get_extent_x");
    succeed(MPI_Type_get_true_extent_x(type, &true_lower, &true_extent), "MPI_Type_get_true_extent_x");
  }
};

// Memory for `count` instances as the library sees them.
class library_memory {
 public:
  library_memory(const library_bounds& bounds, std::uint64_t count, random_types& random) {
    const MPI_Count last = count == 0 ? 0 : (static_cast<MPI_Count>(count) - 1) * bounds.extent;
    const MPI_Count low = bounds.true_lower + std::min<MPI_Count>(0, last);
    const MPI_Count high = bounds.true_lower + bounds.true_extent + std::max<MPI_Count>(0, last);
    bytes_.resize(static_cast<std::size_t>(high - low + 128));
    for (std::byte& value : bytes_) value = static_cast<std::byte>(random.next() >> 56);
    origin_ = 64 - low;
  }
  void* base() {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(bytes_.data()) +
                                   static_cast<std::uintptr_t>(origin_));
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  MPI_Count origin_ = 0;
};

std::vector<std::byte> packed_by_library(MPI_Datatype type, std::uint64_t count, void* base) {
  int room = 0, position = 0;
  succeed(PMPI_Pack_size(static_cast<int>(count), type, MPI_COMM_SELF, &room), "MPI_Pack_size");
  std::vector<std::byte> packed(static_cast<std::size_t>(room) + 64);
  succeed(PMPI_Pack(base, static_cast<int>(count), type, packed.data(), static_cast<int>(packed.size()), &position,
                    MPI_COMM_SELF),
          "MPI_Pack");
  packed.resize(static_cast<std::size_t>(position));
  return packed;
}

MPI_Count elements_by_library(MPI_Datatype type, std::uint64_t bytes) {
  MPI_Status status = {};
  succeed(PMPI_Status_set_elements_x(&status, MPI_BYTE, static_cast<MPI_Count>(bytes)), "MPI_Status_set_elements_x");
  MPI_Count elements = 0;
  succeed(PMPI_Get_elements_x(&status, type, &elements), "MPI_Get_elements_x");
  return elements;
}

constexpr bool open_mpi = std::string_view(TRIREME_MPI_ABI) == "openmpi";

// Bytes that occur twice are received from either; the libraries pad differently, so ask what was read.
bool overlaps(const layout& flat, std::uint64_t count) {
  std::vector<std::pair<std::uintptr_t, std::uint64_t>> blocks;
  cursor where(flat, count, nullptr, 0);
  portion row;
  while (where.left() > 0) {
    where.next_row(where.left(), row);
    for (std::uint64_t i = 0; i < row.columns; ++i)
      blocks.emplace_back((std::uintptr_t{1} << 60) + row.place + i * static_cast<std::uintptr_t>(row.column_stride),
                          row.length);
  }
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 1; i < blocks.size(); ++i)
    if (blocks[i - 1].first + blocks[i - 1].second > blocks[i].first) return true;
  return false;
}

struct expectations {
  bool unpack = true;
  bool elements = true;
  bool loose_bounds = false;
};

// MPICH moves the ten bytes of a long double that mean something; the others become zero. So they are not compared.
void clear_padding(const layout& flat, std::uint64_t count, std::vector<std::byte>& packed) {
  for (std::uint64_t offset = 0; offset < packed.size();) {
    const element_run run = run_at(flat, count, offset);
    if (run.kind == element_kind::float80 || run.kind == element_kind::complex_float80)
      for (std::uint64_t i = 0; i < run.bytes; ++i)
        if (i % 16 >= 10) packed[offset + i] = std::byte{0};
    offset += run.bytes;
  }
}
bool has_padding(const type_description& what) {
  return what.kind == element_kind::float80 || std::any_of(what.old.begin(), what.old.end(), has_padding);
}

void expect_same(MPI_Datatype type, std::uint64_t count, random_types& random, expectations asked) {
  const library_bounds bounds(type);
  const owned_layout flat = encode(read_datatype(type));
  ASSERT_EQ(flat->size, static_cast<std::uint64_t>(bounds.size));
  EXPECT_EQ(flat->lower_bound, bounds.lower);
  EXPECT_EQ(flat->extent, bounds.extent);
  if (bounds.size == 0) return;  // without bytes there are none to have bounds; libraries say this or that
  if (open_mpi) {
    EXPECT_EQ(flat->true_lower_bound, bounds.true_lower);
    EXPECT_EQ(flat->true_extent, bounds.true_extent);
  } else {
    // MPICH leaves room around some distributed arrays.
    EXPECT_GE(flat->true_lower_bound, bounds.true_lower);
    EXPECT_LE(flat->true_lower_bound + flat->true_extent, bounds.true_lower + bounds.true_extent);
    EXPECT_TRUE(asked.loose_bounds ||
                (flat->true_lower_bound == bounds.true_lower && flat->true_extent == bounds.true_extent));
  }
  if (count == 0 || testing::Test::HasFailure()) return;

  library_memory memory(bounds, count, random);
  const typed_buffer buffer{flat.get(), count, memory.base()};
  const std::uint64_t bytes = buffer.bytes();
  std::vector<std::byte> expected = packed_by_library(type, count, memory.base());
  std::vector<std::byte> packed(bytes);
  const auto cut = static_cast<std::uint64_t>(random.between(0, static_cast<std::int64_t>(bytes)));
  pack(buffer, 0, cut, packed.data());
  pack(buffer, cut, bytes - cut, packed.data() + cut);
  clear_padding(*flat, count, packed);
  clear_padding(*flat, count, expected);
  ASSERT_EQ(packed, expected);

  if (asked.unpack && !overlaps(*flat, count)) {
    library_memory theirs = memory;
    for (std::byte& value : packed) value = static_cast<std::byte>(random.next() >> 56);
    int position = 0;
    succeed(PMPI_Unpack(packed.data(), static_cast<int>(packed.size()), &position, theirs.base(),
                        static_cast<int>(count), type, MPI_COMM_SELF),
            "MPI_Unpack");
    unpack(buffer, cut, bytes - cut, packed.data() + cut);
    unpack(buffer, 0, cut, packed.data());
    ASSERT_EQ(memory.bytes(), theirs.bytes());
  }
  for (int i = 0; asked.elements && i < 12; ++i) {
    const auto some = i == 0 ? bytes : static_cast<std::uint64_t>(random.between(0, static_cast<std::int64_t>(bytes)));
    const element_position ours = elements_in(*flat, count, some);
    // A status with part of an element has no number of elements; the libraries say so only for basic types, so ask for
    // whole ones.
    ASSERT_EQ(elements_by_library(type, some - ours.remainder), static_cast<MPI_Count>(ours.elements)) << some;
  }
}

bool is_distributed_array(const type_description& what) { return what.made_by == constructor::darray; }
bool any_part(const type_description& what, bool (*holds)(const type_description&)) {
  return holds(what) || std::any_of(what.old.begin(), what.old.end(),
                                    [&](const type_description& part) { return any_part(part, holds); });
}

// What the libraries get wrong, so that there is nothing to compare with. Open MPI 4.1 takes a distance of -1 byte for
// "none given", and packs some structs that have parts without bytes as if there were no gaps between them. MPICH 4.0
// divides by zero when it packs some types that have parts without bytes, and leaves room for such parts in structs;
// with negative extents, several instances are not packed from where MPI_Type_get_extent says they are.
bool library_is_wrong_about(const type_description& what) {
  const auto empty = [](const type_description& part) { return map_of(part).entries.empty(); };
  if (open_mpi)
    return (what.made_by == constructor::structure && std::any_of(what.old.begin(), what.old.end(), empty)) ||
           (what.made_by == constructor::hvector && what.stride == -1) ||
           (what.made_by == constructor::vector && what.stride * map_of(what.old[0]).extent() == -1);
  return empty(what) || (what.made_by == constructor::resized && what.extent < 0);
}

type_description type_for_library(random_types& random, bool with_overlaps) {
  for (;;) {
    type_description what = random.type({.entries = 1500, .overlaps = with_overlaps, .empty = open_mpi});
    if (!any_part(what, library_is_wrong_about)) return what;
  }
}

// What MPI_Get_elements of the library can be asked: MPICH 4.0 counts bytes of some structs for elements, and stops
// with a failed assertion at others.
bool library_counts_elements(const type_description& what) {
  if (open_mpi) return true;
  return what.made_by <= constructor::hindexed_block &&
         std::all_of(what.old.begin(), what.old.end(), library_counts_elements);
}

class with_library : public testing::TestWithParam<int> {};
constexpr int types_per_seed = 120;
INSTANTIATE_TEST_SUITE_P(seeds, with_library, testing::Range(0, 100));

TEST_P(with_library, random_types_pack_to_the_same_bytes) {
  random_types random(static_cast<std::uint64_t>(GetParam()) + 70000);
  int compared = 0;
  for (int i = 0; i < types_per_seed; ++i) {
    const type_description what = type_for_library(random, random.once_in(2));
    const auto count = static_cast<std::uint64_t>(random.once_in(2) ? 1 : random.between(0, 5));
    SCOPED_TRACE(std::to_string(count) + " of " + to_text(what));
    try {
      mpi_type type = make(what);
      type.commit();
      ++compared;
      const bool unpack = open_mpi || !has_padding(what);
      expect_same(type.get(), count, random,
                  {.unpack = unpack,
                   .elements = library_counts_elements(what),
                   .loose_bounds = any_part(what, is_distributed_array)});
    } catch (const refused_by_library& refusal) {
      // Open MPI makes no arrays of types without bytes.
      EXPECT_TRUE(open_mpi) << refusal.what();
    } catch (const std::runtime_error& error) {
      ADD_FAILURE() << error.what();
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(compared, types_per_seed * 9 / 10);
}

TEST(library, predefined_types_are_read) {
  struct named {
    const char* name;
    MPI_Datatype handle;
    std::uint64_t elements;
  };
  const named all[] = {
#define ONE(name) {#name, name, 1}
#define TWO(name) \
  { #name, name, 2 }
      ONE(MPI_BYTE),
      ONE(MPI_PACKED),
      ONE(MPI_CHAR),
      ONE(MPI_SIGNED_CHAR),
      ONE(MPI_UNSIGNED_CHAR),
      ONE(MPI_WCHAR),
      ONE(MPI_SHORT),
      ONE(MPI_UNSIGNED_SHORT),
      ONE(MPI_INT),
      ONE(MPI_UNSIGNED),
      ONE(MPI_LONG),
      ONE(MPI_UNSIGNED_LONG),
      ONE(MPI_LONG_LONG),
      ONE(MPI_UNSIGNED_LONG_LONG),
      ONE(MPI_FLOAT),
      ONE(MPI_DOUBLE),
      ONE(MPI_LONG_DOUBLE),
      ONE(MPI_C_BOOL),
      ONE(MPI_INT8_T),
      ONE(MPI_INT16_T),
      ONE(MPI_INT32_T),
      ONE(MPI_INT64_T),
      ONE(MPI_UINT8_T),
      ONE(MPI_UINT16_T),
      ONE(MPI_UINT32_T),
      ONE(MPI_UINT64_T),
      ONE(MPI_AINT),
      ONE(MPI_OFFSET),
      ONE(MPI_COUNT),
      ONE(MPI_C_COMPLEX),
      ONE(MPI_C_DOUBLE_COMPLEX),
      ONE(MPI_C_LONG_DOUBLE_COMPLEX),
      ONE(MPI_CXX_BOOL),
      ONE(MPI_CXX_FLOAT_COMPLEX),
      ONE(MPI_CXX_DOUBLE_COMPLEX),
      ONE(MPI_CXX_LONG_DOUBLE_COMPLEX),
      ONE(MPI_CHARACTER),
      ONE(MPI_LOGICAL),
      ONE(MPI_INTEGER),
      ONE(MPI_REAL),
      ONE(MPI_DOUBLE_PRECISION),
      ONE(MPI_COMPLEX),
      ONE(MPI_DOUBLE_COMPLEX),
      ONE(MPI_INTEGER1),
      ONE(MPI_INTEGER2),
      ONE(MPI_INTEGER4),
      ONE(MPI_INTEGER8),
      ONE(MPI_REAL4),
      ONE(MPI_REAL8),
      ONE(MPI_REAL16),
      ONE(MPI_COMPLEX8),
      ONE(MPI_COMPLEX16),
      ONE(MPI_COMPLEX32),
      TWO(MPI_FLOAT_INT),
      TWO(MPI_DOUBLE_INT),
      TWO(MPI_LONG_INT),
      TWO(MPI_SHORT_INT),
      TWO(MPI_LONG_DOUBLE_INT),
      TWO(MPI_2INT),
      TWO(MPI_2INTEGER),
      TWO(MPI_2REAL),
      TWO(MPI_2DOUBLE_PRECISION)
#undef ONE
#undef TWO
  };
  random_types random(1);
  for (const named& one : all) {
    if (one.handle == MPI_DATATYPE_NULL) continue;
    SCOPED_TRACE(one.name);
    const owned_layout flat = encode(read_datatype(one.handle));
    EXPECT_EQ(flat->elements, one.elements);
    // Of a pair the standard says that it is as if made by a struct or MPI_Type_contiguous: two elements. Open MPI
    // counts one, unless it is part of another type; MPICH divides by zero.
    const bool single = one.elements == 1;
    const bool unpack = open_mpi || flat->kind != element_kind::float80;
    const expectations asked{.unpack = unpack && flat->kind != element_kind::complex_float80, .elements = single};
    for (const std::uint64_t count : {1UL, 3UL}) expect_same(one.handle, count, random, asked);
    mpi_type vector = [&] {
      MPI_Datatype made = MPI_DATATYPE_NULL;
      succeed(MPI_Type_vector(3, 2, 4, one.handle, &made), "MPI_Type_vector");
      return mpi_type(made);
    }();
    vector.commit();
    expect_same(vector.get(), 2, random, {.unpack = asked.unpack, .elements = single || open_mpi});
  }
}

TEST(library, fortran_numbers_by_precision_are_read) {
  const auto kind = [](auto&& create) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    succeed(create(&made), "MPI_Type_create_f90_*");
    const owned_layout flat = encode(read_datatype(made));
    MPI_Datatype vector = MPI_DATATYPE_NULL;
    succeed(MPI_Type_vector(2, 1, 2, made, &vector), "MPI_Type_vector");
    EXPECT_EQ(encode(read_datatype(vector))->kind, flat->kind);
    MPI_Type_free(&vector);
    return flat->kind;
  };
  EXPECT_EQ(kind([](MPI_Datatype* made) { return MPI_Type_create_f90_real(6, MPI_UNDEFINED, made); }),
            element_kind::float32);
  EXPECT_EQ(kind([](MPI_Datatype* made) { return MPI_Type_create_f90_real(12, MPI_UNDEFINED, made); }),
            element_kind::float64);
  EXPECT_EQ(kind([](MPI_Datatype* made) { return MPI_Type_create_f90_complex(12, MPI_UNDEFINED, made); }),
            element_kind::complex_float64);
  EXPECT_EQ(kind([](MPI_Datatype* made) { return MPI_Type_create_f90_integer(9, made); }), element_kind::int32);
}

// Reading leaves no references behind: a type made of a keyval-carrying one calls the delete function when both are
// freed.
int freed = 0;
int count_freed(MPI_Datatype, int, void*, void*) {
  ++freed;
  return MPI_SUCCESS;
}
TEST(library, inner_types_are_released_after_reading) {
  int key = MPI_KEYVAL_INVALID;
  succeed(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, count_freed, &key, nullptr), "MPI_Type_create_keyval");
  MPI_Datatype inner = MPI_DATATYPE_NULL, outer = MPI_DATATYPE_NULL;
  succeed(MPI_Type_vector(3, 1, 2, MPI_INT, &inner), "MPI_Type_vector");
  succeed(MPI_Type_set_attr(inner, key, nullptr), "MPI_Type_set_attr");
  succeed(MPI_Type_contiguous(4, inner, &outer), "MPI_Type_contiguous");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(read_datatype(outer).size(), 48u);
  MPI_Type_free(&inner);
  MPI_Type_free(&outer);
  EXPECT_EQ(freed, 1);
  MPI_Type_free_keyval(&key);
}

// Programs from before MPI-3 still bring them.
TEST(library, markers_of_bounds_are_read) {
  MPI_Datatype types[] = {lower_marker, MPI_DOUBLE, upper_marker}, marked = MPI_DATATYPE_NULL;
  const int lengths[] = {1, 1, 1};
  const MPI_Aint places[] = {-4, 8, 40};
  succeed(MPI_Type_create_struct(3, lengths, places, types, &marked), "MPI_Type_create_struct");
  mpi_type type(marked);
  type.commit();
  const datatype read = read_datatype(type.get());
  EXPECT_EQ(read.lower_bound(), -4);
  EXPECT_EQ(read.extent(), 44);
  EXPECT_EQ(read.true_lower_bound(), 8);
  random_types random(7);
  expect_same(type.get(), 3, random, {.elements = open_mpi});
}

TEST(library, what_cannot_be_read_is_named) {
  try {
    read_datatype(MPI_DATATYPE_NULL);
    FAIL() << "nothing was thrown";
  } catch (const unsupported_datatype& error) {
    EXPECT_NE(std::string(error.what()).find("MPI_DATATYPE_NULL"), std::string::npos) << error.what();
  }
}

// Every element of an array that is dealt out belongs to exactly one process, and to the one the library says.
TEST(library, distributed_arrays_of_all_kinds) {
  random_types random(5);
  for (int how = 0; how < 9; ++how)
    for (const array_order order : {array_order::c, array_order::fortran})
      for (const std::int64_t argument : {default_argument, std::int64_t{2}, std::int64_t{3}, std::int64_t{7}}) {
        type_description array;
        array.made_by = constructor::darray;
        array.order = order;
        array.old = {{.kind = element_kind::float64}};
        array.sizes = {7, 5, 6};
        array.distributions = {static_cast<distribution>(how % 3), static_cast<distribution>(how / 3),
                               distribution::cyclic};
        for (const distribution one : array.distributions) {
          array.grid.push_back(one == distribution::none ? 1 : 2);
          const std::size_t at = array.grid.size() - 1;
          const std::int64_t least = (array.sizes[at] + 1) / 2;
          array.arguments.push_back(
              one == distribution::block && argument != default_argument ? std::max(least, argument) : argument);
        }
        array.processes = array.grid[0] * array.grid[1] * array.grid[2];
        std::multiset<std::int64_t> owned;
        for (array.rank = 0; array.rank < array.processes; ++array.rank) {
          SCOPED_TRACE(to_text(array));
          mpi_type type = make(array);
          type.commit();
          for (const std::uint64_t count : {1UL, 2UL})
            expect_same(type.get(), count, random, {.elements = open_mpi, .loose_bounds = true});
          for (const type_map::entry& one : map_of(array).entries) owned.insert(one.displacement / 8);
          if (HasFatalFailure()) return;
        }
        std::multiset<std::int64_t> all;
        for (std::int64_t element = 0; element < 7 * 5 * 6; ++element) all.insert(element);
        EXPECT_EQ(owned, all);
      }
}

// With limits in place of the largest int: several elements in a call, one, and elements that are larger than a call
// takes. Messages end between elements and inside of them.
TEST(library, packs_any_number_of_bytes_for_us) {
  const int lengths[] = {2, 1, 3};
  const MPI_Aint places[] = {40, 0, 16};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  succeed(MPI_Type_create_struct(3, lengths, places, types, &type), "MPI_Type_create_struct");
  succeed(MPI_Type_commit(&type), "MPI_Type_commit");
  constexpr std::size_t element = 22, count = 10;
  random_types random(11);
  const library_bounds bounds(type);
  library_memory from(bounds, count, random);
  std::vector<std::byte> expected(element * count);
  int end = 0;
  succeed(MPI_Pack(from.base(), count, type, expected.data(), static_cast<int>(expected.size()), &end, MPI_COMM_SELF),
          "MPI_Pack");
  ASSERT_EQ(end, static_cast<int>(expected.size()));
  for (const std::size_t limit : {most_packed_at_once, std::size_t{100}, element, element - 1, std::size_t{1}}) {
    std::vector<std::byte> packed(expected.size());
    pack_by_library(from.base(), count, type, packed.data(), limit);
    EXPECT_EQ(packed, expected) << limit;
    for (const std::size_t bytes : {expected.size(), 5 * element, 5 * element + 9, std::size_t{3}, std::size_t{0}}) {
      library_memory to(bounds, count, random);
      std::vector<std::byte> after(expected.size());
      pack_by_library(to.base(), count, type, after.data());
      std::copy_n(expected.begin(), bytes, after.begin());  // only these change
      unpack_by_library(expected.data(), bytes, to.base(), count, type, limit);
      pack_by_library(to.base(), count, type, packed.data());
      EXPECT_EQ(packed, after) << limit << " " << bytes;
    }
  }
  MPI_Type_free(&type);
}

#if MPI_VERSION >= 4
TEST(library, types_with_large_counts_are_read) {
  random_types random(6);
  const MPI_Count two = 2, three = 3, five = 5;
  const MPI_Count lengths[] = {2, 1, 3}, places[] = {1, 8, 20}, sizes[] = {4, 5}, parts[] = {2, 3}, starts[] = {1, 1};
  MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_BYTE};
  MPI_Datatype made[8];
  succeed(MPI_Type_contiguous_c(three, MPI_DOUBLE, &made[0]), "MPI_Type_contiguous_c");
  succeed(MPI_Type_vector_c(three, two, five, MPI_INT, &made[1]), "MPI_Type_vector_c");
  succeed(MPI_Type_create_hvector_c(three, two, 40, MPI_INT, &made[2]), "MPI_Type_create_hvector_c");
  succeed(MPI_Type_indexed_c(3, lengths, places, MPI_INT, &made[3]), "MPI_Type_indexed_c");
  succeed(MPI_Type_create_hindexed_c(3, lengths, places, MPI_INT, &made[4]), "MPI_Type_create_hindexed_c");
  succeed(MPI_Type_create_struct_c(3, lengths, places, types, &made[5]), "MPI_Type_create_struct_c");
  succeed(MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &made[6]),
          "MPI_Type_create_subarray_c");
  succeed(MPI_Type_create_resized_c(made[1], -4, 100, &made[7]), "MPI_Type_create_resized_c");
  for (MPI_Datatype& type : made) {
    succeed(MPI_Type_commit(&type), "MPI_Type_commit");
    expect_same(type, 1, random, {.elements = open_mpi});
    expect_same(type, 3, random, {.elements = open_mpi});
  }
  for (MPI_Datatype& type : made) MPI_Type_free(&type);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int result = RUN_ALL_TESTS();
  MPI_Finalize();
  return result;
}
