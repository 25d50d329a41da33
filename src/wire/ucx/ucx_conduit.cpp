#include "wire/ucx/ucx_conduit.hpp"

#include <fmt/format.h>
#include <ucp/api/ucp.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "wire/descriptor_limit.hpp"
#include "wire/network_devices.hpp"
#include "wire/ucx/ucx_library.hpp"

namespace tri::wire {
namespace {

// Prefix of UCX's address: identifies compatible programs. Changes with every change of the packet format.
constexpr std::array<char, 4> address_mark = {'T', 'R', 'I', '2'};
constexpr unsigned handler_id = 0;

// Unless transports are named: networks alone. Inside a host nothing uses the wire, and for its shared memory UCX opens
// abstract sockets, to which any user of the host may send, and System V segments that the group may write.
constexpr const char* networks_alone = "^shm,self";

template <class Function>
void find(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(ucx_function(name));
}

// The functions of UCX that are called here, with the types of its header.
struct ucx_functions {
// clang-format off
#define TRIREME_UCX_FUNCTIONS(X) \
  X(ucp_init_version) X(ucp_cleanup) X(ucp_config_read) X(ucp_config_modify) X(ucp_config_release) \
  X(ucp_worker_create) X(ucp_worker_destroy) X(ucp_worker_get_address) X(ucp_worker_release_address) \
  X(ucp_worker_get_efd) X(ucp_worker_arm) X(ucp_worker_signal) X(ucp_worker_progress) \
  X(ucp_worker_set_am_recv_handler) X(ucp_ep_create) X(ucp_ep_close_nbx) X(ucp_am_send_nbx) \
  X(ucp_am_recv_data_nbx) X(ucp_am_data_release) X(ucp_request_free) X(ucs_status_string)
// clang-format on
#define TRIREME_UCX_MEMBER(name) decltype(::name)* name = nullptr;
  TRIREME_UCX_FUNCTIONS(TRIREME_UCX_MEMBER)
#undef TRIREME_UCX_MEMBER
  ucx_functions() {
#define TRIREME_UCX_FIND(name) find(name, #name);
    TRIREME_UCX_FUNCTIONS(TRIREME_UCX_FIND)
#undef TRIREME_UCX_FIND
  }
};

const ucx_functions& ucx() {
  static const ucx_functions functions;
  return functions;
}

void check(ucs_status_t status, const std::string& what) {
  if (status != UCS_OK) throw std::runtime_error(fmt::format("{}: {}", what, ucx().ucs_status_string(status)));
}

}  // namespace

class ucx_conduit::worker {
 public:
  worker(std::size_t peers, const ucx_options& options);
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  void connect(peer_number peer, std::span<const std::byte> address);
  send_result send(peer_number to, sending how, std::span<const std::byte> header, std::span<const std::byte> body,
                   packet_token token);
  void accept(announcement body, void* memory, std::size_t bytes, packet_token token);
  bool progress(conduit_events& events);
  bool prepare_sleep();
  bool close(conduit_events& events, bool at_once);

  std::vector<std::byte> address;
  std::vector<ucp_ep_h> endpoints;  // null: never talked to, or failed
  std::vector<bool> failed_peers;
  ucp_worker_h handle = nullptr;
  int descriptor = -1;

 private:
  struct peer_failure {
    peer_number peer;
    std::string why;
  };
  void open(const ucx_options& options);
  void release();
  void fail(peer_number peer, const std::string& why);
  void start_closing(ucp_ep_h endpoint, bool at_once);

  static ucs_status_t on_packet(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                                const ucp_am_recv_param_t* parameters);
  static void on_sent(void* request, ucs_status_t status, void* token);
  static void on_filled(void* request, ucs_status_t status, std::size_t bytes, void* token);
  static void on_error(void* self, ucp_ep_h endpoint, ucs_status_t status);
  static void on_closed(void* request, ucs_status_t status, void* self);

