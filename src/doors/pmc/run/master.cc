#include "doors/pmc/run/master.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/product.h"
#include "core/model/name.h"
#include "doors/pmc/formats/records.h"
#include "doors/pmc/run/agent.h"
#include "doors/pmc/run/delivery.h"
#include "doors/pmc/run/live_output.h"
#include "doors/pmc/run/rescue_store.h"
#include "doors/pmc/run/run_logs.h"
#include "format/expand.h"
#include "forward/deliverer.h"
#include "hub/door/embedded_hub.h"
#include "hub/door/ports.h"
#include "link/channels.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "os/signals.h"
#include "os/temp_dir.h"
#include "os/terminal.h"

namespace spate::pmc {
namespace {

constexpr JobId kJob(1);
// From TERM to KILL for tasks at the end of the wall time or at a signal. Open MPI's launcher kills
// us one second after it has passed on a TERM: the summary must be out by then.
constexpr Duration kKillGrace = Duration::Millis(500);
// For hosts to end their tasks and report it, kKillGrace included.
constexpr Duration kAbortPatience = Duration::Seconds(5);

NodeId NodeOf(size_t host) { return NodeId(static_cast<uint32_t>(host + 1)); }

// The hub's end of a host's stream, behind what delivers data on the way.
class HostPort final : public hub::NodePort {
 public:
  HostPort(std::unique_ptr<hub::NodeChannel> channel, link::Connection& connection)
      : channel_(std::move(channel)), connection_(connection) {}
  void Send(wire::ToNode message) override { channel_->Send(std::move(message)); }
  void OnMessage(std::function<void(wire::ToHub)> receiver) override {
    channel_->OnMessage(std::move(receiver));
  }
  void Refuse(const wire::Refusal& why) override { connection_.Refuse(why); }
  void Close() override { connection_.Close(); }

 private:
  const std::unique_ptr<hub::NodeChannel> channel_;
  link::Connection& connection_;  // of the channel
};

class Master final : public hub::Watcher {
 public:
  Master(os::RealLoop& loop, const MasterRun& run, Prepared prepared, RunLogs logs)
      : loop_(loop),
        run_(run),
        talk_(run.talk),
        delivery_(std::make_shared<Delivery>(run.options, run.hosts, std::move(prepared))),
        logs_(std::move(logs)),
        store_(loop, StoreParts()),
        live_(loop, LiveParts()),
        deliverer_(loop, [to = delivery_](const AttemptEnd& end, const OutputStream& pack) {
          return to->Forward(end.ref.index, pack);
        }) {}

  Status Open();
  int Run(std::vector<os::Fd> streams);
  bool lost_host() const { return hosts_left_ < run_.hosts.size(); }

  // hub::Watcher
  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) override;
  void OnHeld(const engine::NoticeHeld& notice) override;
  void OnFinished(const engine::NoticeFinished&) override { loop_.Stop(); }
  void OnNews(const wire::ToHub&) override {}
  void OnStoreFailed(const Error& error) override;

 private:
  const WorkflowTask& TaskOf(TaskIndex index) const { return delivery_->TaskOf(index); }
  const Needs& NeedsOf(TaskIndex index) const { return delivery_->NeedsOf(index); }
  RescueStore::Parts StoreParts();
  LiveOutput::Parts LiveParts();
  std::string HandoverOf(size_t host) const;
  hub::Hub& hub() { return hub_->hub(); }
  hub::Service& service() { return hub_->service(); }
  void Connect(std::vector<os::Fd> streams);
  void Connect(size_t host, os::Fd stream);
  void Submit();
  void See(size_t host, const wire::ToHub& message);
  void SeeLive(size_t host, const wire::Live& live);
  void SeeStart(size_t host, const wire::Running& running);
  void SeeEnd(TaskIndex index, bool ran);
  void Begin(TaskIndex index);
  // A try begins for the logs; returns its number. An attempt that was refused before it was in a
  // slot begins when it has ended.
  uint64_t BeginForLogs(TaskIndex index);
  void Leave(TaskIndex index);
  void Count(const engine::NoticeEnded& notice, uint64_t number);
  void StopIfHeld();
  void Lost(size_t host, const std::string& why);
  // Ends what runs, for this reason; the workflow then has failed.
  void Abort(std::string_view why);
  void WatchSignals();
  int Finish();
  void TellStatistics(Instant now);

