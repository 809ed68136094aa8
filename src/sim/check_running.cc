// A hub's counts are true: a task counts as running while it runs on its node, and as queued while
// the node has it and has not started it. A job is judged when none of its tasks has changed, and
// the nodes that have them have been connected, for longer than a node's report takes. Only in
// worlds where all nodes report (Options::full_disk).
#include <fmt/format.h>

#include <concepts>
#include <map>
#include <set>
#include <variant>

#include "core/model/facts.h"
#include "sim/check.h"
#include "wire/field_bytes.h"

namespace spate::sim {
namespace {

// A node reports every three seconds (HubWorld::AddMachine).
constexpr Duration kReported = Duration::Seconds(4);

class RunningCheck final : public Checker {
 public:
  const char* name() const override { return "running"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    const Options& world = *scene.hub;
    const bool tells = world.full_disk && !world.cheat;
    if (!tells || world.suspend || world.liars || world.silent_node) return;
    if (const auto* asked = std::get_if<Asked>(&fact)) {
      if (asked->question->Is<wire::LookAtAll>()) looks_.insert(asked->id);
    } else if (const auto* answered = std::get_if<Answered>(&fact)) {
      if (looks_.erase(answered->id) > 0 && answered->error == nullptr) {
        Judge(scene, *answered->answers, findings);
      }
    } else if (const auto* heard = std::get_if<NodeHeard>(&fact)) {
      nodes_[heard->node] = {scene.now, /*heard=*/true};
    } else if (const auto* unheard = std::get_if<NodeUnheard>(&fact)) {
      nodes_[unheard->node] = {scene.now, /*heard=*/false};
    } else if (const auto* process = std::get_if<NodeProcess>(&fact)) {
      nodes_[process->node].changed = scene.now;
    } else if (const auto* executed = std::get_if<Executed>(&fact)) {
      changed_[executed->order->ref.job] = scene.now;
      running_.insert({executed->order->ref, executed->node});
    } else if (const auto* over = std::get_if<Over>(&fact)) {
      changed_[over->ref.job] = scene.now;
      running_.erase({over->ref, over->node});
    } else if (const auto* decided = std::get_if<Decided>(&fact)) {
      std::visit([&](const auto& record) { Note(scene.now, record); }, *decided->record);
    } else if (std::holds_alternative<LifeBegan>(fact) || std::holds_alternative<LifeEnded>(fact)) {
      for (auto& [id, node] : nodes_) node = {scene.now, /*heard=*/false};
      looks_.clear();
    }
  }

 private:
  struct Node {
    Instant changed;  // its process or its connection
    bool heard = false;
  };

  template <typename Record>
  void Note(Instant now, const Record& record) {
    if constexpr (requires {
                    { record.job } -> std::convertible_to<JobId>;
                  }) {
      changed_[record.job] = now;
    }
    if constexpr (requires { record.end.ref.job; }) changed_[record.end.ref.job] = now;
  }

  void Judge(const Scene& scene, const std::vector<std::string>& answers, Findings& findings) {
    for (const std::string& bytes : answers) {
      auto facts = wire::FromBytes<TopFacts>("answer", bytes);
      if (!facts) return;  // check_answers says so
      for (const JobGlance& glance : facts->jobs) Judge(scene, glance, findings);
    }
  }

  void Judge(const Scene& scene, const JobGlance& glance, Findings& findings) {
    const Instant before = scene.now - (kReported + scene.slack + scene.hub->link_latency * 4);
    const BookedJob* job = scene.book.FindJob(glance.job);
    if (job == nullptr || job->held || job->finished || job->cancelled) return;
    auto changed = changed_.find(glance.job);
    if (changed == changed_.end() || changed->second > before) return;
    uint32_t running = 0;
    for (size_t i = 0; i < job->tasks.size(); ++i) {
      const BookedTask& task = job->tasks[i];
      if (task.state != TaskState::kLeased) continue;
      const Node& node = nodes_[task.node];
      if (!task.gang.empty() || !node.heard || node.changed > before) return;
      const AttemptRef ref{glance.job, static_cast<TaskIndex>(i), task.attempt};
      if (running_.contains({ref, task.node})) ++running;
    }
    if (glance.counts.leased == running) return;
    findings.Add(name(), fmt::format("job {} is shown with {} tasks running, and {} run",
                                     glance.job.value, glance.counts.leased, running));
  }

  std::map<NodeId, Node> nodes_;
  std::map<JobId, Instant> changed_;
  std::set<PartRef> running_;
  std::set<uint64_t> looks_;
};

}  // namespace

std::unique_ptr<Checker> MakeRunningCheck() { return std::make_unique<RunningCheck>(); }

}  // namespace spate::sim
