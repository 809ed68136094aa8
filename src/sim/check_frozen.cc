// Stopped tasks stand still, and others do not. A job that is shown as frozen does not run; an
// attempt of a stopped task is frozen soon where its node is heard, and let go soon after its stop
// is over; time in which it stood still never ends it by its time limit. Nobody's processes get a
// signal that neither their owner nor an administrator has sent, and nobody's are shown to others
// ("rights").
#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/units.h"
#include "core/model/facts.h"
#include "core/model/processes.h"
#include "sim/check.h"
#include "wire/field_bytes.h"

namespace spate::sim {
namespace {

class FrozenCheck final : public Checker {
 public:
  const char* name() const override { return "frozen"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (!scene.hub->steer) return;
    if (const auto* executed = std::get_if<Executed>(&fact)) {
      parts_[{executed->order->ref, executed->node}] = {.began = scene.now, .since = scene.now};
    } else if (const auto* changed = std::get_if<FrozenChanged>(&fact)) {
      Change(scene, *changed, findings);
    } else if (const auto* over = std::get_if<Over>(&fact)) {
      End(scene, *over, findings);
    } else if (const auto* decided = std::get_if<Decided>(&fact)) {
      std::visit([&](const auto& record) { Note(scene.now, record); }, *decided->record);
    } else if (const auto* committed = std::get_if<Committed>(&fact)) {
      std::visit([&](const auto& record) { Note(scene.now, record); }, *committed->record);
      NoteLag(scene, *committed->record);
    } else if (const auto* heard = std::get_if<NodeHeard>(&fact)) {
      heard_since_[heard->node] = scene.now;
    } else if (const auto* unheard = std::get_if<NodeUnheard>(&fact)) {
      heard_since_.erase(unheard->node);
    } else if (const auto* asked = std::get_if<Asked>(&fact)) {
      Begin(scene, *asked);
    } else if (const auto* answered = std::get_if<Answered>(&fact)) {
      Judge(scene, *answered, findings);
    } else if (const auto* signalled = std::get_if<Signalled>(&fact)) {
      if (!may_signal_.contains(signalled->ref.job)) {
        findings.Add("rights", NameOf(signalled->ref) + " got a signal that nobody sent who may");
      }
    } else if (std::holds_alternative<LifeEnded>(fact)) {
      open_.clear();
      decided_at_.clear();
    } else if (std::holds_alternative<HubHolds>(fact)) {
      for (const auto& [part, state] : parts_) CheckPart(scene, part, state, findings);
    }
  }

 private:
  struct Part {
    Instant began;
    Instant since;  // it runs, or stands still
    bool frozen = false;
    Duration stood;  // before that
  };
  struct Question {
    wire::Question question;
    std::string user;
    Instant at;
  };

  // ---- What is so

  void Change(const Scene& scene, const FrozenChanged& changed, Findings& findings) {
    auto at = parts_.find({changed.ref, changed.node});
    if (at == parts_.end()) return;
    Part& part = at->second;
    if (part.frozen != changed.frozen) CheckPart(scene, at->first, part, findings);
    if (part.frozen && !changed.frozen) part.stood = part.stood + (scene.now - part.since);
    if (part.frozen != changed.frozen) part.since = scene.now;
    part.frozen = changed.frozen;
  }

  void End(const Scene& scene, const Over& over, Findings& findings) {
    auto at = parts_.find({over.ref, over.node});
    if (at == parts_.end()) return;
    const Part part = at->second;
    CheckPart(scene, at->first, part, findings);
    parts_.erase(at);
    const JobSettings& settings = *scene.workload.job(over.ref.job).settings;
    const bool by_limit = over.end != nullptr && over.end->cause == Cause::kTimeLimit;
    if (!by_limit || settings.time_limit.ns == 0 || settings.time_limit_percent > 0) return;
    Duration stood = part.stood;
    if (part.frozen) stood = stood + (scene.now - part.since);
    const Duration ran = scene.now - part.began - stood;
    if (ran + scene.slack >= settings.time_limit) return;
    findings.Add(
        name(),
        fmt::format(
            "{} is ended by its time limit of {} when it has run {}, and stood still for {}",
            NameOf(over.ref), FormatDuration(settings.time_limit), FormatDuration(ran),
            FormatDuration(stood)));
  }

  // ---- Orders reach it

  template <typename Record>
  void Note(Instant now, const Record& record) {
    if constexpr (requires {
                    { record.job } -> std::convertible_to<JobId>;
                  }) {
      if constexpr (!std::same_as<Record, engine::Leased> &&
                    !std::same_as<Record, engine::GangLeased>) {
        changed_at_[record.job] = now;
      }
    }
    if constexpr (std::same_as<Record, engine::JobSteered>)
      decided_at_.try_emplace(record.since, now);
  }

  // Many records may wait for the disk, and those of others with them.
  void NoteLag(const Scene& scene, const engine::Record& record) {
    const auto* steered = std::get_if<engine::JobSteered>(&record);
    if (steered == nullptr) return;
    auto at = decided_at_.find(steered->since);
    if (at == decided_at_.end()) return;
    lag_ = std::max(lag_, scene.now - at->second);
    decided_at_.erase(at);
  }