  os::RealLoop& loop_;
  const MasterRun& run_;
  const Talk talk_;
  const std::shared_ptr<Delivery> delivery_;
  RunLogs logs_;
  os::TempDir spool_{SpoolPrefix(run_.options)};
  RescueStore store_;
  LiveOutput live_;
  forward::Deliverer deliverer_;
  std::unique_ptr<hub::EmbeddedHub> hub_;
  std::optional<format::CompiledJob> compiled_;  // for who looks at it
  size_t hosts_left_ = 0;
  struct Given {
    size_t host = 0;
    uint16_t slot = 0;
    uint64_t number = 0;  // of submissions, from 1; 0: it has not begun
  };
  std::unordered_map<TaskIndex, Given> given_;                          // to hosts
  std::map<std::pair<size_t, uint16_t>, std::deque<TaskIndex>> slots_;  // by host and slot
  // Numbers of those whose end is not told yet, and of those that were given back.
  std::unordered_map<TaskIndex, uint64_t> ending_, returned_;
  uint64_t submitted_ = 0;
  uint64_t succeeded_ = 0;
  uint64_t failed_ = 0;  // tries
  Duration runtime_;
  Instant first_start_, last_end_;
  os::TimerId wall_timer_ = 0;
  bool aborted_ = false;
  bool stops_ = false;
  std::optional<Error> broken_;
};

RescueStore::Parts Master::StoreParts() {
  return {.file = std::move(delivery_->prepared().rescue),
          .path = run_.options.rescue,
          .syncs = delivery_->prepared().syncs_rescue,
          .row = [to = delivery_](TaskIndex i) { return std::string(to->TaskOf(i).row); },
          .name = [to = delivery_](TaskIndex i) { return std::string(to->TaskOf(i).name); },
          .deliver = [to = delivery_](
                         const engine::AttemptEnded& ended,
                         const TaskOutputPtr& output) { return to->PutEnd(ended, output); }};
}

LiveOutput::Parts Master::LiveParts() {
  LiveOutput::Parts parts{.dag = run_.options.dag};
  if (!run_.options.per_task_stdio) return parts;
  parts.own_file = [to = delivery_](TaskIndex index, int stream) {
    return to->prepared().files->LiveFile(to->TaskOf(index).name, stream);
  };
  return parts;
}

// The host's folder for long output, if it sees the same file system.
std::string Master::HandoverOf(size_t host) const {
  return HandoverFolder(run_.handover, static_cast<uint32_t>(host + 1));
}

// ---- The hosts ---------------------------------------------------------------------------------

Status Master::Open() {
  hub::LiveReader::Texts texts;
  texts.command = [this](JobId, TaskIndex i) {
    std::string row(TaskOf(i).row);
    return compiled_ ? format::CommandText(*compiled_, row, i, 0) : row;
  };
  texts.name = [this](JobId, TaskIndex i) { return std::string(TaskOf(i).name); };
  auto hub = TRY(hub::EmbeddedHub::Open({.loop = loop_,
                                         .store = store_,
                                         .owner = *this,
                                         .texts = std::move(texts),
                                         .state_dir = run_.state_dir,
                                         .stepped = [this] { StopIfHeld(); },
                                         .steers = true}));
  hub_ = std::move(hub);
  auto at = hub_->OpenDoor();
  talk_.Log(LogLevel::kDebug, at ? "To look at this run: spate top --at " + *at
                                 : "Others cannot look at this run: " + at.error().message);
  return {};
}

void Master::Connect(std::vector<os::Fd> streams) {
  hosts_left_ = streams.size();
  for (size_t host = 0; host < streams.size(); ++host) Connect(host, std::move(streams[host]));
}

void Master::Connect(size_t host, os::Fd stream) {
  const auto expected = link::TypesToHub(wire::Role::kNode);
  auto connection = std::make_unique<link::Connection>(loop_, std::move(stream), nullptr, expected);
  connection->Start({});
  connection->Accept(expected);
  link::Connection& end = *connection;
  auto channel = std::make_unique<link::NodeChannelTcp>(
      std::move(connection), spool_.Path(fmt::format("{}-", host)),
      link::ChannelEvents{
          .closed = [this, host](const link::Ended& ended) { Lost(host, ended.text); },
          .silent = [](bool) {},
          .wants = nullptr});
  channel->SetHandover(HandoverOf(host));
  auto see = [this, host](const wire::ToHub& message) { See(host, message); };
  const hub::Caller everybody{.user = "*"};
  const std::string& name = run_.hosts[host].facts.name;
  const std::string known = ReadName(name, "").value_or(fmt::format("host-{}", host + 1));
  auto node = service().AdmitNode({.role = wire::Role::kNode, .node_name = known}, everybody);
  CHECK(node && *node == NodeOf(host));
  service().NodeArrived(
      *node,
      {.port = std::make_unique<HostPort>(deliverer_.Over(std::move(channel), std::move(see)), end),
       .peer = name,
       .product = ProductVersion()},
      everybody);
}

void Master::See(size_t host, const wire::ToHub& message) {
  if (const auto* running = std::get_if<wire::Running>(&message)) return SeeStart(host, *running);
  if (const auto* live = std::get_if<wire::Live>(&message)) return SeeLive(host, *live);
  if (const auto* ends = std::get_if<wire::Ends>(&message)) {
    for (const AttemptEnd& end : ends->ends) SeeEnd(end.ref.index, true);
  } else if (const auto* returned = std::get_if<wire::Returned>(&message)) {
    for (TaskRange range : returned->tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) SeeEnd(i, false);
    }
  }
}

