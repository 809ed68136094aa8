// The engine under text scripts (scripts/*.txt). Lines of a block:
//
//   submit j1 tasks=100 [cpus=2 ...]      or with several requests: submit j1 1-3:cpus=2 4:gpus=1
//          (there also priority=1 and retries=2, of these tasks)
//          [deadline=2h], from now on, of all of them or of some
//          [procs=8] [nodes=4]                 each of the tasks is such a gang
//          [open] [order=3,1,2] + a policy: [retries=1] [delay=5s] [retry-on=exit,exit:3,node]
//          [once] [elsewhere=2] [memory-growth=200] [max-memory=8] [halt=now,fail=1|soon,done=30%]
//          [max-failures=2] [max-running=2] [pause-after=25 [despite-success]] [weight=50] +
//          [user=ada] [priority=1] [after=ok:j2,each:j3] [outcome=j2:4/5]               job 2 has
//          left memory, 4 of its 5 tasks succeeded
//   grow j1 2 [cpus=2]   seal j1   policy j1 ...   hold j1 [end]   release j1   cancel j1 | j1.3-4
//   stop j1 | j1.3-4     cont j1 | j1.3-4          by user ann
//   user ada [weight=2] [max-running=9] [max-queued=99] [group=@g] unload j1   revive j1
//   half-life of=10m     priority j1 now=7     times j1 [time=2h] [deadline=3h]
//   full n1 [why=disk]        without a reason its disk has room again
//   drain n1 [reason=disks]   undrain n1   remove n1   clear [node=n1] [job=j1]
//   withdraw j1.3-4      leave j1.3-4      reopen j1.3      needs j1.3 cpus=2
//   node n1 slots=4 [cpus=4] [memory=8G] [gpus=2] [user=ada] [labels=a,b] [life=1h] [old]
//   lost n1 [left]   silent n1   knock n1
//   holds j1.3-4 [attempt=1]               what the next `node` line's node says that it holds
//   end n1 j1.1-4 [attempt=1] success|exit=3|signal=9|... [wall=1ms]
//   return n1 j1.7-9 [attempt=1]
//   sent j1.1 [attempt=1]                  the leases of the gang's parts have left
//   room n1 j1.1 [attempt=1]
//   answer n1                              the answer to SendAsk
//   resize j1 | j1.3-4 [cpus=2] [memory=4G] [limit=1h]
//   resized n1 j1.1 [attempt=1] [refused=why] [late]   the node's answer; late: to an earlier order
//   at +5s                                 the clock goes on, before the block's step
//   restart [nodes-may-return] [without=j1] [of-hub]   a new engine replays all records, but those
//                                          of job 1, which has finished, or of all that have, and
//                                          resumes
//   watch                                  demand from now on, which is told by
//   demand                                 and by the following, after the step:
//   counts j1   explain j1.3   nodes   users    questions
//
// The events of a block are one Step. After each block the invariants are checked, and a second
// engine that applied the records alone must have the same digest.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/check.h"
#include "base/units.h"
#include "core/engine/engine.h"
#include "core/engine/testing_script_writer.h"
#include "core/testing/script.h"
#include "present/why.h"

