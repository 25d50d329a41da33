// One PE's view of the whole tree: the top tree, the chunks of the pieces here, and chunks of others that were fetched
// on demand. A group: one member on every PE, used by the pieces of its own PE directly.
//
// A chunk is fetched once for a process: for each subtree one PE of the process is the *agent*. The others ask it, it
// asks the piece once, and its answer is a shared buffer, which within a host is a pointer. Requests for something that
// is on its way wait for it.
//
//   state of nodes or bodies of a chunk   next
//   absent                                a walk or another PE needs it: requested
//   requested                             arrives: present; all that wait for it go on
//   present                               until the next tree
#pragma once

#include <vector>

#include "gravity/parallel/shared_settings.hpp"
#include "gravity/tree/top_tree.hpp"
#include "gravity/tree/walk.hpp"

namespace gravity {

class piece;

/// What a PE's cache has seen in a step, and what its pieces have computed.
struct cache_report {
  std::uint64_t hits = 0;      ///< walks found here what a piece on another PE has
  std::uint64_t misses = 0;    ///< it was requested
  std::uint64_t combined = 0;  ///< it was on its way, for another walk or another PE
  std::uint64_t fetched = 0;   ///< from pieces: as agent of the process, once each
  std::uint64_t bytes = 0;     ///< of these
  std::uint64_t interactions = 0;
  std::int64_t busy_ns = 0;  ///< of pieces that find forces

  cache_report& operator+=(const cache_report& more) {
    hits += more.hits;
    misses += more.misses;
    combined += more.combined;
    fetched += more.fetched;
    bytes += more.bytes;
    interactions += more.interactions;
    busy_ns += more.busy_ns;
    return *this;
  }
};

class node_cache : public tri::group_member<node_cache> {
 public:
  // Entry methods.
  /// A new tree; the pieces of this PE have built theirs. `first_of_piece` as in decomposition.
  int install(const tri::array<piece>& pieces, tri::shared_buffer<tree_node> top,
              const std::vector<std::uint32_t>& first_of_piece);
  /// Another PE of the process needs something of which this is the agent.
  void request(std::uint32_t subtree, std::uint32_t chunk, bool bodies, int pe);
  /// It arrives, from the agent or as agent from the piece.
  void nodes_arrive(std::uint32_t subtree, std::uint32_t chunk, tri::shared_buffer<tree_node> nodes);
  void bodies_arrive(std::uint32_t subtree, std::uint32_t chunk, tri::shared_buffer<source> bodies);
  /// Since the last call.
  cache_report report() { return std::exchange(report_, {}); }

  // For the pieces of this PE.
  /// Fetches all that the walks for these boxes need. Set when it is there.
  tri::future<void> fetch_for(const std::vector<box>& targets);
  void count_forces(const interaction_counts& counts, std::int64_t busy_ns) {
    report_.interactions += counts.multipoles + counts.bodies;
    report_.busy_ns += busy_ns;
  }

  // As the tree of a walk for forces: null means that it was not fetched.
  const tree_node* top() const { return top_.data(); }
  const tree_node* children(const node_place& at);
  const source* bodies(const node_place& at);

 private:
  /// A walk that waits: it goes on at this node when its content is there.
  struct waiting_walk {
    std::size_t walk;
    node_place at;
  };
  template <class T>
  struct part {
    tri::shared_buffer<T> content;
    bool requested = false;
    bool present = false;
    std::vector<waiting_walk> walks;
    std::vector<int> pes;
  };
  struct cached_chunk {
    part<tree_node> nodes;
    part<source> bodies;
  };
  struct cached_subtree {
    std::uint32_t piece = 0;
    bool is_here = false;
    std::vector<cached_chunk> chunks;
  };
  /// The walks of one call of fetch_for.
  struct fetch {
    std::size_t waits = 0;
    tri::promise<void> done;
  };
  struct walk {
    box target;
    std::size_t fetch_number;
  };
  class walking_tree;

  cached_chunk& chunk_at(std::uint32_t subtree, std::uint32_t chunk);
  template <class T>
  bool look_up(part<T>& wanted, const content_place& place, const waiting_walk& waiting);
  void ask(const content_place& place);
  int agent_of(std::uint32_t subtree) const;
  template <class T>
  void arrive(part<T>& wanted, std::uint32_t subtree, std::uint32_t chunk, tri::shared_buffer<T> content);
  template <class T>
  static void answer(int pe, std::uint32_t subtree, std::uint32_t chunk, const tri::shared_buffer<T>& content,
                     const tri::group<node_cache>& caches);
  void go_on(const waiting_walk& from);
  void end_wait(std::size_t number);
  tri::group<node_cache> caches() const { return tri::group<node_cache>(this_array()); }

  tri::array<piece> pieces_;
  tri::shared_buffer<tree_node> top_;
  std::vector<cached_subtree> subtrees_;
  std::vector<walk> walks_;
  std::vector<fetch> fetches_;
  cache_report report_;
};

/// Messages that others wait for run before the pieces' next forces.
inline constexpr int fetch_priority = -1;

}  // namespace gravity
