// The agent under text scripts (scripts/*.txt). Lines of a block:
//
//   offer slots=4 [cpus=4] [memory=8G] [gpus=2]       the node; the first line of a script
//   open j1 [limit=10s | limit-percent=200] [warn=5s] [grace=10s] [delay=1s] [min-free=4G]
//           [max-load=8]
//   adopt j1.1 slot=2 [attempt=1] [ago=5s] [cpus=1 ...] [gpu=0] [limit=10s] [grace=10s] [part]
//   close j1
//   lease j1.1-4 [attempt=1] [cpus=1 ...] [epoch=1] [limit=1h] [part]       of a gang, with the
//   flag go j1.1 [attempt=1] [epoch=1]                                 a part may start recall j1
//   stop j1 | j1.3-4  drop j1.3-4 [attempt=1] resize j1.1 [attempt=1] [cpus=2] [memory=4G]
//   [limit=1h]       resized j1.1 [refused=why] started j1.1 [attempt=1]         ended j1.1
//   [attempt=1] success|exit=3|... [wall=1ms] [slot=1] taken-back j1.1                  memory j1.1
//   bytes=2G load free=2G [load=1.5]          blocked          unblocked disk [full] at +5s the
//   clock goes on, before the block's step state      holds                 questions: who runs,
//   what waits; what it has of each lease runs       rooms                 what runs; parts that
//   have room or run
//
// The events of a block are one Step, and the invariants are checked after it.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "core/agent/agent.h"
#include "core/testing/script.h"

namespace spate::agent {
namespace {

using script::Describe;
using script::Line;
using script::Name;

class Writer {
 public:
  explicit Writer(script::Lines& lines) : lines_(lines) {}

  void operator()(const StartAttempt& order) {
    std::string text =
        fmt::format("start {} slot={} {}", Name(order.ref), order.slot, Describe(order.needs));
    for (const NamedOffer& given : order.given) {
      text += fmt::format(" {}:{}", given.name, fmt::join(given.indices, ","));
    }
    if (order.tell_start) text += " tell-start";
    if (order.sample_memory) text += " sample-memory";
    if (order.part) text += " part";
    lines_.Add(text);
  }
  void operator()(const Withdraw& order) { lines_.Add("take-back " + Name(order.ref)); }
  void operator()(const EndAttempt& order) {
    lines_.Add(fmt::format("{} {} {}", order.kill ? "kill" : "term", Name(order.ref),
                           WordOf(order.cause)));
  }
  void operator()(const FreezeAttempt& order) {
    lines_.Add(fmt::format("{} {}", order.frozen ? "freeze" : "thaw", Name(order.ref)));
  }
  void operator()(const ResizeAttempt& order) {
    lines_.Add(fmt::format("resize {} slot={} {}{}", Name(order.ref), order.slot,
                           Describe(order.needs),
                           order.time_limit ? " limit=" + FormatDuration(*order.time_limit) : ""));
  }
  void operator()(const ReportResized& report) {
    lines_.Add(fmt::format("report resized {}{}", Name(report.ref),
                           report.refused.empty() ? "" : " refused: " + report.refused));
  }
  void operator()(const ReportEnd& report) {
    lines_.Add(fmt::format("report ended {} {}", Name(report.end.ref), Describe(report.end)));
  }
  void operator()(const ReportReturned& report) {
    lines_.Add(fmt::format("report returned {} attempt={}", Name(report.job, report.tasks),
                           report.attempt.value));
  }
  void operator()(const ReportRoom& report) { lines_.Add("report room " + Name(report.ref)); }
  void operator()(const ReportSlow& report) { lines_.Add("report slow " + Name(report.ref)); }
  void operator()(const ReportExcess& report) {
    lines_.Add(fmt::format("report {} {} {}", WordOf(report.excess.done), Name(report.ref),
                           TextOf(report.excess)));
  }
  void operator()(const CloseJob& order) { lines_.Add(fmt::format("close j{}", order.job.value)); }
  void operator()(const ReportPaused& report) {
    lines_.Add(report.reason.empty() ? "report goes on" : "report paused: " + report.reason);
  }

