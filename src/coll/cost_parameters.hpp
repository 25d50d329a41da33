// What the time of a plan is made of: LogGP between hosts (Alexandrov et al. 1995), with copies, reductions and signals
// inside them.
//
// A message of k bytes between hosts: its sender is busy for o, and sends the next one g after the beginning of this
// one at the earliest; the bytes leave the host one message after the other, G each; they arrive L later, through the
// other host's link likewise; the receiver is busy for o. So g is of a rank and G of a host: many ranks send more
// messages at once, but no more bytes. A message inside a host takes L of the host and a copy by its receiver.
#pragma once

namespace tri::coll {

/// Times in nanoseconds.
struct cost_parameters {
  double latency = 10'000.0;    ///< L, between hosts
  double overhead = 500.0;      ///< o, of sender and receiver each
  double gap = 1'000.0;         ///< g, between the messages of one rank
  double per_byte = 0.1;        ///< G, of the link of a host
  double host_latency = 300.0;  ///< of a message inside a host
  double signal = 100.0;        ///< until a signal is seen
  double copy_start = 30.0;     ///< of a copy or reduction
  double copy_per_byte = 0.1;
  double reduce_per_byte = 0.2;
};

}  // namespace tri::coll
