// Dumps and loads of arrays, as all PEs do them together. A file is divided into one part for each PE, which is long
// and in one piece, whatever the tiles are: the PE gets the elements of its part from their owners, or gives them to
// them.
#include "trireme/array_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "arrays/files/agreement.hpp"
#include "arrays/files/element_range.hpp"
#include "arrays/files/element_text.hpp"
#include "arrays/files/hdf5_calls.hpp"
#include "arrays/files/npy_header.hpp"
#include "arrays/files/opened_file.hpp"
#include "arrays/files/progress.hpp"
#include "arrays/files/shared_file.hpp"
#include "arrays/files/text_file.hpp"
#include "os/output_file.hpp"
#include "trireme/fence.hpp"

namespace tri::arrays {

void throw_error_of_any(const std::string& own) {
  const team all = team::world();
  const int first = all.allreduce(own.empty() ? pe_count() : this_pe(), minimum).get();
  if (first == pe_count()) return;
  const std::string text = all.broadcast(own, first).get();
  throw file_error(pe_count() == 1 ? text : fmt::format("{} (PE {})", text, first));
}

namespace {

std::span<const std::int64_t> extents_of(const array_in_file& array) {
  return {array.extents.data(), static_cast<std::size_t>(array.dimensions)};
}
std::int64_t bytes_of(const array_in_file& array, std::int64_t elements) { return elements * array.type.bytes; }
std::vector<std::byte> memory_for(const array_in_file& array, std::int64_t elements) {
  return std::vector<std::byte>(static_cast<std::size_t>(bytes_of(array, elements)));
}

/// Elements begin..end between the array and memory, where they lie as in the file.
void transfer(const array_in_file& array, std::int64_t begin, std::int64_t end, std::byte* memory, box_transfer boxes) {
  for_each_box(extents_of(array), begin, end,
               [&](const file_extents& first, const file_extents& last, std::int64_t before) {
                 boxes(first.data(), last.data(), memory + bytes_of(array, before));
               });
}

/// A file to which parts of an array are written.
struct target_file {
  std::string written_path;
  file_format format = file_format::npy;
  std::int64_t data_begins = 0;
  std::int64_t at_once = 1;  // elements

