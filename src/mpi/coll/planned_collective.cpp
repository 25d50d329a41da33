#include "mpi/coll/planned_collective.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "arena/block_cache.hpp"
#include "mpi/coll/element_operation.hpp"
#include "mpi/coll/shm_steps.hpp"
#include "mpi/engine/shm_collective.hpp"
#include "mpi/startup/progress_thread.hpp"
#include "os/hash.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::mpi::collectives {
namespace {

// Of this process, in the order in which they began. With the call guard.
std::vector<planned_collective*> under_way;
std::vector<plan_sequence*> sequences;
coll::entry_order order;

std::byte* allocate(session& in, std::size_t bytes) {
  try {
    return static_cast<std::byte*>(in.ranks().blocks().allocate(bytes));
  } catch (const arena::arena_exhausted&) {
    return nullptr;
  }
}

// The first member that needs it makes it.
coll::operation_table* table_of(session& in, shm_collective& shared) {
  if (void* const there = shared.plan_memory()) return static_cast<coll::operation_table*>(there);
  if (shared.is_without_plans()) return nullptr;
  std::byte* const memory = allocate(in, coll::operation_table::size_for());
  void* const made = memory == nullptr ? nullptr : coll::operation_table::create(memory);
  void* const agreed = shared.set_plan_memory(made);
  if (agreed != made && memory != nullptr) in.ranks().blocks().release(memory);
  return static_cast<coll::operation_table*>(agreed);
}

// Not what lies between them.
void copy_elements(const void* from, void* to, std::uint64_t count, MPI_Datatype handle) {
  const buffer_type& type = datatypes::find(handle);
  std::vector<std::byte> packed(count * type.bytes);
  pack(from, static_cast<MPI_Count>(count), type, packed.data());
  unpack(packed.data(), packed.size(), to, static_cast<MPI_Count>(count), type);
}

// How a plan is found again.
struct plan_key {
  coll::collective what;
  const char* algorithm;
  std::uint64_t elements;
  std::uint64_t extent;
  int root;
  bool in_place;
  bool operator==(const plan_key&) const = default;
};

}  // namespace

// Plans of one communicator that were used last, by rank; plans for blocks of different sizes are made anew.
struct plan_cache {
  static constexpr std::size_t most = 16;
  using plans = std::vector<std::shared_ptr<const coll::plan>>;
  std::vector<std::pair<plan_key, plans>> kept;
  std::size_t next = 0;

  plans& of(const plan_key& key, std::size_t ranks) {
    for (auto& [known, found] : kept)
      if (known == key) return found;
    std::pair<plan_key, plans> made(key, plans(ranks));
    if (kept.size() < most) return kept.emplace_back(std::move(made)).second;
    next = (next + 1) % most;
    return (kept[next] = std::move(made)).second;
  }
};

namespace {

std::shared_ptr<const coll::plan> plan_of_rank(communicator& comm, const planned_request& asked,
                                               const coll::request& request, int rank) {
  const auto make = [&] {
    return std::make_shared<const coll::plan>(
        coll::generate(coll::algorithm_of(request, asked.algorithm), request, rank));
  };
  if (!request.blocks.is_uniform()) return make();
  if (!comm.plans) comm.plans = std::make_shared<plan_cache>();
  const plan_key key{asked.what,     asked.algorithm, request.blocks.begin(1),
                     request.extent, request.root,    request.in_place};
  std::shared_ptr<const coll::plan>& found =
      comm.plans->of(key, static_cast<std::size_t>(comm.size()))[static_cast<std::size_t>(rank)];
  if (found == nullptr) found = make();
  return found;
}

// Of the plan: by host.
int place_of(const communicator& comm, int rank) {
  return comm.spans_hosts() ? comm.hosts->place_of[static_cast<std::size_t>(rank)] : rank;
}

// What all ranks have to ask for alike.
std::uint64_t digest_of(const coll::request& of) {
  std::uint64_t digest = os::hashed_word(os::hash_of_nothing, static_cast<std::uint64_t>(of.what));
  digest = os::hashed_word(digest, static_cast<std::uint64_t>(of.root));
  digest = os::hashed_word(digest, of.extent);
  for (int rank = 0; rank <= (of.blocks.is_uniform() ? 1 : of.hosts.ranks()); ++rank)
    digest = os::hashed_word(digest, of.blocks.begin(rank));
  return digest;
}

}  // namespace

std::optional<element_form> element_form::of(MPI_Datatype handle) {
  const buffer_type& type = datatypes::find(handle);
  if (has_plain_elements(type)) return element_form{type.bytes, 0, false};
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  PMPI_Type_get_extent(handle, &lower, &extent);
  PMPI_Type_get_true_extent(handle, &true_lower, &true_extent);
  if (type.bytes == 0 || extent <= 0 || extent > std::numeric_limits<std::uint32_t>::max() || true_lower < lower ||
      true_lower + true_extent > lower + extent)
    return std::nullopt;
  return element_form{static_cast<std::size_t>(extent), lower, true};
}

