// One PE's stand-in for all patches whose atoms its pairs need: positions come once per PE and step, whatever the
// number of pairs that read them, and the forces of all these pairs go back in one message.
//
// A group: one member on every PE; called by the pairs of its own PE directly and by patches through messages. Nothing
// is copied: positions are a shared buffer, and the memory of the forces, one slot per pair, is a buffer passed back
// and forth between patch and proxy. The patch adds the slots of all PEs in one fixed order.
#pragma once

#include "md/parallel/world.hpp"

namespace md {

class pair_compute;
class patch_object;

/// One PE's work in a run.
struct pe_report {
  double pair_seconds = 0.0;
  double build_seconds = 0.0;
  double patch_seconds = 0.0;
  double mesh_seconds = 0.0;
  std::uint64_t messages = 0;      ///< sent to other PEs
  std::uint64_t bytes_copied = 0;  ///< into messages

  template <class Archive>
  void serialize(Archive& archive) {
    archive(pair_seconds, build_seconds, patch_seconds, mesh_seconds, messages, bytes_copied);
  }
};

class proxies : public tri::group_member<proxies> {
 public:
  proxies();
  /// Entry method: the positions of a patch, and the memory for the forces on it, which is empty at first and after the
  /// patch has changed its atoms.
  void positions(const tri::element_ref<patch_object>& patch, const step_kind& kind, tri::shared_buffer<vec4> positions,
                 tri::buffer<vec4> forces);
  /// Entry method: pairs have moved. `places`: the PE of each, by patch * pair_kinds + kind. They enroll again.
  /// Returns 1.
  int place(const std::vector<std::int32_t>& places);
  /// Entry method: since the last call.
  pe_report report();

  /// For patches and pairs of this PE: where a pair is.
  int pair_pe(int patch, int kind) const { return places_[static_cast<std::size_t>(patch * pair_kinds + kind)]; }

  // For the pairs of this PE.
  /// Registers side `source.side` of a pair with the patch. Returns the slot of its forces.
  std::size_t enroll(int patch, const contribution_source& source, pair_compute& pair);
  patch_view view(int patch) const;
  vec4* forces(int patch, std::size_t slot);
  /// A pair has written its slot of this patch.
  void finished(int patch);
  list_scratch& scratch() { return scratch_; }

  /// Adds to the time spent, in ticks of the clock.
  void spent_on_pairs(std::uint64_t ticks) { pair_ticks_ += ticks; }
  void spent_on_lists(std::uint64_t ticks) { build_ticks_ += ticks; }
  void spent_on_patches(std::uint64_t ticks) { patch_ticks_ += ticks; }
  void spent_on_mesh(std::uint64_t ticks) { mesh_ticks_ += ticks; }

 private:
  struct user {
    pair_compute* pair = nullptr;
    int side = 0;
  };
  struct proxy {
    tri::element_ref<patch_object> patch;
    std::vector<user> users;  ///< by slot, in the order of patch_grid::contributions
    tri::shared_buffer<vec4> positions;
    tri::buffer<vec4> forces;
    step_kind kind;
    std::size_t unfinished = 0;
  };
  void make_room_for_users();
  static void send_touched(const proxy& from);

  std::vector<std::int32_t> places_;
  std::vector<proxy> proxies_;  ///< by patch; those without users are empty
  list_scratch scratch_;
  std::uint64_t pair_ticks_ = 0;
  std::uint64_t build_ticks_ = 0;
  std::uint64_t patch_ticks_ = 0;
  std::uint64_t mesh_ticks_ = 0;
  std::uint64_t messages_before_ = 0;
  std::uint64_t bytes_before_ = 0;
};

/// Elements from one slot to the next in the forces of a patch: whole cache lines.
inline std::size_t slot_stride(std::size_t atoms) { return (atoms + padding_atoms + 1) / 2 * 2; }

}  // namespace md
