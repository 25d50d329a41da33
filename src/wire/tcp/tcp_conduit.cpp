#include "wire/tcp/tcp_conduit.hpp"

#include "wire/tcp/tcp_engine.hpp"

namespace tri::wire {

tcp_conduit::tcp_conduit(peer_number self, std::size_t peers, const tcp_options& options)
    : engine_(std::make_unique<engine>(self, peers, options)) {}
tcp_conduit::~tcp_conduit() = default;

std::span<const std::byte> tcp_conduit::address() const { return engine_->address; }
void tcp_conduit::connect(peer_number peer, std::span<const std::byte> address) { engine_->connect(peer, address); }
peer_state tcp_conduit::state(peer_number peer) const { return engine_->state(peer); }

send_result tcp_conduit::send(peer_number to, sending how, std::span<const std::byte> header,
                              std::span<const std::byte> body, packet_token token) {
  return engine_->send(to, how, header, body, token);
}

void tcp_conduit::accept(announcement body, void* memory, std::size_t bytes, packet_token token) {
  engine_->accept(body, memory, bytes, token);
}

void tcp_conduit::refuse(announcement body) { engine_->refuse(body); }
bool tcp_conduit::progress(conduit_events& events) { return engine_->progress(events); }
int tcp_conduit::wake_descriptor() const { return engine_->epoll.get(); }

// The descriptor is level-triggered; only events noted outside of progress() do not show on it.
bool tcp_conduit::prepare_sleep() { return !engine_->has_news(); }
void tcp_conduit::wake() { engine_->wake(); }
bool tcp_conduit::close(conduit_events& events, bool at_once) { return engine_->close(events, at_once); }

}  // namespace tri::wire