 private:
  script::Lines& lines_;
};

class AgentSubject : public script::Subject {
 public:
  void Input(Line& line) override {
    using Handler = void (AgentSubject::*)(Line&);
    constexpr struct {
      const char* verb;
      Handler handler;
    } kVerbs[] = {
        {"open", &AgentSubject::Open},       {"lease", &AgentSubject::Lease},
        {"close", &AgentSubject::Close},     {"recall", &AgentSubject::Recall},
        {"stop", &AgentSubject::Stop},       {"drop", &AgentSubject::Drop},
        {"holds", &AgentSubject::Holds},     {"started", &AgentSubject::Started},
        {"ended", &AgentSubject::Ended},     {"taken-back", &AgentSubject::Back},
        {"memory", &AgentSubject::Memory},   {"load", &AgentSubject::Load},
        {"blocked", &AgentSubject::Blocked}, {"unblocked", &AgentSubject::Blocked},
        {"at", &AgentSubject::At},           {"state", &AgentSubject::State},
        {"adopt", &AgentSubject::Adopt},     {"freeze", &AgentSubject::Freeze},
        {"thaw", &AgentSubject::Freeze},     {"go", &AgentSubject::Go},
        {"pause", &AgentSubject::Pause},     {"unpause", &AgentSubject::Pause},
        {"runs", &AgentSubject::Runs},       {"rooms", &AgentSubject::Rooms},
        {"disk", &AgentSubject::Disk},       {"exceeded", &AgentSubject::Exceeded},
        {"frozen", &AgentSubject::Frozen},   {"resize", &AgentSubject::Resize},
        {"resized", &AgentSubject::Resized},
    };
    if (line.verb() == "offer") {
      agent_ = std::make_unique<Agent>(line.NodeOffer("n1"));
      return;
    }
    if (!agent_) return line.Fail("the first line of a script is the node's offer");
    for (const auto& [verb, handler] : kVerbs) {
      if (line.verb() == verb) return (this->*handler)(line);
    }
    line.Fail("there is no such verb");
  }

  std::vector<std::string> EndBlock() override {
    if (!agent_) return {};
    Output out;
    agent_->Step({now_, std::exchange(events_, {})}, out);
    agent_->CheckInvariants();
    for (const Order& order : out.orders) std::visit(Writer(lines_), order);
    if (out.wake_at != Instant::Never()) lines_.Add("wake " + Describe(out.wake_at - now_));
    if (std::exchange(holds_wanted_, false)) {
      for (const HeldTasks& held : agent_->Holds()) {
        std::string tasks = Name(held.job, held.tasks);
        lines_.Add(fmt::format("holds {} attempt={}", tasks, held.attempt.value));
      }
    }
    if (std::exchange(frozen_wanted_, false)) {
      std::string tasks;
      for (const HeldTasks& held : agent_->Frozen()) tasks += " " + Name(held.job, held.tasks);
      lines_.Add("frozen by order" + (tasks.empty() ? ": nothing" : tasks));
    }
    if (std::exchange(runs_wanted_, false)) {
      for (const Run& run : agent_->Runs()) {
        lines_.Add(fmt::format("runs {} slot={} since={}", Name(run.ref), run.slot,
                               Describe(run.since - kBegin)));
      }
    }
    if (std::exchange(rooms_wanted_, false)) {
      for (const AttemptRef& ref : agent_->PartsWithRoom()) lines_.Add("room " + Name(ref));
    }
    if (std::exchange(state_wanted_, false)) {
      lines_.Add(fmt::format("state busy={} waiting={} jobs={}{}", agent_->busy(),
                             agent_->waiting(), agent_->jobs(),
                             agent_->WantsLoad() ? " wants-load" : ""));
    }
    return lines_.Take();
  }

