// Jobs and tasks that people stop, continue, kill or signal. All that may be wrong is found before
// anything is changed. A signal goes to the nodes that have the tasks, as a question (SignalRun).
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/model/ranges.h"
#include "hub/answers/meant.h"
#include "hub/answers/pick.h"
#include "hub/answers/question.h"
#include "wire/field_bytes.h"

namespace spate::hub {
namespace {

using Answered = wire::Steer::Answer;

// Attempts that one question signals; each is a question to a node.
constexpr size_t kMostSignalled = 10'000;
constexpr size_t kMostProblems = 10;

// Tasks inside a program of their own cannot be stopped or signalled.
Status CheckNodes(const Jobs& jobs, const Nodes& nodes, const std::vector<Meant>& all,
                  std::string_view verb) {
  for (const Meant& meant : all) {
    for (NodeId id : jobs.engine().WithFeature(meant.job, kInProgram)) {
      return Fail(
          ErrorKind::kInvalid,
          fmt::format("tasks of job {} cannot be {}: on node {} they run inside its program, "
                      "such as a master-worker slave, which has no process for each task",
                      meant.job.value, verb, nodes.all().at(id).row.name));
    }
  }
  return {};
}

Status CheckContinues(const Jobs& jobs, const std::vector<Meant>& all, Answered& done) {
  const engine::Engine& engine = jobs.engine();
  for (const Meant& meant : all) {
    const bool is_whole = engine.StopOf(meant.job).has_value();
    const auto alone = engine.StoppedTasks(meant.job);
    if (meant.whole && !is_whole && alone.empty()) done.jobs.free.push_back(meant.job);
    if (meant.whole) continue;
    if (is_whole) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("job {} is stopped as a whole, and its tasks continue only with it",
                              meant.job.value),
                  Remedy(": {}", Advice("job cont", meant.job.value)));
    }
    const bool none = std::ranges::none_of(meant.tasks.tasks, [&](const TaskRange& range) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        if (SortedContains(alone, i)) return true;
      }
      return false;
    });
    if (!none) continue;
    return Fail(ErrorKind::kInvalid,
                fmt::format("none of the named tasks of job {} is stopped", meant.job.value));
  }
  if (all.size() == 1 && !done.jobs.free.empty()) {
    return Fail(ErrorKind::kInvalid, fmt::format("job {} is not stopped", all.front().job.value));
  }
  return {};
}

void Change(Jobs& jobs, const wire::Steer& asked, const std::string& by, const Meant& meant) {
  if (asked.what != Steering::kKill) {
    return jobs.hub().Post(
        engine::SteerTasks{meant.job, asked.what, meant.tasks.tasks, by, asked.signal});
  }
  if (meant.whole) return jobs.hub().Post(engine::CancelJob{meant.job, /*kill=*/true, by});
  jobs.hub().Post(engine::CancelTasks{meant.job, meant.tasks.tasks, "", /*kill=*/true, by});
}

void CountStopped(const Jobs& jobs, const Nodes& nodes, const std::vector<Meant>& all,
                  Answered& done) {
  std::set<NodeId> unanswered;
  for (const Meant& meant : all) {
    const auto stopped = jobs.engine().StoppedOf(meant.job);
    done.running += stopped.tasks;
    done.frozen += stopped.frozen;
    unanswered.insert(stopped.unanswered.begin(), stopped.unanswered.end());
  }
  for (NodeId id : unanswered) {
    auto node = nodes.all().find(id);
    if (node != nodes.all().end()) done.unanswered.push_back(node->second.row.name);
  }
}

// ---- Signals

using Targets = std::vector<engine::Engine::LeasedOn>;