void Master::SeeLive(size_t host, const wire::Live& live) {
  const auto given = given_.find(live.ref.index);
  if (given == given_.end()) return;
  const std::string spool =
      os::JoinPath(HandoverOf(host), link::HandoverName(live.ref, live.stream));
  live_.Add(live.ref.index, RankOf(run_.hosts[host], given->second.slot), live.stream, live.bytes,
            spool);
}

// A host is told a task ahead for each of its slots: it begins when the one before has ended.
void Master::SeeStart(size_t host, const wire::Running& running) {
  const TaskIndex index = running.ref.index;
  if (index >= delivery_->prepared().remaining.left.size()) return;
  // A host may take it back from a slot where it has not begun, and give it to another one.
  const auto known = given_.find(index);
  const uint64_t number = known == given_.end() ? 0 : known->second.number;
  if (known != given_.end()) Leave(index);
  given_[index] = {host, running.slot, number};
  std::deque<TaskIndex>& slot = slots_[{host, running.slot}];
  slot.push_back(index);
  if (slot.size() == 1 && number == 0) Begin(index);
}

// Removes a task; the next one in its slot begins.
void Master::Leave(TaskIndex index) {
  const Given& given = given_.at(index);
  std::deque<TaskIndex>& slot = slots_[{given.host, given.slot}];
  const bool was_first = !slot.empty() && slot.front() == index;
  std::erase(slot, index);
  if (was_first && !slot.empty() && given_[slot.front()].number == 0) Begin(slot.front());
}

void Master::Begin(TaskIndex index) {
  Given& given = given_[index];
  const auto before = returned_.extract(index);
  if (before) given.number = before.mapped();
  logs_.Use(loop_.Now(), given.host, NeedsOf(index), true);
  if (!before) given.number = BeginForLogs(index);
  if (talk_.Logs(LogLevel::kDebug)) {
    const Host& host = run_.hosts[given.host];
    talk_.Log(LogLevel::kDebug,
              TaskStartText(TaskOf(index).name, RankOf(host, given.slot), host.facts.name));
  }
}

uint64_t Master::BeginForLogs(TaskIndex index) {
  const Instant now = loop_.Now();
  const uint64_t number = ++submitted_;
  if (talk_.Logs(LogLevel::kTrace)) {
    talk_.Log(LogLevel::kTrace, SchedulingText(TaskOf(index).name));
  }
  TaskEvent event{.when = now,
                  .offset = os::UtcOffsetMinutes(now),
                  .stage = TaskStage::kSubmitted,
                  .task = TaskOf(index).name,
                  .number = number};
  logs_.Append(event);
  event.stage = TaskStage::kStarted;
  logs_.Append(event);
  return number;
}

// It has ended; or was given back without having run, as something of higher priority came. What
// has begun for the logs begins once.
void Master::SeeEnd(TaskIndex index, bool ran) {
  auto found = given_.find(index);
  if (found == given_.end()) return;
  const Given given = found->second;
  if (given.number > 0) {
    logs_.Use(loop_.Now(), given.host, NeedsOf(index), false);
    (ran ? ending_ : returned_)[index] = given.number;
  }
  Leave(index);
  given_.erase(index);
  live_.Freeze(index);
}

void Master::Lost(size_t host, const std::string& why) {
  talk_.Log(LogLevel::kError, fmt::format("Host {} is lost, its tasks run elsewhere: {}",
                                          run_.hosts[host].facts.name, why));
  service().NodeGone(NodeOf(host), why, {});
  if (--hosts_left_ == 0) Abort("No host is left");
}

// ---- Ends --------------------------------------------------------------------------------------

