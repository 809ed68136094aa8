// A hub's answers are true. A change is durable when it is acknowledged, whole, and nothing else
// was changed: what the question does not name stays, and what one user has had done another one's
// question does not undo. What is shown of jobs agrees with the journal. Somebody who follows a job
// hears each end once, in order. Nobody changes or sees what is another user's ("rights").
//
// A question is judged by what was durable when the hub took it and when it has said its last
// word; between the two others may have changed the same, which excuses it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "sim/check.h"
#include "wire/field_bytes.h"

namespace spate::sim {
namespace {

using Change = wire::ChangeJobs::Change;

// A task's state when a question came.
struct Before {
  TaskState state = TaskState::kQueued;
  uint32_t reopened = 0;
};

bool FailedSomehow(TaskState state) { return IsFinal(state) && state != TaskState::kSucceeded; }

// All jobs that it may change, by numbers; the people of a world name jobs by their numbers.
std::vector<JobId> JobsOf(const JobSelector& named) {
  std::vector<JobId> jobs;
  for (const NumberRange& range : named.ranges) jobs.push_back(JobId(range.first));
  return jobs;
}

std::vector<JobId> JobsOf(const wire::Question& question) {
  std::vector<JobId> jobs;
  auto add = [&](const std::optional<uint32_t>& job) {
    if (job) jobs.push_back(JobId(*job));
  };
  if (const auto change = question.As<wire::ChangeJobs>()) return JobsOf(change->jobs);
  if (const auto forget = question.As<wire::Forget>()) return JobsOf(forget->jobs);
  if (const auto retry = question.As<wire::Retry>()) add(retry->tasks.job);
  if (const auto withdraw = question.As<wire::Withdraw>()) add(withdraw->job.value);
  if (const auto trust = question.As<wire::TrustNodes>()) add(trust->job.value);
  if (const auto look = question.As<wire::LookAtJobs>()) return JobsOf(look->jobs);
  if (const auto work = question.As<wire::LookAtWork>()) {
    if (!work->submission.empty())
      add(static_cast<uint32_t>(std::stoul(work->submission.substr(4))));
  }
  if (const auto cancel = question.As<wire::Cancel>()) {
    jobs = JobsOf(cancel->jobs);
    for (const TasksOfJob& tasks : cancel->tasks) add(tasks.job);
  }
  if (const auto steer = question.As<wire::Steer>()) {
    jobs = JobsOf(steer->jobs);
    for (const TasksOfJob& tasks : steer->tasks) add(tasks.job);
  }
  return jobs;
}

// True if the question may release a held job.
bool MayRelease(const wire::Question& question) {
  const auto change = question.As<wire::ChangeJobs>();
  return (change && change->change == Change::kRelease) || question.Is<wire::Retry>() ||
         question.Is<wire::TrustNodes>();
}

class AnswersCheck final : public Checker {
 public:
  const char* name() const override { return "answers"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    findings_ = &findings;
    if (const auto* asked = std::get_if<Asked>(&fact)) {
      Begin(scene, *asked);
    } else if (const auto* answered = std::get_if<Answered>(&fact)) {
      End(scene, *answered);
    } else if (const auto* committed = std::get_if<Committed>(&fact)) {
      Note(scene, *committed->record);
    } else if (const auto* forgotten = std::get_if<Forgotten>(&fact)) {
      SeeForgotten(scene, forgotten->job);
    } else if (const auto* up = std::get_if<NodeUp>(&fact)) {
      nodes_[up->offer->node_name] = up->node;
    } else if (const auto* ends = std::get_if<EndsTold>(&fact)) {
      CheckEnds(scene, *ends);
    } else if (std::holds_alternative<LifeEnded>(fact)) {
      open_.clear();
      setting_.clear();
    }
  }

 private:
  struct Question {
    wire::Question question;
    std::string user;
    std::map<JobId, std::vector<Before>> tasks;             // of the jobs that it names
    std::map<JobId, BookedJob> jobs;                        // the same, without their tasks
    std::map<JobId, std::pair<uint32_t, uint32_t>> turns;   // holds and releases before
    std::map<JobId, std::pair<uint32_t, uint32_t>> steers;  // stops and continuations before
    UserRule rule;                                          // of the user that it sets
    std::set<int> calm;  // what nobody else was setting of that user
  };
  // A value that somebody may set: of a job, or of a user.
  using Field = std::tuple<uint32_t, std::string, int>;
  enum { kWeight, kMaxRunning, kMaxQueued, kPolicy, kStanding };