namespace spate::engine {
namespace {

using script::Describe;
using script::Line;
using script::Name;

class EngineSubject : public script::Subject {
 public:
  void Input(Line& line) override {
    using Handler = void (EngineSubject::*)(Line&);
    constexpr struct {
      const char* verb;
      Handler handler;
    } kVerbs[] = {
        {"submit", &EngineSubject::Submit},
        {"grow", &EngineSubject::Grow},
        {"seal", &EngineSubject::Seal},
        {"policy", &EngineSubject::Policy},
        {"hold", &EngineSubject::Hold},
        {"stop", &EngineSubject::Stop},
        {"cont", &EngineSubject::Continue},
        {"release", &EngineSubject::Release},
        {"withdraw", &EngineSubject::Withdraw},
        {"leave", &EngineSubject::Leave},
        {"needs", &EngineSubject::ChangeQueued},
        {"reopen", &EngineSubject::Reopen},
        {"node", &EngineSubject::Node},
        {"offers", &EngineSubject::Offers},
        {"lost", &EngineSubject::Lost},
        {"silent", &EngineSubject::Silent},
        {"knock", &EngineSubject::Knock},
        {"holds", &EngineSubject::Holds},
        {"end", &EngineSubject::End},
        {"return", &EngineSubject::Return},
        {"at", &EngineSubject::At},
        {"restart", &EngineSubject::Restart},
        {"cancel", &EngineSubject::Cancel},
        {"user", &EngineSubject::User},
        {"half-life", &EngineSubject::HalfLife},
        {"priority", &EngineSubject::Priority},
        {"times", &EngineSubject::Times},
        {"to-come", &EngineSubject::ToCome},
        {"drain", &EngineSubject::Drain},
        {"undrain", &EngineSubject::Undrain},
        {"full", &EngineSubject::Full},
        {"remove", &EngineSubject::Remove},
        {"clear", &EngineSubject::Clear},
        {"unload", &EngineSubject::Unload},
        {"revive", &EngineSubject::Revive},
        {"forget-node", &EngineSubject::ForgetNode},
        {"nodes", &EngineSubject::Nodes},
        {"sent", &EngineSubject::Sent},
        {"room", &EngineSubject::Room},
        {"answer", &EngineSubject::Answer},
        {"exceeded", &EngineSubject::Exceeded},
        {"stop", &EngineSubject::Steer},
        {"cont", &EngineSubject::Steer},
        {"frozen", &EngineSubject::Frozen},
        {"gang-policy", &EngineSubject::SetGangPolicy},
        {"users", &EngineSubject::Users},
        {"counts", &EngineSubject::Counts},
        {"explain", &EngineSubject::Explain},
        {"waits", &EngineSubject::Waits},
        {"watch", &EngineSubject::Watch},
        {"demand", &EngineSubject::Demand},
        {"stalled", &EngineSubject::Stalled},
        {"resize", &EngineSubject::Resize},
        {"resized", &EngineSubject::Resized},
    };
    for (const auto& [verb, handler] : kVerbs) {
      if (line.verb() == verb) return (this->*handler)(line);
    }
    line.Fail("there is no such verb");
  }

  std::vector<std::string> EndBlock() override {
    if (!events_.empty() || !restarted_) {
      Output out;
      engine_->Step({now_, events_}, out);
      Handle(out);
    }
    events_.clear();
    restarted_ = false;
    for (const auto& question : questions_) lines_.Add(question());
    questions_.clear();
    return lines_.Take();
  }

 private:
  void Handle(const Output& out) {
    ScriptWriter(now_, lines_).Write(out);
    engine_->CheckInvariants();
    for (const Record& record : out.records) replica_->Apply(record);
    replica_->CheckInvariants();
    CHECK(replica_->Digest() == engine_->Digest());
    records_.insert(records_.end(), out.records.begin(), out.records.end());
  }

