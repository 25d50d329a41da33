// See node_cache.hpp.
#include "gravity/parallel/node_cache.hpp"

#include "gravity/parallel/piece.hpp"

namespace gravity {

// The tree as a walk sees it that fetches.
class node_cache::walking_tree {
 public:
  walking_tree(node_cache& cache, std::size_t walk) : cache_(cache), walk_(walk) {}

  const tree_node* children(const node_place& at) {
    if (at.node->kind == node_kind::inner) return cache_.children(at);  // beside the node itself
    const content_place place = content_of(at);
    part<tree_node>& wanted = cache_.chunk_at(place.subtree, place.chunk).nodes;
    return cache_.look_up(wanted, place, {walk_, at}) ? wanted.content.data() : nullptr;
  }
  bool bodies_present(const node_place& at) {
    const content_place place = content_of(at);
    return cache_.look_up(cache_.chunk_at(place.subtree, place.chunk).bodies, place, {walk_, at});
  }

 private:
  node_cache& cache_;
  std::size_t walk_;
};

int node_cache::install(const tri::array<piece>& pieces, tri::shared_buffer<tree_node> top,
                        const std::vector<std::uint32_t>& first_of_piece) {
  pieces_ = pieces;
  top_ = std::move(top);
  walks_.clear();
  fetches_.clear();
  subtrees_.clear();
  subtrees_.resize(first_of_piece.back());
  for (std::uint32_t p = 0; p + 1 < first_of_piece.size(); ++p)
    for (std::uint32_t s = first_of_piece[p]; s < first_of_piece[p + 1]; ++s) subtrees_[s].piece = p;
  for (const piece* const here : pieces.local_elements()) {
    for (std::size_t s = 0; s < here->subtrees().size(); ++s) {
      const shared_subtree& own = here->subtrees()[s];
      cached_subtree& entry = subtrees_[here->first_subtree() + s];
      entry.is_here = true;
      entry.chunks.resize(own.nodes.size());
      for (std::size_t c = 0; c < own.nodes.size(); ++c) {
        entry.chunks[c].nodes.content = own.nodes[c];
        entry.chunks[c].nodes.present = true;
        entry.chunks[c].bodies.content = own.bodies[c];
        entry.chunks[c].bodies.present = true;
      }
    }
  }
  return 1;
}

node_cache::cached_chunk& node_cache::chunk_at(std::uint32_t subtree, std::uint32_t chunk) {
  std::vector<cached_chunk>& chunks = subtrees_[subtree].chunks;
  if (chunk >= chunks.size()) chunks.resize(chunk + 1);
  return chunks[chunk];
}

const tree_node* node_cache::children(const node_place& at) {
  const content_place place = content_of(at);
  if (place.subtree == in_top_tree) return top_.data() + at.node->first;
  const cached_subtree& of = subtrees_[place.subtree];
  if (place.chunk >= of.chunks.size() || !of.chunks[place.chunk].nodes.present) return nullptr;
  if (!of.is_here && at.node->kind != node_kind::inner) ++report_.hits;
  return of.chunks[place.chunk].nodes.content.data() + first_in_content(*at.node);
}

const source* node_cache::bodies(const node_place& at) {
  const content_place place = content_of(at);
  const cached_subtree& of = subtrees_[place.subtree];
  if (place.chunk >= of.chunks.size() || !of.chunks[place.chunk].bodies.present) return nullptr;
  if (!of.is_here) ++report_.hits;
  return of.chunks[place.chunk].bodies.content.data();
}

// Whether it is here. Otherwise the walk goes on when it has arrived.
template <class T>
bool node_cache::look_up(part<T>& wanted, const content_place& place, const waiting_walk& waiting) {
  const bool is_here = subtrees_[place.subtree].is_here;
  if (wanted.present) {
    if (!is_here) ++report_.hits;
    return true;
  }
  if (wanted.requested) {
    ++report_.combined;
  } else {
    ++report_.misses;
    wanted.requested = true;
    ask(place);
  }
  wanted.walks.push_back(waiting);
  ++fetches_[walks_[waiting.walk].fetch_number].waits;
  return false;
}

int node_cache::agent_of(std::uint32_t subtree) const {
  const auto pes = static_cast<std::uint32_t>(tri::pes_per_process());
  return tri::this_process() * tri::pes_per_process() + static_cast<int>(subtree % pes);
}

void node_cache::ask(const content_place& place) {
  const int agent = agent_of(place.subtree);
  if (agent != tri::this_pe()) {
    caches()[agent]
        .with(fetch_priority)
        .send<&node_cache::request>(place.subtree, place.chunk, place.bodies, tri::this_pe());
    return;
  }
  ++report_.fetched;
  const auto home = pieces_(static_cast<int>(subtrees_[place.subtree].piece));
  home.with(fetch_priority).send<&piece::request>(place.subtree, place.chunk, place.bodies, tri::this_pe());
}

void node_cache::request(std::uint32_t subtree, std::uint32_t chunk, bool bodies, int pe) {
  cached_chunk& wanted = chunk_at(subtree, chunk);
  const auto serve = [&](auto& needed) {
    if (needed.present) return answer(pe, subtree, chunk, needed.content, caches());
    needed.pes.push_back(pe);
    if (std::exchange(needed.requested, true)) {
      ++report_.combined;
      return;
    }
    ask({subtree, chunk, bodies});
  };
  bodies ? serve(wanted.bodies) : serve(wanted.nodes);
}

template <class T>
void node_cache::answer(int pe, std::uint32_t subtree, std::uint32_t chunk, const tri::shared_buffer<T>& content,
                        const tri::group<node_cache>& caches) {
  constexpr auto method = [] {
    if constexpr (std::is_same_v<T, source>)
      return &node_cache::bodies_arrive;
    else
      return &node_cache::nodes_arrive;
  }();
  caches[pe].with(fetch_priority).template send<method>(subtree, chunk, content);
}

void node_cache::nodes_arrive(std::uint32_t subtree, std::uint32_t chunk, tri::shared_buffer<tree_node> nodes) {
  arrive(chunk_at(subtree, chunk).nodes, subtree, chunk, std::move(nodes));
}
void node_cache::bodies_arrive(std::uint32_t subtree, std::uint32_t chunk, tri::shared_buffer<source> bodies) {
  arrive(chunk_at(subtree, chunk).bodies, subtree, chunk, std::move(bodies));
}

template <class T>
void node_cache::arrive(part<T>& wanted, std::uint32_t subtree, std::uint32_t chunk, tri::shared_buffer<T> content) {
  if (agent_of(subtree) == tri::this_pe()) report_.bytes += content.size() * sizeof(T);
  wanted.content = std::move(content);
  wanted.present = true;
  for (const int pe : std::exchange(wanted.pes, {})) answer(pe, subtree, chunk, wanted.content, caches());
  // `wanted` may move in memory from here on: walks that go on need further chunks.
  for (const waiting_walk& each : std::exchange(wanted.walks, {})) go_on(each);
}

void node_cache::go_on(const waiting_walk& from) {
  const walk on = walks_[from.walk];
  const content_place place = content_of(from.at);
  if (!place.bodies) {
    walking_tree tree(*this, from.walk);
    const tree_node* const nodes = chunk_at(place.subtree, place.chunk).nodes.content.data();
    for (std::uint32_t child = 0; child < from.at.node->count; ++child)
      open_for(on.target, {nodes + child, place.subtree, place.chunk}, tree);
  }
  end_wait(on.fetch_number);
}

void node_cache::end_wait(std::size_t number) {
  if (--fetches_[number].waits == 0) fetches_[number].done.set();
}

tri::future<void> node_cache::fetch_for(const std::vector<box>& targets) {
  tri::future<void> done;
  const std::size_t number = fetches_.size();
  fetches_.push_back({1, done.get_promise()});  // the first wait is that for this function to end
  for (const box& target : targets) {
    walks_.push_back({target, number});
    walking_tree tree(*this, walks_.size() - 1);
    open_for(target, {top()}, tree);
  }
  end_wait(number);
  return done;
}

}  // namespace gravity