planned_request planned_request::of_elements(coll::collective what, const char* algorithm, const void* from, void* to,
                                             coll::block_layout blocks, MPI_Datatype type, MPI_Op operation, int root) {
  planned_request made;
  made.what = what;
  made.algorithm = algorithm;
  made.from = from;
  made.to = to;
  made.blocks = std::move(blocks);
  made.type = type;
  made.elements = *element_form::of(type);
  made.operation = operation;
  made.root = root;
  return made;
}

coll::request planned_collective::request_of(const communicator& comm, const planned_request& asked) {
  coll::request made;
  made.what = asked.what;
  made.hosts = comm.spans_hosts() ? comm.hosts->shape : coll::shape::uniform(1, comm.size());
  made.root = place_of(comm, asked.root);
  made.blocks = asked.blocks;
  made.extent = static_cast<std::uint32_t>(asked.elements.bytes);
  // All ranks say so or none, of an allreduce. Of others each rank may for itself, and the others do not know: then its
  // output is staged, or the input of a root.
  made.in_place = asked.from == MPI_IN_PLACE && asked.what == coll::collective::allreduce && asked.all_alike;
  made.commutative = false;  // one order for all operations: that of the ranks
  return made;
}

std::unique_ptr<planned_collective> planned_collective::begin(session& in, communicator& comm,
                                                              const operation_identity& identity,
                                                              const planned_request& asked) {
  coll::operation_table* const shared = identity.table != nullptr ? identity.table : table_of(in, *comm.barrier);
  if (shared == nullptr) return nullptr;
  return std::unique_ptr<planned_collective>(new planned_collective(in, comm, *shared, identity, asked));
}

planned_collective::planned_collective(session& in, communicator& comm, coll::operation_table& shared,
                                       const operation_identity& identity, const planned_request& asked)
    : in_(in),
      comm_(comm),
      asked_(asked),
      request_(request_of(comm, asked)),
      plan_(plan_of_rank(comm, asked, request_, place_of(comm, comm.rank))),
      calls_library_(comm.spans_hosts() ||
                     (coll::reduces(asked.what) && !element_operation::of(asked.type, asked.operation).is_ours())),
      identity_(identity) {
  const int host = comm.spans_hosts() ? comm.hosts->host : 0;
  run_ = std::make_unique<coll::plan_run>(*plan_, shared, order, request_.hosts.first_rank(host),
                                          static_cast<std::uint32_t>(request_.hosts.ranks_of(host)), identity_.number,
                                          digest_of(request_), *this);
  run_->advance(false);
  under_way.push_back(this);
  if (comm_.spans_hosts()) in_.begin_polled_operation();
  in_.set_advance(session::advancing::collectives, &advance_all);
}

planned_collective::~planned_collective() {
  in_.ranks().wait([this] { return is_done(in_); }, asks_library());
  std::erase(under_way, this);
  if (comm_.spans_hosts()) in_.end_polled_operation();
  if (under_way.empty()) in_.set_advance(session::advancing::collectives, nullptr);
}

// Others wait for this rank's steps in operations that it does not wait for itself.
bool planned_collective::advance_all(bool before_sleep) {
  bool worked = false;
  for (std::size_t i = 0; i < under_way.size(); ++i)
    if (under_way[i]->advance(before_sleep)) worked = true;
  if (!progress_thread::is_this())
    for (std::size_t i = 0; i < sequences.size(); ++i) sequences[i]->advance();
  return worked;
}

// Ranks that come at about the same time do their own steps.
bool planned_collective::advance(bool before_sleep) {
  constexpr int patience = 64;
  if (run_->is_over() || (calls_library_ && progress_thread::is_this())) return false;
  const bool worked = run_->advance(before_sleep || idle_ > patience);
  idle_ = worked ? 0 : idle_ + 1;
  return worked;
}

bool planned_collective::is_done(session&) {
  advance(false);
  return run_->is_over();
}

int planned_collective::finish(session&) {
  if (!run_->has_failed()) return MPI_SUCCESS;
  return run_->why_failed() == coll::failure::different_arguments ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
}

plan_sequence::plan_sequence(session& in, communicator& comm, std::vector<operation_identity> identities)
    : in_(in), comm_(comm), identities_(std::move(identities)) {
  if (identities_.front().table == nullptr) table_of(in, *comm.barrier);
  for (const operation_identity& each : identities_)
    if (coll::operation_table* const table = table_for(each)) order.expect(*table, each.number);
  sequences.push_back(this);
}

plan_sequence::~plan_sequence() { std::erase(sequences, this); }

