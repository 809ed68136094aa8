#include "core/model/packed_edges.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"
#include "core/model/limits.h"

namespace spate {
namespace {

TEST(PackedEdges, AreTheSame) {
  Prng prng(3);
  PackedEdges packed;
  std::vector<Edge> all;
  for (int piece = 0; piece < 50; ++piece) {
    std::vector<Edge> edges(prng.Below(100));
    for (Edge& edge : edges) {
      const uint64_t most = prng.Below(2) == 0 ? 10 : uint64_t{1} << 32;
      edge = {static_cast<TaskIndex>(prng.Below(most)), static_cast<TaskIndex>(prng.Below(most))};
    }
    packed.Add(edges);
    all.insert(all.end(), edges.begin(), edges.end());
  }
  EXPECT_EQ(packed.size(), all.size());
  EXPECT_EQ(packed.All(), all);
}

// The largest graph fits into the memory that a hub allows one user's requests. Parents of a task
// are near it, or anywhere before it.
TEST(PackedEdges, OfTheLargestGraphFit) {
  for (const uint32_t reach : {1'000u, UINT32_MAX}) {
    Prng prng(5);
    PackedEdges packed;
    std::vector<Edge> edges;
    constexpr uint32_t kPart = 20;  // of the largest graph
    for (TaskIndex parent = 0; packed.size() < kLimits.edges_per_job / kPart; ++parent) {
      edges.clear();
      for (int i = 0; i < 65'536; ++i) {
        if (i % 2 == 0) ++parent;
        const uint64_t far =
            1 + prng.Below(std::min<uint64_t>(reach, kLimits.tasks_per_job - parent));
        edges.push_back({parent, static_cast<TaskIndex>(parent + far)});
      }
      packed.Add(edges);
    }
    EXPECT_LT(packed.memory() * kPart, 108u << 20) << reach;
  }
}

}  // namespace
}  // namespace spate
