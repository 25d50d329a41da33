// Mailboxes: two-sided messages with tags between PEs. The sender names the receiver and a tag, the receiver names the
// sender and the tag it wants, or any. Unexpected messages use bounded memory at the receiver; those without room stay
// with their senders until a receive matches them, so a slow receiver is never flooded (flow/README.md).
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
/// Returns memory from local_mailbox::take_memory; on a PE (elsewhere the job fails), and without effect when the job
/// is over.
void release_mailbox_memory(std::uint32_t id, int pe, std::uint64_t bytes) noexcept;
}  // namespace objects

/// In receives: a message of any sender, with any tag.
inline constexpr int any_source = -1;
inline constexpr int any_tag = -1;

struct mailbox_options {
  /// Bytes for unexpected messages on each PE; each uses 120 for its record, and 64 in addition to its data, if any; 0
  /// is allowed: then all wait at their senders. Unset: --tri-mailbox-memory.
  std::optional<std::uint64_t> memory = {};
  /// Messages up to this size are sent eagerly; larger ones by rendezvous, one round trip later.
  std::uint64_t eager_bytes = 1024;
  /// Bytes besides `memory` that each PE grants in advance to the senders of messages that it predicts from repeating
  /// patterns: these are sent without a request, if they have up to 128 KiB and a quarter of it. 0: none. Unset:
  /// --tri-mailbox-credits.
  std::optional<std::uint64_t> credits = {};
};

/// Memory of a mailbox on one PE that the program uses for other data (mailbox::take_memory), until this is destroyed.
/// Senders that waited for it then request again. Movable; must be destroyed on a PE, any one, or after the job.
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
  /// tri::buffer that is moved (no copy inside a host), or an object with a serialize function. Returns at once; the
  /// sent object may be changed. Two messages from one PE to another that both match a receive arrive in the order of
  /// sending. Throws std::out_of_range for a PE that does not exist, std::invalid_argument for a negative tag.
  template <class T>
  void send(int to, int tag, T&& value) const {
    auto& here = sched::this_pe();
    objects::check_pe(here, to, [] { return "tri::mailbox: message sent to a receiver"; });
    objects::check_tag(tag);
    send_contents(here, to, tag, objects::contents_of(std::forward<T>(value)));
  }

  /// Receives the first matching message for this PE; the future is ready when the message has arrived. Receives are
  /// matched in the order in which they were posted. Dropping the future before a message was matched cancels the
  /// receive; later, the message is lost with it.
  future<received_message> receive(int source = any_source, int tag = any_tag) const;

  /// Like receive, but only if a matching message is known here; no other receive can then get it. Its data may still
  /// be in flight.
  std::optional<future<received_message>> try_receive(int source = any_source, int tag = any_tag) const {
    if (!probe(source, tag).has_value()) return std::nullopt;
    return receive(source, tag);
  }

  /// The message that `receive` would match, if it is known here. A message that waits at its sender for memory is not
  /// known: when memory may be short, only a receive is sure to find it.
  std::optional<message_info> probe(int source = any_source, int tag = any_tag) const;

  /// Takes `bytes` of this mailbox's memory on the calling PE for the program's own data, so that both together stay
  /// within one limit. Nothing when this much is not free: unexpected messages may be using it.
  std::optional<mailbox_memory> take_memory(std::uint64_t bytes) const;

  /// Of the calling PE.
  mailbox_statistics statistics() const;

 private:
  enum class call { made, probes };
  /// Null when the creation has not run here yet (urgent messages overtake it), or earlier calls still wait for it;
  /// then the call is queued behind them as a message.
  objects::local_mailbox* local(sched::pe& here, call what) const;
  void send_contents(sched::pe& here, int to, int tag, objects::message_contents contents) const;

  std::uint32_t id_ = 0;
};

/// Creates a mailbox, which has a part on every PE, for the rest of the job. Any PE may call it; the handle is usable
/// at once.
mailbox make_mailbox(const mailbox_options& options = {});

}  // namespace tri

#pragma GCC visibility pop
