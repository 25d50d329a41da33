#include "arrays/outstanding_requests.hpp"

#include <fmt/format.h>

#include <atomic>
#include <tuple>
#include <utility>

#include "arrays/array_table.hpp"
#include "arrays/direct/direct_accesses.hpp"
#include "sched/remote/host_records.hpp"
#include "trireme/detail/objects/pe_objects.hpp"
#include "trireme/run.hpp"
#include "trireme/variables.hpp"

namespace tri::arrays {
namespace {
pe_local<outstanding_requests> outstanding;  // NOLINT(cert-err58-cpp): registration before main
}  // namespace

outstanding_requests& outstanding_requests::here() {
  outstanding_requests& found = *outstanding;
  if (!std::exchange(found.reports_, true))
    objects::pe_objects::of(sched::this_pe()).report_waiting([&found] { return found.describe_waiting(); });
  return found;
}

std::string outstanding_requests::describe_waiting() const {
  std::string text;
  for (const auto& [number, fence] : fences_)
    text += fmt::format("\n  PE {}: a fence of global arrays waits for {} PEs", sched::this_pe().number(),
                        fence.unanswered);
  if (!transfers_.empty())
    text += fmt::format("\n  PE {}: {} sections of global arrays are under way", sched::this_pe().number(),
                        transfers_.size());
  return text;
}

namespace {

void fence_answered_here(std::uint64_t number, std::int32_t pe) {
  outstanding_requests::here().fence_answered(number, pe);
}

void fence_answered_with_address(std::uint64_t number, std::int32_t pe, address_in_reply address) {
  if (remote_addresses* const addresses = remote_addresses::of_process(); addresses != nullptr)
    addresses->take(address);
  outstanding_requests::here().fence_answered(number, pe);
}

/// The array and the chunk whose address the answer is to bring; or no_chunk.
using fence_arguments = std::tuple<array_id, std::uint32_t>;

void serve_fence(sched::pe& here, sched::envelope& message) {
  objects::unpacked_arguments<fence_arguments> arguments(message);
  const auto answer = [source = static_cast<int>(message.source), number = message.element, pe = here.serves(),
                       wanted = arguments.values()] {
    const address_in_reply address = address_for(source, std::get<0>(wanted), pe, std::get<1>(wanted));
    if (address.key == 0)
      tri::send<&fence_answered_here>(source, number, pe);
    else
      tri::send<&fence_answered_with_address>(source, number, pe, address);
  };
  if (here.serves() != here.number()) return answer();  // nothing waits at the receiver
  array_table::here().when_none_waits_of(static_cast<int>(message.source), answer);
}
// Requests before it have run, unless the receiver keeps some: then that answers.
bool may_serve_fence(const sched::pe& here, const sched::envelope&, int receiver) {
  // acquire: what those have done. pairs: arrays.early_requests
  return here.job().record_of(receiver)->early_requests.load(std::memory_order_acquire) == 0;
}
const std::uint32_t fence_handler =
    sched::register_handler(&serve_fence, "fence of global arrays", nullptr, nullptr, nullptr, nullptr, nullptr,
                            objects::form_of<fence_arguments>(), &may_serve_fence);

}  // namespace

void outstanding_requests::fence(os::unique_function<void()> done) {
  direct_accesses* const direct = direct_accesses::here();
  if (direct != nullptr) direct->end_all();
  std::atomic_thread_fence(std::memory_order_seq_cst);  // direct accesses before it
  last_unfenced_ = -1;
  auto asked = std::exchange(unfenced_, {});
  for (const auto& [pe, fences] : asked_) asked.insert(pe);  // what an earlier fence waits for, this one waits for, too
  if (asked.empty()) return done();
  for (const std::int32_t pe : asked) ++asked_[pe];
  const std::uint64_t number = ++numbers_;
  fences_.emplace(number, pending_fence{asked.size(), std::move(done)});
  sched::pe& here = sched::this_pe();
  for (const std::int32_t pe : asked) {
    const fence_arguments wanted = direct == nullptr ? fence_arguments(0, no_chunk) : direct->take_wanted(pe);
    objects::post_packed(here, pe, fence_handler, 0, number,
                         objects::pack_arguments<fence_arguments>(here, here.is_in_this_process(pe), false,
                                                                  std::get<0>(wanted), std::get<1>(wanted)));
  }
}

void outstanding_requests::fence_in_turn(os::unique_function<void()> done) {
  (void)direct_accesses::here();  // what its first use may throw comes before the turn, which would never end
  const std::uint64_t number = first_turn_ + turns_.size();
  turns_.push_back({false, std::move(done)});
  fence([this, number] {
    turns_[number - first_turn_].is_due = true;
    while (!turns_.empty() && turns_.front().is_due) {
      const turn next = std::move(turns_.front());
      turns_.pop_front();
      ++first_turn_;
      next.done();
    }
  });
}

void outstanding_requests::fence_answered(std::uint64_t number, std::int32_t pe) {
  const auto found = fences_.find(number);
  if (found == fences_.end()) refuse(fmt::format("a fence with the number {} was answered, which none has", number));
  if (const auto asked = asked_.find(pe); asked != asked_.end() && --asked->second == 0) asked_.erase(asked);
  if (--found->second.unanswered != 0) return;
  const auto done = std::move(found->second.done);
  fences_.erase(found);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // what the program accesses directly comes behind the answers
  done();
}

std::uint64_t outstanding_requests::add_transfer(std::unique_ptr<section_transfer> transfer) {
  transfers_.emplace(++numbers_, std::move(transfer));
  return numbers_;
}

void outstanding_requests::answer_transfer(std::uint64_t number,
                                           os::function_ref<std::string(section_transfer&)> take) {
  const auto found = transfers_.find(number & ((std::uint64_t{1} << bits_of_transfer) - 1));
  if (found == transfers_.end())
    refuse(fmt::format("a transfer with the number {} was answered, which none has", number));
  if (!found->second->take_answer(take(*found->second))) return;
  const auto transfer = std::move(found->second);
  transfers_.erase(found);
  transfer->finish();
}

}  // namespace tri::arrays
