#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "arrays/files/element_range.hpp"
#include "arrays/files/hdf5_calls.hpp"
#include "arrays/files/shared_file.hpp"
#include "os/plug_in.hpp"
#include "os/unique_fd.hpp"

namespace tri::arrays {
namespace {

hdf5_calls& load() {
  constexpr const char* file = "libtrireme-hdf5.so";
  std::string reason;
  void* const library = os::load_plug_in(file, reason);
  if (library == nullptr)
    throw std::runtime_error(
        fmt::format("files of HDF5 need {}, which cannot be loaded ({}); it is built where HDF5 is installed (Debian: "
                    "libhdf5-dev), and no part of builds with sanitizers; .npy files need nothing",
                    file, reason));
  auto* const function = reinterpret_cast<hdf5_function*>(dlsym(library, "trireme_hdf5"));
  hdf5_calls* const calls = function == nullptr ? nullptr : function(hdf5_calls::version);
  if (calls == nullptr) throw std::runtime_error(fmt::format("{} is of another build of Trireme", file));
  return *calls;
}

/// Where the library may write: it wants a path (memfd_create makes a file that has none). Removed at the end.
class file_in_memory {
 public:
  explicit file_in_memory(const shared_file& meant) : file_(mkostemp(path_.data(), O_CLOEXEC)) {
    if (!file_) meant.fail(fmt::format("{}: {}", path_, std::strerror(errno)));
  }
  file_in_memory(const file_in_memory&) = delete;
  file_in_memory& operator=(const file_in_memory&) = delete;
  ~file_in_memory() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }
  int descriptor() const { return file_.get(); }

 private:
  std::string path_ = "/dev/shm/trireme-hdf5-XXXXXX";
  os::unique_fd file_;
};

/// Copies what a file in memory has, without its holes: the elements, which are not there yet.
void copy_without_holes(int from, std::int64_t bytes, const shared_file& to) {
  std::vector<std::byte> memory;
  for (off_t begin = 0; (begin = lseek(from, begin, SEEK_DATA)) >= 0 && begin < bytes;) {
    const off_t end = lseek(from, begin, SEEK_HOLE);
    memory.resize(static_cast<std::size_t>(end - begin));
    if (pread(from, memory.data(), memory.size(), begin) != end - begin) to.fail(std::strerror(errno));
    to.write(begin, memory);
    begin = end;
  }
}

}  // namespace

std::int64_t write_hdf5_header(const shared_file& file, const std::string& data_set, const array_in_file& array) {
  const std::span extents(array.extents.data(), static_cast<std::size_t>(array.dimensions));
  constexpr std::int64_t more_than_its_descriptions = 1 << 16;
  file.set_size(volume_of(extents) * array.type.bytes + more_than_its_descriptions);  // or it is too large
  const file_in_memory image(file);
  std::int64_t data_begins = 0;
  try {
    data_begins = hdf5().create(image.path(), data_set, array);
  } catch (const std::exception& error) {
    file.fail(error.what());
  }
  struct stat made {};
  if (fstat(image.descriptor(), &made) != 0) file.fail(std::strerror(errno));
  copy_without_holes(image.descriptor(), made.st_size, file);
  file.set_size(made.st_size);
  return data_begins;
}

hdf5_calls& hdf5() {
  static hdf5_calls& calls = load();  // after an error the next call tries again
  return calls;
}

}  // namespace tri::arrays