void Master::OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr&) {
  const TaskIndex index = notice.end.ref.index;
  live_.Remove(index);
  auto ending = ending_.find(index);
  const uint64_t number = ending == ending_.end() ? 0 : ending->second;
  if (ending != ending_.end()) ending_.erase(ending);
  if (IsTold(notice.end, notice.verdict, notice.counts)) {
    Count(notice, number > 0 ? number : BeginForLogs(index));
    return;
  }
  if (number > 0) returned_[index] = number;
  if (notice.end.cause == Cause::kStart) {
    talk_.Log(LogLevel::kWarn,
              fmt::format("Task {} cannot be started on a host, and is tried on another one: {}",
                          TaskOf(index).name, notice.end.note));
  }
}

void Master::Count(const engine::NoticeEnded& notice, uint64_t number) {
  const AttemptEnd& end = notice.end;
  const WorkflowTask& task = TaskOf(end.ref.index);
  const int status = StatusOf(end);
  const Instant when = end.start + end.wall;
  runtime_ = runtime_ + end.wall;
  if (first_start_ == Instant() || end.start < first_start_) first_start_ = end.start;
  last_end_ = std::max(last_end_, when);
  if (notice.verdict == Verdict::kSucceeded) {
    ++succeeded_;
  } else {
    ++failed_;
    // Scripts count "Task NAME failed": once for each try.
    if (!end.note.starts_with(ForwardFailedText(task.name))) {
      talk_.Log(LogLevel::kError, TaskFailedText(task.name, status));
    }
    const bool names_it = end.note.starts_with("Task ");
    if (!end.note.empty()) {
      talk_.Log(LogLevel::kError,
                names_it ? end.note : fmt::format("Task {}: {}", task.name, end.note));
    }
  }
  if (talk_.Logs(LogLevel::kDebug)) {
    talk_.Log(LogLevel::kDebug, TaskEndText(task.name, status, end.wall));
  }
  // By our clock, as the lines before: hosts may have others.
  const Instant now = loop_.Now();
  logs_.Append({.when = now,
                .offset = os::UtcOffsetMinutes(now),
                .stage = TaskStage::kEnded,
                .task = task.name,
                .number = number,
                .status = status});
}

// Nobody says when the last of a held job has ended, or has come back from a host that had not
// begun it.
void Master::StopIfHeld() {
  if (stops_ || hub().engine().Held(kJob) == engine::HoldReason::kNone) return;
  auto counts = hub().engine().Counts(kJob);
  if (counts && counts->leased > 0) return;
  stops_ = true;
  // It may come when this has gone.
  hub().WhenSettled([&loop = loop_] { loop.Stop(); });
}

void Master::OnHeld(const engine::NoticeHeld& notice) {
  if (notice.reason == engine::HoldReason::kMaxFailures && !aborted_) {
    aborted_ = true;
    talk_.Log(LogLevel::kError, kMaxFailures);
  }
}

void Master::OnStoreFailed(const Error& error) {
  broken_ = error;
  loop_.Stop();
}

void Master::Abort(std::string_view why) {
  if (aborted_) return;
  aborted_ = true;
  talk_.Log(LogLevel::kError, why);
  if (hub().engine().Counts(kJob)) hub().Post(engine::HoldJob{kJob, true});
  // A host that does not answer must not keep us.
  wall_timer_ = loop_.At(loop_.Now() + kAbortPatience, [this] { loop_.Stop(); });
}

void Master::WatchSignals() {
  for (int signal : {os::kSignalTerm, os::kSignalInt, os::kSignalHup}) {
    loop_.OnSignal(signal, [this, signal] { Abort(fmt::format("Caught signal {}", signal)); });
  }
}

// ---- From the start to the summary -------------------------------------------------------------

void Master::Submit() {
  auto settings = std::make_shared<JobSettings>();
  settings->name = run_.options.dag;
  settings->cwd = os::CurrentDir().value_or("/");
  settings->row_kind = RowKind::kDagTask;
  settings->kill_grace = kKillGrace;
  settings->leftovers = Leftovers::kEnd;
  settings->live_output = true;
  if (auto compiled = format::CompileJob(*settings, kJob)) compiled_ = std::move(*compiled);
  store::JobRow row;
  row.name = settings->name;
  row.cwd = settings->cwd;
  JobPlan plan = std::move(delivery_->prepared().remaining.plan);
  plan.policy.retry.retries = run_.options.tries - 1;
  plan.policy.max_failures = run_.options.max_failures;
  hub_->Submit({.job = kJob,
                .plan = std::move(plan),
                .edges = std::move(delivery_->prepared().remaining.edges)},
               std::move(row), std::move(settings));
}