  ucp_context_h context_ = nullptr;
  conduit_events* events_ = nullptr;    // of the current progress()
  std::vector<peer_failure> failures_;  // not yet reported
  std::vector<ucp_ep_h> failed_;        // not yet closed
  struct filled_body {
    packet_token token;
    bool whole;
  };
  std::vector<filled_body> filled_at_once_;
  std::vector<void*> closing_;  // requests of endpoints being closed
  bool close_started_ = false;
  bool drained_ = false;  // the last progress found nothing, and nothing was sent or accepted since
};

ucx_conduit::worker::worker(std::size_t peers, const ucx_options& options)
    : endpoints(peers, nullptr), failed_peers(peers, false) {
  if (!options.devices.empty()) check_network_devices(options.devices, network_devices());
  allow_descriptors(peers);
  try {
    open(options);
  } catch (...) {
    release();
    throw;
  }
}

void ucx_conduit::worker::open(const ucx_options& options) {
  ucp_config_t* configuration = nullptr;
  check(ucx().ucp_config_read(nullptr, nullptr, &configuration), "UCX cannot read its configuration");
  const auto set = [&](const char* name, const std::string& value) {
    if (value.empty()) return UCS_OK;
    return ucx().ucp_config_modify(configuration, name, value.c_str());
  };
  const bool chosen = !options.transports.empty() || std::getenv("UCX_TLS") != nullptr;
  const ucs_status_t transports_set = set("TLS", chosen ? options.transports : networks_alone);
  const ucs_status_t devices_set = set("NET_DEVICES", options.devices);
  // UCX may not recognize devices that we list (an interface with only an IPv6 address, a port without a cable):
  // suppress the warning from every process. A UCX without this variable does not need it.
  if (!chosen && !options.devices.empty()) set("WARN_INVALID_CONFIG", "n");

  ucp_params_t parameters = {};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_NAME;
  parameters.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  parameters.estimated_num_eps = endpoints.size();
  parameters.name = "trireme";
  ucs_status_t made = UCS_OK;
  if (transports_set == UCS_OK && devices_set == UCS_OK)
    made = ucx().ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &parameters, configuration, &context_);
  ucx().ucp_config_release(configuration);
  const std::string transports = options.transports.empty() ? "of the environment" : "'" + options.transports + "'";
  const std::string devices = options.devices.empty() ? "of the environment" : "'" + options.devices + "'";
  check(transports_set, fmt::format("UCX does not take the transports {}", transports));
  check(devices_set, fmt::format("UCX does not take the devices {}", devices));
  const std::string with = fmt::format("with the transports {} and the devices {}", transports, devices);
  check(made, fmt::format("UCX finds no network {}", with));

  ucp_worker_params_t worker_parameters = {};
  worker_parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker_parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // the port lets one thread in at a time
  check(ucx().ucp_worker_create(context_, &worker_parameters, &handle),
        fmt::format("UCX cannot open the network {}", with));

  ucp_am_handler_param_t handler = {};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = handler_id;
  handler.cb = on_packet;
  handler.arg = this;
  check(ucx().ucp_worker_set_am_recv_handler(handle, &handler), "UCX takes no handler of active messages");
  check(ucx().ucp_worker_get_efd(handle, &descriptor), fmt::format("UCX cannot wait {}", with));

  ucp_address_t* own = nullptr;
  std::size_t bytes = 0;
  check(ucx().ucp_worker_get_address(handle, &own, &bytes), "UCX has no address");
  address.resize(address_mark.size() + bytes);
  std::memcpy(address.data(), address_mark.data(), address_mark.size());
  std::memcpy(address.data() + address_mark.size(), own, bytes);
  ucx().ucp_worker_release_address(handle, own);
}

void ucx_conduit::worker::release() {
  if (handle != nullptr) ucx().ucp_worker_destroy(handle);
  if (context_ != nullptr) ucx().ucp_cleanup(context_);
}

ucx_conduit::worker::~worker() { release(); }