  void Find(std::string text) { findings_->Add(name(), std::move(text)); }

  // ---- A question comes

  void Begin(const Scene& scene, const Asked& asked) {
    Question& open = open_[asked.id];
    open.question = *asked.question;
    open.user = asked.user;
    for (JobId id : JobsOf(open.question)) {
      const BookedJob* job = scene.book.FindJob(id);
      if (job == nullptr) continue;
      std::vector<Before>& tasks = open.tasks[id];
      for (const BookedTask& task : job->tasks) tasks.push_back({task.state, task.reopened});
      BookedJob& kept = open.jobs[id];
      kept.finished = job->finished;
      kept.held = job->held;
      open.turns[id] = turns_[id];
      open.steers[id] = steers_[id];
    }
    NoteSettings(asked.id, open);
  }

  // Notes the last one who has begun to set a value; earlier ones may have lost it since.
  void NoteSettings(uint64_t id, Question& open) {
    if (const auto change = open.question.As<wire::ChangeJobs>()) {
      for (JobId job : JobsOf(change->jobs)) {
        const JobTerms& terms = change->set.values;
        if (change->set.Sets(terms.weight)) setting_[{job.value, "", kWeight}] = id;
        if (change->set.Sets(terms.max_running)) setting_[{job.value, "", kMaxRunning}] = id;
      }
    } else if (const auto user = open.question.As<wire::SetUser>()) {
      open.rule = rules_[user->user];
      for (int field : {kWeight, kMaxRunning, kMaxQueued}) {
        if (!setting_.contains({0, user->user, field})) open.calm.insert(field);
      }
      const UserChange& set = user->change;
      if (set.Sets(set.values.weight)) setting_[{0, user->user, kWeight}] = id;
      if (set.Sets(set.values.max_running)) setting_[{0, user->user, kMaxRunning}] = id;
      if (set.Sets(set.values.max_queued)) setting_[{0, user->user, kMaxQueued}] = id;
    } else if (const auto hub = open.question.As<wire::SetHub>()) {
      if (hub->policy) setting_[{0, "", kPolicy}] = id;
    } else if (const auto nodes = open.question.As<wire::ChangeNodes>()) {
      for (const auto& [node, number] : nodes_) {
        bool named = std::ranges::find(nodes->names, node) != nodes->names.end();
        if (nodes->all || named) setting_[{0, node, kStanding}] = id;
      }
    }
  }
  bool IsLast(uint64_t id, const Field& field) const {
    auto at = setting_.find(field);
    return at != setting_.end() && at->second == id;
  }

  // ---- It is answered

  void End(const Scene& scene, const Answered& answered) {
    if (answered.id == 0) {
      findings_->Add("rights", "a submission is accepted that must not be");
      return;
    }
    auto at = open_.find(answered.id);
    if (at == open_.end()) return;  // a question without rights may be of a hub that has died
    Question open = std::move(at->second);
    open_.erase(at);
    id_ = answered.id;
    JudgeAnswer(scene, open, answered);
    std::erase_if(setting_, [&](const auto& each) { return each.second == answered.id; });
  }

  void JudgeAnswer(const Scene& scene, const Question& open, const Answered& answered) {
    if (answered.error != nullptr) return;
    if (open.user == "greedy") {
      findings_->Add("rights", "somebody without any rights is answered: " + NameOf(open.question));
      return;
    }
    open.question.Visit<wire::ChangeJobs, wire::Cancel, wire::Retry, wire::Forget, wire::SetUser,
                        wire::SetHub, wire::ChangeNodes, wire::LookAtWork, wire::LookAtJobs,
                        wire::ExplainTasks, wire::Steer>(
        [&](const auto& asked) { Judge(scene, open, asked, *answered.answers); });
  }

  template <typename Q>
  std::vector<typename Q::Answer> Decode(const Q&, const std::vector<std::string>& answers) {
    std::vector<typename Q::Answer> decoded;
    for (const std::string& bytes : answers) {
      auto answer = wire::FromBytes<typename Q::Answer>("answer", bytes);
      if (answer) {
        decoded.push_back(std::move(*answer));
      } else {
        Find("an answer cannot be read: " + answer.error().message);
      }
    }
    return decoded;
  }

