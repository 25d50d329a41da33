#include "arrays/direct/ucx_adapter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arena/window.hpp"
#include "arrays/direct/ucx_transport.hpp"
#include "os/hash.hpp"

namespace tri::arrays {
namespace {

/// What goes with an address, taken apart: a mark of the transport, two lengths, the addresses of the device and of the
/// interface, the packed key.
struct adapter_address {
  std::uint32_t mark = 0;
  std::vector<std::byte> device;
  std::vector<std::byte> interface;
  std::vector<std::byte> key;
};

adapter_bytes joined(const adapter_address& from) {
  adapter_bytes made;
  const auto add = [&made](const void* bytes, std::size_t count) {
    if (count > made.all.size() - made.used)
      throw std::logic_error("rma=ucx: an address is longer than the transport has said");
    std::memcpy(made.all.data() + made.used, bytes, count);
    made.used = static_cast<std::uint8_t>(made.used + count);
  };
  const auto lengths = std::to_array({static_cast<std::uint8_t>(from.device.size()),  // both fit: checked on opening
                                      static_cast<std::uint8_t>(from.interface.size())});
  add(&from.mark, sizeof(from.mark));
  add(lengths.data(), lengths.size());
  for (const auto* part : {&from.device, &from.interface, &from.key})
    if (!part->empty()) add(part->data(), part->size());
  return made;
}

adapter_address taken_apart(const adapter_bytes& from) {
  adapter_address made;
  const auto refuse = [&from] {
    throw std::runtime_error(fmt::format(
        "rma=ucx: an address of {} bytes came that ends too early: all processes must have the same --tri-rma",
        from.used));
  };
  if (from.used > from.all.size()) refuse();
  std::span<const std::byte> rest(from.all.data(), from.used);
  const auto take = [&](std::size_t count) {
    if (count > rest.size()) refuse();
    const auto part = rest.first(count);
    rest = rest.subspan(count);
    return std::vector<std::byte>(part.begin(), part.end());
  };
  const std::vector<std::byte> mark = take(sizeof(made.mark));
  std::memcpy(&made.mark, mark.data(), sizeof(made.mark));
  const std::vector<std::byte> lengths = take(2);
  made.device = take(static_cast<std::size_t>(lengths[0]));
  made.interface = take(static_cast<std::size_t>(lengths[1]));
  made.key = take(rest.size());
  return made;
}

// What another transport calls an address is not given to this one.
std::uint32_t mark_of(std::string_view transport) {
  return static_cast<std::uint32_t>(os::hashed(transport.substr(0, transport.find('/'))));
}

/// Another process. Ports read its addresses, which stay as they are.
struct ucx_peer {
  int process;
  adapter_address at;
  std::unordered_map<registration_key, uct_rkey_bundle_t> keys;
};

const uct_device_addr_t* device_of(const adapter_address& at) {
  return reinterpret_cast<const uct_device_addr_t*>(at.device.data());
}
const uct_iface_addr_t* interface_of(const adapter_address& at) {
  return reinterpret_cast<const uct_iface_addr_t*>(at.interface.data());
}

// ---- accesses

class ucx_port final : public access_port {
 public:
  explicit ucx_port(ucx_transport& transport) : domain_(transport.domain()), interface_(transport.open_interface()) {}
  ~ucx_port() override {
    if (arena::in_forked_child()) return;
    for (const auto& [peer, endpoint] : endpoints_) uct().uct_ep_destroy(endpoint);
  }
  void carry_out(std::span<const adapter_access> accesses) override;

 private:
  /// One part of an access, as long as the transport takes at once.
  struct fragment {
    remote_access how;
    uct_ep_h endpoint;
    std::byte* local;
    std::size_t bytes;
    std::uint64_t remote;
    uct_rkey_t key;
    uct_mem_h local_key;
    bool is_copied;
  };
  uct_ep_h endpoint_to(const ucx_peer& peer);
  bool copies(remote_access how, std::size_t bytes) const;
  std::size_t longest_fragment(remote_access how, bool is_copied) const;
  ucs_status_t start(const adapter_access& one);
  ucs_status_t start(const fragment& one);
  template <class Call>
  ucs_status_t start_when_possible(Call&& call);
  ucs_status_t flush(std::span<const adapter_access> accesses);
  void wait();

