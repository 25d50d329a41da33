// Layouts of MPI datatypes that another process has written (src/mpi/datatypes/layout): what layout_at() takes can be
// asked and walked through without leaving the layout or running for ever. Memory of the program is not touched.
#include <cstring>

#include "datatypes/random_type.hpp"
#include "fuzz/fuzz_target.hpp"
#include "mpi/datatypes/layout/cursor.hpp"
#include "mpi/datatypes/layout/element_count.hpp"
#include "mpi/datatypes/layout/layout_encoder.hpp"

namespace tri::fuzz {
namespace {

using namespace mpi;

constexpr int most_portions = 500;

void walk(const layout& found, std::uint64_t count, std::uint64_t offset, std::uint64_t limit) {
  cursor at(found, count, nullptr, offset);
  std::uint64_t left = at.left();
  for (int i = 0; i < most_portions && left != 0; ++i) {
    portion next;
    i % 2 == 0 ? at.next(limit, next) : at.next_row(limit, next);
    expect(next.bytes > 0 && next.bytes <= limit && at.left() == left - next.bytes, "a portion has 1 to limit bytes");
    left = at.left();
  }
}

void ask(const layout& found, std::uint64_t count) {
  const std::uint64_t bytes = count * found.size;
  const std::uint64_t elements = count * found.elements;
  for (const std::uint64_t at : {std::uint64_t{0}, bytes / 3, bytes / 2, bytes - 1}) {
    if (at >= bytes) continue;
    if (found.elements == 0) continue;
    elements_in(found, count, at);
    element_start(found, count, at);
    run_at(found, count, at);
  }
  for (const std::uint64_t at : {std::uint64_t{0}, elements / 3, elements})
    if (found.elements != 0) bytes_of_elements(found, count, at), signature_of_first(found, count, at);
  may_receive(found, count, found, count);
  for (const std::uint64_t at : {std::uint64_t{0}, bytes / 3, bytes - 1}) {
    if (at >= bytes) continue;
    walk(found, count, at, 1);
    walk(found, count, at, bytes);
    walk(found, count, at, 100);
  }
}

}  // namespace

bool read(std::string_view input) {
  std::vector<std::uint64_t> words((input.size() + 7) / 8);
  if (!input.empty()) std::memcpy(words.data(), input.data(), input.size());
  const layout* const found = layout_at(words.data(), input.size());
  if (found == nullptr) return false;
  for (const std::uint64_t count : {1, 2, 7})
    if (found->size < (std::uint64_t{1} << 60) && found->elements < (std::uint64_t{1} << 60)) ask(*found, count);
  return true;
}

std::vector<std::string> seeds() {
  std::vector<std::string> made;
  test_types::random_types random(1);
  while (made.size() < 60) {
    const owned_layout flat = encode(test_types::build(random.type({})));
    if (flat.bytes() <= 4096) made.emplace_back(reinterpret_cast<const char*>(flat.get()), flat.bytes());
  }
  return made;
}

}  // namespace tri::fuzz