  static RetryPolicy RetryOf(Line& line) {
    RetryPolicy retry;
    retry.retries = static_cast<uint32_t>(line.Number("retries", 0));
    retry.delay = line.Time("delay");
    retry.once = line.Flag("once");
    retry.elsewhere = static_cast<uint32_t>(line.Number("elsewhere", 0));
    retry.memory_growth = static_cast<uint32_t>(line.Number("memory-growth", 0));
    retry.max_memory = line.Number("max-memory", 0);
    if (line.Has("retry-on")) {
      retry.retry_on = 0;
      std::string causes = line.Option("retry-on") + ",";
      for (size_t at = 0, comma = 0; (comma = causes.find(',', at)) != std::string::npos;
           at = comma + 1) {
        std::string name = causes.substr(at, comma - at);
        if (name.starts_with("exit:")) {
          const auto code = static_cast<uint32_t>(std::stoul(name.substr(5)));
          retry.exits.push_back({code, code});
          continue;
        }
        CauseSet bit = 0;
        for (int i = 0; i < kCauseCount; ++i) {
          if (name == WordOf(static_cast<Cause>(i))) bit = CauseBit(static_cast<Cause>(i));
        }
        if (bit == 0) line.Fail("retry-on: '" + name + "' is no cause");
        retry.retry_on |= bit;
      }
    }
    return retry;
  }
  static HaltRule HaltOf(Line& line) {
    HaltRule halt;
    std::string text = line.Option("halt");
    if (text.empty()) return halt;
    size_t comma = text.find(',');
    size_t equals = text.find('=');
    if (comma == std::string::npos || equals == std::string::npos) {
      line.Fail("halt: write now,fail=1 or soon,done=30%");
      return halt;
    }
    halt.when = text.starts_with("now") ? HaltRule::When::kNow : HaltRule::When::kSoon;
    std::string what = text.substr(comma + 1, equals - comma - 1);
    if (what == "success") halt.what = HaltRule::What::kSuccess;
    if (what == "done") halt.what = HaltRule::What::kDone;
    auto number = static_cast<uint32_t>(std::stoul(text.substr(equals + 1)));
    (text.ends_with('%') ? halt.percent : halt.count) = number;
    return halt;
  }
  static JobPolicy PolicyOf(Line& line) {
    JobPolicy policy{.retry = RetryOf(line), .halt = HaltOf(line)};
    policy.max_failures = static_cast<uint32_t>(line.Number("max-failures", 0));
    policy.max_running = static_cast<uint32_t>(line.Number("max-running", 0));
    policy.pause_after_failures = static_cast<uint32_t>(line.Number("pause-after", 0));
    policy.pause_despite_success = line.Flag("despite-success");
    policy.weight = static_cast<uint32_t>(line.Number("weight", kJobWeight));
    return policy;
  }