  ucx_memory_domain& domain_;
  std::unique_ptr<ucx_interface> interface_;
  std::unordered_map<const ucx_peer*, uct_ep_h> endpoints_;
  uct_completion_t completion_ = {};        // of all that is under way; counts one more
  std::vector<uct_mem_h> local_keys_ = {};  // of what is under way
};

uct_ep_h ucx_port::endpoint_to(const ucx_peer& peer) {
  const auto [found, is_new] = endpoints_.try_emplace(&peer, nullptr);
  if (!is_new) return found->second;
  uct_ep_params_t parameters = {};
  parameters.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
  parameters.iface = interface_->handle();
  parameters.dev_addr = device_of(peer.at);
  parameters.iface_addr = interface_of(peer.at);
  if (const ucs_status_t made = uct().uct_ep_create(&parameters, &found->second); made != UCS_OK) {
    endpoints_.erase(found);
    check_ucx(made, fmt::format("no endpoint to process {}", peer.process));
  }
  return found->second;
}

// Adapters that need a key of local memory, too, copy what is short: that takes less time than a registration.
bool ucx_port::copies(remote_access how, std::size_t bytes) const {
  const uct_iface_attr_t& facts = interface_->facts();
  const bool is_get = how == remote_access::get;
  return domain_.needs_local_keys() && bytes <= (is_get ? facts.cap.get.max_bcopy : facts.cap.put.max_bcopy) &&
         (facts.cap.flags & (is_get ? UCT_IFACE_FLAG_GET_BCOPY : UCT_IFACE_FLAG_PUT_BCOPY)) != 0;
}

std::size_t ucx_port::longest_fragment(remote_access how, bool is_copied) const {
  const auto& limits = interface_->facts().cap;
  if (how == remote_access::get) return is_copied ? limits.get.max_bcopy : limits.get.max_zcopy;
  return is_copied ? limits.put.max_bcopy : limits.put.max_zcopy;
}

// The adapter's queue may be full.
template <class Call>
ucs_status_t ucx_port::start_when_possible(Call&& call) {
  ++completion_.count;
  ucs_status_t status = call();
  while (status == UCS_ERR_NO_RESOURCE) {
    interface_->progress();
    status = call();
  }
  if (status == UCS_INPROGRESS) return UCS_OK;
  --completion_.count;
  return status;
}

ucs_status_t ucx_port::start(const fragment& one) {
  if (one.is_copied && one.how == remote_access::get) {
    const auto unpack = [](void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); };
    return start_when_possible([&] {
      return uct_ep_get_bcopy(one.endpoint, unpack, one.local, one.bytes, one.remote, one.key, &completion_);
    });
  }
  if (one.is_copied) {
    const auto pack = [](void* to, void* from) {
      const auto& put = *static_cast<const fragment*>(from);
      std::memcpy(to, put.local, put.bytes);
      return put.bytes;
    };
    return start_when_possible([&] {  // complete with the flush
      const ssize_t put = uct_ep_put_bcopy(one.endpoint, pack, const_cast<fragment*>(&one), one.remote, one.key);
      return put < 0 ? static_cast<ucs_status_t>(put) : UCS_OK;
    });
  }
  const uct_iov_t local = {.buffer = one.local, .length = one.bytes, .memh = one.local_key, .stride = 0, .count = 1};
  return start_when_possible([&] {
    return one.how == remote_access::get ? uct_ep_get_zcopy(one.endpoint, &local, 1, one.remote, one.key, &completion_)
                                         : uct_ep_put_zcopy(one.endpoint, &local, 1, one.remote, one.key, &completion_);
  });
}

ucs_status_t ucx_port::start(const adapter_access& one) {
  fragment part{.how = one.how,
                .endpoint = endpoint_to(*static_cast<const ucx_peer*>(one.through.peer)),
                .local = one.local,
                .bytes = 0,
                .remote = one.where.address + one.offset,
                .key = one.through.key,
                .local_key = UCT_MEM_HANDLE_NULL,
                .is_copied = copies(one.how, one.bytes)};
  if (domain_.needs_local_keys() && !part.is_copied) {
    part.local_key =
        domain_.register_memory(one.local, one.bytes, UCT_MD_MEM_ACCESS_LOCAL_READ | UCT_MD_MEM_ACCESS_LOCAL_WRITE);
    if (part.local_key == nullptr) return UCS_ERR_NO_MEMORY;
    local_keys_.push_back(part.local_key);
  }
  const std::size_t longest = longest_fragment(one.how, part.is_copied);
  for (std::size_t done = 0; done < one.bytes; done += part.bytes) {
    part.bytes = std::min(one.bytes - done, longest);
    if (const ucs_status_t status = start(part); status != UCS_OK) return status;
    part.local += part.bytes;
    part.remote += part.bytes;
  }
  return UCS_OK;
}

// A put is complete here before it is at the target.
ucs_status_t ucx_port::flush(std::span<const adapter_access> accesses) {
  uct_ep_h last = nullptr;
  for (const adapter_access& one : accesses) {
    if (one.how == remote_access::get) continue;
    const uct_ep_h endpoint = endpoint_to(*static_cast<const ucx_peer*>(one.through.peer));
    if (endpoint == last) continue;
    last = endpoint;
    const ucs_status_t status =
        start_when_possible([&] { return uct_ep_flush(endpoint, UCT_FLUSH_FLAG_LOCAL, &completion_); });
    if (status != UCS_OK) return status;
  }
  return UCS_OK;
}

void ucx_port::wait() {
  while (completion_.count > 1) interface_->progress();
}

void ucx_port::carry_out(std::span<const adapter_access> accesses) {
  completion_ = {.func = [](uct_completion_t*) {}, .count = 1, .status = UCS_OK};
  // What throws comes before anything is under way.
  for (const adapter_access& one : accesses) endpoint_to(*static_cast<const ucx_peer*>(one.through.peer));
  ucs_status_t status = UCS_OK;
  const adapter_access* refused = nullptr;
  for (const adapter_access& one : accesses) {
    status = start(one);
    if (status == UCS_OK) continue;
    refused = &one;
    break;
  }
  if (status == UCS_OK) status = flush(accesses);
  wait();
  for (const uct_mem_h key : std::exchange(local_keys_, {})) domain_.deregister_memory(key);
  if (status == UCS_OK) status = completion_.status;
  if (status == UCS_OK) [[likely]]
    return;
  const adapter_access& one = refused == nullptr ? accesses.front() : *refused;
  throw std::runtime_error(fmt::format(
      "rma=ucx: a direct {} of {} bytes at {:#x} of process {}{}: {}", one.how == remote_access::get ? "get" : "put",
      one.bytes, one.where.address + one.offset, static_cast<const ucx_peer*>(one.through.peer)->process,
      accesses.size() == 1 || refused != nullptr ? "" : ", or one begun with it", uct().ucs_status_string(status)));
}

}  // namespace

