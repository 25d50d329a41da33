// The plug-in: hdf5_calls over the library of HDF5, which is not parallel and may be called by one thread at a time. A
// shared library of its own that a process loads with its first file of HDF5. It contains no other code of Trireme.
//
// Types: numbers as NumPy and h5py have them, so complex ones are a compound of "r" and "i", and truth an enumeration.
#include <hdf5.h>

#include <array>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "arrays/files/hdf5_calls.hpp"

namespace tri::arrays {
namespace {

/// What the library has to say about the last failure: the innermost of its messages.
std::string last_error() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_DOWNWARD,
      [](unsigned, const H5E_error2_t* error, void* into) -> herr_t {
        if (error->desc != nullptr) *static_cast<std::string*>(into) = error->desc;
        return 0;
      },
      &text);
  return text;
}
[[noreturn]] void fail(const std::string& what) {
  const std::string why = last_error();
  throw std::runtime_error(why.empty() ? what : what + " (HDF5: " + why + ")");
}

/// An identifier of the library, closed by one of its functions.
class handle {
 public:
  handle(hid_t id, herr_t (*closing)(hid_t), const char* what) : id_(id), close_(closing) {
    if (id_ < 0) fail(what);
  }
  handle(handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  ~handle() {
    if (id_ >= 0) close_(id_);
  }
  hid_t get() const { return id_; }
  /// For what shows only then that writing failed.
  void close(const char* what) {
    if (close_(std::exchange(id_, -1)) < 0) fail(what);
  }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};
void check(herr_t result, const char* what) {
  if (result < 0) fail(what);
}

/// In every call of the library: one thread at a time, and its messages are not printed but thrown.
class inside {
 public:
  inside() : lock_(mutex_) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5Eclear2(H5E_DEFAULT);
  }
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;
  ~inside() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

 private:
  static inline std::mutex mutex_;
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

// ---- types

hid_t number_type(element_type type) {
  const bool is_signed = type.kind == element_kind::signed_integer;
  if (type.kind == element_kind::floating_point) {
    if (type.bytes == sizeof(float)) return H5T_NATIVE_FLOAT;
    if (type.bytes == sizeof(double)) return H5T_NATIVE_DOUBLE;
    if (type.bytes == sizeof(long double)) return H5T_NATIVE_LDOUBLE;
  } else if (is_signed || type.kind == element_kind::unsigned_integer) {
    switch (type.bytes) {
      case 1:
        return is_signed ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8;
      case 2:
        return is_signed ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16;
      case 4:
        return is_signed ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32;
      case 8:
        return is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
      default:
        break;
    }
  }
  throw std::runtime_error("HDF5 has no type for elements of " + std::to_string(type.bytes) + " bytes");
}

/// As it is in memory.
handle memory_type(element_type type) {
  switch (type.kind) {
    case element_kind::boolean: {
      handle truth(H5Tenum_create(H5T_NATIVE_INT8), &H5Tclose, "an enumeration");
      for (const std::int8_t value : {std::int8_t{0}, std::int8_t{1}})
        check(H5Tenum_insert(truth.get(), value == 0 ? "FALSE" : "TRUE", &value), "a value of an enumeration");
      return truth;
    }
    case element_kind::complex: {
      const hid_t part = number_type({element_kind::floating_point, type.bytes / 2});
      handle pair(H5Tcreate(H5T_COMPOUND, type.bytes), &H5Tclose, "a compound");
      check(H5Tinsert(pair.get(), "r", 0, part), "a member of a compound");
      check(H5Tinsert(pair.get(), "i", type.bytes / 2, part), "a member of a compound");
      return pair;
    }
    case element_kind::bytes:
      return {H5Tcreate(H5T_OPAQUE, type.bytes), &H5Tclose, "an opaque type"};
    default:
      return {H5Tcopy(number_type(type)), &H5Tclose, "a copy of a type"};
  }
}

bool is_truth(hid_t type) {
  return H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2 && H5Tget_member_index(type, "FALSE") >= 0 &&
         H5Tget_member_index(type, "TRUE") >= 0;
}
bool is_complex(hid_t type) {
  if (H5Tget_nmembers(type) != 2 || H5Tget_member_index(type, "r") != 0 || H5Tget_member_index(type, "i") != 1)
    return false;
  for (const unsigned member : {0U, 1U}) {
    const handle part(H5Tget_member_type(type, member), &H5Tclose, "the type of a member");
    if (H5Tget_class(part.get()) != H5T_FLOAT || 2 * H5Tget_size(part.get()) != H5Tget_size(type)) return false;
  }
  return true;
}

element_type type_of(hid_t type) {
  const auto bytes = static_cast<std::uint32_t>(H5Tget_size(type));
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return {H5Tget_sign(type) == H5T_SGN_NONE ? element_kind::unsigned_integer : element_kind::signed_integer, bytes};
    case H5T_FLOAT:
      return {element_kind::floating_point, bytes};
    case H5T_OPAQUE:
      return {element_kind::bytes, bytes};
    case H5T_ENUM:
      if (is_truth(type)) return {element_kind::boolean, bytes};
      break;
    case H5T_COMPOUND:
      if (is_complex(type)) return {element_kind::complex, bytes};
      break;
    default:
      break;
  }
  throw std::runtime_error("its elements are neither numbers nor plain data: " + std::to_string(bytes) +
                           " bytes of a type that is none of a global array");
}