  void Judge(const Scene& scene, const Question& open, const wire::ChangeJobs& asked,
             const std::vector<std::string>& answers) {
    std::set<JobId> told;
    for (const auto& done : Decode(asked, answers)) {
      for (JobId job : done.changed) CheckChanged(scene, open, asked, job);
      for (JobId job : done.ended) {
        auto before = open.jobs.find(job);
        if (before == open.jobs.end() || !before->second.finished) {
          Find(fmt::format("job {} is said to have ended, and has not", job.value));
        }
      }
      for (JobId job : done.free) {
        auto before = open.jobs.find(job);
        const BookedJob* now = scene.book.FindJob(job);
        const bool goes_on = now != nullptr && !now->cancelled;
        if (goes_on && now->held && before != open.jobs.end() && before->second.held) {
          Find(fmt::format("job {} is said not to be held, and is", job.value));
        }
      }
      told.insert(done.free.begin(), done.free.end());
      told.insert(done.changed.begin(), done.changed.end());
      told.insert(done.ended.begin(), done.ended.end());
    }
    for (JobId job : JobsOf(asked.jobs)) {
      if (!told.contains(job)) Find(fmt::format("nothing is said of job {}", job.value));
    }
    if (asked.change != Change::kHold) return;
    for (JobId job : JobsOf(asked.jobs)) {
      const BookedJob* now = scene.book.FindJob(job);
      if (now != nullptr && now->held) held_by_user_.insert(job);
    }
  }

  void CheckChanged(const Scene& scene, const Question& open, const wire::ChangeJobs& asked,
                    JobId id) {
    const BookedJob* job = scene.book.FindJob(id);
    if (job == nullptr) return Find(fmt::format("job {} is changed and is not there", id.value));
    auto turns = open.turns.find(id);
    if (turns == open.turns.end()) return;
    const auto [holds, releases] = turns_[id];
    const bool over = job->finished || job->cancelled;
    switch (asked.change) {
      case Change::kHold:
        if (job->held || over || releases != turns->second.second) return;
        return Find(fmt::format("job {} is said to be held, and is not", id.value));
      case Change::kRelease:
        if (!job->held || over || holds != turns->second.first) return;
        return Find(fmt::format("job {} is said to be let go, and is held", id.value));
      case Change::kClose:
        if (!job->open || over) return;
        return Find(fmt::format("job {} is said to be closed, and is not", id.value));
      case Change::kSet:
        break;
    }
    auto differs = [&](const uint32_t& wish, uint32_t now, int field) {
      return asked.set.Sets(wish) && wish != now && IsLast(id_, {id.value, "", field});
    };
    if (differs(asked.set.values.weight, job->policy.weight, kWeight) ||
        differs(asked.set.values.max_running, job->policy.max_running, kMaxRunning)) {
      Find(fmt::format("what is set of job {} is not so", id.value));
    }
  }

  void Judge(const Scene& scene, const Question& open, const wire::Cancel& asked,
             const std::vector<std::string>& answers) {
    for (const auto& done : Decode(asked, answers)) {
      CheckCancelled(scene, open, done.jobs.changed, asked.tasks);
    }
  }

  void CheckCancelled(const Scene& scene, const Question& open, const std::vector<JobId>& whole,
                      const std::vector<TasksOfJob>& some) {
    for (JobId id : whole) {
      const BookedJob* job = scene.book.FindJob(id);
      if (job != nullptr && (job->cancelled || job->finished || Reopened(open, id, *job))) continue;
      Find(fmt::format("job {} is said to be cancelled, and is not", id.value));
    }
    for (const TasksOfJob& tasks : some) {
      const JobId id(tasks.job.value_or(0));
      auto before = open.tasks.find(id);
      const BookedJob* job = scene.book.FindJob(id);
      if (before == open.tasks.end() || job == nullptr || job->cancelled) continue;
      for (size_t i = 0; i < before->second.size(); ++i) {
        const BookedTask& task = job->tasks[i];
        const bool named = tasks.all || tasks.Contains(static_cast<uint32_t>(i + 1));
        if (!named || IsFinal(task.state) || task.cancelled) continue;
        if (task.reopened != before->second[i].reopened) continue;
        Find(fmt::format("task {}.{} is said to be cancelled, and goes on", id.value, i + 1));
      }
    }
  }