// ---- the two roles

class ucx_adapter::registrations {
 public:
  registrations(ucx_transport& transport, const registration_limits& limits)
      : domain_(transport.domain()), interface_(transport.open_interface()), limits_(limits) {
    limits_.contiguous_bytes = std::min<std::uint64_t>(limits_.contiguous_bytes, domain_.facts().cap.max_reg);
    at_.mark = mark_of(transport.name());
    at_.device.resize(interface_->facts().device_addr_len);
    at_.interface.resize(interface_->facts().iface_addr_len);
    check_ucx(uct().uct_iface_get_device_address(interface_->handle(),
                                                 reinterpret_cast<uct_device_addr_t*>(at_.device.data())),
              "no address of the device");
    check_ucx(
        uct().uct_iface_get_address(interface_->handle(), reinterpret_cast<uct_iface_addr_t*>(at_.interface.data())),
        "no address of the interface");
  }
  registrations(const registrations&) = delete;
  registrations& operator=(const registrations&) = delete;
  // The job has ended: what is registered is not accessed any more.
  ~registrations() {
    if (arena::in_forked_child()) return;
    for (const auto& [key, one] : areas_) domain_.deregister_memory(one.memory);
  }

  const registration_limits& limits() const { return limits_; }
  std::uint64_t most_bytes() const { return most_bytes_; }
  /// Where accesses of others arrive.
  const ucx_interface& interface() const { return *interface_; }
  std::uint32_t mark() const { return at_.mark; }

  std::optional<remote_address> add(std::uint64_t begin, std::uint64_t bytes) {
    if (bytes > limits_.contiguous_bytes || bytes > limits_.total_bytes - bytes_) return std::nullopt;
    void* const place = reinterpret_cast<void*>(static_cast<std::uintptr_t>(begin));
    const uct_mem_h memory = domain_.register_memory(place, bytes, UCT_MD_MEM_ACCESS_RMA);
    if (memory == nullptr) return std::nullopt;
    std::array<std::byte, adapter_bytes::room> packed{};  // also where keys have no bytes: UCX refuses a null buffer
    const ucs_status_t status = uct().uct_md_mkey_pack(domain_.handle(), memory, packed.data());
    if (status != UCS_OK) domain_.deregister_memory(memory);
    check_ucx(status, "memory was registered, but has no key");
    const auto end = packed.begin() + static_cast<std::ptrdiff_t>(domain_.facts().rkey_packed_size);
    areas_[++last_key_] = {memory, bytes, {packed.begin(), end}};
    bytes_ += bytes;
    most_bytes_ = std::max(most_bytes_, bytes_);
    return remote_address{.address = begin, .key = last_key_};
  }

  void remove(const remote_address& where) {
    const auto found = areas_.find(where.key);
    if (found == areas_.end())
      throw std::logic_error(fmt::format("rma=ucx: nothing is registered with the number {}", where.key));
    domain_.deregister_memory(found->second.memory);
    bytes_ -= found->second.bytes;
    areas_.erase(found);
  }

