#include "arrays/files/opened_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "arrays/files/element_range.hpp"
#include "arrays/files/element_text.hpp"
#include "arrays/files/hdf5_calls.hpp"
#include "arrays/files/npy_header.hpp"
#include "arrays/files/text_file.hpp"

namespace tri::arrays {
namespace {

std::string describe_extents(std::span<const std::int64_t> extents) {
  return fmt::format("({})", fmt::join(extents, ", "));
}

found_array inspect_npy(const shared_file& file) {
  npy_contents header = parse_npy_header(beginning_of(file, most_bytes_of_npy_header));
  return {.format = file_format::npy,
          .type = header.type,
          .extents = std::move(header.extents),
          .is_fortran_order = header.is_fortran_order,
          .data_begins = header.data_begins};
}
found_array inspect_text(const shared_file& file) {
  text_contents header = parse_text_header(beginning_of(file, most_bytes_of_text_header));
  return {.format = file_format::text,
          .is_described = header.has_header,
          .type = header.type,
          .extents = std::move(header.extents),
          .data_begins = header.data_begins};
}
found_array inspect_hdf5(const std::string& path, const std::string& data_set) {
  hdf5_contents header = hdf5().inspect(path, data_set);
  return {.format = file_format::hdf5,
          .type = header.type,
          .extents = std::move(header.extents),
          .data_begins = header.data_begins};
}

/// A file is no proof of sizes that fit: their product is counted without overflow.
bool has_as_many_bytes(const found_array& found) {
  std::int64_t bytes = found.type.bytes;
  for (const std::int64_t extent : found.extents) {
    if (extent != 0 && bytes > std::numeric_limits<std::int64_t>::max() / extent) return false;
    bytes *= extent;
  }
  if (found.format == file_format::hdf5) return bytes <= found.bytes - found.data_begins;  // more may be in it
  return bytes == found.bytes - found.data_begins;
}

}  // namespace

file_format format_of(const std::string& path, file_format wanted) {
  if (wanted != file_format::by_name) return wanted;
  if (path.ends_with(".npy")) return file_format::npy;
  if (path.ends_with(".txt")) return file_format::text;
  if (path.ends_with(".h5") || path.ends_with(".hdf5")) return file_format::hdf5;
  throw std::runtime_error(fmt::format(
      "{}: the end of its name says no format; .npy, .txt, .h5 and .hdf5 do, and so does file_options::format", path));
}

std::string beginning_of(const shared_file& file, std::size_t most) {
  std::string text(most, '\0');
  text.resize(file.read_some(0, std::as_writable_bytes(std::span(text))));
  return text;
}

found_array inspect(const std::string& path, const file_options& options) {
  if (options.bytes_at_once < 1)
    throw std::runtime_error(
        fmt::format("{}: file_options::bytes_at_once is {}; it must be at least 1", path, options.bytes_at_once));
  const file_format format = format_of(path, options.format);
  const shared_file file = shared_file::for_reading(path);
  try {
    found_array found = format == file_format::npy    ? inspect_npy(file)
                        : format == file_format::text ? inspect_text(file)
                                                      : inspect_hdf5(path, options.data_set);
    found.bytes = file.size();
    return found;
  } catch (const file_error&) {
    throw;
  } catch (const std::exception& error) {
    file.fail(error.what());
  }
}

void check_type(const std::string& path, const found_array& found, element_type type, int dimensions) {
  if (!found.is_described) return;
  const auto refuse = [&](const std::string& why) { throw std::runtime_error(fmt::format("{}: {}", path, why)); };
  if (found.type != type)
    refuse(fmt::format("its elements are {}; those of the array are {}", name_of(found.type), name_of(type)));
  if (found.extents.size() != static_cast<std::size_t>(dimensions))
    refuse(fmt::format("the array in it has the extents {}, so {} dimensions; asked for is one of {}",
                       describe_extents(found.extents), found.extents.size(), dimensions));
}

void check_shape(const std::string& path, const found_array& found, const array_in_file& array) {
  check_type(path, found, array.type, array.dimensions);
  const std::span extents(array.extents.data(), static_cast<std::size_t>(array.dimensions));
  if (found.is_described && !std::ranges::equal(found.extents, extents))
    throw std::runtime_error(fmt::format("{}: the array in it has the extents {}; this one has {}", path,
                                         describe_extents(found.extents), describe_extents(extents)));
  if (found.format != file_format::text && found.data_begins >= 0 && !has_as_many_bytes(found))
    throw std::runtime_error(fmt::format("{}: it has {} bytes behind its header; {} elements of {} bytes are {}", path,
                                         found.bytes - found.data_begins, volume_of(extents), array.type.bytes,
                                         volume_of(extents) * array.type.bytes));
}

}  // namespace tri::arrays