  void Judge(const Scene& scene, const Question& open, const wire::Steer& asked,
             const std::vector<std::string>& answers) {
    for (const auto& done : Decode(asked, answers)) {
      if (asked.what == Steering::kKill) {
        CheckCancelled(scene, open, done.jobs.changed, asked.tasks);
      }
      const bool stops = asked.what == Steering::kStop;
      if (!stops && asked.what != Steering::kContinue) continue;
      for (JobId id : done.jobs.changed) CheckSteered(scene, open, {.job = id.value}, stops);
      for (const TasksOfJob& tasks : asked.tasks) CheckSteered(scene, open, tasks, stops);
    }
  }

  // Without ranges: the whole job. Somebody else may have undone it.
  void CheckSteered(const Scene& scene, const Question& open, const TasksOfJob& named, bool stops) {
    const JobId id(*named.job);
    const BookedJob* job = scene.book.FindJob(id);
    auto before = open.tasks.find(id);
    if (job == nullptr || before == open.tasks.end() || job->finished || job->cancelled) return;
    const auto [stopped, continued] = open.steers.at(id);
    if (stops ? continued != steers_[id].second : stopped != steers_[id].first) return;
    const char* const is_not = stops ? "stopped, and is not" : "continued, and is stopped";
    if (named.ranges.empty()) {
      if (job->stopped == stops && (stops || job->stopped_tasks.empty())) return;
      return Find(fmt::format("job {} is said to be {}", id.value, is_not));
    }
    for (TaskIndex i = 0; i < before->second.size(); ++i) {
      const BookedTask& task = job->tasks[i];
      if (!named.Contains(i + 1) || IsFinal(task.state) || task.cancelled) continue;
      if (task.reopened != before->second[i].reopened) continue;
      if ((job->stopped || job->stopped_tasks.contains(i)) == stops) continue;
      Find(fmt::format("task {}.{} is said to be {}", id.value, i + 1, is_not));
    }
  }

  static bool Reopened(const Question& open, JobId id, const BookedJob& job) {
    auto before = open.tasks.find(id);
    if (before == open.tasks.end()) return false;
    for (size_t i = 0; i < before->second.size(); ++i) {
      if (job.tasks[i].reopened != before->second[i].reopened) return true;
    }
    return false;
  }

  void Judge(const Scene& scene, const Question& open, const wire::Retry& asked,
             const std::vector<std::string>& answers) {
    const JobId id(asked.tasks.job.value_or(0));
    if (asked.dry_run) return;
    if (answers.empty()) Find(fmt::format("nothing is said of a retry of job {}", id.value));
    auto before = open.tasks.find(id);
    const BookedJob* job = scene.book.FindJob(id);
    if (before == open.tasks.end() || job == nullptr) return;
    for (size_t i = 0; i < before->second.size(); ++i) {
      const bool named = asked.tasks.all || asked.tasks.Contains(static_cast<uint32_t>(i + 1));
      if (!named || !FailedSomehow(before->second[i].state)) continue;
      if (job->tasks[i].reopened != before->second[i].reopened || job->tasks[i].left_list) continue;
      Find(fmt::format("task {}.{} is not done again by the retry", id.value, i + 1));
    }
  }

  void Judge(const Scene&, const Question&, const wire::Forget& asked,
             const std::vector<std::string>& answers) {
    if (asked.dry_run) return;
    for (const auto& done : Decode(asked, answers)) {
      for (JobId job : done.jobs) {
        if (gone_.contains(job)) continue;
        Find(fmt::format("job {} is said to be forgotten, and is still there", job.value));
      }
    }
  }

  // Values that were not named stay, unless somebody else was setting them.
  void Judge(const Scene&, const Question& open, const wire::SetUser& asked,
             const std::vector<std::string>&) {
    const UserRule& now = rules_[asked.user];
    const UserRule& wish = asked.change.values;
    auto differs = [&](const auto& value, auto is, auto was, int field) {
      const Field key{0, asked.user, field};
      if (asked.change.Sets(value)) return value != is && IsLast(id_, key);
      return open.calm.contains(field) && !setting_.contains(key) && is != was;
    };
    if (differs(wish.weight, now.weight, open.rule.weight, kWeight) ||
        differs(wish.max_running, now.max_running, open.rule.max_running, kMaxRunning) ||
        differs(wish.max_queued, now.max_queued, open.rule.max_queued, kMaxQueued)) {
      Find(fmt::format("what is set of user {} is not so, or more than that", asked.user));
    }
  }

