// Reads the frames of one connection, from any sender: bytes in, valid frames or an error out. No I/O: the caller reads
// from the socket into place(), so that bodies go straight to their destination. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "wire/tcp/frame_format.hpp"

namespace tri::wire {

/// Receives frames. Spans are valid during the call. Must not call the decoder.
class frame_sink {
 public:
  virtual void packet(std::span<const std::byte> header, std::span<const std::byte> body) = 0;
  /// False: there is one of that name already.
  virtual bool announced(std::span<const std::byte> header, std::uint64_t bytes, std::uint32_t name) = 0;
  /// The memory for the body that begins now; empty: no body of that name and size was accepted.
  virtual std::span<std::byte> memory_of_body(std::uint32_t name, std::uint64_t bytes) = 0;
  virtual void body_is_whole(std::uint32_t name) = 0;
  /// False: there is none of that name.
  virtual bool answered(std::uint32_t name, bool accepted) = 0;

 protected:
  ~frame_sink() = default;
};

enum class frame_side : std::uint8_t { by_connector, by_acceptor };

class frame_decoder {
 public:
  /// Of frames that this side writes; `longest_packet` in bytes of its body.
  frame_decoder(frame_side by, std::size_t longest_packet) : by_(by), longest_packet_(longest_packet) {}

  /// The memory for the next bytes of the stream; empty: not known yet, pass them to take().
  std::span<std::byte> place();
  /// `bytes`, at most its size, were written to place(). False, here and below: the peer violates the protocol, fault()
  /// describes how, and no more bytes may be passed.
  bool placed(std::size_t bytes, frame_sink& sink);
  /// The next bytes of the stream, however many; not while place() has some.
  bool take(std::span<const std::byte> bytes, frame_sink& sink);

  /// The stream may end here.
  bool is_between_frames() const { return part_ == part::head && have_ == 0; }
  /// "its field `kind` is 7, which must be 1 to 3"
  const std::string& fault() const { return fault_; }

 private:
  enum class part : std::uint8_t { head, rest, body };

  bool begin(frame_sink& sink);
  bool check(const char* field, std::uint64_t value, std::uint64_t least, std::uint64_t most);
  bool refuse(const char* field, std::uint64_t value, const char* what);
  bool finish(const std::byte* rest, frame_sink& sink);
  std::size_t rest_bytes() const;

  const frame_side by_;
  const std::size_t longest_packet_;
  part part_ = part::head;
  std::size_t have_ = 0;  // bytes of this part
  frame_head head_;
  std::unique_ptr<std::byte[]> rest_;  // of a frame that came in pieces: header and body
  std::span<std::byte> body_;          // the place of one that was accepted
  std::string fault_;
};

}  // namespace tri::wire
