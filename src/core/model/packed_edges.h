#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/model/graph.h"

namespace spate {

// Edges in little memory: in most graphs an edge takes 2 to 5 bytes.
class PackedEdges {
 public:
  void Add(std::span<const Edge> edges);
  std::vector<Edge> All() const;
  size_t size() const { return size_; }
  size_t memory() const { return memory_; }

 private:
  std::vector<std::string> pieces_;  // varints: differences from the edge before
  Edge last_;
  size_t size_ = 0;
  size_t memory_ = 0;
};

}  // namespace spate