  adapter_bytes bytes_for(const remote_address& where) {
    at_.key = areas_.at(where.key).packed_key;
    return joined(at_);
  }

 private:
  struct area {
    uct_mem_h memory;
    std::uint64_t bytes;
    std::vector<std::byte> packed_key;
  };
  ucx_memory_domain& domain_;
  std::unique_ptr<ucx_interface> interface_;
  registration_limits limits_;
  adapter_address at_;  // with the key that went last
  std::unordered_map<registration_key, area> areas_;
  registration_key last_key_ = 0;  // a number: UCX's own keys may come again
  std::uint64_t bytes_ = 0;
  std::uint64_t most_bytes_ = 0;
};

class ucx_adapter::peers {
 public:
  peers(ucx_transport& transport, const registrations& own) : domain_(transport.domain()), own_(own) {}
  peers(const peers&) = delete;
  peers& operator=(const peers&) = delete;
  ~peers() {
    if (arena::in_forked_child()) return;
    for (auto& [process, peer] : peers_)
      for (const auto& [key, unpacked] : peer.keys) uct().uct_rkey_release(domain_.component(), &unpacked);
  }

  void learn(int process, const remote_address& where, const adapter_bytes& bytes) {
    adapter_address at = taken_apart(bytes);
    check_reachable(process, at);
    uct_rkey_bundle_t key = {};
    check_ucx(uct().uct_rkey_unpack(domain_.component(), at.key.data(), &key),
              fmt::format("a key of process {} is none", process));
    at.key.clear();
    ucx_peer& peer = peers_.try_emplace(process, ucx_peer{process, std::move(at), {}}).first->second;
    if (!peer.keys.try_emplace(where.key, key).second)
      uct().uct_rkey_release(domain_.component(), &key);
    else
      ++known_;
  }
  reachable_memory find(int process, const remote_address& where) const {
    const ucx_peer& peer = peers_.at(process);
    return {.peer = &peer, .key = peer.keys.at(where.key).rkey};
  }
  void forget(int process, const remote_address& where) {
    const auto peer = peers_.find(process);
    if (peer == peers_.end()) return;
    const auto key = peer->second.keys.find(where.key);
    if (key == peer->second.keys.end()) return;
    uct().uct_rkey_release(domain_.component(), &key->second);
    peer->second.keys.erase(key);
    --known_;
  }
  std::size_t known() const { return known_; }

 private:
  void check_reachable(int process, const adapter_address& at) const {
    if (at.mark != own_.mark() || at.key.size() != domain_.facts().rkey_packed_size)
      throw std::runtime_error(fmt::format(
          "rma=ucx: process {} uses another transport than this one: --tri-rma-transports can name one for all",
          process));
    if (peers_.contains(process)) return;
    if (uct().uct_iface_is_reachable(own_.interface().handle(), device_of(at), interface_of(at)) == 0)
      throw std::runtime_error(fmt::format(
          "rma=ucx: the memory of process {} cannot be reached from here by the transport that both use", process));
  }

  ucx_memory_domain& domain_;
  const registrations& own_;                 // of it what does not change
  std::unordered_map<int, ucx_peer> peers_;  // stay until the end
  std::size_t known_ = 0;
};

ucx_adapter::ucx_adapter(const ucx_adapter_options& options)
    : transport_(std::make_unique<ucx_transport>(options.transports, options.machines)),
      registrations_(std::make_unique<registrations>(*transport_, options.limits)),
      peers_(std::make_unique<peers>(*transport_, *registrations_)) {}
ucx_adapter::~ucx_adapter() = default;

registration_limits ucx_adapter::limits() const { return registrations_->limits(); }
std::optional<remote_address> ucx_adapter::register_memory(std::uint64_t begin, std::uint64_t bytes) {
  return registrations_->add(begin, bytes);
}
void ucx_adapter::deregister_memory(const remote_address& where) { registrations_->remove(where); }
adapter_bytes ucx_adapter::bytes_for(const remote_address& where) { return registrations_->bytes_for(where); }
std::uint64_t ucx_adapter::most_registered_bytes() const { return registrations_->most_bytes(); }

void ucx_adapter::learn(int process, const remote_address& where, const adapter_bytes& bytes) {
  peers_->learn(process, where, bytes);
}
reachable_memory ucx_adapter::find(int process, const remote_address& where) const {
  return peers_->find(process, where);
}
void ucx_adapter::forget(int process, const remote_address& where) { peers_->forget(process, where); }
std::size_t ucx_adapter::known_addresses() const { return peers_->known(); }
std::unique_ptr<access_port> ucx_adapter::open_port() { return std::make_unique<ucx_port>(*transport_); }
std::string ucx_adapter::describe() const { return "ucx:" + transport_->name(); }

}  // namespace tri::arrays
