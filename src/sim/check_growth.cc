// The end of what a hub and its journal keep of pools and nodes that come and go all day. In
// memory: nodes of pilots that are there, or were lately. In the journal: of pools that are gone
// nothing from before the newest image. In the log: lines in proportion to what happened, and none
// by the clock. And questions to nodes, which may never be answered. (Bytes are not looked at; what
// others may have of the hub is judged by fair and passed.)
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hub/node_calls.h"
#include "sim/check.h"
#include "store/hub_store.h"
#include "store/pool_codec.h"

namespace spate::sim {
namespace {

// Pilots that batch systems do not name any more are searched for during an hour, and nodes that
// were cut off are waited for.
constexpr Duration kLately = Duration::Seconds(2 * 3600);
// The hub's patience with nodes' answers, at most.
constexpr Duration kCallLasts = hub::NodeCalls::kPatience + Duration::Seconds(1);

class GrowthCheck final : public Checker {
 public:
  const char* name() const override { return "growth"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (std::holds_alternative<PilotQueued>(fact)) {
      ++pilots_;
    } else if (std::holds_alternative<PilotOver>(fact)) {
      --pilots_;
      over_.push_back(scene.now);
    } else if (const auto* of_pool = std::get_if<PoolCommitted>(&fact)) {
      ++rows_[pool_of_.Of(*of_pool->record)];
      ++events_;
    } else if (const auto* cut = std::get_if<PoolsCut>(&fact)) {
      if (cut->durable) Cut(*cut->images);
    } else if (std::holds_alternative<LifeBegan>(fact)) {
      events_ += kLinesOfLife;
    } else if (std::holds_alternative<NodeHeard>(fact) ||
               std::holds_alternative<NodeUnheard>(fact) || std::holds_alternative<Over>(fact) ||
               std::holds_alternative<Answered>(fact)) {
      ++events_;
    } else if (std::holds_alternative<NodeAsked>(fact)) {
      asked_.push_back(scene.now);
    } else if (const auto* holds = std::get_if<HubHolds>(&fact)) {
      JudgeCalls(scene, *holds, findings);
      Judge(scene, *holds, findings);
    }
  }

 private:
  static constexpr uint64_t kLinesOfLife = 20;
  static constexpr size_t kUnderWay = 30;  // records that were queued when an image was

  void Cut(const std::vector<provision::Record>& images) {
    image_ = images.size();
    std::map<provision::PoolId, size_t> kept;
    for (const provision::Record& record : images) {
      const auto* pool = std::get_if<provision::PoolKept>(&record);
      if (pool != nullptr)
        kept[pool->pool] = std::min(rows_[pool->pool], store::PoolRows::kRowsOfPool);
    }
    rows_ = std::move(kept);
  }

  void Judge(const Scene& scene, const HubHolds& holds, Findings& findings) {
    std::erase_if(over_, [&](Instant each) { return scene.now - each > kLately; });
    const auto lately = static_cast<size_t>(pilots_) + over_.size();
    if (holds.pilot_nodes > lately) {
      findings.Add(name(),
                   fmt::format("{} nodes of pilots are kept, and {} pilots were there lately",
                               holds.pilot_nodes, lately));
    }
    if (holds.pools > scene.workload.pools().size()) {
      findings.Add(name(), fmt::format("{} pools are kept", holds.pools));
    }
    size_t rows = image_ + kUnderWay;
    for (const auto& [pool, count] : rows_) rows += count;
    if (holds.pool_rows > rows) {
      findings.Add(name(), fmt::format("{} rows of pools are kept, at most {} are needed",
                                       holds.pool_rows, rows));
    }
    if (holds.log_lines > events_ * 2) {
      findings.Add(name(),
                   fmt::format("the log has {} lines, of {} events", holds.log_lines, events_));
    }
  }

  // Each question to a node is answered or given up in time, and its answer is bounded.
  void JudgeCalls(const Scene& scene, const HubHolds& holds, Findings& findings) {
    if (scene.hub->suspend) return;
    std::erase_if(asked_, [&](Instant each) { return scene.now - each > kCallLasts; });
    if (holds.calls > asked_.size()) {
      findings.Add(name(), fmt::format("{} questions to nodes are under way, {} were asked lately",
                                       holds.calls, asked_.size()));
    }
    const bool too_long = holds.call_bytes > hub::NodeCalls::kMostKept;
    if (too_long || (holds.calls == 0 && holds.call_bytes > 0)) {
      findings.Add(name(), fmt::format("{} bytes of answers of nodes are kept for {} questions",
                                       holds.call_bytes, holds.calls));
    }
  }

  int64_t pilots_ = 0;          // in the batch system
  std::vector<Instant> asked_;  // questions to nodes
  std::vector<Instant> over_;
  uint64_t events_ = 0;
  size_t image_ = 0;
  std::map<provision::PoolId, size_t> rows_;  // those since the newest image, and those to read
  store::PoolOfRecord pool_of_;
};

}  // namespace

std::unique_ptr<Checker> MakeGrowthCheck() { return std::make_unique<GrowthCheck>(); }

}  // namespace spate::sim