Result<Targets> TargetsOf(const Jobs& jobs, const Nodes& nodes, const wire::Steer& asked,
                          const std::vector<Meant>& all) {
  Targets targets;
  const engine::Engine& engine = jobs.engine();
  for (const Meant& meant : all) {
    for (const auto& each : engine.LeasesOf(meant.job)) {
      if (!meant.whole && !SortedContains(meant.tasks.tasks, each.ref.index)) continue;
      auto node = nodes.all().find(each.node);
      if (node == nodes.all().end()) continue;
      const bool named = node->second.row.name == asked.node;
      if (asked.node.empty() || named) targets.push_back(each);
    }
  }
  if (asked.rank) {
    std::erase_if(targets, [&](const auto& each) {
      uint32_t first = 0;
      for (const auto& part : engine.PartsOf(each.ref.job, each.ref.index)) {
        if (part.node == each.node) return *asked.rank < first || *asked.rank >= first + part.procs;
        first += part.procs;
      }
      return true;
    });
  }
  if (targets.size() > kMostSignalled) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("these are {} running tasks; at most {} can be signalled at once",
                            FormatCount(targets.size()), FormatCount(kMostSignalled)));
  }
  if (!targets.empty()) return targets;
  const std::string on = asked.node.empty() ? "" : " on node " + asked.node;
  if (asked.rank) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("no rank {} of these tasks runs{}", *asked.rank, on));
  }
  return Fail(ErrorKind::kInvalid, fmt::format("none of these tasks is running{}", on));
}

void Add(Answered& answer, const std::string& node, const AttemptRef& ref,
         const Result<wire::AnswerPiece>& told) {
  auto problem = [&](const std::string& why) {
    if (answer.problems.size() < kMostProblems) {
      answer.problems.push_back(
          fmt::format("task {} on node {}: {}", NameOf(ref.job, ref.index + 1), node, why));
    }
  };
  if (!told) return problem(told.error().message);
  if (told->kind == wire::AnswerKind::kNotStarted) return problem("it has not started");
  if (told->kind == wire::AnswerKind::kEnded) return problem("it is ending");
  auto sent = wire::FromBytes<SignalRun::Answer>("the node's answer", told->bytes);
  if (!sent) return problem(sent.error().message);
  answer.processes += sent->processes;
}

// The question to one target; ranks and processes are for the shepherd to find.
wire::Ask AskFor(const wire::Steer& asked, const AttemptRef& ref) {
  const SignalRun signal{asked.signal, asked.all, asked.rank.has_value(), asked.pid};
  return {.ref = ref,
          .rank = asked.rank.value_or(0),
          .question = SignalRun::kNumber,
          .body = wire::BytesOf(signal)};
}

// The questions to all targets. A node takes only so many at once, for looks of others, too, so
// each has a few under way.
class Signals : public std::enable_shared_from_this<Signals> {
 public:
  Signals(NodeCalls& calls, const wire::Steer& asked, Answered done, std::function<void()> tell)
      : calls_(calls), asked_(asked), answer_(std::move(done)), tell_(std::move(tell)) {}

  void Add(NodeId id, const std::string& name, const AttemptRef& ref) {
    nodes_[id].name = name;
    nodes_[id].left.push_back(ref);
    ++left_;
  }
  void Begin() {
    for (auto& [id, node] : nodes_) Send(id, node);
  }
  const Answered& answer() const { return answer_; }

 private:
  static constexpr size_t kAtOnce = 32;
  struct Node {
    std::string name;
    std::deque<AttemptRef> left;
    size_t under_way = 0;
    bool sends = false;  // an answer may come at once
  };
  void Send(NodeId id, Node& node) {
    if (std::exchange(node.sends, true)) return;
    while (node.under_way < kAtOnce && !node.left.empty()) {
      const AttemptRef ref = node.left.front();
      node.left.pop_front();
      ++node.under_way;
      calls_.Query(
          id, /*by=*/"", AskFor(asked_, ref), NodeCalls::kLookPatience,
          [self = shared_from_this(), id, &node, ref](const Result<wire::AnswerPiece>& told) {
            hub::Add(self->answer_, node.name, ref, told);
            --node.under_way;
            self->Send(id, node);
            if (--self->left_ == 0) self->tell_();
          });
    }
    node.sends = false;
  }

