#include "arrays/array_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "arrays/direct/direct_accesses.hpp"
#include "arrays/direct/remote_addresses.hpp"
#include "arrays/host_directory.hpp"
#include "arrays/outstanding_requests.hpp"
#include "objects/messages/held_messages.hpp"
#include "os/hash.hpp"
#include "sched/remote/host_records.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/arrays/halo_exchange.hpp"
#include "trireme/detail/objects/pe_objects.hpp"
#include "trireme/variables.hpp"

namespace tri::arrays {
namespace {
pe_local<array_table> table;  // NOLINT(cert-err58-cpp): registration before main, as of all variables of a PE
}  // namespace

array_table& array_table::here() {
  array_table& found = *table;
  if (!std::exchange(found.reports_, true))
    objects::pe_objects::of(sched::this_pe()).report_waiting([&found] { return found.describe_waiting(); });
  return found;
}

std::string array_table::describe_waiting() const {
  std::string text;
  for (const auto& [id, requests] : early_)
    text +=
        fmt::format("\n  PE {}: {} requests of PE {}{} wait until this PE makes {}", sched::this_pe().number(),
                    requests.size(), requests.front().source, requests.size() > 1 ? " and others" : "", describe(id));
  for (const auto& [id, array] : arrays_)
    if (array->has_halos())
      if (const std::size_t missing = array->halos().missing(); missing != 0)
        text += fmt::format("\n  PE {}: an exchange of the halo of {} waits for {} PEs", sched::this_pe().number(),
                            describe(id), missing);
  return text;
}

namespace {
std::atomic<std::uint32_t>& own_early_requests() { return sched::this_pe().record().early_requests; }
}  // namespace

host_directory& directory_of_host() {
  std::atomic<void*>& place = sched::this_pe().job().own_host().array_directory;
  void* found = place.load(std::memory_order_acquire);  // pairs: arrays.directory
  if (found != nullptr) return *static_cast<host_directory*>(found);
  auto* const made = new (arena::allocate(sizeof(host_directory))) host_directory;
  // release: the empty chains. pairs: arrays.directory
  if (place.compare_exchange_strong(found, made, std::memory_order_acq_rel, std::memory_order_acquire)) return *made;
  arena::release(made);
  return *static_cast<host_directory*>(found);
}

array_table::~array_table() {
  early_.clear();
  for (const auto& [id, array] : std::exchange(arrays_, {})) free_piece(*array, at::end);
}

std::shared_ptr<local_array> array_table::find(array_id id) const {
  const auto found = arrays_.find(id);
  return found == arrays_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<local_array>> array_table::all() const {
  std::vector<std::shared_ptr<local_array>> found;
  for (const auto& [id, array] : arrays_) found.push_back(array);
  std::ranges::sort(found, {}, &local_array::id);
  return found;
}

bool array_table::was_freed(array_id id) const {
  const auto of_partition = freed_.find(partition_of(id));
  return of_partition != freed_.end() && of_partition->second.contains(number_in_partition(id));
}

void array_table::freed_before(std::uint64_t partition, std::uint64_t first, std::uint64_t last) {
  freed_[partition].insert(first, last);
}

void array_table::enter(const std::shared_ptr<local_array>& array) {
  const sched::pe& here = sched::this_pe();
  array->freed_ = was_freed(array->id());
  const std::uint64_t digest = array->digest();
  array->short_digest_ = static_cast<std::uint32_t>(digest);
  if (array->freed_) return;
  const auto pes = static_cast<std::uint32_t>(here.job().pes_of_host());
  array->direct_ = direct_accesses::here();
  array->seen_ = std::make_unique<std::byte*[]>(pes);
  const auto entered = arrays_.emplace(array->id(), array).first;
  try {
    array->shared_ = &directory_of_host().join(array->id(), pes, digest, array->shape());
  } catch (const arena::arena_exhausted&) {  // requests for it fail here
    arrays_.erase(entered);
    free_by_name(array->id());
    throw;
  } catch (...) {
    arrays_.erase(entered);
    throw;
  }
  array->pieces_ = array->shared_->pieces();
  array->first_pe_of_host_ = here.job().first_pe_of_host();
  array->pes_of_host_ = pes;
}

void array_table::make_piece(local_array& array) {
  if (array.own_piece_ != nullptr || array.freed_) return;
  const sched::pe& here = sched::this_pe();
  const std::size_t bytes =
      std::max<std::size_t>(static_cast<std::size_t>(array.elements_on(here.number())) * array.bytes_of_element(), 1);
  auto* const memory = static_cast<std::byte*>(arena::allocate(bytes));
  std::memset(memory, 0, bytes);  // by its PE: the pages lie on its node of the machine
  array.own_piece_ = memory;
  if (remote_addresses* const addresses = remote_addresses::of_process(); addresses != nullptr)
    addresses->add_piece(array.id(), here.number(), memory, bytes);
  // First what has waited: what others do by themselves, as soon as they see the piece, comes later.
  run_early(array.id());
  // release: the zeros, and that. pairs: array.piece
  array.pieces_[here.job().host_pe_number(here.number())].store(memory, std::memory_order_release);
}

// Other hosts may know the address of the memory: then it is released when they have given it up. At the end of a job
// nothing is accessed any more, and no message would arrive.
void array_table::free_piece(local_array& array, at when) {
  if (array.shared_ == nullptr) return;
  const sched::pe& here = sched::this_pe();
  // relaxed: the program, or the barrier of a free by all, orders the accesses of others
  array.pieces_[here.job().host_pe_number(here.number())].store(nullptr, std::memory_order_relaxed);
  if (array.own_piece_ != nullptr) {
    std::byte* const memory = std::exchange(array.own_piece_, nullptr);
    remote_addresses* const addresses = when == at::end ? nullptr : remote_addresses::of_process();
    if (addresses == nullptr || addresses->free_piece(array.id(), here.number())) arena::release(memory);
  }
  array.freed_ = true;
  array.pes_of_host_ = 0;  // handles that are left find no piece
  array.pieces_ = nullptr;
  array.seen_.reset();
  array.forget_addresses();
  directory_of_host().leave(*std::exchange(array.shared_, nullptr));
  freed_[partition_of(array.id())].insert(number_in_partition(array.id()));
  arrays_.erase(array.id());
  run_early(array.id());  // made elsewhere, and freed before this PE made its piece
  if (when == at::run && array.has_halos()) array.halos().end_all(describe(array.id()) + " was freed");
}

void array_table::free_by_name(array_id id) {
  if (const std::shared_ptr<local_array> array = find(id)) return free_piece(*array);
  freed_[partition_of(id)].insert(number_in_partition(id));
  run_early(id);
}

void array_table::when_made(array_id id, int source, os::unique_function<void()> request) {
  early_[id].push_back({source, std::move(request)});
  ++early_of_[source];
  objects::count_held(sched::this_pe());
  // relaxed: a fence that follows finds it through the count of deferred requests, or comes to this PE
  own_early_requests().fetch_add(1, std::memory_order_relaxed);
}

void array_table::when_none_waits_of(int source, os::unique_function<void()> answer) {
  if (early_of_.contains(source))
    early_fences_.push_back({source, std::move(answer)});
  else
    answer();
}

void array_table::run_early(array_id id) {
  const auto found = early_.find(id);
  if (found == early_.end()) return;
  const auto requests = std::move(found->second);
  early_.erase(found);
  for (const early_request& request : requests) {
    objects::count_released(sched::this_pe());
    request.run();
    if (const auto count = early_of_.find(request.source); --count->second == 0) early_of_.erase(count);
    // release: what it did comes before a fence that another PE serves. pairs: arrays.early_requests
    own_early_requests().fetch_sub(1, std::memory_order_release);
    sched::this_pe().count_processed();
  }
  auto fences = std::exchange(early_fences_, {});
  for (early_request& fence : fences) when_none_waits_of(fence.source, std::move(fence.run));
}

// ---- what programs are compiled against

local_array::local_array(array_id id, const void* type, std::size_t bytes_of_element, int dimensions)
    : home_(sched::this_pe()), id_(id), type_(type), bytes_of_element_(bytes_of_element), dimensions_(dimensions) {}
local_array::~local_array() = default;

halo_exchanges& local_array::halos() {
  if (halos_ == nullptr) halos_ = std::make_unique<halo_exchanges>();
  return *halos_;
}

// While this PE's puts and updates may still lie in the inbox of the other, its direct accesses would overtake them.
std::byte* local_array::look_for_piece(std::uint32_t on_host) {
  // acquire: the zeros in it. pairs: array.piece
  std::byte* const piece = pieces_[on_host].load(std::memory_order_acquire);
  if (piece == nullptr ||
      outstanding_requests::here().is_unfenced(first_pe_of_host_ + static_cast<std::int32_t>(on_host)))
    return nullptr;
  return seen_[on_host] = piece;
}

void local_array::report_freed() const { throw std::logic_error(describe(id_) + " was freed"); }

std::string describe(array_id id) {
  const std::uint64_t number = number_in_partition(id);
  if (partition_of(id) == 0) return fmt::format("global array {} of those made by all PEs", number);
  return fmt::format("global array {} of those made by PE {}", number, partition_of(id) - 1);
}

std::int32_t local_array::owner_of(const std::byte* element) const {
  for (std::uint32_t on_host = 0; on_host < pes_of_host_; ++on_host) {
    const std::int32_t pe = first_pe_of_host_ + static_cast<std::int32_t>(on_host);
    const auto bytes = static_cast<std::uintptr_t>(elements_on(pe)) * bytes_of_element_;
    const std::byte* const piece = seen_[on_host];
    if (piece != nullptr && reinterpret_cast<std::uintptr_t>(element) - reinterpret_cast<std::uintptr_t>(piece) < bytes)
      return pe;
  }
  report_freed();
}

void report_nameless() { throw std::logic_error("global array: this handle names no array"); }
void report_unknown(array_id id) {
  if (id == 0) throw std::logic_error("a global pointer that names no array was dereferenced");
  if (was_freed(id)) throw std::logic_error(describe(id) + " was freed");
  throw std::logic_error(describe(id) + " is not known on this PE, or its elements have another type");
}
void report_other_shape(const local_array& known, const array_shape& named) {
  throw std::logic_error(
      fmt::format("{} has another type, other extents or another distribution on this PE: {}; the handle names {}",
                  describe(known.id()), describe(known.shape()), describe(named)));
}
void report_other_type(const local_array& known, std::string_view type, int dimensions) {
  throw std::logic_error(
      fmt::format("{} has another type or other dimensions: {}; asked for is one of {} in {} dimensions",
                  describe(known.id()), describe(known.shape()), type, dimensions));
}
void report_outside(const local_array& array, std::int64_t number) {
  throw std::out_of_range(
      fmt::format("{}: there is no element number {}; it has {}", describe(array.id()), number, array.element_count()));
}
void report_remote_cast(const local_array& array, std::int64_t number, int owner) {
  const sched::runtime& job = sched::this_pe().job();
  throw std::logic_error(fmt::format(
      "{}: element number {} is on PE {}, so there is no plain pointer to it; those of PEs {} to {} are on this host",
      describe(array.id()), number, owner, job.first_pe_of_host(), job.first_pe_of_host() + job.pes_of_host() - 1));
}

std::uint64_t digest_of(std::uint64_t before, std::uint64_t number) { return os::hashed_word(before, number); }
std::uint64_t digest_of_name(std::string_view name) { return os::hashed(name); }

machine_shape machine_of_job() {
  const sched::runtime& job = sched::this_pe().job();
  machine_shape shape{.pes = job.pes(), .hosts = job.hosts()};
  for (int host = 1; host < job.hosts(); ++host)
    if (job.processes_of_host(host) != job.processes_of_host(0)) shape.hosts = 0;  // runs of different lengths
  return shape;
}

array_id next_id_of_all() { return array_table::here().ids().next_of_all(); }
array_id next_own_id() { return array_table::here().ids().next_of(sched::this_pe().number()); }
std::shared_ptr<local_array> find_array(array_id id) { return array_table::here().find(id); }
bool was_freed(array_id id) { return array_table::here().was_freed(id); }
void enter_array(const std::shared_ptr<local_array>& array) { array_table::here().enter(array); }
void make_piece(local_array& array) { array_table::here().make_piece(array); }
void make_piece_or_free(local_array& array) {
  try {
    make_piece(array);
  } catch (const std::exception&) {
    array_table::here().free_by_name(array.id());
    throw;
  }
}

}  // namespace tri::arrays