  void Judge(const Scene&, const Question&, const wire::SetHub& asked,
             const std::vector<std::string>&) {
    if (!asked.policy || !IsLast(id_, {0, "", kPolicy}) || *asked.policy == policy_) return;
    Find("the policy that was set is not so");
  }

  void Judge(const Scene&, const Question&, const wire::ChangeNodes& asked,
             const std::vector<std::string>&) {
    using NodeChange = wire::ChangeNodes::Change;
    for (const std::string& node : asked.names) {
      auto at = nodes_.find(node);
      if (at == nodes_.end() || !IsLast(id_, {0, node, kStanding})) continue;
      const bool drained = drained_.contains(at->second);
      if (asked.change == NodeChange::kDrain && !drained && known_.contains(at->second)) {
        Find(fmt::format("node {} is said to be drained, and is not", node));
      } else if (asked.change == NodeChange::kResume && drained) {
        Find(fmt::format("node {} is said to be resumed, and is drained", node));
      }
    }
  }

  // ---- What is shown

  void Judge(const Scene& scene, const Question& open, const wire::LookAtWork& asked,
             const std::vector<std::string>& answers) {
    if (!asked.tasks || open.tasks.size() != 1) return;
    const auto& [id, before] = *open.tasks.begin();
    const BookedJob* job = scene.book.FindJob(id);
    std::set<TaskIndex> unended;
    for (const JobWork& work : Decode(asked, answers)) {
      for (TaskRange range : work.unended) {
        for (TaskIndex i = range.first; i < range.first + range.count; ++i) unended.insert(i);
      }
    }
    if (answers.empty() || job == nullptr) return;
    for (size_t i = 0; i < before.size(); ++i) {
      const BookedTask& task = job->tasks[i];
      if (unended.contains(static_cast<TaskIndex>(i)) || IsFinal(task.state)) continue;
      if (task.left_list || task.reopened != before[i].reopened) continue;
      Find(fmt::format("task {}.{} is left out of what is left to do", id.value, i + 1));
    }
  }

  void Judge(const Scene& scene, const Question& open, const wire::LookAtJobs& asked,
             const std::vector<std::string>& answers) {
    for (const wire::JobNow& now : Decode(asked, answers)) {
      const BookedJob* job = scene.book.FindJob(now.job);
      auto before = open.jobs.find(now.job);
      if (job == nullptr || before == open.jobs.end()) continue;
      if (IsReleasing(now.job) || open.turns.at(now.job) != turns_[now.job]) continue;
      if ((now.held != HoldReason::kNone) == job->held || job->finished) continue;
      if (job->cancelled) continue;  // it is held no longer, and ends
      Find(fmt::format("job {} is shown as {}", now.job.value,
                       job->held ? "going on, and is held" : "held, and goes on"));
    }
  }

  void Judge(const Scene&, const Question&, const wire::ExplainTasks& asked,
             const std::vector<std::string>& answers) {
    for (const TaskWhy& why : Decode(asked, answers)) {
      if (why.why.empty()) Find("a task waits, and nothing is said of why");
    }
  }

  // Somebody reads ends: those that follow, all durable, and nothing comes after the last ones.
  void CheckEnds(const Scene& scene, const EndsTold& told) {
    const std::vector<engine::AttemptEnded>& ends = ends_[told.job];
    uint64_t position = told.after;
    for (const AttemptEnd& end : told.read->ends.ends) {
      const bool same = position < ends.size() && ends[position].end.ref == end.ref &&
                        ends[position].end.cause == end.cause;
      if (!same) {
        return Find(fmt::format("who follows job {} hears of {}, which is not its next end",
                                told.job.value, NameOf(end.ref)));
      }
      ++position;
    }
    if (position != told.read->position) {
      Find(fmt::format("who follows job {} is told another position", told.job.value));
    }
    const BookedJob* job = scene.book.FindJob(told.job);
    if (told.read->finished && (position < ends.size() || job == nullptr)) {
      Find(fmt::format("who follows job {} hears no more of it too early", told.job.value));
    }
  }

