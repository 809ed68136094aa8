// The provisioner under text scripts (scripts/*.txt). Lines of a block:
//
//   pool p1 [max=10] [min=0] [backlog=4] [nodes=1] [limit=1h] [life=30m] [idle-exit=5m]
//        [rate=1s] [patience=10s] [chain] [cpus=4] [labels=a] [user=ann] [learn-anew]
//        [init=60s] [silent=5m] [never-joined=20m]     adds it, or changes its policy
//   remove p1    pause p1 [words=...]    resume p1
//   demand j1.1 ready=100 [running=4] [takes=1s] [user=ann] [cpus=1 ...]   class 1 of job 1
//     [procs=8] [nodes=4]                      its tasks are such gangs; ready counts processes
//   submitted 1 id=77 [pool=p1]       failed 1 refused|limit|unavailable [words=...]
//   answer p1 [query=N] [1:77:queued[:Priority] ...]    jobs are PILOT:ID:STATUS:WORDS:HOST
//   no-answer p1 [query=N] [words=...]   cancelled 1 [failed]
//   joined 1 n1 [cpus=4 memory=8G] [ends=1h]     left 1 n1 [leave]    silent 1 n1
//   busy 1 n1    idle 1 n1 [ago=5s]
//   at +5s                           the clock goes on, before the block's step
//   restart                          a replay of all records, before the block's step
//   pools      pilots p1             questions
//
// In words= an underscore is a blank. The events of a block are one Step; the invariants, and that
// a replay gives the same, are checked after it.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/number.h"
#include "base/type_name.h"
#include "base/units.h"
#include "core/model/field_text.h"
#include "core/provision/provisioner.h"
#include "core/testing/script.h"

namespace spate::provision {
namespace {

using script::Describe;
using script::Line;

std::string Name(PoolId pool) { return fmt::format("p{}", pool.value); }
std::string Quoted(const std::string& words) {
  return words.empty() ? "" : fmt::format(" '{}'", words);
}
std::string Avoid(const std::vector<std::string>& hosts) {
  return hosts.empty() ? "" : fmt::format(" avoid={}", fmt::join(hosts, ","));
}
std::string Text(const NodeShape& shape) {
  std::string text = fmt::format("cpus={:g}", shape.milli_cpus / double{kMilliCpu});
  if (shape.memory > 0) text += " memory=" + FormatSize(shape.memory);
  if (!shape.labels.empty()) text += fmt::format(" labels={}", fmt::join(shape.labels, ","));
  return text;
}

class Writer {
 public:
  Writer(script::Lines& lines, Instant now) : lines_(lines), now_(now) {}

  void operator()(const PoolChanged& r) {
    lines_.Add(fmt::format("record changed {} max={} min={} {}", Name(r.pool), r.policy.max_pilots,
                           r.policy.min_pilots, Text(r.policy.shape)));
  }
  void operator()(const PoolClosed& r) { lines_.Add("record closed " + Name(r.pool)); }
  void operator()(const PoolForgotten& r) { lines_.Add("record forgotten " + Name(r.pool)); }
  void operator()(const PoolPaused& r) {
    lines_.Add(fmt::format("record paused {}{}", Name(r.pool), Quoted(r.reason)));
  }
  void operator()(const PoolResumed& r) { lines_.Add("record resumed " + Name(r.pool)); }
  void operator()(const PoolLearned& r) {
    lines_.Add(fmt::format("record learned {} {}", Name(r.pool), Text(r.shape)));
  }
  void operator()(const PilotIntended& r) {
    lines_.Add(fmt::format("record intended {} {}", Name(r.pool), r.pilot.value));
  }
  void operator()(const PilotSubmitted& r) {
    lines_.Add(fmt::format("record submitted {} id={}", r.pilot.value, r.id));
  }
  void operator()(const PilotJoined& r) {
    std::string end = r.end_of_life == Instant::Never() ? "never" : Describe(r.end_of_life - now_);
    lines_.Add(fmt::format("record joined {} ends={}", r.pilot.value, end));
  }
  void operator()(const PilotQueuedAgain& r) {
    lines_.Add(fmt::format("record queued-again {}", r.pilot.value));
  }
  void operator()(const PilotUnwanted& r) {
    lines_.Add(
        fmt::format("record unwanted {} {}{}", r.pilot.value, WordOf(r.why), Quoted(r.words)));
  }
  void operator()(const PilotEnded& r) {
    lines_.Add(fmt::format("record ended {} {}{}{}", r.pilot.value, WordOf(r.end), Quoted(r.words),
                           r.host.empty() ? "" : " host=" + r.host));
  }
  // Others, by their lists of fields. No step makes an image.
  template <HasFields T>
  void operator()(const T& r) {
    lines_.Add(fmt::format("record {} {}", TypeWords<T>(), FieldText(r)));
  }
  void operator()(const Submit& a) {
    lines_.Add(fmt::format("submit {} {}{}", Name(a.pool), a.pilot.value, Avoid(a.avoid)));
  }
  void operator()(const Query& a) {
    lines_.Add(fmt::format("query {} {} [{}]", Name(a.pool), a.query, fmt::join(a.ids, " ")));
  }
  void operator()(const Cancel& a) {
    lines_.Add(fmt::format("cancel {} {} id={}", Name(a.pool), a.pilot.value, a.id));
  }
  void operator()(const LetGo& a) {
    lines_.Add(fmt::format("let-go {} {}", Name(a.pool), a.pilot.value));
  }
  void operator()(const TurnAway& a) {
    lines_.Add(fmt::format("turn-away {} n{}", a.pilot.value, a.node.value));
  }