  void Submit(Line& line) {
    SubmitJob submit{line.Job(), {}, {}};
    JobPlan& plan = submit.plan;
    plan.user = line.Option("user");
    plan.priority = static_cast<int32_t>(line.Number("priority", 0));
    for (const std::string& word : line.List("after")) plan.after.push_back(AfterOf(line, word));
    for (const std::string& word : line.List("outcome")) {
      submit.outcomes.push_back(OutcomeOf(line, word));
    }
    plan.open = line.Flag("open");
    plan.policy = PolicyOf(line);
    std::string order = line.Option("order");
    if (!order.empty()) {
      auto ranges = script::ParseRanges(order);
      if (!ranges) return line.Fail("order: write 3,1,2");
      for (TaskRange range : *ranges) {
        for (uint32_t i = 0; i < range.count; ++i) plan.order.push_back(range.first + i);
      }
    }
    while (!line.Has("tasks") && line.HasWord()) AddRun(line, line.Word("tasks"), plan);
    if (line.Has("tasks")) {
      plan.task_count = static_cast<uint32_t>(line.Number("tasks", 0));
      plan.requests = {TaskClass(line.TaskNeeds())};
      plan.requests.front().deadline = DeadlineOf(line);
      plan.requests.front().gang = ShapeOf(line);
      if (plan.task_count > 0) plan.runs = {{0, plan.task_count, 0}};
    }
    submit.edges = EdgesOf(line);
    events_.push_back(std::move(submit));
  }
  std::optional<Instant> DeadlineOf(Line& line) const {
    if (!line.Has("deadline")) return std::nullopt;
    return now_ + line.Time("deadline");
  }
  // "edges=1>2,1>3"
  static std::vector<Edge> EdgesOf(Line& line) {
    std::vector<Edge> edges;
    for (const std::string& word : line.List("edges")) {
      unsigned parent = 0;
      unsigned child = 0;
      if (std::sscanf(word.c_str(), "%u>%u", &parent, &child) != 2) line.Fail("edges: write 1>2");
      edges.push_back({parent - 1, child - 1});
    }
    return edges;
  }
  // "each:j3"
  static After AfterOf(Line& line, const std::string& word) {
    constexpr const char* kNames[] = {"ok", "any", "fail", "each"};
    for (auto kind : {AfterKind::kOk, AfterKind::kAny, AfterKind::kFail, AfterKind::kEach}) {
      std::string before = kNames[static_cast<size_t>(kind)] + std::string(":j");
      if (word.starts_with(before)) {
        return {JobId(static_cast<uint32_t>(std::stoul(word.substr(before.size())))), kind};
      }
    }
    line.Fail("after: write ok:j1, any:j1, fail:j1 or each:j1");
    return {};
  }
  // "j2:4/5"
  static JobOutcome OutcomeOf(Line& line, const std::string& word) {
    unsigned job = 0;
    unsigned succeeded = 0;
    unsigned total = 0;
    if (std::sscanf(word.c_str(), "j%u:%u/%u", &job, &succeeded, &total) != 3) {
      line.Fail("outcome: write j2:4/5");
    }
    JobCounts counts{.total = total, .succeeded = succeeded, .failed = total - succeeded};
    return {JobId(job), counts, {{0, succeeded}}};
  }
  // "1-3:cpus=2,gpus=1"
  void AddRun(Line& line, const std::string& word, JobPlan& plan) {
    size_t colon = word.find(':');
    auto ranges = script::ParseRanges(std::string_view(word).substr(0, colon));
    if (!ranges || colon == std::string::npos || ranges->front().first != plan.task_count) {
      return line.Fail("'" + word + "': write runs of tasks as 1-3:cpus=2 4:gpus=1");
    }
    std::string options = word.substr(colon + 1);
    std::replace(options.begin(), options.end(), ',', ' ');
    Line needs_line("needs " + options);
    TaskClass of_tasks = needs_line.TaskNeeds();
    of_tasks.gang = ShapeOf(needs_line);
    of_tasks.priority = static_cast<int32_t>(needs_line.Number("priority", 0));
    if (needs_line.Has("retries")) {
      of_tasks.retries = static_cast<uint32_t>(needs_line.Number("retries", 0));
    }
    of_tasks.deadline = DeadlineOf(needs_line);
    if (auto ok = needs_line.Finish(); !ok) return line.Fail(ok.error().message);
    auto same = std::find(plan.requests.begin(), plan.requests.end(), of_tasks);
    auto number = static_cast<uint32_t>(same - plan.requests.begin());
    if (same == plan.requests.end()) plan.requests.push_back(of_tasks);
    plan.runs.push_back({ranges->front().first, ranges->front().count, number});
    plan.task_count += ranges->front().count;
  }
  void Grow(Line& line) {
    GrowJob grow{line.Job(), static_cast<uint32_t>(std::stoul("0" + line.Word("a count"))), {}, {}};
    uint32_t first = engine_->Counts(grow.job).value_or(JobCounts{}).total;
    uint32_t request = 0;
    if (line.Has("cpus")) {
      grow.new_requests = {TaskClass(line.TaskNeeds())};
      grow.new_requests.front().deadline = DeadlineOf(line);
      request = static_cast<uint32_t>(line.Number("request", 1));
    }
    grow.runs = {{first, grow.count, request}};
    grow.known_requests = static_cast<uint32_t>(line.Number("known", UINT32_MAX));
    grow.known_tasks = static_cast<uint32_t>(line.Number("known-tasks", first));
    grow.edges = EdgesOf(line);
    grow.key = line.Option("key");
    events_.push_back(std::move(grow));
  }
  void Seal(Line& line) { events_.push_back(SealJob{line.Job()}); }
  void Policy(Line& line) {
    JobId job = line.Job();
    events_.push_back(ChangePolicy{job, PolicyOf(line)});
  }
  void Hold(Line& line) {
    JobId job = line.Job();
    events_.push_back(HoldJob{
        .job = job, .end_running = line.Flag("end"), .even_ended = line.Flag("even-ended")});
  }
  void Stop(Line& line) { Steer(line, Steering::kStop); }
  void Continue(Line& line) { Steer(line, Steering::kContinue); }
  void Steer(Line& line, Steering what) {
    auto [job, tasks] = line.JobOrTasks();
    events_.push_back(SteerTasks{.job = job, .what = what, .tasks = std::move(tasks), .by = "ann"});
  }
  void Cancel(Line& line) {
    auto [job, tasks] = line.JobOrTasks();
    if (tasks.empty()) return events_.push_back(CancelJob{job});
    events_.push_back(CancelTasks{job, std::move(tasks), ""});
  }
  void HalfLife(Line& line) { events_.push_back(ChangeHalfLife{line.Time("of")}); }
  void Priority(Line& line) {
    JobId job = line.Job();
    events_.push_back(ChangePriority{job, static_cast<int32_t>(line.Number("now", 0))});
  }
  void Times(Line& line) {
    ChangeTimes change{.job = line.Job()};
    if (line.Has("time")) change.time = line.Time("time");
    if (line.Has("deadline")) change.deadline = now_ + line.Time("deadline");
    events_.push_back(change);
  }
  void User(Line& line) {
    UserRule rule{.weight = static_cast<uint32_t>(line.Number("weight", 1)),
                  .max_running = static_cast<uint32_t>(line.Number("max-running", 0)),
                  .max_queued = static_cast<uint32_t>(line.Number("max-queued", 0)),
                  .group = line.Option("group")};
    events_.push_back(SetUser{line.Word("a user"), rule});
  }
  // "to-come longest=1h labels=pool:short user=ann memory=16": one more kind; alone: none.
  void ToCome(Line& line) {
    if (!line.Has("longest")) {
      to_come_.clear();
    } else {
      to_come_.push_back({line.Option("user"), line.List("labels"), line.Time("longest"),
                          line.Number("memory", 0)});
    }
    events_.push_back(NodesToCome{to_come_});
  }
  void Sent(Line& line) {
    AttemptRef ref = line.Ref();
    ref.attempt = Attempt(static_cast<uint16_t>(line.Number("attempt", 1)));
    events_.push_back(GangSent{ref});
  }
  void Room(Line& line) {
    NodeId node = line.Node();
    AttemptRef ref = line.Ref();
    ref.attempt = Attempt(static_cast<uint16_t>(line.Number("attempt", 1)));
    events_.push_back(RoomTaken{node, ref});
  }
  void Answer(Line& line) { events_.push_back(RoomTaken{line.Node(), {}}); }
  // "exceeded n1 j1.1 stop"
  void Exceeded(Line& line) {
    const NodeId node = line.Node();
    const AttemptRef ref = line.Ref();
    auto done = FromWord<OnExcess>(line.Word("what was done"));
    if (!done) return line.Fail("write warn or stop");
    events_.push_back(ExcessTold{node, ref, {Resource::kProcesses, *done, 51, 50}});
  }
  void Steer(Line& line) {
    auto [job, tasks] = line.JobOrTasks();
    const auto what = line.verb() == "stop" ? Steering::kStop : Steering::kContinue;
    events_.push_back(SteerTasks{job, what, std::move(tasks), "ann"});
  }
  // The stopped tasks of a job, and the reasons.
  void Frozen(Line& line) {
    const JobId job = line.Job();
    questions_.emplace_back([this, job] {
      std::string text = "stopped:";
      for (const TaskRange& range : engine_->StoppedTasks(job)) {
        for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
          const auto stop = engine_->StopOf(job, i);
          text += fmt::format(" {} ({})", i + 1, stop->excess ? TextOf(*stop->excess) : stop->by);
        }
      }
      return text;
    });
  }
  void SetGangPolicy(Line& line) {
    auto policy = FromWord<GangPolicy>(line.Word("a policy"));
    if (!policy) return line.Fail("there is no such policy");
    events_.push_back(ChangeGangPolicy{*policy});
  }
  // "procs=8 nodes=4 whole start=first"
  static GangShape ShapeOf(Line& line) {
    GangShape shape;
    shape.procs = static_cast<uint32_t>(line.Number("procs", 0));
    shape.nodes = static_cast<uint32_t>(line.Number("nodes", 0));
    shape.whole = line.Flag("whole");
    std::string start = line.Option("start");
    if (start == "node") shape.start = GangShape::Start::kNode;
    if (start == "first") shape.start = GangShape::Start::kFirst;
    return shape;
  }
  void Drain(Line& line) {
    const NodeId node = line.Node();
    events_.push_back(DrainNode{node, line.Option("reason")});
  }
  void Undrain(Line& line) { events_.push_back(UndrainNode{line.Node()}); }
  void Full(Line& line) {
    const NodeId node = line.Node();
    events_.push_back(NodeFull{node, line.Option("why")});
  }
  void Remove(Line& line) {
    const NodeId node = line.Node();
    events_.push_back(RemoveNode{node, line.Flag("ends-first")});
  }
  void Clear(Line& line) {
    ClearSick clear;
    if (line.Has("node")) clear.node = Line("x " + line.Option("node")).Node();
    if (line.Has("job")) clear.job = Line("x " + line.Option("job")).Job();
    events_.push_back(clear);
  }
  void Unload(Line& line) {
    JobId job = line.Job();
    questions_.push_back([this, job] {
      bool done = engine_->Unload(job);
      CHECK(replica_->Unload(job) == done);
      return fmt::format("unload {}: {}", Name(job), done ? "done" : "it has not finished");
    });
  }
  void ForgetNode(Line& line) {
    NodeId node = line.Node();
    questions_.push_back([this, node] {
      bool done = engine_->ForgetNode(node);
      // The hub also tries again later.
      if (!done && engine_->IsBlamed(node)) events_.push_back(spate::engine::ForgetNode{node});
      return fmt::format("forget {}: {}", Name(node), done ? "done" : "it matters still");
    });
  }
  // The hub does this before it reopens tasks of an unloaded job.
  void Revive(Line& line) {
    JobId job = line.Job();
    for (Engine* engine : {engine_.get(), replica_.get()}) {
      Engine past;
      for (const Record& record : records_) {
        if (JobOf(record) == job) past.Apply(record);
      }
      CHECK(engine->Reload(job, past));
    }
  }
  static JobId JobOf(const Record& record) {
    return std::visit(
        [](const auto& each) {
          if constexpr (requires { each.end; }) {
            return each.end.ref.job;
          } else if constexpr (requires { each.job; }) {
            return each.job;
          } else {
            return JobId();
          }
        },
        record);
  }
  void Nodes(Line&) {
    questions_.push_back([this] {
      std::string text = "nodes:";
      for (const NodeInfo& node : engine_->Nodes()) {
        text += fmt::format(" {} {} leased={} used={:g} ended={} failed={}{};", Name(node.node),
                            WordOf(node.standing), node.leased, node.used, node.ended, node.failed,
                            node.text.empty() ? "" : " '" + node.text + "'");
      }
      return text;
    });
  }
  void Users(Line&) {
    questions_.push_back([this] {
      std::string text = "users:";
      for (const UserInfo& user : engine_->Users()) {
        text += fmt::format(" {} jobs={} queued={} leased={} used={:g};", user.user, user.jobs,
                            user.queued, user.leased, user.used);
      }
      return text;
    });
  }
  void Release(Line& line) { events_.push_back(ReleaseJob{line.Job()}); }
  void Withdraw(Line& line) {
    auto [job, tasks] = line.TaskList();
    events_.push_back(WithdrawTasks{job, std::move(tasks)});
  }
  // They are no longer in their list.
  void Leave(Line& line) {
    auto [job, tasks] = line.TaskList();
    events_.push_back(WithdrawTasks{job, std::move(tasks), /*left_list=*/true});
  }
  void ChangeQueued(Line& line) {
    auto [job, tasks] = line.TaskList();
    ChangeNeeds change{job, {line.TaskNeeds()}, {}};
    for (TaskRange range : tasks) change.runs.push_back({range.first, range.count, 0});
    events_.push_back(std::move(change));
  }
  void Reopen(Line& line) {
    auto [job, tasks] = line.TaskList();
    NeedsChange change;
    if (line.Has("cpus") || line.Has("memory") || line.Has("gpus") || line.Has("on")) {
      bool cpus = line.Has("cpus");
      Needs needs = line.TaskNeeds();
      if (cpus) change.Set(change.values.milli_cpus, needs.milli_cpus);
      if (needs.memory > 0) change.Set(change.values.memory, needs.memory);
      change.Set(change.values.named, needs.named);
      if (!needs.on_node.empty()) change.Set(change.values.on_node, needs.on_node);
    }
    events_.push_back(ReopenTasks{.job = job,
                                  .tasks = std::move(tasks),
                                  .change = std::move(change),
                                  .succeeded = line.Flag("succeeded")});
  }
  void Node(Line& line) {
    NodeId node = line.Node();
    Offer offer = line.NodeOffer(Name(node));
    if (line.Has("life")) offer.end_of_life = now_ + line.Time("life");
    if (!line.Flag("old")) offer.features.emplace_back(kResizes);
    events_.push_back(NodeJoined{node, std::move(offer), std::exchange(holds_, {})});
  }
  static TaskSize SizeOf(Line& line) {
    TaskSize size;
    if (line.Has("cpus")) {
      size.milli_cpus = static_cast<uint32_t>(line.Number("cpus", 1) * kMilliCpu);
    }
    if (line.Has("memory")) size.memory = line.Size("memory");
    if (line.Has("limit")) size.time_limit = line.Time("limit");
    return size;
  }
  void Resize(Line& line) {
    auto [job, tasks] = line.JobOrTasks();
    const TaskSize to = SizeOf(line);
    events_.push_back(ResizeTasks{job, tasks, to, "ann"});
    for (const TaskRange& range : tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        std::string why = engine_->WhyNotResized(job, i, to, now_);
        if (!why.empty()) lines_.AddTask("not ", job, i, ": " + why);
      }
    }
  }
  void Resized(Line& line) {
    NodeId node = line.Node();
    AttemptRef ref = line.Ref();
    const auto fact = engine_->ResizeOf(ref.job, ref.index);
    Instant since = fact ? fact->since : now_;
    if (line.Flag("late")) since = since - Duration{1};
    events_.push_back(ResizeTold{node, ref, since, line.Option("refused", "")});
  }
  void Offers(Line& line) {
    NodeId node = line.Node();
    events_.push_back(OfferChanged{node, line.NodeOffer(Name(node))});
  }
  void Holds(Line& line) {
    auto [job, tasks] = line.TaskList();
    holds_.push_back({job, Attempt(static_cast<uint16_t>(line.Number("attempt", 1))), tasks});
  }
  void Silent(Line& line) { events_.push_back(NodeSilent{line.Node(), now_}); }
  void Knock(Line& line) { events_.push_back(NodeKnocked{line.Node()}); }
  void Lost(Line& line) {
    NodeId node = line.Node();
    events_.push_back(NodeLost{node, line.Flag("left")});
  }
  void End(Line& line) {
    AttemptsEnded event{line.Node(), {}};
    auto [job, tasks] = line.TaskList();
    Attempt attempt(static_cast<uint16_t>(line.Number("attempt", 1)));
    AttemptEnd end = line.End({job, 0, attempt});
    for (TaskRange range : tasks) {
      for (uint32_t i = 0; i < range.count; ++i) {
        end.ref.index = range.first + i;
        event.ends.push_back(end);
      }
    }
    events_.push_back(std::move(event));
  }
  void Return(Line& line) {
    NodeId node = line.Node();
    auto [job, tasks] = line.TaskList();
    Attempt attempt(static_cast<uint16_t>(line.Number("attempt", 1)));
    events_.push_back(TasksReturned{node, job, attempt, std::move(tasks)});
  }
  void At(Line& line) {
    auto time = ParseDuration(line.Word("a time (+5s)").substr(1));
    if (!time) return line.Fail("write at +5s");
    now_ = now_ + *time;
  }
  void Restart(Line& line) {
    auto nodes = line.Flag("nodes-may-return") ? LastNodes::kMayReturn : LastNodes::kEnded;
    std::string without = line.Option("without");
    if (line.Flag("of-hub")) LeaveOutFinished();
    engine_ = std::make_unique<Engine>();
    if (watches_) engine_->WatchDemand();
    for (const Record& record : records_) {
      if (Name(JobOf(record)) != without) engine_->Apply(record);
    }
    CHECK(engine_->Digest() == replica_->Digest());
    Output out;
    engine_->Resume(nodes, now_, out);
    Handle(out);
    restarted_ = true;
  }
  // A hub that starts reads nothing of jobs that have finished.
  void LeaveOutFinished() {
    std::set<JobId> finished;
    for (const JobInfo& job : replica_->Jobs()) {
      if (job.finished) finished.insert(job.job);
    }
    for (JobId job : finished) replica_->Unload(job);
    std::erase_if(records_, [&](const Record& each) { return finished.contains(JobOf(each)); });
  }
  void Counts(Line& line) {
    JobId job = line.Job();
    questions_.push_back([this, job] {
      auto counts = engine_->Counts(job);
      return "counts " + Name(job) + ":" +
             (counts ? ScriptWriter::Counts(*counts) : " no such job");
    });
  }
  void Explain(Line& line) {
    AttemptRef ref = line.Ref();
    questions_.push_back([this, ref] {
      return fmt::format("explain {}: {}", Name(ref.job, {{ref.index, 1}}),
                         present::TextOf(engine_->Explain(ref.job, ref.index, now_)));
    });
  }