void ucx_conduit::worker::connect(peer_number peer, std::span<const std::byte> of_peer) {
  if (endpoints[peer] != nullptr || failed_peers[peer]) return;
  if (of_peer.size() <= address_mark.size() ||
      std::memcmp(of_peer.data(), address_mark.data(), address_mark.size()) != 0) {
    throw std::runtime_error(
        fmt::format("what process {} gives as its address is none of the wire 'ucx', which this process uses: "
                    "all processes of a job must run the same build of the program with the same --tri-wire",
                    peer));
  }
  ucp_ep_params_t parameters = {};
  parameters.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  parameters.address = reinterpret_cast<const ucp_address_t*>(of_peer.data() + address_mark.size());
  parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  parameters.err_handler.cb = on_error;
  parameters.err_handler.arg = this;
  ucp_ep_h endpoint = nullptr;
  check(ucx().ucp_ep_create(handle, &parameters, &endpoint),
        fmt::format("UCX cannot reach process {} with the transports and devices that both have", peer));
  endpoints[peer] = endpoint;
}

send_result ucx_conduit::worker::send(peer_number to, sending how, std::span<const std::byte> header,
                                      std::span<const std::byte> body, packet_token token) {
  const ucp_ep_h endpoint = endpoints[to];
  if (endpoint == nullptr) return send_result::done;
  drained_ = false;
  ucp_request_param_t parameters = {};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = how == sending::announced ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
  parameters.cb.send = on_sent;
  parameters.user_data = token;
  token->conduit = this;
  void* const request =
      ucx().ucp_am_send_nbx(endpoint, handler_id, header.data(), header.size(), body.data(), body.size(), &parameters);
  if (request == nullptr) return send_result::done;
  if (UCS_PTR_IS_ERR(request)) {
    fail(to, ucx().ucs_status_string(UCS_PTR_STATUS(request)));
    return send_result::done;
  }
  return send_result::under_way;
}

// A request is freed in its callback and never before: freeing it earlier cancels the callback.
void ucx_conduit::worker::on_sent(void* request, ucs_status_t, void* token) {
  // Failed or not, the memory is free; a failure is reported by on_error.
  const auto packet = static_cast<packet_token>(token);
  ucx().ucp_request_free(request);
  static_cast<worker*>(packet->conduit)->events_->sent(packet);
}