coll::operation_table* plan_sequence::table_for(const operation_identity& identity) const {
  return identity.table != nullptr ? identity.table : static_cast<coll::operation_table*>(comm_.barrier->plan_memory());
}

bool plan_sequence::advance() {
  if (is_advancing_) return false;
  is_advancing_ = true;
  if (!has_begun_) begin_next();
  while (plan_ != nullptr && plan_->is_done(in_)) {
    error_ = plan_->finish(in_);
    plan_.reset();
    if (error_ == MPI_SUCCESS) plan_ended(ended_++);
    begin_next();
  }
  is_advancing_ = false;
  return plan_ == nullptr;
}

void plan_sequence::begin_next() {
  has_begun_ = true;
  if (error_ == MPI_SUCCESS && ended_ < identities_.size()) {
    if (const std::optional<planned_request> next = plan_of(ended_))
      plan_ = planned_collective::begin(in_, comm_, identities_[ended_], *next);
    if (plan_ != nullptr) return;
    error_ = MPI_ERR_OTHER;  // no memory, which all members find alike
  }
  for (std::size_t left = ended_; left < identities_.size(); ++left)
    if (coll::operation_table* const table = table_for(identities_[left]))
      order.remove(*table, identities_[left].number);
}

void* planned_collective::allocate_record(std::size_t bytes) { return in_.ranks().blocks().allocate(bytes); }
void planned_collective::release_record(void* memory) { in_.ranks().blocks().release(memory); }

// What other ranks cannot access, such as a stack, is copied to memory that they can, behind the scratch.
bool planned_collective::open(buffers& own) {
  const std::uint64_t input_bytes = request_.input_bytes(plan_->rank);
  const std::uint64_t output_bytes = request_.output_bytes(plan_->rank);
  // In place one is the other. Where the plan does not know it, one of them is staged; not of a scan, which reads each
  // element of its input where it then writes.
  const bool is_one_buffer = request_.in_place;
  const bool is_in_place = asked_.from == MPI_IN_PLACE && !is_one_buffer;
  const bool keeps_input = is_in_place && coll::has_root(asked_.what);
  const bool keeps_output = is_in_place && !keeps_input && asked_.what != coll::collective::scan;
  const void* const from = own_part(asked_.from, asked_.to);
  const bool packs_input = is_packed(asked_.packed_from);
  const bool packs_output = is_packed(asked_.packed_to);
  if (input_bytes > 0 && !keeps_input && !packs_input) own.input = in_.ranks().shared_address(from, input_bytes);
  if (output_bytes > 0 && !is_one_buffer && !keeps_output && !packs_output)
    own.output = asked_.drops_output ? nullptr : in_.ranks().shared_address(asked_.to, output_bytes);
  const auto aligned = [](std::uint64_t bytes) { return (bytes + 63) / 64 * 64; };
  const std::uint64_t input_at = aligned(plan_->scratch_bytes);
  const std::uint64_t output_at = input_at + (own.input == nullptr ? aligned(input_bytes) : 0);
  const bool stages_output = !is_one_buffer && own.output == nullptr;
  const std::uint64_t steps_at = output_at + (stages_output ? aligned(output_bytes) : 0);
  own.scratch = allocate(in_, steps_at + plan_->steps.size() + 1);
  if (own.scratch == nullptr) return false;
  own.step_count = static_cast<std::uint32_t>(plan_->steps.size());
  own.steps = reinterpret_cast<std::atomic<coll::step_state>*>(own.scratch + steps_at);
  std::uninitialized_value_construct_n(own.steps, own.step_count);
  if (own.input == nullptr && input_bytes > 0) {
    own.input = own.scratch + input_at;
    stage_input(from, own.input, input_bytes);
    if (is_one_buffer) staged_output_ = own.input;
  }
  if (stages_output && output_bytes > 0) own.output = staged_output_ = own.scratch + output_at;
  if (is_one_buffer) own.output = own.input;
  return true;
}

void planned_collective::close() {
  const std::uint64_t bytes = request_.output_bytes(plan_->rank);
  if (staged_output_ == nullptr || asked_.drops_output) return;
  unstage_output(staged_output_, asked_.to, bytes);
}

void planned_collective::stage_input(const void* from, std::byte* to, std::uint64_t bytes) const {
  if (asked_.elements.has_gaps)
    copy_elements(from, to - asked_.elements.lower, bytes / asked_.elements.bytes, asked_.type);
  else if (asked_.packed_from.is_needed())
    pack(from, asked_.packed_from.count, asked_.packed_from.type, to);
  else
    std::memcpy(to, from, bytes);
}

void planned_collective::unstage_output(const std::byte* from, void* to, std::uint64_t bytes) const {
  if (asked_.elements.has_gaps)
    copy_elements(from - asked_.elements.lower, to, bytes / asked_.elements.bytes, asked_.type);
  else if (asked_.packed_to.is_needed())
    unpack(from, bytes, to, asked_.packed_to.count, asked_.packed_to.type);
  else
    std::memcpy(to, from, bytes);
}