  // ---- What becomes durable

  bool IsReleasing(JobId job) const {
    return std::ranges::any_of(open_, [&](const auto& each) {
      const wire::Question& question = each.second.question;
      if (!MayRelease(question)) return false;
      const std::vector<JobId> jobs = JobsOf(question);
      return std::ranges::find(jobs, job) != jobs.end();
    });
  }

  void Note(const Scene&, const engine::Record& record) {
    if (const auto* steered = std::get_if<engine::JobSteered>(&record)) {
      if (steered->what == Steering::kStop) ++steers_[steered->job].first;
      if (steered->what == Steering::kContinue) ++steers_[steered->job].second;
    } else if (const auto* held = std::get_if<engine::JobHeld>(&record)) {
      ++turns_[held->job].first;
    } else if (const auto* released = std::get_if<engine::JobReleased>(&record)) {
      ++turns_[released->job].second;
      if (held_by_user_.erase(released->job) > 0 && !IsReleasing(released->job)) {
        Find(fmt::format("job {} is let go, which its user has held", released->job.value));
      }
    } else if (const auto* finished = std::get_if<engine::JobFinished>(&record)) {
      held_by_user_.erase(finished->job);
    } else if (const auto* cancelled = std::get_if<engine::JobCancelled>(&record)) {
      held_by_user_.erase(cancelled->job);
    } else if (const auto* accepted = std::get_if<engine::JobAccepted>(&record)) {
      gone_.erase(accepted->job);
    } else if (const auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
      ends_[ended->end.ref.job].push_back(*ended);
      known_.insert(ended->node);
    } else if (const auto* user = std::get_if<engine::UserChanged>(&record)) {
      rules_[user->user] = user->rule;
    } else if (const auto* policy = std::get_if<engine::GangPolicyChanged>(&record)) {
      policy_ = policy->policy;
    } else if (const auto* drained = std::get_if<engine::NodeDrained>(&record)) {
      drained_.insert(drained->node);
    } else if (const auto* undrained = std::get_if<engine::NodeUndrained>(&record)) {
      drained_.erase(undrained->node);
    } else if (const auto* removed = std::get_if<engine::NodeRemoved>(&record)) {
      drained_.erase(removed->node);
      known_.erase(removed->node);
    }
  }

  // Only what has ended, and only when somebody asked for it who may.
  void SeeForgotten(const Scene& scene, JobId id) {
    if (!gone_.insert(id).second) return;  // of a further try of its submission
    ends_.erase(id);
    const BookedJob* job = scene.book.FindJob(id);
    if (job == nullptr) return;
    if (!job->finished) Find(fmt::format("job {} is forgotten, and has not ended", id.value));
    const bool asked =
        std::ranges::any_of(open_, [&](const std::pair<const uint64_t, Question>& each) {
          const auto forget = each.second.question.As<wire::Forget>();
          const std::vector<JobId> jobs = JobsOf(each.second.question);
          return forget && each.second.user != "greedy" && !forget->dry_run &&
                 std::ranges::find(jobs, id) != jobs.end();
        });
    if (!asked) Find(fmt::format("job {} is forgotten, and nobody wanted that", id.value));
  }

  Findings* findings_ = nullptr;
  uint64_t id_ = 0;                                        // of the question that is judged
  std::map<uint64_t, Question> open_;                      // that the hub has taken, in this life
  std::map<Field, uint64_t> setting_;                      // the last one to set it
  std::map<JobId, std::pair<uint32_t, uint32_t>> turns_;   // holds and releases
  std::map<JobId, std::pair<uint32_t, uint32_t>> steers_;  // stops and continuations
  std::set<JobId> held_by_user_;                           // and that was acknowledged
  std::set<JobId> gone_;                                   // forgotten
  std::map<JobId, std::vector<engine::AttemptEnded>> ends_;
  std::map<std::string, UserRule> rules_;
  GangPolicy policy_ = GangPolicy::kFair;
  std::map<std::string, NodeId> nodes_;
  std::set<NodeId> drained_;
  std::set<NodeId> known_;  // have ended something for the hub, and were not removed since
};

}  // namespace

std::unique_ptr<Checker> MakeAnswersCheck() { return std::make_unique<AnswersCheck>(); }

}  // namespace spate::sim
