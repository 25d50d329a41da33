// Global arrays in files, on every PE of a job, in SPMD style; run by ctest as threads, processes and pretended hosts.
// Arguments: a folder, or "-" for a new one that is removed, then cases; without any all that need no preparation.
// Prints "<case>: ok".
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <complex>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/check.hpp"
#include "trireme/arrays.hpp"

namespace tri::testing {
namespace {

namespace fs = std::filesystem;
std::string folder;  // read-only after the start

std::string in_folder(const std::string& name) { return folder + "/" + name; }

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  check(file.good(), "cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Of PE 0, for all.
void write_file(const std::string& path, std::string_view content) {
  if (this_pe() == 0) std::ofstream(path, std::ios::binary) << content;
  barrier().get();
}

std::size_t files_in_folder() {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// The formats that this build has.
#ifdef TRIREME_TESTS_HDF5
constexpr const char* suffixes[] = {".npy", ".txt", ".h5"};
#else
constexpr const char* suffixes[] = {".npy", ".txt"};
#endif

struct pair_of_words {
  std::int32_t a;
  std::int16_t b, c;
  friend bool operator==(const pair_of_words&, const pair_of_words&) = default;
};

/// What element `number` has: exact in text and in every type.
template <class T>
T value_of(std::int64_t number) {
  if constexpr (std::is_same_v<T, pair_of_words>)
    return {static_cast<std::int32_t>(number), static_cast<std::int16_t>(number % 7), -1};
  else if constexpr (std::is_same_v<T, bool>)
    return number % 3 == 0;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(number * 37 - 20);
  else if constexpr (std::is_floating_point_v<T>)
    return (static_cast<T>(number) - 5) / 3;
  else
    return {static_cast<typename T::value_type>(number) / 7, -static_cast<typename T::value_type>(number)};
}

template <class T, int N>
void fill(const global_array<T, N>& array) {
  const position<N> strides = arrays::row_major_strides(array.extents());
  for_each_own(array, [&](const position<N>& at, T& element) { element = value_of<T>(arrays::dot(at, strides)); });
}
template <class T, int N>
void check_filled(const global_array<T, N>& array) {
  const position<N> strides = arrays::row_major_strides(array.extents());
  for_each_own(array, [&](const position<N>& at, const T& element) {
    check(element == value_of<T>(arrays::dot(at, strides)), "an element is not that of the file");
  });
}

template <class T>
void check_npy(const std::string& path, std::int64_t elements) {
  if (this_pe() != 0) return;
  const std::string content = content_of(path);
  const std::size_t data = content.size() - static_cast<std::size_t>(elements) * sizeof(T);
  check_equal(data % 64, 0U);
  for (std::int64_t i = 0; i < elements; ++i) {
    T value;
    std::memcpy(&value, content.data() + data + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    check(value == value_of<T>(i), "the file is in row-major order");
  }
}

template <int N>
position<N> random_position(std::mt19937& random, std::int64_t most) {
  position<N> made;
  for (std::int64_t& each : made.at) each = 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
  return made;
}

template <class T, int N>
void round_trip(std::mt19937& random, const std::string& name) {
  const position<N> extents = random_position<N>(random, N < 3 ? 17 : 4);
  const global_array<T, N> a(extents, tile_extents<N>{random_position<N>(random, 5)});
  fill(a);
  file_options options;
  options.bytes_at_once = 1 + static_cast<std::int64_t>(random() % 400);
  const std::string path = in_folder(name);
  dump(a, path, options);
  if (name.ends_with(".npy")) check_npy<T>(path, a.size());
  options.bytes_at_once = 1 + static_cast<std::int64_t>(random() % 400);
  const global_array<T, N> b(extents);
  load(b, path, options);
  check_filled(b);
  const auto c = load<T, N>(path, options, tile_extents<N>{random_position<N>(random, 5)});
  check(c.extents() == extents, "the extents are those of the file");
  check_filled(c);
  a.free().get();
  b.free().get();
  c.free().get();
}

void round_trips_of(const std::string& suffix) {
  std::mt19937 random(19);
  for (int round = 0; round < 3; ++round) {
    round_trip<double, 1>(random, "one" + suffix);
    round_trip<std::int32_t, 2>(random, "two" + suffix);
    round_trip<float, 3>(random, "three" + suffix);
    round_trip<std::uint8_t, 4>(random, "four" + suffix);
    round_trip<std::complex<double>, 5>(random, "five" + suffix);
    round_trip<std::int64_t, 6>(random, "six" + suffix);
    round_trip<bool, 2>(random, "truth" + suffix);
    round_trip<long double, 2>(random, "long" + suffix);
    round_trip<std::uint16_t, 1>(random, "short" + suffix);
  }
}
void npy_round_trips() {
  round_trips_of(".npy");
  std::mt19937 random(7);
  round_trip<pair_of_words, 3>(random, "plain.npy");
}
#ifdef TRIREME_TESTS_HDF5
void hdf5_round_trips() {
  round_trips_of(".h5");
  std::mt19937 random(8);
  round_trip<pair_of_words, 3>(random, "plain.hdf5");
}
void hdf5_errors() {
  const global_array<int, 2> a({4, 5}, tiles(2, 2));
  fill(a);
  const std::string path = in_folder("errors.h5");
  dump(a, path, {.data_set = "group/first"});
  load(a, path, {.data_set = "group/first"});
  check_filled(a);
  check_throws<file_error>([&] { load(a, path); }, "it has no data set 'array' (file_options::data_set); it has group");
  const global_array<float, 2> b({4, 5});
  check_throws<file_error>([&] { load(b, path, {.data_set = "/group/first"}); },
                           "its elements are int32; those of the array are float32");
  check_throws<file_error>([&] { (void)load<int, 3>(path, {.data_set = "group/first"}); }, "asked for is one of 3");
  check_throws<file_error>([&] { dump(a, path, {.data_set = ""}); }, "the data set '' cannot be made");
  load(a, path, {.data_set = "group/first"});  // it is as it was
  write_file(path, "not of HDF5");
  check_throws<file_error>([&] { load(a, path); }, "errors.h5: cannot be read: it cannot be opened (HDF5: ");
  a.free().get();
  b.free().get();
}
#else
void hdf5_errors() {
  const global_array<int, 1> a(position<1>(4));
  check_throws<file_error>([&] { dump(a, in_folder("a.h5")); }, "files of HDF5 need libtrireme-hdf5.so");
  a.free().get();
}
#endif
void text_round_trips() { round_trips_of(".txt"); }

void text_is_readable() {
  const global_array<int, 3> a({2, 2, 3}, tiles(1, 1, 2));
  for_each_own(
      a, [](const position<3>& at, int& element) { element = static_cast<int>(100 * at[0] - 10 * at[1] + at[2]); });
  for (const std::int64_t at_once : {1, 5, 12, 1000}) {
    dump(a, in_folder("readable.txt"), {.bytes_at_once = at_once});
    check_equal(content_of(in_folder("readable.txt")),
                std::string("# trireme array: int32 2 2 3\n0 1 2\n-10 -9 -8\n\n100 101 102\n90 91 92\n"));
    barrier().get();
  }
  a.free().get();
  const global_array<double, 1> b(position<1>(6), tiles(1));
  const std::vector<double> values{0.1, -0.0, std::numeric_limits<double>::infinity(), 5e-324, 1e22, 3};
  for_each_own(b, [&](const position<1>& at, double& element) { element = values[static_cast<std::size_t>(at[0])]; });
  dump(b, in_folder("exact.txt"));
  check_equal(content_of(in_folder("exact.txt")),
              std::string("# trireme array: float64 6\n0.1\n-0\ninf\n5e-324\n1e+22\n3\n"));
  const auto c = load<double, 1>(in_folder("exact.txt"));
  for_each_own(c, [&](const position<1>& at, double element) {
    check(std::memcmp(&element, &values[static_cast<std::size_t>(at[0])], sizeof element) == 0, "the same bits");
  });
  b.free().get();
  c.free().get();
}

// What other programs write: comments, other spaces, no header.
void text_of_others() {
  write_file(in_folder("other.txt"),
             "# made by hand\n#\n 1.5e0\t+2 \r\n3\n\n\n-4 5 (1) \n"
             "0x 7");
  const global_array<float, 2> a({2, 3}, tiles(1, 1));
  check_throws<file_error>([&] { load(a, in_folder("other.txt")); }, "it has 8 numbers; the array has 6 elements");
  write_file(in_folder("other.txt"), "# made by hand\n#\n 1.5e0\t+2 \r\n3\n\n\n-4 5 6");
  for (const std::int64_t at_once : {1, 7, 100}) {
    load(a, in_folder("other.txt"), {.bytes_at_once = at_once});
    std::vector<float> found(6);
    a.get({{0, 0}, {2, 3}}, found.data()).get();
    check(found == std::vector<float>{1.5F, 2, 3, -4, 5, 6}, "the numbers of the text");
    barrier().get();
  }
  check_throws<file_error>([&] { (void)load<float, 2>(in_folder("other.txt")); }, "does not say what its extents are");
  write_file(in_folder("other.txt"), "1 2 3 4 5 6,");
  check_throws<file_error>([&] { load(a, in_folder("other.txt")); }, "at byte 10: '6,' is no float32");
  write_file(in_folder("other.txt"), "1 2 3 4 5 1e99");
  check_throws<file_error>([&] { load(a, in_folder("other.txt")); }, "at byte 10: '1e99' is no float32");
  write_file(in_folder("other.txt"), std::string(3000, '7'));
  check_throws<file_error>([&] { load(a, in_folder("other.txt")); }, "longer than 1024 bytes");
  write_file(in_folder("other.txt"), "# trireme array: float32 2 three\n1 2 3 4 5 6");
  check_throws<file_error>([&] { load(a, in_folder("other.txt")); }, "right is for example '# trireme array: float64");
  a.free().get();
}

std::string npy_by_hand(const std::string& dictionary, std::string_view data) {
  std::string header = dictionary + "\n";
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + std::string(data);
}

// In Fortran's order element (i, j) of 3 x 4 is number i + 3 j of the file.
void npy_of_others() {
  std::vector<std::int32_t> columns(12);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) columns[static_cast<std::size_t>(i + 3 * j)] = value_of<std::int32_t>(i * 4 + j);
  const std::string_view data(reinterpret_cast<const char*>(columns.data()), 48);
  const std::string path = in_folder("other.npy");
  write_file(path, npy_by_hand("{\"shape\": (3,4), 'fortran_order' :True, 'descr':'<i4'}", data));
  const global_array<std::int32_t, 2> a({3, 4}, tiles(2, 2));
  for (const std::int64_t at_once : {4, 20, 1000}) {
    load(a, path, {.bytes_at_once = at_once});
    check_filled(a);
    barrier().get();
  }
  const auto refuses = [&](const std::string& dictionary, const std::string& text) {
    write_file(path, npy_by_hand(dictionary, data));
    check_throws<file_error>([&] { load(a, path); }, text);
  };
  refuses("{'descr': '>i4', 'fortran_order': False, 'shape': (3, 4)}",
          "bytes are in the other order: write it as '<i4'");
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}",
          "its elements are float32; those of the array are int32");
  refuses("{'descr': '<M8', 'fortran_order': False, 'shape': (3, 4)}",
          "of NumPy's type <M8, which is none of a global array");
  refuses("{'descr': [('x', '<i4')], 'fortran_order': False, 'shape': (3, 4)}", "structures of NumPy");
  refuses("{'descr': '<i4', 'fortran_order': False, 'shape': (4, 3)}",
          "the array in it has the extents (4, 3); this one has (3, 4)");
  refuses("{'descr': '<i4', 'fortran_order': False, 'shape': (12,)}",
          "the extents (12), so 1 dimensions; asked for is one of 2");
  refuses("{'descr': '<i4', 'fortran_order': False, 'shape': (3, 4}", "its header is none of NumPy's");
  refuses("{'descr': '<i4', 'shape': (3, 4)}", "its header is none of NumPy's");
  write_file(path, npy_by_hand("{'descr': '<i4', 'fortran_order': False, 'shape': (3, 4)}", data.substr(1)));
  check_throws<file_error>([&] { load(a, path); }, "it has 47 bytes behind its header; 12 elements of 4 bytes are 48");
  write_file(path, std::string("\x93NUMPY\1\0\xff\0{", 11));
  check_throws<file_error>([&] { load(a, path); }, "it ends in its header");
  write_file(path, "PK");
  check_throws<file_error>([&] { load(a, path); }, "it is no .npy file");
  write_file(path, npy_by_hand("{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", data));
  check_throws<std::invalid_argument>([&] { (void)load<std::int32_t, 2>(path); }, "4611686018427387904");
  a.free().get();
}

void empty_arrays() {
  for (const std::string suffix : suffixes) {
    const global_array<double, 2> a({0, 5});
    dump(a, in_folder("empty" + suffix));
    const auto b = load<double, 2>(in_folder("empty" + suffix));
    check(b.extents() == position<2>(0, 5), "no elements, but extents");
    a.free().get();
    b.free().get();
  }
}

// What other PEs have written before the dump is in it; what they have written before the load is not left.
void order_with_accesses() {
  const int pes = pe_count();
  const global_array<std::int64_t, 1> a(position<1>(10 * pes), tiles(1));
  for (std::int64_t i = this_pe(); i < a.size(); i += pes)
    a((i + 3) % a.size()) = value_of<std::int64_t>((i + 3) % a.size());
  dump(a, in_folder("order.npy"));
  for (std::int64_t i = this_pe(); i < a.size(); i += pes) a((i + 5) % a.size()) = -1;
  load(a, in_folder("order.npy"));
  for (std::int64_t i = 0; i < a.size(); ++i) check_equal(std::int64_t{a(i)}, value_of<std::int64_t>(i));
  barrier().get();
  a.free().get();
}

void errors() {
  const global_array<double, 2> a({6, 6}, tiles(2, 2));
  fill(a);
  const auto refuses = [&](const std::string& path, const std::string& text, const file_options& options = {}) {
    check_throws<file_error>([&] { dump(a, path, options); }, text);
    barrier().get();
  };
  refuses(in_folder("a.dat"), ".npy, .txt, .h5 and .hdf5 do");
  refuses(in_folder("no/such/a.npy"), "no/such/a.npy: cannot be written: No such file or directory");
  refuses("/dev/null", "/dev/null: cannot be written: it is not a regular file", {.format = file_format::npy});
  refuses(in_folder("a.npy"), "bytes_at_once is 0; it must be at least 1", {.bytes_at_once = 0});
  check_throws<file_error>([&] { load(a, in_folder("none.npy")); }, "none.npy: cannot be read: No such file");
  check_throws<file_error>([&] { load(a, "/dev/null", {.format = file_format::npy}); }, "it is not a regular file");
  const global_array<pair_of_words, 1> words(position<1>(3));
  check_throws<file_error>([&] { dump(words, in_folder("a.txt")); }, "the elements are plain data of 8 bytes");
  words.free().get();
  check_throws<std::logic_error>([] { dump(global_array<int, 1>(), "a.npy"); }, "names no array");
  a.free().get();
  check_throws<std::logic_error>([&] { dump(a, in_folder("a.npy")); }, "was freed");
}

/// One process may write files of this size only.
void limit_file_size(rlim_t bytes) {
  rlimit limit{};
  check_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
  check_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

// One PE of the job cannot write all: all get the error, the file from before is as it was, and nothing is left.
void failed_dumps_change_nothing() {
  for (const std::string suffix : suffixes) {
    const std::string path = in_folder("kept" + suffix);
    const global_array<double, 1> a(position<1>(4000), tiles(10));
    fill(a);
    dump(a, path);
    barrier().get();
    const std::string before = content_of(path);
    const std::size_t files = files_in_folder();
    for_each_own(a, [](const position<1>&, double& element) { element = 0.123456789; });
    for (const int failing : {0, process_count() - 1}) {
      barrier().get();
      if (this_process() == failing) limit_file_size(1000);
      check_throws<file_error>([&] { dump(a, path, {.bytes_at_once = 512}); }, suffix + ": cannot be written: ");
      barrier().get();
      limit_file_size(RLIM_INFINITY);
      check(content_of(path) == before, "the file from before is as it was");
      check_equal(files_in_folder(), files);
    }
    barrier().get();
    dump(a, path);
    barrier().get();
    check(content_of(path) != before, "the next one succeeds");
    a.free().get();
  }
}

// A link stays one; the permissions of a file stay.
void replaces_what_a_link_names() {
  const global_array<int, 1> a(position<1>(20), tiles(2));
  fill(a);
  if (this_pe() == 0) {
    std::ofstream(in_folder("linked.npy")) << "before";
    fs::permissions(in_folder("linked.npy"), fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink("linked.npy", in_folder("link.npy"));
  }
  dump(a, in_folder("link.npy"));
  check(fs::is_symlink(in_folder("link.npy")), "the link stays");
  check(fs::status(in_folder("linked.npy")).permissions() == (fs::perms::owner_read | fs::perms::owner_write), "0600");
  check_npy<int>(in_folder("linked.npy"), 20);
  a.free().get();
}

// PE 0 counts its part on stderr. (The test of ctest compares the lines.)
void progress_lines() {
  const global_array<double, 1> a(position<1>(4 * pe_count()));
  dump(a, in_folder("line.npy"), {.bytes_at_once = 16, .progress = progress_line::always});
  load(a, in_folder("line.npy"), {.bytes_at_once = 8, .progress = progress_line::always});
  a.free().get();
}

// ---- from one job to another, and to and from NumPy

// The process of PE 0 is killed in the middle of a dump, and the job with it.
void killed_dump() {
  const global_array<int, 1> a(position<1>(40 * pe_count()));
  fill(a);
  dump(a, in_folder("k.npy"));
  const arrays::array_in_file shape{arrays::element_type_of<int>(), 1, arrays::as_file_extents(a.extents()),
                                    arrays::as_file_extents(a.tile())};
  int pieces = 0;
  arrays::dump_array(shape, in_folder("k.npy"), {.bytes_at_once = 16},
                     [&](const std::int64_t*, const std::int64_t*, std::byte* memory) {
                       if (++pieces == 3 && this_pe() == 0) raise(SIGKILL);
                       std::memset(memory, 0, 16);
                     });
}
void dump_after_a_killed_one() {
  const std::string left = in_folder("k.npy.trireme-unfinished");
  check(this_pe() != 0 || fs::exists(left), "the killed job has left its file");
  const auto a = load<int, 1>(in_folder("k.npy"));
  check_filled(a);  // what was there before
  dump(a, in_folder("k.npy"));
  check(this_pe() != 0 || files_in_folder() == 1, "nothing is left");
  check_filled(load<int, 1>(in_folder("k.npy")));
}

void dump_all() {
  const global_array<double, 2> a({37, 23}, tiles(4, 5));
  const global_array<std::complex<float>, 3> b({5, 6, 7});
  const global_array<std::uint16_t, 1> c(position<1>(1001), tiles(3));
  fill(a);
  fill(b);
  fill(c);
  for (const std::string suffix : suffixes) {
    dump(a, in_folder("a" + suffix), {.bytes_at_once = 600});
    dump(b, in_folder("b" + suffix));
    dump(c, in_folder("c" + suffix), {.bytes_at_once = 100});
  }
}
void load_all() {
  for (const std::string suffix : suffixes) {
    const auto a = load<double, 2>(in_folder("a" + suffix), {.bytes_at_once = 1000}, tiles(7, 2));
    check(a.extents() == position<2>(37, 23), "extents");
    check_filled(a);
    check_filled(load<std::complex<float>, 3>(in_folder("b" + suffix), tiles(2, 2, 2)));
    check_filled(load<std::uint16_t, 1>(in_folder("c" + suffix)));
  }
}

struct test_case {
  const char* name;
  void (*run)();
  bool is_for_itself;
};
constexpr test_case cases[] = {{"npy_round_trips", &npy_round_trips, true},
                               {"text_round_trips", &text_round_trips, true},
                               {"text_is_readable", &text_is_readable, true},
                               {"text_of_others", &text_of_others, true},
                               {"npy_of_others", &npy_of_others, true},
#ifdef TRIREME_TESTS_HDF5
                               {"hdf5_round_trips", &hdf5_round_trips, true},
#endif
                               {"hdf5_errors", &hdf5_errors, true},
                               {"empty_arrays", &empty_arrays, true},
                               {"order_with_accesses", &order_with_accesses, true},
                               {"errors", &errors, true},
                               {"failed_dumps_change_nothing", &failed_dumps_change_nothing, true},
                               {"replaces_what_a_link_names", &replaces_what_a_link_names, true},
                               {"progress_lines", &progress_lines, false},
                               {"killed_dump", &killed_dump, false},
                               {"dump_after_a_killed_one", &dump_after_a_killed_one, false},
                               {"dump_all", &dump_all, false},
                               {"load_all", &load_all, false}};

std::string new_folder() {
  std::string name = "array_files_XXXXXX";
  check(mkdtemp(name.data()) != nullptr, "a new folder");
  return fs::absolute(name).string();
}

int run_cases(int argc, char** argv) {
  const bool is_own = std::string_view(argv[1]) == "-";
  std::string made;
  if (this_pe() == 0) made = is_own ? new_folder() : argv[1];
  if (this_pe() == 0) fs::create_directories(made);
  made = team::world().broadcast(made, 0).get();
  if (this_pe() % pes_per_process() == 0) folder = made;
  barrier().get();
  const std::span<char*> named(argv + 2, argv + argc);
  for (const test_case& one : cases) {
    const bool is_named = std::ranges::find(named, std::string_view(one.name)) != named.end();
    if (named.empty() ? !one.is_for_itself : !is_named) continue;
    one.run();
    barrier().get();
    if (this_pe() == 0) std::printf("%s: ok\n", one.name);
  }
  if (is_own && this_pe() == 0) fs::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &tri::testing::run_cases); }
