// Mailboxes: two-sided messages with tags between PEs. The sender names the receiver and a tag, the receiver names the
// sender and the tag it wants, or any. Unexpected messages take a bounded memory at the receiver; what
// has no room stays with its sender until a receive takes it, so a slow receiver is never flooded
// (flow/README.md).
//
//   tri::mailbox box = tri::make_mailbox();
//   box.send(3, 7, values);                                        // any PE; never waits
//   tri::received_message m = co_await box.receive(tri::any_source, 7);     // on PE 3
//   auto values = m.take<std::vector<double>>();
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "trireme/detail/objects/mailbox_statistics.hpp"
#include "trireme/detail/objects/post.hpp"
#include "trireme/future.hpp"
#include "trireme/received_message.hpp"

#pragma GCC visibility push(default)

namespace tri {

namespace objects {
class local_mailbox;
/// Throws std::invalid_argument.
void check_tag(int tag);
/// What local_mailbox::take_memory gave; on a PE (elsewhere the job fails), and without effect when the job is over.
void release_mailbox_memory(std::uint32_t id, int pe, std::uint64_t bytes) noexcept;
}  // namespace objects

/// In receives: a message of any sender, with any tag.
inline constexpr int any_source = -1;
inline constexpr int any_tag = -1;

struct mailbox_options {
  /// Bytes that unexpected messages may take on each PE, with 112 for the record of each and 64 for the
  /// data where it has any; 0 is allowed: then all wait at their senders. Unset: --tri-mailbox-memory.
  std::optional<std::uint64_t> memory = {};
  /// Messages up to this size are sent at once; larger ones when the receiver has agreed, one round trip later.
  std::uint64_t eager_bytes = 1024;
  /// Bytes beside `memory` that each PE grants in advance to the senders of messages that it expects, because what it
  /// receives repeats itself: these come without asking, if they have up to 128 KiB and a quarter of it. 0: none.
  /// Unset:
  /// --tri-mailbox-credits.
  std::optional<std::uint64_t> credits = {};
};

/// Memory of a mailbox on one PE that the program uses for something else (mailbox::take_memory), until this ends.
/// Senders that waited for it ask again then. Movable; ends on a PE, any one, or after the job.
class mailbox_memory {
 public:
  mailbox_memory(mailbox_memory&& other) noexcept
      : id_(other.id_), pe_(other.pe_), bytes_(std::exchange(other.bytes_, 0)) {}
  mailbox_memory& operator=(mailbox_memory&& other) noexcept {
    mailbox_memory ends(std::move(*this));
    id_ = other.id_;
    pe_ = other.pe_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~mailbox_memory() {
    if (bytes_ != 0) objects::release_mailbox_memory(id_, pe_, bytes_);
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  friend class mailbox;
  mailbox_memory(std::uint32_t id, int pe, std::uint64_t bytes) : id_(id), pe_(pe), bytes_(bytes) {}
  std::uint32_t id_;
  int pe_;
  std::uint64_t bytes_;
};

/// Handle of a mailbox: plain data, may be copied and sent anywhere. All calls on PEs only.
class mailbox {
 public:
  mailbox() = default;
  explicit mailbox(std::uint32_t id) : id_(id) {}

  /// Sends to a PE: one plain value, the values of a range of plain data (std::vector, std::string, std::span, ...), a
  /// tri::buffer that is moved (no copy inside a host), or an object with a serialize function. Returns at once; what
  /// was sent may be changed. Two messages from one PE to another that a receive would take arrive in the order of
  /// sending. Throws std::out_of_range for a PE that is not there, std::invalid_argument for a negative tag.
  template <class T>
  void send(int to, int tag, T&& value) const {
    auto& here = sched::this_pe();
    objects::check_pe(here, to, [] { return "tri::mailbox: message sent to a receiver"; });
    objects::check_tag(tag);
    send_contents(here, to, tag, objects::contents_of(std::forward<T>(value)));
  }

  /// Takes the first message for this PE that matches; when there is none, waits: the future is ready when the message
  /// is here. Receives get their messages in the order in which they were asked for. A future that is dropped before a
  /// message was found for it gives the receive up; later, the message is lost with it.
  future<received_message> receive(int source = any_source, int tag = any_tag) const;

  /// Like receive, but only if a message that matches is known here; then nothing else can take it. Its data may still
  /// be on the way.
  std::optional<future<received_message>> try_receive(int source = any_source, int tag = any_tag) const {
    if (!probe(source, tag).has_value()) return std::nullopt;
    return receive(source, tag);
  }

  /// The message that `receive` would take, if it is known here. A message that waits at its sender for memory is not
  /// known: where memory may be short, only a receive is sure to find it.
  std::optional<message_info> probe(int source = any_source, int tag = any_tag) const;

  /// Takes `bytes` of this mailbox's memory on the calling PE for something of the program's own, so that both together
  /// stay within one limit. Nothing when so much is not free: unexpected messages may have it.
  std::optional<mailbox_memory> take_memory(std::uint64_t bytes) const;

  /// Of the calling PE.
  mailbox_statistics statistics() const;

 private:
  enum class call { made, probes };
  /// Null when the creation has not run here yet, for urgent messages pass it, or calls from before it wait still; then
  /// the call waits behind them as a message.
  objects::local_mailbox* local(sched::pe& here, call what) const;
  void send_contents(sched::pe& here, int to, int tag, objects::message_contents contents) const;

  std::uint32_t id_ = 0;
};

/// Makes a mailbox, which has a part on every PE, for the rest of the job. Any PE may call it; the handle works at
/// once.
mailbox make_mailbox(const mailbox_options& options = {});

}  // namespace tri

#pragma GCC visibility pop
