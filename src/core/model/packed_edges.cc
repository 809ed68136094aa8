#include "core/model/packed_edges.h"

#include <string_view>

#include "base/check.h"
#include "core/model/field_bytes.h"
#include "core/model/memory.h"

namespace spate {

void PackedEdges::Add(std::span<const Edge> edges) {
  std::string& bytes = pieces_.emplace_back();
  for (const Edge& edge : edges) {
    for (TaskIndex Edge::* end : {&Edge::parent, &Edge::child}) {
      internal::AppendVarint(bytes, internal::Zigzag(int64_t{edge.*end} - last_.*end));
    }
    last_ = edge;
  }
  bytes.shrink_to_fit();
  size_ += edges.size();
  memory_ += MemoryOf(bytes) + 2 * sizeof(bytes);  // the list of pieces may have twice the capacity
}

std::vector<Edge> PackedEdges::All() const {
  std::vector<Edge> edges;
  edges.reserve(size_);
  Edge last;
  uint64_t step = 0;
  for (std::string_view rest : pieces_) {
    while (!rest.empty()) {
      for (TaskIndex Edge::* end : {&Edge::parent, &Edge::child}) {
        CHECK(internal::DecodeVarint(rest, step));
        last.*end = static_cast<TaskIndex>(last.*end + internal::Unzigzag(step));
      }
      edges.push_back(last);
    }
  }
  return edges;
}

}  // namespace spate