  NodeCalls& calls_;
  const wire::Steer asked_;
  Answered answer_;
  const std::function<void()> tell_;
  std::map<NodeId, Node> nodes_;
  size_t left_ = 0;
};

Status Signal(Asking& asking, Jobs& jobs, const Nodes& nodes, NodeCalls& calls,
              const wire::Steer& asked, const std::vector<Meant>& all, Answered done) {
  const Targets targets = TRY(TargetsOf(jobs, nodes, asked, all));
  const bool recorded = !asked.rank && asked.pid == 0;
  for (const Meant& meant : all) {
    if (recorded) Change(jobs, asked, asking.caller().user, meant);
  }
  auto sent = std::make_shared<std::weak_ptr<Signals>>();
  auto tell = asking.client.Guarded([client = &asking.client, sent] {
    const Answered& answer = sent->lock()->answer();
    if (answer.processes == 0 && answer.problems.size() == 1) {
      return client->Fail({ErrorKind::kNotFound, answer.problems.front()});
    }
    client->SendAnswer(answer);
    client->End();
  });
  auto signals = std::make_shared<Signals>(calls, asked, std::move(done), std::move(tell));
  *sent = signals;
  for (const auto& [id, ref] : targets) signals->Add(id, nodes.all().at(id).row.name, ref);
  signals->Begin();
  return {};
}

Status Check(const wire::Steer& asked) {
  if (asked.signal < 0 || asked.signal > 64) return wire::Defect("signal", "is out of range");
  return asked.pid < 0 ? wire::Defect("pid", "is out of range") : Status();
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::Steer& asked) {
  Jobs& jobs = hub.jobs;
  const Nodes& nodes = hub.nodes;
  Answered done;
  const auto all = TRY(PickMeant(asking, jobs, asked.jobs, asked.tasks,
                                 asked.what == Steering::kSignal, done.jobs.ended));
  if (asked.what == Steering::kContinue) TRY(CheckContinues(jobs, all, done));
  if (asked.what == Steering::kStop) TRY(CheckNodes(jobs, nodes, all, "stopped"));
  if (asked.what == Steering::kSignal) TRY(CheckNodes(jobs, nodes, all, "signalled"));
  if (asked.what == Steering::kSignal && asked.signal == 0) {
    return Fail(ErrorKind::kInvalid, "the signal is missing");
  }
  uint64_t changes = 0;
  for (const Meant& meant : all) {
    const bool is_free = std::ranges::count(done.jobs.free, meant.job) > 0;
    // A client that waits for a stop asks again and again.
    const bool is_so = asked.what == Steering::kStop && jobs.engine().StopOf(meant.job);
    changes += is_free || is_so ? 0 : 1;
    if (meant.whole && !is_free) done.jobs.changed.push_back(meant.job);
    if (!meant.whole) done.tasks.push_back({meant.job, meant.tasks.count});
  }
  if (!TRY(asking.client.MayChange(changes))) return {};
  if (asked.what == Steering::kSignal) {
    return Signal(asking, jobs, nodes, hub.calls, asked, all, std::move(done));
  }
  for (const Meant& meant : all) Change(jobs, asked, asking.caller().user, meant);
  asking.client.WhenSettled(
      [client = &asking.client, &jobs, &nodes, all, done, stops = asked.what == Steering::kStop] {
        Answered answer = done;
        if (stops) CountStopped(jobs, nodes, all, answer);
        client->SendAnswer(answer);
        client->End();
      });
  return {};
}

}  // namespace

extern const HubQuestion kSteer = QuestionOf<wire::Steer, Answer, Check>(
    {.who = kOwner, .cost = {.node = 2'500, .run = 2'000, .task = 3, .named = 20'000}});

}  // namespace spate::hub