ucs_status_t ucx_conduit::worker::on_packet(void* self, const void* header, std::size_t header_bytes, void* data,
                                            std::size_t bytes, const ucp_am_recv_param_t* parameters) {
  conduit_events& events = *static_cast<worker*>(self)->events_;
  const std::span head(static_cast<const std::byte*>(header), header_bytes);
  if ((parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    events.announced(head, bytes, data);
    return UCS_INPROGRESS;  // the descriptor stays until accept() or refuse()
  }
  events.packet(head, {static_cast<const std::byte*>(data), bytes});
  return UCS_OK;
}

void ucx_conduit::worker::accept(announcement body, void* memory, std::size_t bytes, packet_token token) {
  token->conduit = this;
  drained_ = false;
  ucp_request_param_t parameters = {};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  parameters.cb.recv_am = on_filled;
  parameters.user_data = token;
  void* const request = ucx().ucp_am_recv_data_nbx(handle, body, memory, bytes, &parameters);
  // May be inside a callback of ours: reported at the end of progress().
  if (request == nullptr || UCS_PTR_IS_ERR(request)) filled_at_once_.push_back({token, request == nullptr});
}

void ucx_conduit::worker::on_filled(void* request, ucs_status_t status, std::size_t, void* token) {
  const auto packet = static_cast<packet_token>(token);
  ucx().ucp_request_free(request);
  static_cast<worker*>(packet->conduit)->events_->filled(packet, status == UCS_OK);
}

// UCX has found the endpoint broken. It must not be closed in here, and the port must not be called in the middle of a
// send; both wait for the end of progress().
void ucx_conduit::worker::on_error(void* self, ucp_ep_h endpoint, ucs_status_t status) {
  auto& of_endpoint = *static_cast<worker*>(self);
  for (peer_number peer = 0; peer < of_endpoint.endpoints.size(); ++peer) {
    if (of_endpoint.endpoints[peer] == endpoint) return of_endpoint.fail(peer, ucx().ucs_status_string(status));
  }
}

void ucx_conduit::worker::fail(peer_number peer, const std::string& why) {
  failed_.push_back(std::exchange(endpoints[peer], nullptr));
  failed_peers[peer] = true;
  failures_.push_back({peer, fmt::format("its connection broke (UCX: {})", why)});
}

bool ucx_conduit::worker::progress(conduit_events& events) {
  events_ = &events;
  drained_ = true;  // unless `events` sends or accepts
  bool something = ucx().ucp_worker_progress(handle) != 0;
  if (something) drained_ = false;
  while (!failed_.empty() || !filled_at_once_.empty() || !failures_.empty()) {
    something = true;
    // A forced close ends operations in flight to that peer, by calls of sent() and filled().
    for (const ucp_ep_h endpoint : std::exchange(failed_, {})) start_closing(endpoint, true);
    for (const filled_body& body : std::exchange(filled_at_once_, {})) events.filled(body.token, body.whole);
    for (const peer_failure& failed : std::exchange(failures_, {})) events.peer_failed(failed.peer, failed.why);
  }
  return something;
}

// The descriptor signals only events after arming: earlier, unprocessed ones would never wake a sleeper. So an empty
// progress must come right before; UCX itself returns BUSY in some cases only.
bool ucx_conduit::worker::prepare_sleep() {
  return drained_ && failures_.empty() && filled_at_once_.empty() && ucx().ucp_worker_arm(handle) == UCS_OK;
}

void ucx_conduit::worker::start_closing(ucp_ep_h endpoint, bool at_once) {
  ucp_request_param_t parameters = {};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = at_once ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  parameters.cb.send = on_closed;
  parameters.user_data = this;
  void* const request = ucx().ucp_ep_close_nbx(endpoint, &parameters);
  if (request != nullptr && !UCS_PTR_IS_ERR(request)) closing_.push_back(request);
}

void ucx_conduit::worker::on_closed(void* request, ucs_status_t, void* self) {
  ucx().ucp_request_free(request);
  std::erase(static_cast<worker*>(self)->closing_, request);
}

bool ucx_conduit::worker::close(conduit_events& events, bool at_once) {
  events_ = &events;
  for (peer_number peer = 0; peer < endpoints.size() && !close_started_; ++peer) {
    if (endpoints[peer] == nullptr) continue;
    failed_peers[peer] = true;  // must not be connected again
    start_closing(std::exchange(endpoints[peer], nullptr), at_once);
  }
  close_started_ = true;
  progress(events);
  // Over TCP the end of an endpoint waits for an answer of the peer. Without one the worker destroys the endpoints
  // itself, and requires that no request waits for them.
  if (at_once)
    for (void* const request : std::exchange(closing_, {})) ucx().ucp_request_free(request);
  return closing_.empty();
}

ucx_conduit::ucx_conduit(std::size_t peers, const ucx_options& options)
    : worker_(std::make_unique<worker>(peers, options)) {}
ucx_conduit::~ucx_conduit() = default;

std::span<const std::byte> ucx_conduit::address() const { return worker_->address; }
void ucx_conduit::connect(peer_number peer, std::span<const std::byte> address) { worker_->connect(peer, address); }

peer_state ucx_conduit::state(peer_number peer) const {
  if (worker_->failed_peers[peer]) return peer_state::failed;
  return worker_->endpoints[peer] == nullptr ? peer_state::unknown : peer_state::connected;
}

send_result ucx_conduit::send(peer_number to, sending how, std::span<const std::byte> header,
                              std::span<const std::byte> body, packet_token token) {
  return worker_->send(to, how, header, body, token);
}

void ucx_conduit::accept(announcement body, void* memory, std::size_t bytes, packet_token token) {
  worker_->accept(body, memory, bytes, token);
}

void ucx_conduit::refuse(announcement body) { ucx().ucp_am_data_release(worker_->handle, body); }
bool ucx_conduit::progress(conduit_events& events) { return worker_->progress(events); }
int ucx_conduit::wake_descriptor() const { return worker_->descriptor; }

bool ucx_conduit::prepare_sleep() { return worker_->prepare_sleep(); }
void ucx_conduit::wake() { ucx().ucp_worker_signal(worker_->handle); }
bool ucx_conduit::close(conduit_events& events, bool at_once) { return worker_->close(events, at_once); }

}  // namespace tri::wire