 private:
  script::Lines& lines_;
  Instant now_;
};

class ProvisionSubject : public script::Subject {
 public:
  ProvisionSubject() { Start(); }

  void Input(Line& line) override {
    using Handler = void (ProvisionSubject::*)(Line&);
    constexpr struct {
      const char* verb;
      Handler handler;
    } kVerbs[] = {
        {"pool", &ProvisionSubject::SetUp},         {"remove", &ProvisionSubject::Remove},
        {"pause", &ProvisionSubject::Pause},        {"resume", &ProvisionSubject::GoOn},
        {"demand", &ProvisionSubject::Want},        {"submitted", &ProvisionSubject::Submitted},
        {"failed", &ProvisionSubject::Failed},      {"answer", &ProvisionSubject::Answer},
        {"no-answer", &ProvisionSubject::NoAnswer}, {"cancelled", &ProvisionSubject::Cancelled},
        {"joined", &ProvisionSubject::Joined},      {"silent", &ProvisionSubject::OfNode},
        {"left", &ProvisionSubject::OfNode},        {"busy", &ProvisionSubject::OfNode},
        {"idle", &ProvisionSubject::OfNode},        {"at", &ProvisionSubject::At},
        {"restart", &ProvisionSubject::Restart},    {"pools", &ProvisionSubject::AskPools},
        {"pilots", &ProvisionSubject::AskPilots},
    };
    for (const auto& [verb, handler] : kVerbs) {
      if (line.verb() == verb) return (this->*handler)(line);
    }
    line.Fail("there is no such verb");
  }

  std::vector<std::string> EndBlock() override {
    machine_->Step({now_, events_}, out_);
    events_.clear();
    machine_->CheckInvariants();
    for (const Record& record : out_.records) {
      std::visit(Writer(lines_, now_), record);
      journal_.push_back(record);
    }
    for (const Ask& ask : out_.asks) {
      std::visit(Writer(lines_, now_), ask);
      if (const auto* query = std::get_if<Query>(&ask)) newest_query_[query->pool] = query->query;
    }
    Provisioner again;
    for (const Record& record : journal_) again.Apply(record);
    if (again.Digest() != machine_->Digest()) lines_.Add("a replay gives another state");
    if (out_.wake_at != Instant::Never()) lines_.Add("wake " + Describe(out_.wake_at - now_));
    out_.Clear();
    for (auto& question : std::exchange(questions_, {})) question();
    return lines_.Take();
  }

