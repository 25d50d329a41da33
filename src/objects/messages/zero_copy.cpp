// The receiving side of zero-copy sends: the reference, and a transfer of its memory.
#include "trireme/zero_copy.hpp"

#include <fmt/format.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "arena/arena.hpp"
#include "arena/window.hpp"
#include "config/configuration.hpp"
#include "objects/messages/exposed_memories.hpp"
#include "sched/process_runtime.hpp"
#include "sched/remote/wire_link.hpp"

namespace tri::objects {
namespace {

enum class kernel_read : std::uint8_t { done, refused, no_such_memory };

// The kernel copies at most about 2 GiB in one call, and may stop early.
kernel_read read_by_kernel(const exposed_memory& memory, void* to) {
  std::size_t done = 0;
  while (done < memory.bytes) {
    const iovec local{static_cast<std::byte*>(to) + done, memory.bytes - done};
    const iovec remote{const_cast<std::byte*>(memory.data) + done, memory.bytes - done};
    const ssize_t now = process_vm_readv(memory.process, &local, 1, &remote, 1, 0);
    if (now > 0)
      done += static_cast<std::size_t>(now);
    else if (now == 0 || errno != EINTR)
      return now < 0 && errno == EFAULT ? kernel_read::no_such_memory : kernel_read::refused;
  }
  return kernel_read::done;
}

}  // namespace

// ---- the reference

void zero_copy_reference::check_unreceived() const {
  if (number_ == 0)
    throw std::logic_error(
        "tri::zero_copy: it refers to no memory: it was made without tri::expose, received already, or given away");
}

// Not when the job ends: futures end without an answer then.
void zero_copy_reference::end_unread() noexcept {
  const std::uint64_t number = std::exchange(number_, 0);
  sched::pe* const here = sched::detail::this_pe;
  if (here == nullptr || static_cast<std::uint32_t>(here->job().number()) != run_ || pe_objects::of(*here).is_ending())
    return;
  try {
    post_exposure_end(*here, pe_, number, exposure_end::unread);
  } catch (const std::exception& error) {
    here->job().fail(fmt::format("a tri::zero_copy cannot say that it ends unread: {}", error.what()));
  }
}

void zero_copy_reference::save(output_archive& archive) const {
  const auto address = reinterpret_cast<std::uint64_t>(memory_);
  archive.write(&address, sizeof address);
  archive.write(&number_, sizeof number_);
  archive.write(&bytes_, sizeof bytes_);
  archive.write(&pe_, sizeof pe_);
  number_ = 0;
  bytes_ = 0;
}

void zero_copy_reference::load(input_archive& archive) {
  zero_copy_reference read;
  std::uint64_t address = 0;
  archive.read(&address, sizeof address);
  std::uint64_t number = 0;
  archive.read(&number, sizeof number);
  archive.read(&read.bytes_, sizeof read.bytes_);
  archive.read(&read.pe_, sizeof read.pe_);
  const sched::runtime& job = sched::this_pe().job();
  if (read.pe_ >= static_cast<std::uint32_t>(job.pes()))
    throw archive_error(fmt::format("a tri::zero_copy is from PE {}; there are PEs 0..{}", read.pe_, job.pes() - 1));
  read.memory_ = reinterpret_cast<exposed_memory*>(address);  // looked at before it is used
  read.run_ = static_cast<std::uint32_t>(job.number());
  read.number_ = number;
  *this = std::move(read);
}

// Its address may have come from another host, whose processes are not trusted.
bool zero_copy_reference::is_readable_here(const sched::pe& here) const {
  if (!here.job().is_on_own_host(static_cast<int>(pe_))) return false;
  const arena::arena_space& space = *arena::current();
  const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(memory_) - arena::base_address;
  const auto windows = static_cast<std::size_t>(space.windows());
  if (place >= windows * space.window_bytes() || place % alignof(exposed_memory) != 0) return false;
  return memory_->number == number_ && memory_->pe == pe_ && memory_->bytes == bytes_;
}

// ---- the transfer

void throw_too_small(std::size_t room, std::size_t size) {
  throw std::length_error(
      fmt::format("tri::zero_copy::into: there is room for {} elements, and {} were exposed", room, size));
}

void incoming_memory::begin(zero_copy_reference&& from, void* to) {
  sched::pe& here = sched::this_pe();
  to_ = to;
  bytes_ = from.bytes_;
  pe_ = from.pe_;
  if (bytes_ == 0) {
    post_exposure_end(here, pe_, from.number_, exposure_end::received);
    from.received();
    return arrived();
  }
  if (from.is_readable_here(here) && read_here(here, from)) return;
  posted_key_ = key_ = pe_objects::of(here).exposed().expect(*this);
  if (!here.job().is_on_own_host(static_cast<int>(pe_)))
    static_cast<const sched::process_runtime&>(here.job()).wire()->posted().post(key_, to, bytes_);
  try {
    post_request(here, pe_, from.number_, key_);
  } catch (...) {
    withdraw();
    throw;
  }
  from.received();
}

// False: this process cannot read the memory.
bool incoming_memory::read_here(sched::pe& here, zero_copy_reference& from) {
  exposed_memory& memory = *from.memory_;
  exposure_end how = exposure_end::withdrawn;
  if (memory.use.begin_use()) {
    how = exposure_end::received;
    if (memory.is_in_arena || here.is_in_this_process(static_cast<int>(pe_))) {
      std::memcpy(to_, memory.data, bytes_);
    } else {
      const kernel_read result = here.job().values().kernel_copies ? read_by_kernel(memory, to_) : kernel_read::refused;
      if (result == kernel_read::refused) {
        memory.use.give_back();
        return false;
      }
      if (result == kernel_read::no_such_memory) how = exposure_end::unreadable;
    }
    memory.use.end_use();
  }
  post_exposure_end(here, pe_, from.number_, how);
  from.received();
  if (how != exposure_end::received) {
    fail(text_of(how, bytes_, pe_));
    return true;
  }
  here.counters().zero_copy_bytes_read.add(bytes_);
  arrived();
  return true;
}

void incoming_memory::arrived_in(const void* staged, std::uint64_t bytes) {
  if (bytes != bytes_)
    sched::this_pe().job().fail(
        fmt::format("PE {} sent {} bytes of exposed memory, {} were requested", pe_, bytes, bytes_));
  target expected = target::wanted;
  // relaxed: the memory was this PE's to write, unless the other one has withdrawn it
  if (target_.compare_exchange_strong(expected, target::being_written, std::memory_order_relaxed)) {
    std::memcpy(to_, staged, bytes);
    // release: what was written comes before what the other PE does with the memory. pairs: incoming_memory.target
    target_.store(target::wanted, std::memory_order_release);
  }
  arrived();
}

// First against what comes as a message, then against the wire, which may be writing just now.
void incoming_memory::withdraw_elsewhere() noexcept {
  const sched::pe& here = sched::this_pe();
  // acq_rel: see arrived_in and is_unwanted. pairs: incoming_memory.target
  for (target expected = target::wanted;
       !target_.compare_exchange_weak(expected, target::unwanted, std::memory_order_acq_rel, std::memory_order_relaxed);
       expected = target::wanted)
    std::this_thread::yield();
  sched::wire_link* const wire = static_cast<const sched::process_runtime&>(here.job()).wire();
  while (wire != nullptr && !wire->posted().withdraw(posted_key_)) progress_or_yield(here);
}

void incoming_memory::withdraw_slowly() noexcept {
  sched::pe* const here = sched::detail::this_pe;
  const std::uint64_t key = std::exchange(key_, 0);
  if (here == nullptr) return;
  pe_objects::of(*here).exposed().take(key);
  sched::wire_link* const wire = static_cast<const sched::process_runtime&>(here->job()).wire();
  while (wire != nullptr && !wire->posted().withdraw(key)) progress_or_yield(*here);
}

std::string incoming_memory::describe_transfer() const {
  return fmt::format("{} bytes that PE {} has exposed", bytes_, pe_);
}

// ---- in the table of their PE

std::uint64_t exposed_memories::expect(incoming_memory& transfer) {
  const std::uint64_t key = next_key_++;
  expected_.emplace(key, &transfer);
  return key;
}

incoming_memory* exposed_memories::take(std::uint64_t key) {
  const auto found = expected_.extract(key);
  return found.empty() ? nullptr : found.mapped();
}

}  // namespace tri::objects
