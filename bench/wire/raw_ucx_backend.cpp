// The measured loops in UCX itself, written the plain way: one worker for one thread, active messages, no protocol of
// our own. Small messages are copied in the handler's data, large ones received straight into place.
#include <poll.h>
#include <ucp/api/ucp.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "wire/backend.hpp"
#include "wire/ucx/ucx_library.hpp"

namespace tri::bench {
namespace {

template <class Function>
Function* found(const char* name, Function*) {
  return reinterpret_cast<Function*>(wire::ucx_function(name));
}
#define TRIREME_RAW_UCX(name) static const auto name = found(#name, static_cast<decltype(&::name)>(nullptr))

enum class word : std::uint64_t { ball, item, last_item, answer };

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) throw std::runtime_error(std::string("raw UCX: ") + what + " failed");
}

class raw_ucx_backend final : public backend {
 public:
  explicit raw_ucx_backend(const wire_task& task) : task_(task), block_(task.bytes), place_(task.bytes) {
    setenv("UCX_TLS", "tcp", 1);
    TRIREME_RAW_UCX(ucp_init_version);
    TRIREME_RAW_UCX(ucp_worker_create);
    TRIREME_RAW_UCX(ucp_worker_set_am_recv_handler);
    TRIREME_RAW_UCX(ucp_worker_get_efd);
    ucp_params_t parameters = {};
    parameters.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
    parameters.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    parameters.estimated_num_eps = 2;
    ucp_context_h context = nullptr;
    check(ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &parameters, nullptr, &context), "ucp_init");
    ucp_worker_params_t single = {};
    single.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    single.thread_mode = UCS_THREAD_MODE_SINGLE;
    check(ucp_worker_create(context, &single, &worker_), "ucp_worker_create");
    ucp_am_handler_param_t handler = {};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.cb = on_message;
    handler.arg = this;
    check(ucp_worker_set_am_recv_handler(worker_, &handler), "ucp_worker_set_am_recv_handler");
    check(ucp_worker_get_efd(worker_, &descriptor_), "ucp_worker_get_efd");
  }

  std::vector<std::byte> address() override {
    TRIREME_RAW_UCX(ucp_worker_get_address);
    ucp_address_t* own = nullptr;
    std::size_t bytes = 0;
    check(ucp_worker_get_address(worker_, &own, &bytes), "ucp_worker_get_address");
    const auto* const begin = reinterpret_cast<const std::byte*>(own);
    return {begin, begin + bytes};
  }

  void connect(std::span<const std::byte> other) override {
    TRIREME_RAW_UCX(ucp_ep_create);
    ucp_ep_params_t parameters = {};
    parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    parameters.address = reinterpret_cast<const ucp_address_t*>(other.data());
    parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    check(ucp_ep_create(worker_, &parameters, &endpoint_), "ucp_ep_create");
  }

  void ping_pong(std::uint64_t rounds) override {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint64_t before = came_;
      send(word::ball);
      while (came_ == before) turn();
    }
  }

  void stream(std::uint64_t messages) override {
    const std::uint64_t before = came_;
    for (std::uint64_t message = 1; message < messages; ++message) {
      send(word::item);
      if (message % 256 == 0) turn();
      while (out_ >= window_of(task_)) turn();
    }
    send(word::last_item);
    while (came_ == before) turn();
  }

  [[noreturn]] void serve(bool asleep) override {
    TRIREME_RAW_UCX(ucp_worker_arm);
    while (true) {
      while (turn() != 0) {
      }
      if (!asleep || ucp_worker_arm(worker_) != UCS_OK) continue;
      pollfd waiting = {.fd = descriptor_, .events = POLLIN, .revents = 0};
      poll(&waiting, 1, -1);
    }
  }

 private:
  unsigned turn() {
    TRIREME_RAW_UCX(ucp_worker_progress);
    const unsigned events = ucp_worker_progress(worker_);
    while (answers_ != 0) {
      --answers_;
      send(answer_with_);
    }
    return events;
  }

  // The word is the header of large messages, and all there is of small ones.
  void send(word what) {
    TRIREME_RAW_UCX(ucp_am_send_nbx);
    ucp_request_param_t parameters = {};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    parameters.cb.send = on_sent;
    parameters.user_data = this;
    // A header must stay until the send is complete.
    static const word words[] = {word::ball, word::item, word::last_item, word::answer};
    const word* const header = &words[static_cast<std::size_t>(what)];
    const bool large = task_.bytes > sizeof what && what != word::answer;
    void* const request =
        large ? ucp_am_send_nbx(endpoint_, 0, header, sizeof *header, block_.data(), block_.size(), &parameters)
              : ucp_am_send_nbx(endpoint_, 0, nullptr, 0, header, sizeof *header, &parameters);
    if (UCS_PTR_IS_ERR(request)) throw std::runtime_error("raw UCX: ucp_am_send_nbx failed");
    if (request != nullptr) ++out_;
  }
  static void on_sent(void* request, ucs_status_t, void* self) {
    TRIREME_RAW_UCX(ucp_request_free);
    ucp_request_free(request);
    --static_cast<raw_ucx_backend*>(self)->out_;
  }

  static ucs_status_t on_message(void* self, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t bytes, const ucp_am_recv_param_t* parameters) {
    auto& to = *static_cast<raw_ucx_backend*>(self);
    word what = word::ball;
    if (header_bytes == 0) {
      std::memcpy(&what, data, sizeof what);
      to.take(what);
      return UCS_OK;
    }
    std::memcpy(&what, header, sizeof what);
    if ((parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
      std::memcpy(to.place_.data(), data, bytes);
      to.take(what);
      return UCS_OK;
    }
    TRIREME_RAW_UCX(ucp_am_recv_data_nbx);
    to.coming_ = what;
    if (what == word::last_item) to.last_under_way_ = true;
    ++to.under_way_;
    ucp_request_param_t receive = {};
    receive.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    receive.cb.recv_am = on_received;
    receive.user_data = self;
    void* const request = ucp_am_recv_data_nbx(to.worker_, data, to.place_.data(), bytes, &receive);
    if (request == nullptr) to.received();
    return UCS_INPROGRESS;
  }
  static void on_received(void* request, ucs_status_t, std::size_t, void* self) {
    TRIREME_RAW_UCX(ucp_request_free);
    ucp_request_free(request);
    static_cast<raw_ucx_backend*>(self)->received();
  }
  // A stream ends when the last message has arrived and nothing is in flight.
  void received() {
    --under_way_;
    if (coming_ == word::ball) return take(coming_);
    if (under_way_ == 0 && last_under_way_) {
      last_under_way_ = false;
      take(word::last_item);
    }
  }
  void take(word what) {
    ++came_;
    if (what == word::answer || what == word::item || leads_) return;
    answer_with_ = what == word::ball ? word::ball : word::answer;
    ++answers_;
  }

 public:
  bool leads_ = false;

 private:
  const wire_task task_;
  std::vector<std::byte> block_, place_;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  int descriptor_ = -1;
  std::uint64_t came_ = 0, out_ = 0, answers_ = 0, under_way_ = 0;
  word answer_with_ = word::ball, coming_ = word::ball;
  bool last_under_way_ = false;
};

}  // namespace

std::unique_ptr<backend> make_raw_ucx_backend(const wire_task& task, unsigned number) {
  auto made = std::make_unique<raw_ucx_backend>(task);
  made->leads_ = number == 0;
  return made;
}

}  // namespace tri::bench
