#include "core/engine/task_graph.h"

namespace spate::engine {

size_t TaskGraph::AddRun(std::span<const Edge> edges, size_t at) {
  const TaskIndex parent = edges[at].parent;
  const size_t begin = runs_.size();
  for (; at < edges.size() && edges[at].parent == parent; ++at) runs_.push_back(edges[at].child);
  runs_.back() |= kLast;
  if (first_[parent] == 0) {
    first_[parent] = static_cast<uint32_t>(begin + 1);
  } else {
    more_.Edit().emplace(parent, begin);
  }
  return at;
}

// Covers the remaining counts too, although they follow from the edges and the states of tasks.
uint64_t TaskGraph::Digest() const {
  uint64_t hash = 0;
  auto mix = [&hash](uint64_t value) { hash = (hash ^ value) * 0xff51afd7ed558ccdu + 1; };
  for (uint32_t child : runs_) mix(child);
  for (uint32_t first : first_) mix(first);
  for (const auto& [parent, at] : *more_) mix(uint64_t{parent} << 32 | at);
  for (uint32_t left : left_) mix(left);
  return hash;
}

uint64_t TaskGraph::StateBytes() const {
  return (runs_.capacity() + first_.capacity() + left_.capacity()) * sizeof(uint32_t) +
         more_->size() * 56;
}

}  // namespace spate::engine