  // It runs though it is stopped, or stands still though it is not, for longer than an order takes.
  void CheckPart(const Scene& scene, const PartRef& part, const Part& is, Findings& findings) {
    const auto& [ref, node] = part;
    const BookedJob* job = scene.book.FindJob(ref.job);
    if (job == nullptr || job->cancelled || ref.index >= job->tasks.size()) return;
    const BookedTask& task = job->tasks[ref.index];
    if (task.cancelled || !task.IsLeased(ref.attempt, node)) return;
    const bool stopped = job->stopped || job->stopped_tasks.contains(ref.index);
    if (stopped == is.frozen) return;
    auto heard = heard_since_.find(node);
    if (heard == heard_since_.end() || scene.hub->suspend || scene.hub->slow_disk()) return;
    auto changed = changed_at_.find(ref.job);
    Instant due = std::max(is.since, heard->second);
    if (changed != changed_at_.end()) due = std::max(due, changed->second);
    // A hello, the commits that stand in line, an order, and parts of a gang that wait for each
    // other.
    const Duration most =
        scene.slack + scene.hub->link_latency * 6 + std::max(lag_, scene.hub->commit_max * 30);
    if (scene.now - due <= most) return;
    findings.Add(name(),
                 fmt::format("{} on n{} {} for {}", NameOf(ref), node.value,
                             stopped ? "is stopped, and runs" : "stands still, and is not stopped",
                             FormatDuration(scene.now - due)));
  }

  // ---- What is shown

  void Begin(const Scene& scene, const Asked& asked) {
    const auto steer = asked.question->As<wire::Steer>();
    const bool shows =
        asked.question->Is<wire::LookAtAll>() || asked.question->Is<wire::ListProcesses>();
    if (steer && steer->what == Steering::kSignal) NoteSignal(scene, asked, *steer);
    if (steer || shows) open_[asked.id] = {*asked.question, std::string(asked.user), scene.now};
  }

  void NoteSignal(const Scene& scene, const Asked& asked, const wire::Steer& steer) {
    auto add = [&](uint32_t number) {
      const JobId job(number);
      if (asked.user == "root" || scene.workload.job(job).user == asked.user)
        may_signal_.insert(job);
    };
    for (const NumberRange& range : steer.jobs.ranges) add(range.first);
    for (const TasksOfJob& tasks : steer.tasks) add(tasks.job.value_or(0));
  }

  void Judge(const Scene& scene, const Answered& answered, Findings& findings) {
    auto open = open_.extract(answered.id);
    if (open.empty() || answered.error != nullptr) return;
    const Question& asked = open.mapped();
    asked.question.Visit<wire::Steer, wire::LookAtAll, wire::ListProcesses>(
        [&](const auto& question) {
          using Q = std::decay_t<decltype(question)>;
          for (const std::string& bytes : *answered.answers) {
            auto shown = wire::FromBytes<typename Q::Answer>("answer", bytes);
            if (shown) JudgeShown(scene, asked, question, *shown, findings);
          }
        });
  }

  void JudgeShown(const Scene& scene, const Question& asked, const wire::Steer& steer,
                  const wire::Steer::Answer& shown, Findings& findings) {
    const bool all =
        steer.what == Steering::kStop && shown.running > 0 && shown.frozen == shown.running;
    if (!all || steer.jobs.ranges.size() != 1 || !steer.tasks.empty()) return;
    CheckStandsStill(scene, asked, JobId(steer.jobs.ranges.front().first), findings);
  }

  void JudgeShown(const Scene& scene, const Question& asked, const wire::LookAtAll&,
                  const TopFacts& shown, Findings& findings) {
    for (const JobGlance& glance : shown.jobs) {
      if (glance.state == "frozen") CheckStandsStill(scene, asked, glance.job, findings);
    }
  }

  void JudgeShown(const Scene& scene, const Question& asked, const wire::ListProcesses&,
                  const NodeProcesses& shown, Findings& findings) {
    for (const AttemptProcesses& attempt : shown.attempts) {
      if (asked.user == "root" || scene.workload.job(attempt.job).user == asked.user) continue;
      findings.Add("rights", fmt::format("{} sees processes of {}.{}, which are another user's",
                                         asked.user, attempt.job.value, attempt.task));
    }
  }

  // Unless somebody has changed something of the job since the question came.
  void CheckStandsStill(const Scene& scene, const Question& asked, JobId id, Findings& findings) {
    const BookedJob* job = scene.book.FindJob(id);
    auto changed = changed_at_.find(id);
    const bool is_calm = changed == changed_at_.end() || changed->second < asked.at;
    if (job == nullptr || job->cancelled || !is_calm) return;
    for (auto at = parts_.lower_bound({{id, 0, Attempt()}, NodeId()}); at != parts_.end(); ++at) {
      const auto& [ref, node] = at->first;
      if (ref.job != id) return;
      const BookedTask& task = job->tasks[ref.index];
      const bool runs = !at->second.frozen && scene.now - at->second.since > scene.slack;
      if (!runs || task.cancelled || !task.IsLeased(ref.attempt, node)) continue;
      findings.Add(name(),
                   fmt::format("job {} is shown as frozen, and {} runs", id.value, NameOf(ref)));
    }
  }

  std::map<PartRef, Part> parts_;
  std::map<NodeId, Instant> heard_since_;
  std::map<JobId, Instant> changed_at_;    // decided or durable, of anything but leases
  std::map<Instant, Instant> decided_at_;  // stops, by their names, that are not durable yet
  Duration lag_;                           // the longest of them, from the decision to the disk
  std::map<uint64_t, Question> open_;
  std::set<JobId> may_signal_;
};

}  // namespace

std::unique_ptr<Checker> MakeFrozenCheck() { return std::make_unique<FrozenCheck>(); }

}  // namespace spate::sim
