#include "trireme/detail/arrays/requests.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <utility>

#include "arrays/array_table.hpp"
#include "arrays/barrier_of_all.hpp"
#include "arrays/direct/direct_accesses.hpp"
#include "arrays/outstanding_requests.hpp"
#include "config/placement.hpp"

namespace tri::arrays {
namespace {

struct array_barrier : objects::team_barrier {
  static std::string name() { return "barrier of global arrays"; }
};
struct array_free : objects::team_barrier {
  static std::string name() { return "free of a global array"; }
};

}  // namespace

// ---- of the PE that has the elements

void with_piece(const asked_array& asked, int source, piece_use use) {
  array_table& table = array_table::here();
  const std::shared_ptr<local_array> array = table.find(asked.id);
  const int owner = sched::this_pe().serves();
  if (array != nullptr) {
    if (array->short_digest() != asked.digest)
      return use(nullptr, nullptr,
                 fmt::format("{} has another type, other extents or another distribution on PE {}, {}, than on PE {}",
                             describe(asked.id), sched::this_pe().number(), describe(array->shape()), source));
    std::byte* const piece = owner == sched::this_pe().number() ? array->own_piece() : array->piece_of(owner);
    if (piece != nullptr) return use(array.get(), piece, {});
  }
  if (table.was_freed(asked.id)) return use(nullptr, nullptr, describe(asked.id) + " was freed");
  table.when_made(asked.id, source,
                  [asked, source, use = std::move(use)]() mutable { with_piece(asked, source, std::move(use)); });
}

std::byte* piece_at_once(const asked_array& asked, local_array*& array) {
  const std::shared_ptr<local_array> found = array_table::here().find(asked.id);
  if (found == nullptr || found->short_digest() != asked.digest) return nullptr;
  array = found.get();  // kept by the table
  const sched::pe& here = sched::this_pe();
  return here.serves() == here.number() ? found->own_piece() : found->piece_of(here.serves());
}

bool may_serve(const sched::pe&, const sched::envelope& request, int receiver) {
  const std::shared_ptr<local_array> array = array_table::here().find(request.element);
  return array != nullptr && array->piece_of(receiver) != nullptr;
}

std::string fault_of_access(const local_array& array, const void* type, std::int32_t pe, std::int64_t offset,
                            std::int64_t count) {
  if (array.type() != type) return describe(array.id()) + " has elements of another type";
  if (offset < 0 || offset + count > array.elements_on(pe))
    return fmt::format("{}: elements {} to {} of a piece were accessed, which has {}", describe(array.id()), offset,
                       offset + count, array.elements_on(pe));
  return {};
}

void run_some_messages() {
  sched::pe& here = sched::this_pe();
  if (here.in_handler()) return;
  progress();
  // What the program waits for may be written by a thread that waits for this core.
  if (here.job().placement().oversubscribed) sched_yield();
}

void refuse(const std::string& fault) { sched::this_pe().job().fail(fault); }

void check_length(std::size_t come, std::size_t expected) {
  if (come != expected)
    refuse(fmt::format("a section of a global array came with {} bytes; its region has {}", come, expected));
}

// ---- of the PE that asks

void note_unfenced(std::int32_t pe) { outstanding_requests::here().note_unfenced(pe); }

future<void> fence_of_pe() {
  future<void> result;
  outstanding_requests::here().fence([to = result.get_promise()] { to.set(); });
  return result;
}

bool nothing_is_unfenced() {
  if (direct_accesses* const direct = direct_accesses::here()) direct->end_all();
  return outstanding_requests::here().nothing_is_unfenced();
}

// Barriers and frees of all begin in the order in which the program calls them: their fences may end in another.
future<void> barrier_of_all() {
  future<void> result;
  outstanding_requests::here().fence_in_turn([to = result.get_promise()] {
    at_barrier<array_barrier>([to](const std::exception_ptr& error) { complete(to, error); });
  });
  return result;
}

future<void> free_by_all(array_id id) {
  future<void> result;
  outstanding_requests::here().fence_in_turn([to = result.get_promise(), id] {
    at_barrier<array_free>([to, id](const std::exception_ptr& error) {
      if (error == nullptr) array_table::here().free_by_name(id);
      complete(to, error);
    });
  });
  return result;
}

namespace {
void free_here(asked_array asked, std::int32_t) { array_table::here().free_by_name(asked.id); }
}  // namespace

future<void> free_by_one(array_id id) {
  future<void> result;
  outstanding_requests::here().fence([to = result.get_promise(), id] {
    notify_all<&free_here>(id);
    array_table::here().free_by_name(id);
    to.set();
  });
  return result;
}

std::uint64_t add_transfer(std::unique_ptr<section_transfer> transfer) {
  return outstanding_requests::here().add_transfer(std::move(transfer));
}
void take_section(std::uint64_t number, std::int32_t pe, buffer<std::byte> bytes) {
  outstanding_requests::here().answer_transfer(number, [&](section_transfer& transfer) {
    transfer.unpack(pe, number >> bits_of_transfer, bytes.data(), bytes.size());
    return std::string();
  });
}
void take_acknowledgement(std::uint64_t number, std::string fault) {
  outstanding_requests::here().answer_transfer(number, [&](section_transfer&) { return std::move(fault); });
}
void take_section_and_address(std::uint64_t number, address_in_reply address, buffer<std::byte> bytes) {
  reading_answered(address.pe, &address);
  take_section(number, address.pe, std::move(bytes));
}
void take_fault_of_section(std::uint64_t number, std::string fault, std::int32_t pe) {
  reading_answered(pe, nullptr);
  take_acknowledgement(number, std::move(fault));
}

}  // namespace tri::arrays