 private:
  void Adopt(Line& line) {
    AttemptRef ref = line.Ref();
    auto settings = std::make_shared<JobSettings>();
    settings->time_limit = line.Time("limit");
    settings->kill_grace = line.Time("grace", Duration::Seconds(10));
    Instant start = now_ - line.Time("ago");
    auto slot = static_cast<uint16_t>(line.Number("slot", 1));
    std::vector<NamedOffer> given;
    std::string gpu = line.Option("gpu", "");
    if (!gpu.empty()) given.push_back({"gpus", {gpu}});
    Duration frozen = line.Time("frozen");
    bool is_frozen = line.Flag("is-frozen");
    bool is_part = line.Flag("part");
    const bool by_itself = line.Flag("by-itself");
    std::optional<Excess> excess;
    if (by_itself) excess = Excess{Resource::kProcesses, OnExcess::kStop, 51, 50};
    events_.push_back(AttemptAdopted{ref, slot, start, line.TaskNeeds(), std::move(given),
                                     std::move(settings), frozen, is_frozen, is_part, excess});
  }
  // "exceeded j1.1 stop"
  void Exceeded(Line& line) {
    const AttemptRef ref = line.Ref();
    auto done = FromWord<OnExcess>(line.Word("what was done"));
    if (!done) return line.Fail("write warn, stop or kill");
    events_.push_back(AttemptExceeded{ref, {Resource::kProcesses, *done, 51, 50}});
  }
  void Frozen(Line&) { frozen_wanted_ = true; }
  void Open(Line& line) {
    auto settings = std::make_shared<JobSettings>();
    JobId job = line.Job();
    settings->time_limit = line.Time("limit");
    settings->on_excess_memory =
        FromWord<OnExcess>(line.Option("on-memory")).value_or(OnExcess::kUsual);
    settings->time_limit_percent = static_cast<uint32_t>(line.Number("limit-percent", 0));
    settings->warn_time = line.Time("warn");
    settings->kill_grace = line.Time("grace", Duration::Seconds(10));
    settings->start_delay = line.Time("delay");
    settings->min_free_memory = line.Size("min-free");
    settings->max_load = static_cast<double>(line.Number("max-load", 0));
    events_.push_back(JobOpened{job, std::move(settings)});
  }
  void Close(Line& line) { events_.push_back(JobClosed{line.Job()}); }
  void Lease(Line& line) {
    auto [job, tasks] = line.TaskList();
    Attempt attempt(static_cast<uint16_t>(line.Number("attempt", 1)));
    Epoch epoch(static_cast<uint32_t>(line.Number("epoch", 1)));
    const bool whole = line.Flag("whole");
    auto part = line.Flag("part") || whole
                    ? std::make_shared<const GangPart>(GangPart{.whole = whole})
                    : nullptr;
    std::optional<Duration> limit;
    if (line.Has("limit")) limit = line.Time("limit");
    events_.push_back(
        LeaseArrived{epoch, job, attempt, line.TaskNeeds(), std::move(tasks), part, limit});
  }
  void Go(Line& line) {
    AttemptRef ref = line.Ref();
    Epoch epoch(static_cast<uint32_t>(line.Number("epoch", 1)));
    events_.push_back(GoArrived{epoch, ref});
  }
  void Freeze(Line& line) {
    auto [job, tasks] = line.JobOrTasks();
    events_.push_back(FreezeArrived{job, std::move(tasks), line.verb() == "freeze"});
  }
  void Resize(Line& line) {
    AttemptRef ref = line.Ref();
    TaskSize to;
    if (line.Has("cpus")) {
      to.milli_cpus = static_cast<uint32_t>(line.Number("cpus", 1) * kMilliCpu);
    }
    if (line.Has("memory")) to.memory = line.Size("memory");
    if (line.Has("limit")) to.time_limit = line.Time("limit");
    events_.push_back(ResizeArrived{ref, to, now_});
  }
  void Resized(Line& line) {
    AttemptRef ref = line.Ref();
    events_.push_back(AttemptResized{ref, line.Option("refused", "")});
  }
  void Pause(Line& line) { events_.push_back(AllPaused{line.verb() == "pause", now_}); }
  void Recall(Line& line) { events_.push_back(RecallArrived{line.Job()}); }
  void Stop(Line& line) {
    auto [job, tasks] = line.JobOrTasks();
    events_.push_back(StopArrived{job, std::move(tasks)});
  }
  void Drop(Line& line) {
    auto [job, tasks] = line.TaskList();
    Attempt attempt(static_cast<uint16_t>(line.Number("attempt", 1)));
    events_.push_back(DropArrived{job, attempt, std::move(tasks)});
  }
  void Started(Line& line) { events_.push_back(AttemptStarted{line.Ref(), now_}); }
  void Ended(Line& line) {
    AttemptRef ref = line.Ref();
    events_.push_back(AttemptOver{line.End(ref)});
  }
  void Back(Line& line) { events_.push_back(OrderTakenBack{line.Ref()}); }
  void Memory(Line& line) {
    AttemptRef ref = line.Ref();
    events_.push_back(MemorySampled{ref, line.Size("bytes")});
  }
  void Load(Line& line) {
    uint64_t free = line.Size("free", UINT64_MAX);
    events_.push_back(LoadSampled{free, std::strtod(line.Option("load", "0").c_str(), nullptr)});
  }
  void Disk(Line& line) {
    events_.push_back(RoomLooked{line.Flag("full") ? "the disk is full" : ""});
  }
  void Blocked(Line& line) { events_.push_back(OutputBlocked{line.verb() == "blocked"}); }
  void At(Line& line) {
    auto time = ParseDuration(line.Word("a time (+5s)").substr(1));
    if (!time) return line.Fail("write at +5s");
    now_ = now_ + *time;
  }
  void State(Line&) { state_wanted_ = true; }
  void Holds(Line&) { holds_wanted_ = true; }
  void Runs(Line&) { runs_wanted_ = true; }
  void Rooms(Line&) { rooms_wanted_ = true; }

  static constexpr Instant kBegin{1'700'000'000'000'000'000};
  Instant now_ = kBegin;
  std::unique_ptr<Agent> agent_;
  std::vector<Event> events_;
  bool state_wanted_ = false;
  bool holds_wanted_ = false;
  bool frozen_wanted_ = false;
  bool runs_wanted_ = false;
  bool rooms_wanted_ = false;
  script::Lines lines_;
};

std::unique_ptr<script::Subject> MakeAgentSubject() { return std::make_unique<AgentSubject>(); }

}  // namespace
}  // namespace spate::agent

int main(int argc, char** argv) {
  return spate::script::ScriptMain(argc, argv, SPATE_SCRIPTS, spate::agent::MakeAgentSubject);
}
