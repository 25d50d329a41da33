// What one host knows when a distributed strategy begins: its own PEs and objects, nothing of others. The machines of
// this folder are plain values; who runs them delivers their messages.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "trireme/detail/balance/loads.hpp"
#include "trireme/detail/balance/snapshot.hpp"

namespace tri::balancing {

/// An object that looks for a PE on another host.
struct offered_object {
  std::uint32_t object = 0;  ///< index in the snapshot
  std::int32_t host = 0;     ///< where it is
  double work = 0.0;
  double time_before = 0.0;  ///< of its PE, with it
  template <class Archive>
  void serialize(Archive& archive) {
    archive(object, host, work, time_before);
  }
};

/// An object and its new PE.
struct accepted_object {
  std::uint32_t object = 0;
  std::int32_t host = 0;  ///< where it was
  std::int32_t pe = 0;    ///< where it goes
  template <class Archive>
  void serialize(Archive& archive) {
    archive(object, host, pe);
  }
};

/// The loads of one host. Its objects move among its PEs and leave; what arrives stays. Copies are independent.
class host_part {
 public:
  /// The parts of a snapshot's hosts, in order of their numbers. The snapshot was checked.
  static std::vector<host_part> of_hosts(const snapshot& of);
  /// The part of a host of which a snapshot, which was checked, has all PEs and nothing else; the first of them is PE
  /// `first_pe` of the job.
  static host_part of_host(const snapshot& of, std::int32_t host, std::int32_t first_pe);

  double work() const;   ///< of all PEs
  double speed() const;  ///< the sum of all PEs

  /// Balances the PEs of the host.
  void refine(double tolerance);
  /// Takes from each PE whose time is above `limit` objects until it is not, largest first of those that are not more
  /// than what is too much. An object stays until it is given away.
  std::vector<offered_object> surplus(double limit, double level) const;
  /// The object has another PE now, on another host, which counts it by admit() or knows it by other means.
  void give(std::uint32_t object, std::int32_t pe);
  /// A PE for work from elsewhere: that where it ends soonest, if that is not after `latest`. The PE has it then.
  std::optional<std::int32_t> admit(double work, double latest);

  struct room {
    std::int32_t pe = 0;
    double load = 0.0;  ///< work
    double speed = 0.0;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(pe, load, speed);
    }
  };
  /// The PEs below `level`.
  std::vector<room> rooms(double level) const;
  /// Work that they have room for.
  double free_work(double level) const;

  /// The time of the PE that takes longest now.
  double longest_time() const { return bins_.longest_time(); }

  /// The PE of each object that was here at the beginning.
  std::vector<accepted_object> placed() const;

 private:
  struct contents {
    std::int32_t host = 0;
    std::vector<std::int32_t> pes;       // numbers in the snapshot
    std::vector<std::uint32_t> objects;  // that may move
    std::vector<double> works;           // of these
    std::vector<double> speeds;
    std::vector<double> fixed;
    std::vector<std::int32_t> present;  // PE of each object, by its place in `pes`
  };
  explicit host_part(std::shared_ptr<const contents> of);
  static std::vector<contents> contents_of(const snapshot& of);
  std::uint32_t index_of(std::uint32_t object) const;

  std::shared_ptr<const contents> of_;  // objects go by their index in it
  load_bins bins_;
  std::vector<accepted_object> given_;
};

}  // namespace tri::balancing
