// A node goes on while the hub is away, and is adopted again: an attempt is taken for lost only
// when it is. That is, when its node was silent for the stated time, was removed, or its process is
// gone and the attempt with it; or when the connection by which it was leased broke before it
// began.
#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "sim/check.h"

namespace spate::sim {
namespace {

// From a connection to its first message, at most.
constexpr Duration kHello = Duration::Seconds(1);

class LossesCheck final : public Checker {
 public:
  const char* name() const override { return "losses"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (const auto* heard = std::get_if<NodeHeard>(&fact)) {
      Node& node = nodes_[heard->node];
      if (Exhausted(scene, node.silent_since)) ++node.losses;
      node.silent_before = std::exchange(node.silent_since, std::nullopt);
      node.heard_at = scene.now;
    } else if (const auto* unheard = std::get_if<NodeUnheard>(&fact)) {
      Node& node = nodes_[unheard->node];
      bool hardly = node.silent_before && HardlyHeard(scene, node);
      if (!node.silent_since) node.silent_since = hardly ? *node.silent_before : scene.now;
      ++node.breaks;
    } else if (const auto* process = std::get_if<NodeProcess>(&fact)) {
      Node& node = nodes_[process->node];
      node.up = process->began;
      if (!node.up) ++node.breaks;
      if (process->all) ++node.losses;  // what had ended there is gone, too
    } else if (const auto* executed = std::get_if<Executed>(&fact)) {
      attempts_[{executed->order->ref, executed->node}].began = true;
    } else if (const auto* over = std::get_if<Over>(&fact)) {
      Attempt& attempt = attempts_[{over->ref, over->node}];
      attempt.killed = over->end == nullptr || over->end->cause == Cause::kNode;
    } else if (const auto* decided = std::get_if<Decided>(&fact)) {
      const engine::Record& record = *decided->record;
      if (const auto* lease = std::get_if<engine::Leased>(&record)) SeeLease(*lease);
      if (const auto* gang = std::get_if<engine::GangLeased>(&record)) {
        for (const engine::GangLeased::Part& part : gang->parts) {
          Attempt& attempt = attempts_[{{gang->job, gang->index, gang->attempt}, part.node}];
          attempt.leased_at = nodes_[part.node];
          attempt.of_gang = true;
        }
      }
      if (const auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
        SeeEnd(scene, *ended, findings);
      }
      if (const auto* removed = std::get_if<engine::NodeRemoved>(&record)) {
        ++nodes_[removed->node].losses;
        removing_.erase(removed->node);
      }
    } else if (std::holds_alternative<LifeEnded>(fact) && !removing_.empty()) {
      findings.Add(name(), "a node's attempts are lost as if it were removed, and it is not");
    }
  }

 private:
  struct Node {
    std::optional<Instant> silent_since;
    std::optional<Instant> silent_before;  // since when it was before it was heard at
    Instant heard_at;
    bool up = false;      // its process is there
    uint32_t breaks = 0;  // of its connections, or its process
    uint32_t losses = 0;  // times that the hub may have given it up, or its machine died
  };
  struct Attempt {
    Node leased_at;  // its node as it was then
    bool began = false;
    bool killed = false;
    bool of_gang = false;
  };

  // The hub's patience with a node that is silent since then is at its end.
  static bool Exhausted(const Scene& scene, std::optional<Instant> since) {
    return since && scene.now - *since >= scene.hub->patience;
  }
  // Its connection is so new that the hub may not know who it is.
  static bool HardlyHeard(const Scene& scene, const Node& node) {
    Duration most = kHello;
    if (scene.hub->suspend) most = most + scene.hub->patience * 2;
    return scene.now - node.heard_at < most;
  }
  void SeeLease(const engine::Leased& leased) {
    for (TaskRange range : leased.tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        attempts_[{{leased.job, i, leased.attempt}, leased.node}].leased_at = nodes_[leased.node];
      }
    }
  }
  void SeeEnd(const Scene& scene, const engine::AttemptEnded& ended, Findings& findings) {
    auto attempt = attempts_.find({ended.end.ref, ended.node});
    if (attempt == attempts_.end() || ended.end.slot != 0) return;
    const Attempt& was = attempt->second;
    const Node& node = nodes_[ended.node];
    if (was.killed || node.losses > was.leased_at.losses) return;
    if (Exhausted(scene, node.silent_since)) return;
    if (HardlyHeard(scene, node) && Exhausted(scene, node.silent_before)) return;
    // It was on its way to the node, or had not been started when its process died.
    bool broken = node.breaks > was.leased_at.breaks || was.leased_at.silent_since;
    if (!was.began && (broken || !node.up)) return;
    // A returned part of a gang is an end.
    if (!was.began && was.of_gang) return;
    // How a gang's last part ended is not told where another one had decided.
    const bool untold = was.of_gang && ended.verdict != engine::Verdict::kPart;
    if (untold || ended.end.note.starts_with("its node was removed")) {
      removing_.insert(ended.node);  // a later record of the same step says so
      return;
    }
    findings.Add(name(), fmt::format("{} is taken for lost ({}), and its node n{} still has it",
                                     NameOf(ended.end.ref), ended.end.note, ended.node.value));
  }

  std::map<NodeId, Node> nodes_;
  std::map<PartRef, Attempt> attempts_;
  std::set<NodeId> removing_;
};

}  // namespace

std::unique_ptr<Checker> MakeLossesCheck() { return std::make_unique<LossesCheck>(); }

}  // namespace spate::sim