int Master::Run(std::vector<os::Fd> streams) {
  WatchSignals();
  talk_.Log(LogLevel::kInfo, MaxFilesText(delivery_->forwards().most_open()));
  talk_.Log(LogLevel::kInfo, kStarting);
  if (run_.options.max_wall_time > Duration{}) {
    wall_timer_ =
        loop_.At(run_.began + run_.options.max_wall_time, [this] { Abort(kWallTimeOver); });
  }
  for (const Host& host : run_.hosts) {
    talk_.Log(LogLevel::kDebug, HostText(host.facts.name, host.ranks.size(),
                                         MemoryOf(run_.options, host), CpusOf(run_.options, host)));
  }
  const Prepared& prepared = delivery_->prepared();
  talk_.Log(LogLevel::kDebug, WorkflowText(prepared.workflow.tasks.size(),
                                           prepared.workflow.edges.size(), prepared.done_before));
  Connect(std::move(streams));
  if (!delivery_->prepared().remaining.left.empty()) {
    Submit();
    loop_.Run();
  }
  loop_.Cancel(wall_timer_);
  return Finish();
}

int Master::Finish() {
  auto counts = hub().engine().Counts(kJob).value_or(JobCounts());
  const bool ok =
      !broken_ && !aborted_ && counts.succeeded == delivery_->prepared().remaining.left.size();
  if (aborted_) {
    talk_.Log(LogLevel::kError, kAborting);
  } else {
    talk_.Log(LogLevel::kInfo, kFinished);
  }
  const Instant now = loop_.Now();
  TellStatistics(now);
  size_t workers = 0;
  uint64_t cpus = 0;
  for (const Host& host : run_.hosts) {
    workers += host.ranks.size();
    cpus += CpusOf(run_.options, host);
  }
  ClusterSummary summary{.ok = ok,
                         .tasks = delivery_->prepared().workflow.tasks.size(),
                         .submitted = submitted_,
                         .succeeded = succeeded_,
                         .failed = failed_,
                         .start = run_.began,
                         .offset = os::UtcOffsetMinutes(run_.began),
                         .duration = now - run_.began,
                         .pid = os::OwnPid(),
                         .app = run_.program,
                         .runtime = runtime_,
                         .slots = workers,
                         .cpus = cpus};
  talk_.Log(LogLevel::kInfo, kMerging);
  auto merged =
      delivery_->prepared().files->AdoptLeftovers(run_.options.dag, static_cast<int>(workers) + 1);
  std::string line = ClusterSummaryRecord(summary);
  // Programs that look for it read our standard output, unless that is the tasks' own.
  if (run_.options.out || run_.options.per_task_stdio) {
    (void)os::WriteAll(os::kStdout, line, "standard output");
  } else if (auto put = delivery_->prepared().files->WriteLine(line); merged && !put) {
    merged = put;
  }
  if (!merged && !broken_) broken_ = merged.error();
  talk_.Log(LogLevel::kInfo, kShutdown);
  if (broken_) talk_.Log(LogLevel::kFatal, broken_->message);
  const bool good = ok && !broken_;
  if (good) delivery_->forwards().Finish();
  talk_.Log(good ? LogLevel::kInfo : LogLevel::kError, good ? kSucceeded : kFailed);
  logs_.End(now, good);
  hub_.reset();  // the hosts end with their channels
  return good ? 0 : 1;
}

void Master::TellStatistics(Instant now) {
  RunStatistics statistics;
  statistics.runtime = runtime_;
  statistics.wall = now - run_.began;
  statistics.makespan = last_end_ > first_start_ ? last_end_ - first_start_ : Duration();
  for (const Host& host : run_.hosts) statistics.workers += host.ranks.size();
  statistics.succeeded = succeeded_;
  statistics.file_hits = delivery_->forwards().hits();
  statistics.file_misses = delivery_->forwards().misses();
  statistics.bytes_sent = run_.traffic().sent;
  statistics.bytes_received = run_.traffic().received;
  for (const std::string& text : StatisticsTexts(statistics)) talk_.Log(LogLevel::kInfo, text);
}

}  // namespace

Outcome RunWorkflow(os::RealLoop& loop, const MasterRun& run, Prepared prepared,
                    std::vector<os::Fd> streams) {
  auto logs = RunLogs::Open(run.options, run.hosts, loop.Now());
  if (!logs) {
    run.talk.Log(LogLevel::kFatal, logs.error().message);
    return {};
  }
  Master master(loop, run, std::move(prepared), std::move(*logs));
  if (auto opened = master.Open(); !opened) {
    run.talk.Log(LogLevel::kFatal, opened.error().message);
    return {};
  }
  int code = master.Run(std::move(streams));
  return {code, master.lost_host()};
}

}  // namespace spate::pmc