  template <class Archive>
  void serialize(Archive& archive) {
    archive(written_path, format, data_begins, at_once);
  }
};

target_file make_target(const array_in_file& array, const std::string& path, const file_options& options,
                        std::optional<os::output_file>& file) {
  target_file made;
  made.format = format_of(path, options.format);
  if (options.bytes_at_once < 1)
    throw std::runtime_error(
        fmt::format("{}: file_options::bytes_at_once is {}; it must be at least 1", path, options.bytes_at_once));
  made.at_once = elements_at_once(array, options.bytes_at_once, pe_count());
  if (made.format == file_format::text && !has_text(array.type))
    throw std::runtime_error(
        fmt::format("{}: text has numbers, and the elements are {}; .npy files take those", path, name_of(array.type)));
  if (made.format == file_format::hdf5) (void)hdf5();  // there is one, before a file is made
  file.emplace(path, os::output_kind::regular_file);
  made.written_path = file->written_path();
  if (made.format == file_format::hdf5) {
    made.data_begins = write_hdf5_header(shared_file::for_writing(path, made.written_path), options.data_set, array);
  } else {
    const std::string header = made.format == file_format::npy ? npy_header(array) : text_header(array);
    shared_file::for_writing(path, made.written_path).write(0, std::as_bytes(std::span(header)));
    made.data_begins = static_cast<std::int64_t>(header.size());
  }
  return made;
}

void dump_binary(const array_in_file& array, const std::string& path, const target_file& target, progress_line when,
                 box_transfer get) {
  throw_error_of_any(error_of([&] {
    const std::int64_t unit = target.at_once;
    const element_range own = part_of(volume_of(extents_of(array)), unit, this_pe(), pe_count());
    shared_file file = shared_file::for_writing(path, target.written_path);
    std::vector<std::byte> memory = memory_for(array, std::min(unit, own.end - own.begin));
    progress_of_file progress("dumping", path, when, (own.end - own.begin + unit - 1) / unit);
    for (std::int64_t begin = own.begin; begin < own.end; begin += unit) {
      const std::int64_t end = std::min(begin + unit, own.end);
      transfer(array, begin, end, memory.data(), get);
      file.write(target.data_begins + bytes_of(array, begin),
                 std::span(memory).first(static_cast<std::size_t>(bytes_of(array, end - begin))));
      progress.step();
    }
    file.close();
  }));
}

// How long a text is shows when it is there: PEs take turns with pieces, and learn in each round where theirs begins.
void dump_text(const array_in_file& array, const std::string& path, const target_file& target, progress_line when,
               box_transfer get) {
  const team all = team::world();
  const std::int64_t unit = target.at_once, count = volume_of(extents_of(array));
  const std::int64_t units = (count + unit - 1) / unit;
  const std::int64_t rounds = (units + pe_count() - 1) / pe_count();
  std::optional<shared_file> file;
  std::string problem = error_of([&] { file.emplace(shared_file::for_writing(path, target.written_path)); });
  std::vector<std::byte> memory = memory_for(array, std::min(unit, count));
  progress_of_file progress("dumping", path, when, rounds);
  std::int64_t written = target.data_begins;
  for (std::int64_t round = 0; round < rounds; ++round) {
    const std::int64_t begin = std::min((round * pe_count() + this_pe()) * unit, count);
    const std::int64_t end = std::min(begin + unit, count);
    std::string text;
    if (problem.empty())
      problem = error_of([&] {
        transfer(array, begin, end, memory.data(), get);
        text = text_of_elements(array, begin,
                                std::span(memory).first(static_cast<std::size_t>(bytes_of(array, end - begin))));
      });
    const auto length = static_cast<std::int64_t>(text.size());
    future<std::optional<std::int64_t>> before = all.exscan(length, sum);
    future<std::int64_t> of_all = all.allreduce(length, sum);
    const std::int64_t at = written + before.get().value_or(0);
    if (problem.empty()) problem = error_of([&] { file->write(at, std::as_bytes(std::span(text))); });
    written += of_all.get();
    progress.step();
  }
  if (problem.empty()) problem = error_of([&] { file->close(); });
  throw_error_of_any(problem);
}

/// The array as its file has it: in Fortran's order the last dimension comes first.
array_in_file as_in_file(array_in_file array, const found_array& found) {
  if (!found.is_fortran_order) return array;
  std::reverse(array.extents.begin(), array.extents.begin() + array.dimensions);
  std::reverse(array.tile.begin(), array.tile.begin() + array.dimensions);
  return array;
}

/// Elements that lie column by column, of a box with these extents, row by row.
void turn_to_rows(std::span<const std::int64_t> extents, std::uint32_t bytes, const std::byte* columns,
                  std::byte* rows) {
  file_extents at{};
  const std::int64_t count = volume_of(extents);
  for (std::int64_t number = 0; number < count; ++number, rows += bytes) {
    std::int64_t from = 0;
    for (std::size_t d = extents.size(); d-- > 0;) from = from * extents[d] + at[d];
    std::copy_n(columns + from * bytes, bytes, rows);
    for (std::size_t d = extents.size(); d-- > 0 && ++at[d] == extents[d];) at[d] = 0;
  }
}

/// Puts boxes of a file in Fortran's order, which are named and lie the other way round.
void put_turned(const array_in_file& array, const std::int64_t* first, const std::int64_t* last,
                const std::byte* memory, std::vector<std::byte>& turned, box_transfer put) {
  file_extents begin{};
  file_extents end{};
  file_extents extents{};
  const auto dimensions = static_cast<std::size_t>(array.dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) {
    begin[d] = first[dimensions - 1 - d];
    end[d] = last[dimensions - 1 - d];
    extents[d] = end[d] - begin[d];
  }
  const std::span box(extents.data(), dimensions);
  turned.resize(static_cast<std::size_t>(bytes_of(array, volume_of(box))));
  turn_to_rows(box, array.type.bytes, memory, turned.data());
  put(begin.data(), end.data(), turned.data());
}

/// Reads elements begin..end of the file into memory.
using element_reader = os::function_ref<void(std::int64_t begin, std::int64_t end, std::byte* memory)>;

void load_elements(const array_in_file& given, const std::string& path, const found_array& found,
                   std::int64_t bytes_at_once, progress_line when, element_reader read, box_transfer put) {
  const array_in_file array = as_in_file(given, found);
  const std::int64_t unit = elements_at_once(array, bytes_at_once, pe_count());
  const element_range own = part_of(volume_of(extents_of(array)), unit, this_pe(), pe_count());
  std::vector<std::byte> memory = memory_for(array, std::min(unit, own.end - own.begin));
  std::vector<std::byte> turned;
  progress_of_file progress("loading", path, when, (own.end - own.begin + unit - 1) / unit);
  for (std::int64_t begin = own.begin; begin < own.end; begin += unit) {
    const std::int64_t end = std::min(begin + unit, own.end);
    read(begin, end, memory.data());
    transfer(array, begin, end, memory.data(),
             [&](const std::int64_t* first, const std::int64_t* last, std::byte* elements) {
               if (found.is_fortran_order)
                 put_turned(given, first, last, elements, turned, put);
               else
                 put(first, last, elements);
             });
    progress.step();
  }
}

shared_file open_the_same(const std::string& path, const found_array& found) {
  shared_file file = shared_file::for_reading(path);
  if (file.size() != found.bytes)
    file.fail(fmt::format("it has {} bytes here and {} for PE 0: all hosts must see the same file", file.size(),
                          found.bytes));
  return file;
}

void load_binary(const array_in_file& array, const std::string& path, const found_array& found,
                 const file_options& options, box_transfer put) {
  throw_error_of_any(error_of([&] {
    const shared_file file = open_the_same(path, found);
    if (found.data_begins >= 0)
      return load_elements(
          array, path, found, options.bytes_at_once, options.progress,
          [&](std::int64_t begin, std::int64_t end, std::byte* memory) {
            file.read(found.data_begins + bytes_of(array, begin),
                      std::span(memory, static_cast<std::size_t>(bytes_of(array, end - begin))));
          },
          put);
    const std::unique_ptr<hdf5_data_set> data_set = hdf5().open(path, options.data_set, array.type);
    load_elements(
        array, path, found, options.bytes_at_once, options.progress,
        [&](std::int64_t begin, std::int64_t end, std::byte* memory) {
          transfer(array, begin, end, memory,
                   [&](const std::int64_t* first, const std::int64_t* last, std::byte* elements) {
                     data_set->read(first, last, elements);
                   });
        },
        put);
  }));
}

/// Puts the numbers of this PE's part of a text from element `number` on.
void put_numbers(const array_in_file& array, const shared_file& file, word_reader& words, std::int64_t number,
                 std::int64_t at_once, progress_of_file& progress, box_transfer put) {
  std::vector<std::byte> memory = memory_for(array, at_once);
  std::int64_t read = 0;
  const auto pass_on = [&] {
    transfer(array, number, number + read, memory.data(), put);
    number += read;
    read = 0;
    progress.step();
  };
  for (std::string_view word; words.next(word);) {
    if (!parse_number(word, array.type, memory.data() + bytes_of(array, read)))
      file.fail(fmt::format("at byte {}: '{}' is no {}", words.at(), word.substr(0, 40), name_of(array.type)));
    if (++read == at_once) pass_on();
  }
  if (read > 0) pass_on();
}

// Each PE has a part of the text by bytes. It counts its numbers, and so learns which elements they are.
void load_text(const array_in_file& array, const std::string& path, const found_array& found,
               const file_options& options, box_transfer put) {
  const team all = team::world();
  const element_range bytes = part_of(found.bytes - found.data_begins, 1, this_pe(), pe_count());
  std::optional<shared_file> file;
  const auto words = [&] {
    return word_reader(*file, found.data_begins, found.data_begins + bytes.begin, found.data_begins + bytes.end);
  };
  std::int64_t own = 0;
  throw_error_of_any(error_of([&] {
    file.emplace(open_the_same(path, found));
    word_reader counted = words();
    for (std::string_view word; counted.next(word);) ++own;
  }));
  const std::int64_t number = all.exscan(own, sum).get().value_or(0);
  const std::int64_t count = all.allreduce(own, sum).get();
  const std::int64_t wanted = volume_of(extents_of(array));
  if (count != wanted)
    throw file_error(fmt::format("{}: it has {} numbers; the array has {} elements", path, count, wanted));
  throw_error_of_any(error_of([&] {
    const std::int64_t at_once = elements_at_once(array, options.bytes_at_once, pe_count());
    progress_of_file progress("loading", path, options.progress, (own + at_once - 1) / at_once);
    word_reader read = words();
    put_numbers(array, *file, read, number, at_once, progress, put);
  }));
}

/// For a new array, whose extents nothing but the file knows.
found_array inspect_described(const std::string& path, const file_options& options) {
  found_array found = inspect(path, options);
  if (!found.is_described)
    throw std::runtime_error(
        fmt::format("{}: it does not say what its extents are (by a line '# trireme array: float64 3 4'); load it into "
                    "an array that has them",
                    path));
  return found;
}

}  // namespace

void dump_array(const array_in_file& array, const std::string& path, const file_options& options, box_transfer get) {
  barrier().get();  // what all have written before
  std::optional<os::output_file> file;
  const auto target = result_of_first_pe<target_file>([&] { return make_target(array, path, options, file); });
  if (target.format == file_format::text)
    dump_text(array, path, target, options.progress, get);
  else
    dump_binary(array, path, target, options.progress, get);
  (void)result_of_first_pe<int>([&] {
    file->finish();
    return 0;
  });
}

void load_array(const array_in_file& array, const std::string& path, const file_options& options, box_transfer put) {
  barrier().get();  // what others have written before does not come behind the file's elements
  const auto found = result_of_first_pe<found_array>([&] {
    found_array there = inspect(path, options);
    check_shape(path, there, array);
    if (!has_text(array.type) && there.format == file_format::text)
      throw std::runtime_error(fmt::format("{}: text has numbers, and the elements are {}", path, name_of(array.type)));
    return there;
  });
  if (found.format == file_format::text)
    load_text(array, path, found, options, put);
  else
    load_binary(array, path, found, options, put);
  barrier().get();
}

file_extents read_extents(element_type type, int dimensions, const std::string& path, const file_options& options) {
  return result_of_first_pe<file_extents>([&] {
    const found_array found = inspect_described(path, options);
    check_type(path, found, type, dimensions);
    file_extents extents{};
    std::ranges::copy(found.extents, extents.begin());
    return extents;
  });
}

array_in_file read_shape(const std::string& path, const file_options& options) {
  const auto found = result_of_first_pe<found_array>([&] {
    found_array there = inspect_described(path, options);
    if (there.extents.empty() || there.extents.size() > static_cast<std::size_t>(most_array_dimensions))
      throw std::runtime_error(fmt::format("{}: the array in it has {} dimensions; global arrays have 1 to {}", path,
                                           there.extents.size(), most_array_dimensions));
    return there;
  });
  array_in_file shape{.type = found.type, .dimensions = static_cast<int>(found.extents.size())};
  std::ranges::copy(found.extents, shape.extents.begin());
  return shape;
}

}  // namespace tri::arrays
