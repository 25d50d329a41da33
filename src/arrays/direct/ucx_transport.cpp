#include "arrays/direct/ucx_transport.hpp"

#include <fmt/format.h>
#include <uct/api/version.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "arena/window.hpp"
#include "trireme/detail/arrays/direct_access.hpp"
#include "wire/ucx/ucx_library.hpp"

namespace tri::arrays {
namespace {

// What travels with an address besides what UCX says: a mark of the transport, and two lengths (ucx_adapter.cpp).
constexpr std::size_t bytes_of_frame = sizeof(std::uint32_t) + 2;

template <class Function>
void find(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(wire::ucx_function(name));
}

std::vector<std::string> split(std::string_view names) {
  std::vector<std::string> all;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    if (end > 0) all.emplace_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return all;
}

std::string name_of(const uct_tl_resource_desc_t& resource) {
  return fmt::format("{}/{}", resource.tl_name, resource.dev_name);
}

template <class Flag>
bool has(std::uint64_t flags, Flag all) {
  return (flags & all) == static_cast<std::uint64_t>(all);
}

}  // namespace

uct_functions::uct_functions() {
  void (*version)(unsigned*, unsigned*, unsigned*) = nullptr;
  find(version, "ucp_get_version");
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  version(&major, &minor, &release);
  if (major != UCT_VERNO_MAJOR || minor != UCT_VERNO_MINOR)
    throw std::runtime_error(
        fmt::format("rma=ucx was built for UCX {}.{}; this machine has {}.{}, whose lower interface may differ: build "
                    "Trireme with the UCX that it runs with, or do without --tri-rma=ucx",
                    UCT_VERNO_MAJOR, UCT_VERNO_MINOR, major, minor));
#define TRIREME_UCT_FIND(name) find(name, #name);
  TRIREME_UCT_FUNCTIONS(TRIREME_UCT_FIND)
#undef TRIREME_UCT_FIND
}

const uct_functions& uct() {
  static const uct_functions functions;
  return functions;
}

void check_ucx(ucs_status_t status, const std::string& what) {
  if (status != UCS_OK) throw std::runtime_error(fmt::format("rma=ucx: {}: {}", what, uct().ucs_status_string(status)));
}

// ---- memory

ucx_memory_domain::ucx_memory_domain(uct_component_h component, const char* name) : component_(component) {
  uct_md_config_t* configuration = nullptr;
  check_ucx(uct().uct_md_config_read(component, nullptr, nullptr, &configuration),
            fmt::format("no configuration of the memory domain {}", name));
  const ucs_status_t opened = uct().uct_md_open(component, name, configuration, &handle_);
  uct().uct_config_release(configuration);
  check_ucx(opened, fmt::format("the memory domain {} does not open", name));
  if (const ucs_status_t queried = uct().uct_md_query(handle_, &facts_); queried != UCS_OK) {
    uct().uct_md_close(handle_);
    check_ucx(queried, fmt::format("nothing is known of the memory domain {}", name));
  }
}

// A forked child is no member of the job: what the adapter has is its parent's.
ucx_memory_domain::~ucx_memory_domain() {
  if (!arena::in_forked_child()) uct().uct_md_close(handle_);
}

uct_mem_h ucx_memory_domain::register_memory(void* begin, std::size_t bytes, unsigned access) {
  std::lock_guard guard(registration_);
  uct_mem_h made = nullptr;
  return uct().uct_md_mem_reg(handle_, begin, bytes, access, &made) == UCS_OK ? made : nullptr;
}

void ucx_memory_domain::deregister_memory(uct_mem_h memory) {
  std::lock_guard guard(registration_);
  uct().uct_md_mem_dereg(handle_, memory);
}

// ---- interfaces

ucx_interface::ucx_interface(ucx_memory_domain& domain, const uct_tl_resource_desc_t& resource) {
  try {
    open(domain, resource);
  } catch (...) {
    close();
    throw;
  }
}

ucx_interface::~ucx_interface() {
  if (!arena::in_forked_child()) close();
}

void ucx_interface::open(ucx_memory_domain& domain, const uct_tl_resource_desc_t& resource) {
  const std::string name = name_of(resource);
  check_ucx(uct().ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async_), "no context for events");
  check_ucx(uct().uct_worker_create(async_, UCS_THREAD_MODE_SINGLE, &worker_), "no worker");
  uct_iface_config_t* configuration = nullptr;
  check_ucx(uct().uct_md_iface_config_read(domain.handle(), resource.tl_name, nullptr, nullptr, &configuration),
            "no configuration of " + name);
  uct_iface_params_t parameters = {};
  parameters.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE |
                          UCT_IFACE_PARAM_FIELD_STATS_ROOT | UCT_IFACE_PARAM_FIELD_RX_HEADROOM |
                          UCT_IFACE_PARAM_FIELD_CPU_MASK | UCT_IFACE_PARAM_FIELD_ERR_HANDLER;
  parameters.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  // Without it a failure ends the process within UCX. It comes with the completion, too.
  parameters.err_handler = [](void*, uct_ep_h, ucs_status_t) { return UCS_OK; };
  parameters.mode.device.tl_name = resource.tl_name;
  parameters.mode.device.dev_name = resource.dev_name;
  const ucs_status_t opened = uct().uct_iface_open(domain.handle(), worker_, &parameters, configuration, &handle_);
  uct().uct_config_release(configuration);
  check_ucx(opened, name + " does not open");
  check_ucx(uct().uct_iface_query(handle_, &facts_), "nothing is known of " + name);
  uct_iface_progress_enable(handle_, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
}

void ucx_interface::close() {
  if (handle_ != nullptr) uct().uct_iface_close(handle_);
  if (worker_ != nullptr) uct().uct_worker_destroy(worker_);
  if (async_ != nullptr) uct().ucs_async_context_destroy(async_);
}

// ---- which transport

ucx_transport::ucx_transport(const std::string& transports, int machines) : wanted_(split(transports)) {
  unsigned count = 0;
  check_ucx(uct().uct_query_components(&components_, &count), "no components");
  std::vector<uct_device_type_t> types = {UCT_DEVICE_TYPE_SHM, UCT_DEVICE_TYPE_NET};  // the nearer, if it is enough
  if (machines > 1) types.erase(types.begin());
  std::vector<std::string> others;
  try {
    for (const uct_device_type_t type : types)
      for (const uct_component_h component : std::span(components_, count))
        if (take_from(component, type, others)) return;
  } catch (...) {
    uct().uct_release_component_list(components_);
    throw;
  }
  uct().uct_release_component_list(components_);
  throw std::runtime_error(fmt::format(
      "rma=ucx: UCX has no transport here that gets and puts memory of processes of {} without their processors, and "
      "connects without a handshake (such as {}dc_mlx5 of network adapters by Mellanox). Looked for {}; found: {}",
      machines > 1 ? "other machines" : "this machine", machines > 1 ? "" : "cma of Linux, or ",
      wanted_.empty() ? "any" : "rma_transports=" + transports,
      others.empty() ? std::string("none") : fmt::format("{}", fmt::join(others, ", "))));
}

ucx_transport::~ucx_transport() {
  domain_.reset();
  if (!arena::in_forked_child()) uct().uct_release_component_list(components_);
}

bool ucx_transport::is_wanted(const char* name) const {
  return wanted_.empty() || std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end();
}

// Whether one of its transports can; why others cannot is appended.
bool ucx_transport::take_from(uct_component_h component, uct_device_type_t type, std::vector<std::string>& others) {
  uct_component_attr_t attributes = {};
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  check_ucx(uct().uct_component_query(component, &attributes), "a component does not answer");
  std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
  if (domains.empty()) return false;
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attributes.md_resources = domains.data();
  check_ucx(uct().uct_component_query(component, &attributes), "a component does not answer");
  for (const uct_md_resource_desc_t& each : domains) {
    std::unique_ptr<ucx_memory_domain> domain;
    try {
      domain = std::make_unique<ucx_memory_domain>(component, each.md_name);
    } catch (const std::exception& error) {  // such as a device that this user may not open: others may do
      others.push_back(fmt::format("{} ({})", each.md_name, error.what()));
      continue;
    }
    uct_tl_resource_desc_t* found = nullptr;
    unsigned count = 0;
    if (uct().uct_md_query_tl_resources(domain->handle(), &found, &count) != UCS_OK) continue;
    const std::vector<uct_tl_resource_desc_t> resources(found, found + count);
    uct().uct_release_tl_resource_list(found);
    for (const uct_tl_resource_desc_t& resource : resources) {
      if (resource.dev_type != type) continue;
      if (const std::string fault = what_is_wrong_with(*domain, resource); !fault.empty()) {
        others.push_back(fmt::format("{} ({})", name_of(resource), fault));
        continue;
      }
      resource_ = resource;
      domain_ = std::move(domain);
      return true;
    }
  }
  return false;
}

std::string ucx_transport::what_is_wrong_with(ucx_memory_domain& domain, const uct_tl_resource_desc_t& resource) const {
  if (!is_wanted(resource.tl_name)) return "not in rma_transports";
  // Its puts are messages that the target's processor has to receive. Asked for its facts, it would listen, too.
  if (std::string_view(resource.tl_name) == "tcp") return "accesses memory by messages";
  if (!has(domain.facts().cap.flags, UCT_MD_FLAG_REG)) return "registers no memory that is there already";
  try {
    const ucx_interface interface(domain, resource);
    const uct_iface_attr_t& facts = interface.facts();
    if (!has(facts.cap.flags, UCT_IFACE_FLAG_GET_ZCOPY)) return "has no get";
    if (!has(facts.cap.flags, UCT_IFACE_FLAG_PUT_ZCOPY)) return "has no put";
    if (!has(facts.cap.flags, UCT_IFACE_FLAG_CONNECT_TO_IFACE)) return "connects by a handshake";
    const std::size_t bytes =
        bytes_of_frame + facts.device_addr_len + facts.iface_addr_len + domain.facts().rkey_packed_size;
    if (bytes > adapter_bytes::room)
      return fmt::format("its addresses take {} bytes, there is room for {}", bytes, adapter_bytes::room);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

std::string ucx_transport::name() const { return name_of(resource_); }

std::unique_ptr<ucx_interface> ucx_transport::open_interface() {
  std::lock_guard guard(opening_);  // they open in one memory domain
  return std::make_unique<ucx_interface>(*domain_, resource_);
}

}  // namespace tri::arrays
