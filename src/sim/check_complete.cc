// No accepted task is lost: when the world is done, every one has ended, the engine and the
// durable records count alike, and what succeeded or failed really did. (That the world gets done
// at all is watched by World: it may neither stand still nor spin.)
#include <fmt/format.h>

#include "sim/check.h"

namespace spate::sim {
namespace {

class CompleteCheck final : public Checker {
 public:
  const char* name() const override { return "complete"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (const auto* over = std::get_if<Over>(&fact)) {
      if (over->end != nullptr) {
        truth_[{over->ref, over->node}] = {over->end->cause, over->end->status, scene.now};
      }
    } else if (const auto* process = std::get_if<NodeProcess>(&fact)) {
      if (!process->began) MarkUnheard(scene, process->node);
    } else if (const auto* committed = std::get_if<Committed>(&fact)) {
      const auto* ended = std::get_if<engine::AttemptEnded>(committed->record);
      if (ended != nullptr) CheckTruth(scene, *ended, findings);
    } else if (const auto* done = std::get_if<WorldDone>(&fact)) {
      for (const SimJob& job : scene.workload.jobs()) {
        CheckJob(job.id, scene.book.FindJob(job.id), *done->engine, findings);
      }
    }
  }

 private:
  struct End {
    Cause cause = Cause::kSuccess;
    int32_t status = 0;
    Instant at;
    bool unheard = false;
  };

  // A node that leaves may not have heard of what ended just before: it says that it cut it off.
  void MarkUnheard(const Scene& scene, NodeId node) {
    for (auto& [part, end] : truth_) {
      const bool late = end.at + scene.hub->executor_latency > scene.now;
      if (part.second == node && late) end.unheard = true;
    }
  }

  void CheckTruth(const Scene& scene, const engine::AttemptEnded& ended, Findings& findings) {
    const AttemptEnd& end = ended.end;
    const PartRef part{end.ref, ended.node};
    const BookedTask* task = scene.book.Find(end.ref);
    const bool of_gang = task != nullptr && task->HasPart(end.ref.attempt, ended.node);
    // check_gangs checks that the last part tells of the one that decided.
    if (of_gang && ended.verdict != engine::Verdict::kPart) return;
    if (end.slot == 0) {
      // Decided by the engine: nobody saw this attempt's end.
      if (end.cause == Cause::kStopped || end.cause == Cause::kNode) return;
    } else if (IsCutOff(end) && !truth_.contains(part)) {
      return;  // its node ended under it
    } else if (end.cause == Cause::kStart && scene.workload.IsBadRow(end.ref.job, end.ref.index)) {
      return;
    } else if (auto it = truth_.find(part); it != truth_.end()) {
      if (it->second.cause == end.cause && it->second.status == end.status) return;
      if (it->second.unheard && IsCutOff(end)) return;
    }
    findings.Add(name(), fmt::format("the journal says '{}' of {}, which did not end so",
                                     WordOf(end.cause), NameOf(end.ref)));
  }

  void CheckJob(JobId id, const BookedJob* job, const engine::Engine& engine, Findings& findings) {
    if (job == nullptr || !job->finished) {
      findings.Add(name(), fmt::format("job {} never finished", id.value));
      return;
    }
    if (!engine.Counts(id)) return;  // a hub unloads what has finished
    if (engine.Counts(id) != job->Counts()) {
      findings.Add(name(), fmt::format("job {}: engine and journal count differently", id.value));
    }
    for (TaskIndex i = 0; i < job->tasks.size(); ++i) {
      if (!IsFinal(job->tasks[i].state) || engine.StateOf(id, i) != job->tasks[i].state) {
        findings.Add(name(), fmt::format("task {}.{} was lost", id.value, i + 1));
      }
    }
  }

  std::map<PartRef, End> truth_;
};

}  // namespace

std::unique_ptr<Checker> MakeCompleteCheck() { return std::make_unique<CompleteCheck>(); }

}  // namespace spate::sim