// ---- data sets

handle open_file(const std::string& path) {
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), &H5Fclose, "it cannot be opened"};
}

std::string names_in(hid_t file) {
  std::string names;
  for (hsize_t i = 0; i < 10; ++i) {
    std::array<char, 64> name{};
    if (H5Lget_name_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, i, name.data(), name.size(), H5P_DEFAULT) < 0) break;
    names += std::string(i == 0 ? "" : ", ") + name.data();
  }
  return names.empty() ? "nothing" : names;
}
handle open_data_set(hid_t file, const std::string& name) {
  const hid_t opened = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  if (opened < 0)
    throw std::runtime_error("it has no data set '" + name + "' (file_options::data_set); it has " + names_in(file));
  return {opened, &H5Dclose, ""};
}

std::vector<std::int64_t> extents_of(hid_t data_set) {
  const handle space(H5Dget_space(data_set), &H5Sclose, "its extents");
  const int dimensions = H5Sget_simple_extent_ndims(space.get());
  if (dimensions < 0) fail("its extents");
  std::vector<hsize_t> found(static_cast<std::size_t>(dimensions));
  if (dimensions > 0 && H5Sget_simple_extent_dims(space.get(), found.data(), nullptr) < 0) fail("its extents");
  return {found.begin(), found.end()};
}

/// -1: its elements are not one behind the other as they are in memory.
std::int64_t place_in_file(hid_t data_set, hid_t type, element_type element) {
  const handle properties(H5Dget_create_plist(data_set), &H5Pclose, "its properties");
  if (H5Pget_layout(properties.get()) != H5D_CONTIGUOUS || H5Pget_external_count(properties.get()) != 0) return -1;
  if (H5Tequal(type, memory_type(element).get()) <= 0) return -1;
  const haddr_t place = H5Dget_offset(data_set);
  return place == HADDR_UNDEF ? -1 : static_cast<std::int64_t>(place);
}

class open_set final : public hdf5_data_set {
 public:
  open_set(const std::string& path, const std::string& name, element_type type)
      : file_(open_file(path)), set_(open_data_set(file_.get(), name)), type_(memory_type(type)) {
    dimensions_ = extents_of(set_.get()).size();
  }
  open_set(const open_set&) = delete;
  open_set& operator=(const open_set&) = delete;

