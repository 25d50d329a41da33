// A process that sends what no process may send: PE 0 writes messages by hand, PE 1 is on another host and ends the job
// with a line that says what is wrong (CMakeLists.txt has the lines).
#include <cstdlib>
#include <map>

#include "objects/collection_manager.hpp"
#include "system/cases/cases.hpp"
#include "trireme/detail/objects/local_collection.hpp"
#include "trireme/detail/objects/post.hpp"

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
  payload.block = arena::allocate(bytes.size() + 1);
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
void crash_creation() {
  using made = objects::creation<target>;
  post(made::handler, block_of(sched::payload_kind::block, std::string(sizeof(made::tuple), '\0')), 0x1000);
}

[[noreturn]] void wait_for_ever() {
  future<int> never;
  static_cast<void>(never.get());
  std::abort();
}

// Roots of reductions, by the messages that name them.
using add_up = objects::folding<objects::add>;
using sums = objects::part_handler<add_up, int>;
template <class... A>
packed_arguments for_other_host(A... arguments) {
  return objects::pack_arguments<std::tuple<A...>>(sched::this_pe(), false, false, arguments...);
}

struct teller : group_member<teller> {
  int number() { return 1; }
  // PE 1 waits for doubles, and says where.
  promise<double> promised() {
    kept = future<double>();
    return kept.get_promise();
  }
  future<double> kept;
};
promise<double> promise_of_other() {
  auto tellers = make_group<teller>();
  return tellers[other].template call<&teller::promised>().get();
}

void crash_root_is_a_future() {  // a part of a sum of integers for a future of double
  const promise<double> target = promise_of_other();
  objects::post_packed(
      sched::this_pe(), other, sums::handler, 0, 0,
      for_other_host(objects::part_header{target.slot, target.generation, 1, objects::part_header::not_a_base}, 7));
  wait_for_ever();
}
void crash_root_of_host_is_a_future() {
  const promise<double> target = promise_of_other();
  objects::post_packed(
      sched::this_pe(), other, objects::host_part_handler<add_up, int>::handler, 0, 0,
      for_other_host(objects::root_name{other, target.slot, target.generation}, objects::part_counts{1, 1, 1}, 7));
  wait_for_ever();
}
void crash_result_type() {  // a text for a future of double
  const promise<double> target = promise_of_other();
  promise<std::string>{other, target.slot, target.generation}.set("text");
  wait_for_ever();
}
void crash_root_pe() {
  using broadcast = objects::reducing_broadcast<&teller::number, add_up>;
  const auto tellers = make_group<teller>();
  objects::post_packed(sched::this_pe(), other, broadcast::handler, tellers.id(), 0,
                       for_other_host(objects::root_name{4711, 0, 0}));
  wait_for_ever();
}
void crash_collector() {  // as if both were on one host
  objects::post_packed(
      sched::this_pe(), other, objects::host_part_handler<add_up, int>::collector, 0, 0,
      for_other_host(objects::root_name{other, 0, 0}, objects::part_counts{1, 1, 1}, objects::part_progress{}, 7));
  wait_for_ever();
}

// Creations of arrays.
void make(const objects::array_shape& shape, std::uint32_t collection = 0) {
  using made = objects::creation<target>;
  check_equal(expected().processes, 2);
  auto& here = sched::this_pe();
  objects::collection_facts facts;
  facts.id = collection != 0 ? collection : here.job().new_collection_number();
  facts.placement = round_robin().number;
  facts.shape = shape;
  facts.creator = here.number();
  sched::envelope message{};
  message.collection = facts.id;
  message.handler = made::handler;
  objects::pack_arguments<made::tuple>(here, false, false, facts).store(message);
  here.send_creation(message);
  here.creation_lies_in_inboxes(facts.id);
  wait_for_ever();
}
objects::array_shape shape_of(std::uint8_t dimensions, std::uint32_t extent) {
  objects::array_shape shape;
  shape.dimensions = dimensions;
  shape.dense = true;
  shape.extent.fill(extent);
  return shape;
}
void crash_shape_of_64_bits() { make(shape_of(4, 1u << 16)); }  // 0 elements, by a product of 64 bits
void crash_shape_dimensions() { make(shape_of(200, 2)); }
void crash_shape_of_nothing() { make(shape_of(2, 0)); }
void crash_far_collection() { make(shape_of(1, 2), 4000000001u); }
void crash_collection_of_other() { make(shape_of(1, 2), 2002); }

// Collections that their own hosts have not made either: those hosts know. PE 1 keeps the messages meanwhile.
void crash_collection_of_own() { post(entry<&target::number>, direct(raw(5)), 1, 2001); }
void crash_collection_of_third() {
  objects::post_packed(sched::this_pe(), other, entry<&target::number>, 3000, 1, direct(raw(5)));
  wait_for_ever();
}

// Members of a section, as their sender lists them; the number of the multicast stands behind.
void multicast(objects::multicast_route route, std::vector<std::uint64_t> list) {
  using message = objects::multicast_method<&target::number>;
  auto& here = sched::this_pe();
  const auto elements = make_array<target>({2}, round_robin());
  objects::post_packed(here, other, message::handler, elements.id(), route.number(),
                       objects::pack_arguments<message::tuple>(
                           here, false, false, objects::member_list(buffer<std::uint64_t>::copy_of(list)), 5));
  wait_for_ever();
}
void crash_multicast_sender() { multicast({4711, objects::no_pe}, {1, 0}); }
void crash_multicast_forwarder() { multicast({0, 4711}, {1, 0}); }
void crash_multicast_list() { multicast({0, objects::no_pe}, {}); }

// A part of a barrier of all PEs, from PE 0 to PE 1.
void barrier(const objects::team_step& step) {
  using up = objects::team_message_up<objects::team_barrier>;
  post(up::handler, objects::pack_arguments<up::tuple>(sched::this_pe(), false, false, step, std::monostate()), 1);
}
void crash_team_rank() { barrier({0, 7, 0}); }
void crash_team_root() { barrier({0, 0, 7}); }
void crash_team_neighbour() { barrier({0, 0, 0}); }  // the root has no parent

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
                             {"crash_creation", &crash_creation},
                             {"crash_root_is_a_future", &crash_root_is_a_future},
                             {"crash_root_of_host_is_a_future", &crash_root_of_host_is_a_future},
                             {"crash_result_type", &crash_result_type},
                             {"crash_root_pe", &crash_root_pe},
                             {"crash_collector", &crash_collector},
                             {"crash_shape_of_64_bits", &crash_shape_of_64_bits},
                             {"crash_shape_dimensions", &crash_shape_dimensions},
                             {"crash_shape_of_nothing", &crash_shape_of_nothing},
                             {"crash_far_collection", &crash_far_collection},
                             {"crash_collection_of_other", &crash_collection_of_other},
                             {"crash_collection_of_own", &crash_collection_of_own},
                             {"crash_collection_of_third", &crash_collection_of_third},
                             {"crash_multicast_sender", &crash_multicast_sender},
                             {"crash_multicast_forwarder", &crash_multicast_forwarder},
                             {"crash_multicast_list", &crash_multicast_list},
                             {"crash_team_rank", &crash_team_rank},
                             {"crash_team_root", &crash_team_root},
                             {"crash_team_neighbour", &crash_team_neighbour}};

}  // namespace
}  // namespace tri::testing