void planned_collective::release(const buffers& of_member) {
  if (of_member.scratch != nullptr) in_.ranks().blocks().release(of_member.scratch);
}

void planned_collective::copy(const std::byte* from, std::byte* to, std::uint64_t bytes) {
  if (to != from) std::memcpy(to, from, bytes);
}

// `sum` becomes `left` op `sum`.
void planned_collective::reduce_local(const std::byte* left, std::byte* sum, std::uint64_t bytes) const {
  const element_form& of = asked_.elements;
  element_operation::of(asked_.type, asked_.operation)(left - of.lower, sum - of.lower,
                                                       static_cast<MPI_Count>(bytes / of.bytes));
}

void planned_collective::reduce(coll::step_kind side, const std::byte* from, std::byte* to, std::uint64_t bytes) {
  if (side == coll::step_kind::reduce_left || element_operation::of(asked_.type, asked_.operation).is_commutative()) {
    reduce_local(from, to, bytes);
    return;
  }
  std::vector<std::byte> right(from, from + bytes);
  reduce_local(to, right.data(), bytes);
  std::copy(right.begin(), right.end(), to);
}

// A message that has been declined has no bytes; one that has none to begin with, one. Without memory for its record a
// send is declined, which takes none.
void planned_collective::begin_message(std::uint32_t index, const coll::step& message, std::byte* at) {
  try {
    begin_transfer(index, message, at != nullptr ? at : &empty_, at != nullptr ? message.bytes : 1);
  } catch (const arena::arena_exhausted&) {
    decline_message(index, message);
    messages_[index].is_lost = true;
  }
}

// Of what is received there is no byte that is wanted.
void planned_collective::decline_message(std::uint32_t index, const coll::step& message) {
  begin_transfer(index, message, nullptr, 0);
}

void planned_collective::begin_transfer(std::uint32_t index, const coll::step& message, std::byte* at,
                                        std::uint64_t bytes) {
  auto& [arguments, transferred, is_lost] = messages_[index];
  arguments.is_send = message.kind == coll::step_kind::send;
  arguments.channel = identity_.channel;
  arguments.buffer = at;
  arguments.count = static_cast<MPI_Count>(bytes);
  arguments.type = datatypes::find(MPI_BYTE);
  arguments.peer = comm_.hosts->rank_at[static_cast<std::size_t>(message.peer)];
  arguments.tag = identity_.first_tag_of_plan + static_cast<int>(message.round);
  transferred.begin(in_, arguments, comm_);
}

coll::message_state planned_collective::test_message(std::uint32_t index) {
  auto& [arguments, transferred, is_lost] = messages_.find(index)->second;
  if (!transferred.is_done(in_)) return coll::message_state::under_way;
  if (transferred.result(arguments, MPI_STATUS_IGNORE) != MPI_SUCCESS) is_lost = true;
  transferred.finish(in_, arguments);
  return is_lost ? coll::message_state::lost : coll::message_state::complete;
}

const coll::plan* planned_collective::plan_of(std::int32_t rank) {
  if (plans_of_others_.empty()) plans_of_others_.resize(static_cast<std::size_t>(comm_.size()));
  std::shared_ptr<const coll::plan>& found = plans_of_others_[static_cast<std::size_t>(rank)];
  if (found == nullptr) found = plan_of_rank(comm_, asked_, request_, rank);
  return found.get();
}

void planned_collective::wake_others() {
  const auto wake = [this](int rank) {
    if (rank != comm_.rank) in_.ranks().wake_after_store(comm_.number_of[static_cast<std::size_t>(rank)]);
  };
  if (comm_.spans_hosts())
    std::ranges::for_each(comm_.hosts->ranks_here(), wake);
  else
    for (int rank = 0; rank < comm_.size(); ++rank) wake(rank);
}

bool reserve_plan_memory(session& in, shm_collective& shared) { return table_of(in, shared) != nullptr; }

int run_planned(session& in, communicator& comm, const completion& how, const planned_request& asked) {
  if (!how.is_blocking())
    return how.begin(in, comm, [&](const operation_identity& identity) {
      return planned_collective::begin(in, comm, identity, asked);
    });
  const auto all = planned_collective::begin(in, comm, operation_identity::next_of(comm), asked);
  if (all == nullptr) return pass_through;
  in.ranks().wait([&] { return all->is_done(in); }, all->asks_library());
  return all->finish(in);
}

void release_plan_memory(session& in, const communicator& comm) {
  if (void* const memory = comm.barrier->plan_memory()) in.ranks().blocks().release(memory);
}

}  // namespace tri::mpi::collectives
