// A transport of UCX with remote memory access, and its interfaces. UCT has no version in its calls, and parts of it
// are inline in its header: the library has to be the one that this was built for.
#pragma once

#include <uct/api/uct.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tri::arrays {

// The functions of UCX that are called here, with the types of its header.
struct uct_functions {
// clang-format off
#define TRIREME_UCT_FUNCTIONS(X) \
  X(ucs_async_context_create) X(ucs_async_context_destroy) X(ucs_status_string) \
  X(uct_query_components) X(uct_release_component_list) X(uct_component_query) \
  X(uct_md_config_read) X(uct_config_release) X(uct_md_open) X(uct_md_close) X(uct_md_query) \
  X(uct_md_query_tl_resources) X(uct_release_tl_resource_list) X(uct_md_iface_config_read) \
  X(uct_worker_create) X(uct_worker_destroy) X(uct_iface_open) X(uct_iface_close) X(uct_iface_query) \
  X(uct_iface_get_address) X(uct_iface_get_device_address) X(uct_iface_is_reachable) \
  X(uct_ep_create) X(uct_ep_destroy) X(uct_md_mem_reg) X(uct_md_mem_dereg) X(uct_md_mkey_pack) \
  X(uct_rkey_unpack) X(uct_rkey_release)
// clang-format on
#define TRIREME_UCT_MEMBER(name) decltype(::name)* name = nullptr;
  TRIREME_UCT_FUNCTIONS(TRIREME_UCT_MEMBER)
#undef TRIREME_UCT_MEMBER
  uct_functions();
};

/// The first call loads UCX. Throws std::runtime_error: it is not there, or is not of the version of the header.
const uct_functions& uct();
/// Throws std::runtime_error with UCX's words.
void check_ucx(ucs_status_t status, const std::string& what);

/// A memory domain: what is registered there, all its transports reach. Any thread.
class ucx_memory_domain {
 public:
  ucx_memory_domain(uct_component_h component, const char* name);
  ucx_memory_domain(const ucx_memory_domain&) = delete;
  ucx_memory_domain& operator=(const ucx_memory_domain&) = delete;
  ~ucx_memory_domain();

  uct_component_h component() const { return component_; }
  const uct_md_attr_t& facts() const { return facts_; }
  bool needs_local_keys() const { return (facts_.cap.flags & UCT_MD_FLAG_NEED_MEMH) != 0; }
  uct_md_h handle() const { return handle_; }
  /// Null: it refuses.
  uct_mem_h register_memory(void* begin, std::size_t bytes, unsigned access);
  void deregister_memory(uct_mem_h memory);

 private:
  uct_component_h component_;
  uct_md_h handle_ = nullptr;
  uct_md_attr_t facts_ = {};
  std::mutex registration_;
};

/// Used by one thread.
class ucx_interface {
 public:
  ucx_interface(ucx_memory_domain& domain, const uct_tl_resource_desc_t& resource);
  ucx_interface(const ucx_interface&) = delete;
  ucx_interface& operator=(const ucx_interface&) = delete;
  ~ucx_interface();

  uct_iface_h handle() const { return handle_; }
  const uct_iface_attr_t& facts() const { return facts_; }
  void progress() { uct_worker_progress(worker_); }

 private:
  void open(ucx_memory_domain& domain, const uct_tl_resource_desc_t& resource);
  void close();

  ucs_async_context_t* async_ = nullptr;
  uct_worker_h worker_ = nullptr;
  uct_iface_h handle_ = nullptr;
  uct_iface_attr_t facts_ = {};
};

/// The transport that direct accesses use. Any thread.
class ucx_transport {
 public:
  /// The first transport that can, or throws; see ucx_adapter.
  ucx_transport(const std::string& transports, int machines);
  ~ucx_transport();
  ucx_transport(const ucx_transport&) = delete;
  ucx_transport& operator=(const ucx_transport&) = delete;

  std::string name() const;
  ucx_memory_domain& domain() { return *domain_; }
  std::unique_ptr<ucx_interface> open_interface();

 private:
  bool take_from(uct_component_h component, uct_device_type_t type, std::vector<std::string>& others);
  std::string what_is_wrong_with(ucx_memory_domain& domain, const uct_tl_resource_desc_t& resource) const;
  bool is_wanted(const char* name) const;

  const std::vector<std::string> wanted_;  // empty: all
  uct_component_h* components_ = nullptr;
  std::unique_ptr<ucx_memory_domain> domain_;
  uct_tl_resource_desc_t resource_ = {};
  std::mutex opening_;
};

}  // namespace tri::arrays