  void Watch(Line&) {
    watches_ = true;
    engine_->WatchDemand();
  }
  void Demand(Line&) {
    questions_.push_back([this] {
      std::string text = "demand:";
      for (const ClassDemand& each : engine_->DrainDemand()) {
        text += fmt::format(" {}/{}{} ready={} running={}", Name(each.key.job), each.key.request,
                            each.user.empty() ? "" : " of " + each.user, each.ready, each.running);
        if (!each.gang.empty()) {
          text += fmt::format(" procs={} nodes={}", each.gang.procs, each.gang.nodes);
        }
        if (each.takes.ns > 0) text += " takes=" + FormatDuration(each.takes);
        text += ";";
      }
      return text;
    });
  }
  void Waits(Line& line) {
    JobId job = line.Job();
    questions_.push_back([this, job] {
      return fmt::format("waits {}: {}", Name(job), present::TextOf(engine_->WhyWaits(job, now_)));
    });
  }
  void Stalled(Line& line) {
    JobId job = line.Job();
    questions_.push_back([this, job] {
      return fmt::format("stalled {}: {}", Name(job),
                         present::TextOf(engine_->WhyStalled(job, now_)));
    });
  }

  Instant now_{1'700'000'000'000'000'000};
  std::unique_ptr<Engine> engine_ = std::make_unique<Engine>();
  std::unique_ptr<Engine> replica_ = std::make_unique<Engine>();
  std::vector<Record> records_;
  std::vector<HeldTasks> holds_;
  std::vector<Event> events_;
  std::vector<NodesToCome::Kind> to_come_;
  std::vector<std::function<std::string()>> questions_;
  bool restarted_ = false;
  bool watches_ = false;
  script::Lines lines_;
};

std::unique_ptr<script::Subject> MakeEngineSubject() { return std::make_unique<EngineSubject>(); }

}  // namespace
}  // namespace spate::engine

int main(int argc, char** argv) {
  return spate::script::ScriptMain(argc, argv, SPATE_SCRIPTS, spate::engine::MakeEngineSubject);
}