  void read(const std::int64_t* first, const std::int64_t* last, std::byte* memory) override {
    const inside guard;
    std::array<hsize_t, most_array_dimensions> begin{};
    std::array<hsize_t, most_array_dimensions> count{};
    for (std::size_t d = 0; d < dimensions_; ++d) {
      begin[d] = static_cast<hsize_t>(first[d]);
      count[d] = static_cast<hsize_t>(last[d] - first[d]);
    }
    const handle there(H5Dget_space(set_.get()), &H5Sclose, "its extents");
    check(H5Sselect_hyperslab(there.get(), H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr),
          "a part of it cannot be selected");
    const handle here(H5Screate_simple(static_cast<int>(dimensions_), count.data(), nullptr), &H5Sclose, "its extents");
    check(H5Dread(set_.get(), type_.get(), here.get(), there.get(), H5P_DEFAULT, memory),
          "a part of it cannot be read");
  }

 private:
  handle file_;
  handle set_;
  handle type_;
  std::size_t dimensions_ = 0;
};

/// Closing calls the library, too.
class locked_set final : public hdf5_data_set {
 public:
  explicit locked_set(std::unique_ptr<open_set> set) : set_(std::move(set)) {}
  locked_set(const locked_set&) = delete;
  locked_set& operator=(const locked_set&) = delete;
  ~locked_set() override {
    const inside guard;
    set_.reset();
  }
  void read(const std::int64_t* first, const std::int64_t* last, std::byte* memory) override {
    set_->read(first, last, memory);
  }

 private:
  std::unique_ptr<open_set> set_;
};

class library_calls final : public hdf5_calls {
 public:
  std::int64_t create(const std::string& path, const std::string& name, const array_in_file& array) override {
    const inside guard;
    handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), &H5Fclose, "it cannot be made");
    std::array<hsize_t, most_array_dimensions> extents{};
    for (std::size_t d = 0; d < extents.size(); ++d) extents[d] = static_cast<hsize_t>(array.extents[d]);
    const handle space(H5Screate_simple(array.dimensions, extents.data(), nullptr), &H5Sclose, "extents");
    const handle links(H5Pcreate(H5P_LINK_CREATE), &H5Pclose, "properties");
    check(H5Pset_create_intermediate_group(links.get(), 1), "properties");
    // In one piece that is there at once, and that the library does not fill: all PEs write into it.
    const handle properties(H5Pcreate(H5P_DATASET_CREATE), &H5Pclose, "properties");
    check(H5Pset_layout(properties.get(), H5D_CONTIGUOUS), "properties");
    check(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY), "properties");
    check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), "properties");
    handle set(H5Dcreate2(file.get(), name.c_str(), memory_type(array.type).get(), space.get(), links.get(),
                          properties.get(), H5P_DEFAULT),
               &H5Dclose, ("the data set '" + name + "' cannot be made").c_str());
    const haddr_t place = H5Dget_offset(set.get());
    set.close("it cannot be completed");
    file.close("it cannot be completed");
    return place == HADDR_UNDEF ? 0 : static_cast<std::int64_t>(place);  // undefined: it has no elements
  }

  hdf5_contents inspect(const std::string& path, const std::string& name) override {
    const inside guard;
    const handle file = open_file(path);
    const handle set = open_data_set(file.get(), name);
    const handle type(H5Dget_type(set.get()), &H5Tclose, "its type");
    hdf5_contents found;
    found.type = type_of(type.get());
    found.extents = extents_of(set.get());
    found.data_begins = place_in_file(set.get(), type.get(), found.type);
    return found;
  }

  std::unique_ptr<hdf5_data_set> open(const std::string& path, const std::string& name, element_type type) override {
    const inside guard;
    return std::make_unique<locked_set>(std::make_unique<open_set>(path, name, type));
  }
};

}  // namespace
}  // namespace tri::arrays

extern "C" [[gnu::visibility("default")]] tri::arrays::hdf5_calls* trireme_hdf5(int version) {
  static tri::arrays::library_calls calls;
  return version == tri::arrays::hdf5_calls::version ? &calls : nullptr;
}
