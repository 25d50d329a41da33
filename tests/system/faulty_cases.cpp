// A process that sends what no process may send: PE 0 writes messages by hand, PE 1 is on another host and ends the job
// with a line that says what is wrong (CMakeLists.txt has the lines).
#include <map>

#include "objects/branch.hpp"
#include "objects/messages/post.hpp"
#include "system/cases.hpp"

namespace tri::testing {
namespace {

using objects::output_archive;
using objects::packed_arguments;

struct target : array_element<target, index<1>> {
  void numbers(std::vector<double>) {}
  void names(std::map<std::string, std::string>) {}
  void block(buffer<int>) {}
  void number(int) {}
  int asked(std::string) { return 1; }
  template <class Archive>
  void serialize(Archive&) {}  // may migrate
};
using targets = array<target>;

// Arguments as a block that holds these bytes.
packed_arguments block_of(sched::payload_kind kind, const std::string& bytes) {
  packed_arguments packed;
  auto& payload = *new (packed.payload) sched::block_payload{};
  payload.bytes = bytes.size();
  payload.block = arena::allocate_on_pe(bytes.size() + 1);
  std::memcpy(payload.block, bytes.data(), bytes.size());
  packed.kind = kind;
  return packed;
}
packed_arguments archive_of(const std::string& bytes) { return block_of(sched::payload_kind::serialized, bytes); }
packed_arguments direct(const std::string& bytes) {
  packed_arguments packed;
  std::memcpy(packed.payload, bytes.data(), bytes.size());
  packed.bytes = static_cast<std::uint16_t>(bytes.size());
  return packed;
}
template <class Number>
std::string raw(Number value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string too_many() { return raw(std::uint64_t{1} << 50) + std::string(12, 'x'); }

constexpr int other = 1;  // the PE of the other host, where element 1 is

void post(std::uint32_t handler, const packed_arguments& arguments, std::uint64_t element = 1,
          std::uint32_t collection = 0) {
  check_equal(expected().processes, 2);
  if (collection == 0) collection = make_array<target>({2}, round_robin()).id();
  objects::post_packed(sched::this_pe(), other, handler, collection, element, arguments);
  future<int> never;
  static_cast<void>(never.get());
}

template <auto Method>
constexpr const std::uint32_t& entry = objects::entry_method<Method>::handler;

void crash_vector_size() { post(entry<&target::numbers>, archive_of(too_many())); }
void crash_map_size() { post(entry<&target::names>, archive_of(too_many())); }
void crash_buffer_size() { post(entry<&target::block>, archive_of(raw(std::uint64_t{5}) + "12345678")); }
void crash_call_size() {
  post(objects::called_method<&target::asked>::handler,
       archive_of(std::string(sizeof(promise<int>), '\0') + too_many()));
}
void crash_direct_bytes() { post(entry<&target::number>, direct("abc")); }
void crash_block_bytes() { post(entry<&target::number>, block_of(sched::payload_kind::block, "abc")); }
void crash_archive_of_plain() { post(entry<&target::number>, archive_of("abcd")); }
void crash_element_number() { post(entry<&target::number>, direct(raw(5)), 77); }
void crash_collection_number() { post(entry<&target::number>, direct(raw(5)), 1, 2002); }  // those of host 1 are even
void crash_migration_address() {
  post(objects::element_handler, direct(raw(std::uint64_t{0x1000}) + raw(0.0) + raw(0.0)));
}
void crash_migration_counts() {
  post(objects::element_handler, archive_of(raw(true) + raw(std::uint64_t{0}) + raw(std::uint64_t{0}) +
                                            raw(objects::element_type_entry<target>::number) + too_many() + "xxxx"));
}
void crash_making() {
  using made = objects::creation<target>;
  post(made::handler, block_of(sched::payload_kind::block, std::string(sizeof(made::tuple), '\0')), 0x1000);
}

const case_entry faulty[] = {{"crash_vector_size", &crash_vector_size},
                             {"crash_map_size", &crash_map_size},
                             {"crash_buffer_size", &crash_buffer_size},
                             {"crash_call_size", &crash_call_size},
                             {"crash_direct_bytes", &crash_direct_bytes},
                             {"crash_block_bytes", &crash_block_bytes},
                             {"crash_archive_of_plain", &crash_archive_of_plain},
                             {"crash_element_number", &crash_element_number},
                             {"crash_collection_number", &crash_collection_number},
                             {"crash_migration_address", &crash_migration_address},
                             {"crash_migration_counts", &crash_migration_counts},
                             {"crash_making", &crash_making}};

}  // namespace
}  // namespace tri::testing
