// The services of foreign launchers to the processes that they start: a number for each, a key-value space, a fence,
// and an end. Implemented by pmi1_client and pmix_client; used by pmi_membership. put(), fence() and finalize() are
// called by one thread at a time; get() and abort() by any, also while another is in fence().
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tri::boot {

class key_value_space {
 public:
  key_value_space() = default;
  key_value_space(const key_value_space&) = delete;
  key_value_space& operator=(const key_value_space&) = delete;
  // Without finalize() before, the launcher takes the end of the process for a crash.
  virtual ~key_value_space() = default;

  virtual const char* name() const = 0;  // of the protocol, for messages
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // All throw protocol_error with the launcher's reason.
  virtual void put(const std::string& key, std::span<const std::byte> value) = 0;  // others see it after a fence
  // Collective. `collect`: all values are wanted by all, so they may be sent along.
  virtual void fence(bool collect) = 0;
  virtual std::optional<std::vector<std::byte>> get(int rank, const std::string& key) = 0;
  virtual void finalize() = 0;
  // Ends all processes of the job; returns perhaps, and then the caller ends this one.
  virtual void abort(int exit_status, const std::string& text) = 0;
  // A descriptor that hangs up when the launcher is gone; -1 when there is none.
  virtual int launcher_fd() const { return -1; }
};

}  // namespace tri::boot