 private:
  void Start() {
    machine_ = std::make_unique<Provisioner>();
    for (const Record& record : journal_) machine_->Apply(record);
    machine_->Resume(now_, out_);
  }
  PoolId ThePool(Line& line) { return PoolOf(line, line.Word("a pool (p1)")); }
  static PoolId PoolOf(Line& line, std::string_view text) {
    auto number = ReadNumber<uint32_t>(text.substr(std::min<size_t>(1, text.size())));
    if (!number || text.front() != 'p') line.Fail("a pool is p1, p2 ...");
    return PoolId(number.value_or(0));
  }
  static PilotId ThePilot(Line& line) {
    auto number = ReadNumber<uint32_t>(line.Word("a pilot's number"));
    if (!number) line.Fail("a pilot is a number");
    return PilotId(number.value_or(0));
  }
  static std::string Words(Line& line) {
    std::string words = line.Option("words");
    std::replace(words.begin(), words.end(), '_', ' ');
    return words;
  }
  static NodeShape Shape(Line& line) {
    NodeShape shape;
    shape.milli_cpus = static_cast<uint32_t>(line.Number("cpus", 0)) * kMilliCpu;
    shape.memory = line.Size("memory");
    shape.labels = line.List("labels");
    return shape;
  }
  void SetUp(Line& line) {
    SetPool event{.pool = ThePool(line)};
    PoolPolicy& policy = event.policy;
    policy.name = "p";
    policy.name += std::to_string(event.pool.value);
    policy.user = line.Option("user");
    policy.max_pilots = static_cast<uint32_t>(line.Number("max", 10));
    policy.min_pilots = static_cast<uint32_t>(line.Number("min", 0));
    policy.backlog = static_cast<uint32_t>(line.Number("backlog", 4));
    policy.nodes_per_pilot = static_cast<uint32_t>(line.Number("nodes", 1));
    policy.time_limit = line.Time("limit");
    policy.lifetime = line.Time("life");
    policy.idle_exit = line.Time("idle-exit", policy.idle_exit);
    policy.submit_interval = line.Time("rate", Duration::Seconds(1));
    policy.surplus_patience = line.Time("patience", policy.surplus_patience);
    policy.chain = line.Flag("chain");
    policy.spread = line.Flag("spread");
    policy.watch.init = line.Time("init", policy.watch.init);
    policy.watch.silent = line.Time("silent", policy.watch.silent);
    policy.watch.never_joined = line.Time("never-joined", policy.watch.never_joined);
    policy.shape = Shape(line);
    event.learn_anew = line.Flag("learn-anew");
    events_.emplace_back(std::move(event));
  }
  void Remove(Line& line) { events_.emplace_back(RemovePool{ThePool(line)}); }
  void Pause(Line& line) {
    PoolId pool = ThePool(line);
    events_.emplace_back(PausePool{pool, Words(line)});
  }
  void GoOn(Line& line) { events_.emplace_back(ResumePool{ThePool(line)}); }
  void Want(Line& line) {
    ClassDemand demand;
    Line::Tasks tasks = line.TaskList();
    demand.key = {tasks.job, tasks.ranges.empty() ? 0 : tasks.ranges.front().first};
    demand.user = line.Option("user", "ann");
    demand.ready = static_cast<uint32_t>(line.Number("ready", 0));
    demand.running = static_cast<uint32_t>(line.Number("running", 0));
    demand.takes = line.Time("takes");
    demand.gang.procs = static_cast<uint32_t>(line.Number("procs", 0));
    demand.gang.nodes = static_cast<uint32_t>(line.Number("nodes", 0));
    demand.needs = line.TaskNeeds();
    events_.emplace_back(DemandChanged{{demand}});
  }
  void Submitted(Line& line) {
    PilotId pilot = ThePilot(line);
    PoolId pool = PoolOf(line, line.Option("pool", "p1"));
    events_.emplace_back(SubmitAnswered{pool, pilot, line.Option("id")});
  }
  void Failed(Line& line) {
    PilotId pilot = ThePilot(line);
    PoolId pool = PoolOf(line, line.Option("pool", "p1"));
    std::string how = line.Word("refused, limit or unavailable");
    Failure failure = how == "refused" ? Failure::kRefused
                      : how == "limit" ? Failure::kLimit
                                       : Failure::kUnavailable;
    events_.emplace_back(SubmitFailed{pool, pilot, failure, Words(line)});
  }
  uint32_t TheQuery(Line& line, PoolId pool) {
    return static_cast<uint32_t>(line.Number("query", newest_query_[pool]));
  }
  void Answer(Line& line) {
    QueryAnswered answer{.pool = ThePool(line)};
    answer.query = TheQuery(line, answer.pool);
    while (line.HasWord()) {
      std::string text = line.Word("a job");
      std::vector<std::string> parts;
      for (size_t at = 0; at <= text.size();) {
        size_t end = std::min(text.find(':', at), text.size());
        parts.push_back(text.substr(at, end - at));
        at = end + 1;
      }
      parts.resize(5);
      BatchJob job{PilotId(ReadNumber<uint32_t>(parts[0]).value_or(0)), parts[1], JobStatus::kOther,
                   parts[3], parts[4]};
      for (uint8_t i = 0; i < kCountOf<JobStatus>; ++i) {
        if (parts[2] == WordOf(JobStatus{i})) job.status = JobStatus{i};
      }
      answer.jobs.push_back(std::move(job));
    }
    events_.emplace_back(std::move(answer));
  }
  void NoAnswer(Line& line) {
    PoolId pool = ThePool(line);
    events_.emplace_back(QueryFailed{pool, TheQuery(line, pool), Words(line)});
  }
  void Cancelled(Line& line) {
    PilotId pilot = ThePilot(line);
    events_.emplace_back(CancelAnswered{PoolId(1), pilot, !line.Flag("failed"), Words(line)});
  }
  void Joined(Line& line) {
    PilotId pilot = ThePilot(line);
    NodeId node = line.Node();
    Instant end = line.Has("ends") ? now_ + line.Time("ends") : Instant::Never();
    events_.emplace_back(provision::NodeJoined{pilot, node, Shape(line), end});
  }
  void OfNode(Line& line) {
    PilotId pilot = ThePilot(line);
    NodeId node = line.Node();
    if (line.verb() == "silent") events_.emplace_back(provision::NodeSilent{pilot, node});
    if (line.verb() == "left") events_.emplace_back(NodeLeft{pilot, node, line.Flag("leave")});
    if (line.verb() == "busy") events_.emplace_back(NodeBusy{pilot, node});
    if (line.verb() == "idle") events_.emplace_back(NodeIdle{pilot, node, now_ - line.Time("ago")});
  }
  void At(Line& line) {
    auto time = ParseDuration(line.Word("a time (+5s)").substr(1));
    if (!time) return line.Fail("write at +5s");
    now_ = now_ + *time;
  }
  void Restart(Line&) { Start(); }
  void AskPools(Line&) {
    questions_.emplace_back([this] {
      for (const PoolInfo& info : machine_->Pools()) {
        lines_.Add(fmt::format("pool {} queued={} joined={} leaving={} wanted={}{}{}{}{}",
                               Name(info.pool), info.queued, info.joined, info.leaving, info.wanted,
                               info.paused ? " paused" : "", Avoid(info.avoided),
                               Quoted(info.words),
                               info.trouble.empty() ? "" : " trouble" + Quoted(info.trouble)));
      }
    });
  }
  void AskPilots(Line& line) {
    questions_.emplace_back([this, pool = ThePool(line)] {
      for (const PilotInfo& info : machine_->Pilots(pool)) {
        lines_.Add(fmt::format("pilot {} id={} {} nodes={}{}{}", info.pilot.value, info.id,
                               WordOf(info.status), info.nodes, Quoted(info.words),
                               info.unwanted ? std::string(" ") + WordOf(*info.unwanted) : ""));
      }
    });
  }

  Instant now_{1'700'000'000'000'000'000};
  std::unique_ptr<Provisioner> machine_;
  std::vector<Record> journal_;
  std::vector<Event> events_;
  std::map<PoolId, uint32_t> newest_query_;
  std::vector<std::function<void()>> questions_;
  Output out_;
  script::Lines lines_;
};

std::unique_ptr<script::Subject> MakeSubject() { return std::make_unique<ProvisionSubject>(); }

}  // namespace
}  // namespace spate::provision

int main(int argc, char** argv) {
  return spate::script::ScriptMain(argc, argv, SPATE_SCRIPTS, spate::provision::MakeSubject);
}
