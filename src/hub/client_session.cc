#include "hub/client_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/units.h"
#include "core/model/limits.h"
#include "wire/client_codec.h"

namespace spate::hub {
namespace {

// Rows that wait to be written; above it the client waits.
constexpr uint64_t kBacklogMost = 32u << 20;
constexpr size_t kQueuedMost = 256 << 10;
constexpr size_t kRequestsAhead = 4;
constexpr size_t kLong = 64 << 10;  // one of so many bytes waits alone
// Nothing of an answer was taken for so long, while others wait for a reader.
constexpr Duration kReaderPatience = Duration::Seconds(60);

}  // namespace

ClientSession::ClientSession(Jobs& jobs, ClientHost& host, Caller caller,
                             std::unique_ptr<ClientPort> port, std::function<void()> closed)
    : jobs_(jobs),
      host_(host),
      caller_(std::move(caller)),
      port_(std::move(port)),
      closed_(std::move(closed)) {
  reader_frames_.Accept();
  port_->Start({.request = [this](std::string_view bytes) { OnRequest(bytes); },
                .writable = [this] { PauseReader(false); },
                .closed =
                    [this] {
                      auto tell = closed_;
                      tell();
                    }});
}

ClientSession::~ClientSession() {
  *alive_ = false;
  jobs_.known().Unlisten(listening_);
  jobs_.loop().Cancel(slow_);
  jobs_.loop().Cancel(stuck_);
  if (turn_ != 0) host_.reader_turns().Leave(turn_);
  if (!upload_ || upload_->known) return;
  if (upload_->submit.add_to == JobId()) {
    jobs_.DropUpload(upload_->job);
  } else {
    jobs_.EndGrow(upload_->job);
    jobs_.UnloadSoon(upload_->job);
  }
}

void ClientSession::Breach(std::string reason) {
  port_->Refuse({wire::RefusalCode::kBreach, std::move(reason)});
}

bool ClientSession::Send(const wire::Reply& reply) {
  std::string bytes;
  wire::Append(bytes, reply);
  return port_->Send(bytes);
}

void ClientSession::Fail(const Error& error) { Send(wire::Failed{error.kind, error.message}); }

void ClientSession::OnRequest(std::string_view bytes) {
  if (turn_ != 0 || waits_) {
    // The client has heard its answer before we hear that the reader is done.
    next_requests_.emplace_back(bytes);
    port_->PauseReading(next_requests_.size() >= kRequestsAhead || bytes.size() > kLong);
    return;
  }
  auto request = wire::DecodeRequest(bytes);
  if (!request) return Breach(request.error().message);
  bool of_upload = std::holds_alternative<wire::Rows>(*request) ||
                   std::holds_alternative<wire::PutPieces>(*request) ||
                   std::holds_alternative<wire::Edges>(*request) ||
                   std::holds_alternative<wire::SubmitEnd>(*request);
  if (of_upload != upload_.has_value()) {
    return Breach(of_upload ? "rows without a submit" : "a submit without its end");
  }
  auto alive = alive_;
  std::visit([this](auto& each) { On(std::move(each)); }, *request);
  if (!*alive) return;
  if (waits_) next_requests_.emplace_front(bytes);
  needed_ = {};
}

// ---- Jobs come in ------------------------------------------------------------------------------

Status ClientSession::CheckUpload(Upload& upload) {
  wire::Submit& submit = upload.submit;
  if (submit.add_to == JobId()) {
    // One user cannot take another one's submission for their own.
    submit.submission = caller_.user + ":" + submit.submission;
    if (HabitsOf(upload).grows_by_name) return FindNamed(upload);
    auto known = jobs_.FindSubmission(submit.submission);
    if (!known) return std::unexpected(known.error());
    upload.known = known->has_value();
    upload.job = upload.known ? **known : jobs_.store().NextJobId();
    return {};
  }
  const KnownJobs::Job* job = jobs_.known().Find(submit.add_to);
  if (auto right = jobs_.CheckUsable(caller_, submit.add_to); !right) return right;
  if (job->finished) {
    return spate::Fail(ErrorKind::kInvalid,
                       fmt::format("job {} has ended; only a job that was submitted with --open, "
                                   "and not closed, takes more tasks",
                                   submit.add_to.value));
  }
  auto from = jobs_.BeginGrow(submit.add_to, *submit.settings);
  if (!from) return std::unexpected(from.error());
  upload.job = submit.add_to;
  upload.grown_from = upload.next = *from;
  return {};
}

namespace {

// A client that was killed may have left a submission here that is accepted only after the next
// client looked.
Status CheckKnownTasks(const wire::Submit& submit, uint32_t tasks) {
  if (submit.known_tasks.value_or(tasks) == tasks) return {};
  return spate::Fail(ErrorKind::kExists,
                     fmt::format("the job has {} tasks, not {} as the client knows; look again",
                                 tasks, *submit.known_tasks));
}

}  // namespace

// It is one job, from the first of its submissions on.
Status ClientSession::FindNamed(Upload& upload) {
  auto known = jobs_.FindSubmission(upload.submit.submission);
  if (!known) return std::unexpected(known.error());
  if (!known->has_value()) {
    upload.job = jobs_.store().NextJobId();
    return CheckKnownTasks(upload.submit, 0);
  }
  upload.job = upload.submit.add_to = **known;
  if (jobs_.known().Find(upload.job) == nullptr) {
    return spate::Fail(ErrorKind::kBusy, "somebody else begins this submission; try again");
  }
  const engine::Engine& engine = jobs_.engine();
  if (!engine.Finished(upload.job) && engine.Held(upload.job) == engine::HoldReason::kAllFail) {
    return spate::Fail(ErrorKind::kPermission, HabitsOf(upload).when_all_fail);
  }
  auto there = IsThere(upload.job);
  if (!there || !*there) return there ? Status() : std::unexpected(there.error());
  auto info = jobs_.engine().Info(upload.job);
  if (info && info->cancelled && !info->finished) {
    return spate::Fail(ErrorKind::kBusy, "the submission's job is being cancelled; try again");
  }
  auto from = jobs_.BeginGrow(upload.job, *upload.submit.settings);
  if (!from) return std::unexpected(from.error());
  if (auto same = CheckKnownTasks(upload.submit, *from); !same) {
    jobs_.EndGrow(upload.job);
    return same;
  }
  upload.grown_from = upload.next = *from;
  return {};
}

void ClientSession::On(wire::Submit submit) {
  Upload upload{.submit = std::move(submit), .job = {}};
  if (auto checked = CheckUpload(upload); !checked) {
    // Later requests of the client are dropped with the connection.
    Fail(checked.error());
    return port_->Close();
  }
  if (waits_) return;
  if (upload.submit.add_to == JobId() && !upload.known) {
    jobs_.known().Add(upload.job, caller_.user);
  }
  upload_ = std::move(upload);
}

// They lie behind the rows of all tasks.
void ClientSession::On(wire::PutPieces pieces) {
  if (upload_->known || pieces.pieces.empty()) return;
  auto count = static_cast<uint32_t>(pieces.pieces.size());
  if (upload_->submit.add_to != JobId() || count > kMostPieces - upload_->pieces) {
    return Breach("more pieces of files than a job may have");
  }
  store::Bundle bundle;
  bundle.rows.push_back({upload_->job, kFirstPieceRow + upload_->pieces, std::move(pieces.pieces)});
  upload_->pieces += count;
  jobs_.store().Append(std::move(bundle), [](Status) {});  // a failure ends the hub
  SlowDown();
}

void ClientSession::On(wire::Rows rows) {
  if (upload_->known || rows.rows.empty()) return;
  auto count = static_cast<TaskIndex>(rows.rows.size());
  if (count > kLimits.tasks_per_job - upload_->next) {
    return Breach("more tasks than a job may have");
  }
  store::Bundle bundle;
  bundle.rows.push_back({upload_->job, upload_->next, std::move(rows.rows)});
  upload_->next += count;
  jobs_.store().Append(std::move(bundle), [](Status) {});  // a failure ends the hub
  SlowDown();
}

void ClientSession::On(wire::Edges edges) {
  if (upload_->known) return;
  std::vector<Edge>& all = upload_->edges;
  if (edges.edges.size() > kLimits.edges_per_job - all.size()) {
    return Breach("more edges than a job may have");
  }
  all.insert(all.end(), edges.edges.begin(), edges.edges.end());
}

void ClientSession::SlowDown() {
  bool full = jobs_.store().Backlog() > kBacklogMost;
  port_->PauseReading(full);
  if (full && slow_ == 0) {
    slow_ = jobs_.loop().At(jobs_.loop().Now() + Duration::Millis(2), [this] {
      slow_ = 0;
      SlowDown();
    });
  }
}

namespace {

// Of so many new tasks; before them are the tasks of the job that grows.
Status CheckEdges(std::span<const Edge> edges, uint32_t count, uint32_t known, uint32_t before) {
  std::vector<Edge> among;  // the new ones
  bool sound = known <= before;
  for (const Edge& edge : edges) {
    sound = sound && edge.child >= known && edge.child - known < count;
    if (edge.parent < known) continue;
    sound = sound && edge.parent - known < count;
    if (!sound) break;
    among.push_back({edge.parent - known, edge.child - known});
  }
  if (!sound) return spate::Fail(ErrorKind::kInvalid, "an edge between tasks that are not there");
  std::vector<TaskIndex> cycle = FindCycle(among.empty() ? 0 : count, among);
  if (cycle.empty()) return {};
  return spate::Fail(ErrorKind::kInvalid,
                     fmt::format("task {} waits for itself, straight or through others",
                                 cycle.front() + known + 1));
}

}  // namespace

Status ClientSession::CheckEnd(const Upload& upload, const wire::SubmitEnd& end) {
  if (upload.known) return {};
  if (end.count != upload.next - upload.grown_from || end.requests.empty()) {
    return spate::Fail(ErrorKind::kInvalid, "another number of rows than of tasks");
  }
  for (const PutFile& file : upload.submit.settings->puts) {
    if (file.first_piece + PutPieces(file.size) <= upload.pieces) continue;
    return spate::Fail(ErrorKind::kInvalid, "a file without its pieces");
  }
  return CheckEdges(upload.edges, end.count, end.known_tasks, upload.grown_from);
}

void ClientSession::On(wire::SubmitEnd end) {
  auto ready = IsReady();
  if (ready && !*ready) return;
  if (auto sound = CheckEnd(*upload_, end); !sound) {
    return Breach(sound.error().message);  // the upload goes with the connection
  }
  Upload upload = std::move(*upload_);
  upload_.reset();
  if (upload.known) {
    // It may be durable only a little later than this second try came.
    return AwaitAccepted(upload.job, true);
  }
  for (TaskClass& each : end.requests) {
    if (each.needs.memory == 0) each.needs.memory = HabitsOf(upload).default_memory;
  }
  if (!ready) {
    upload.submit.add_to == JobId() ? jobs_.DropUpload(upload.job) : jobs_.EndGrow(upload.job);
    return Fail(ready.error());
  }
  if (upload.submit.add_to != JobId()) return Grow(std::move(upload), std::move(end));
  // The end of an earlier try may have come after the beginning of this one.
  auto known = jobs_.FindSubmission(upload.submit.submission);
  if (!known || known->has_value()) {
    jobs_.DropUpload(upload.job);
    if (known && HabitsOf(upload).grows_by_name) {
      return Fail({ErrorKind::kBusy, "somebody else began this submission at the same time"});
    }
    return known ? AwaitAccepted(**known, true) : Fail(known.error());
  }
  Accept(std::move(upload), std::move(end));
}

// ---- What a request needs first

// Once more with the request that waits for it.
std::function<void(Status)> ClientSession::Continuation() {
  waits_ = true;
  return [this, alive = alive_](const Status& status) {
    if (!*alive) return;
    needed_ = status;
    waits_ = false;
    HandleNextRequests();
  };
}

Result<bool> ClientSession::IsThere(JobId job) {
  Status needed = std::exchange(needed_, {});
  if (!needed) return std::unexpected(needed.error());
  if (jobs_.engine().Counts(job)) return true;
  jobs_.Revive(job, caller_.user,
               [again = Continuation(), alive = alive_, jobs = &jobs_, job](auto status) {
                 if (!*alive) jobs->UnloadSoon(job);
                 again(status);
               });
  return false;
}

Result<bool> ClientSession::IsReady() {
  Upload& upload = *upload_;
  if (upload.known) return true;
  if (upload.submit.add_to != JobId()) return IsThere(upload.job);
  Status needed = std::exchange(needed_, {});
  if (!needed) return std::unexpected(needed.error());
  std::vector<JobId> jobs;
  for (const wire::Submit::After& after : upload.submit.after) {
    bool each = static_cast<AfterKind>(after.kind) == AfterKind::kEach;
    bool known = upload.readings.succeeded.contains(after.job);
    // Of a job of another user nothing is read, as it is refused then (CheckAfter).
    if (!each || known || !jobs_.CheckRight(caller_, after.job)) continue;
    if (jobs_.IsPast(after.job)) jobs.push_back(after.job);
  }
  bool sum = MostOutput() > 0 && !upload.readings.output;
  if (jobs.empty() && !sum) return true;
  jobs_.ReadFor(std::move(jobs), caller_.user, sum,
                [this, alive = alive_, again = Continuation()](auto read) {
                  if (*alive && read) {
                    upload_->readings.succeeded.merge(read->succeeded);
                    if (read->output) upload_->readings.output = read->output;
                  }
                  again(read ? Status() : std::unexpected(read.error()));
                });
  return false;
}

uint64_t ClientSession::MostOutput() const {
  for (const engine::UserInfo& info : jobs_.engine().Users()) {
    if (info.user == caller_.user) return info.rule.max_output;
  }
  return 0;
}

Result<uint64_t> ClientSession::OutputLeft(const Readings& readings) const {
  uint64_t most = MostOutput();
  if (most == 0) return UINT64_MAX;
  uint64_t kept = readings.output.value_or(0);
  if (kept < most) return most - kept;
  return spate::Fail(ErrorKind::kBusy,
                     fmt::format("the hub keeps {} of output of the jobs of user {}, and may keep "
                                 "{}: forget jobs that have ended (spate job forget 12, or "
                                 "--older-than 7d)",
                                 FormatSize(kept), caller_.user, FormatSize(most)));
}

// Which tasks of a job succeed is for its user to know; how the job ended everybody may.
Status ClientSession::CheckAfter(const JobPlan& plan) const {
  for (const After& after : plan.after) {
    if (after.kind != AfterKind::kEach) continue;
    auto right = jobs_.CheckRight(caller_, after.job);
    if (!right) return Within("--after each", right.error());
  }
  return {};
}

void ClientSession::Accept(Upload upload, wire::SubmitEnd end) {
  wire::Submit& submit = upload.submit;
  auto output_left = OutputLeft(upload.readings);
  if (!output_left) {
    jobs_.DropUpload(upload.job);
    return Fail(output_left.error());
  }
  auto settings = std::make_shared<JobSettings>(*submit.settings);
  settings->user = caller_.user;
  store::JobRow row;
  row.job = upload.job;
  row.name = submit.name;
  row.argv = std::move(submit.argv);
  row.cwd = settings->cwd;
  row.files = std::move(submit.files);
  row.settings = wire::EncodeSettings(*settings);
  row.user = caller_.user;
  row.host = upload.submit.submission.substr(caller_.user.size() + 1);
  row.host = row.host.substr(0, row.host.find('/'));
  row.created = row.started = jobs_.loop().Now();
  row.state = store::JobState::kQueued;
  row.submission = submit.submission;
  row.priority = submit.priority;
  row.keep_output = std::min(submit.keep_output, *output_left);
  row.counts.total = end.count;
  jobs_.known().SetName(row);
  jobs_.store().PutJob(std::move(row), nullptr);
  engine::SubmitJob event{.job = upload.job, .plan = {}, .edges = std::move(upload.edges)};
  JobPlan& plan = event.plan;
  plan.task_count = end.count;
  plan.open = submit.open;
  plan.requests = std::move(end.requests);
  plan.runs = std::move(end.runs);
  plan.order = std::move(end.order);
  plan.policy = submit.policy;
  plan.policy.pause_after_failures = jobs_.pause_after_failures();
  plan.policy.pause_despite_success = HabitsOf(upload).pause_despite_success;
  plan.user = caller_.user;
  plan.priority = submit.priority;
  for (const wire::Submit::After& after : submit.after) {
    plan.after.push_back({after.job, static_cast<AfterKind>(after.kind)});
  }
  if (auto right = CheckAfter(plan); !right) {
    jobs_.DropUpload(upload.job);
    return Fail(right.error());
  }
  if (auto ready = jobs_.FillOutcomes(event, upload.readings); !ready) {
    jobs_.DropUpload(upload.job);
    return Fail(ready.error());
  }
  AwaitAccepted(upload.job, false);
  jobs_.hub().Post(std::move(event));
}

// Of a new job the engine says it.
std::string ClientSession::WhyNever(const wire::SubmitEnd& end) const {
  for (const TaskClass& each : end.requests) {
    if (!each.deadline && each.gang.empty()) continue;
    std::string why = jobs_.engine().WhyNeverRuns(caller_.user, each, jobs_.loop().Now());
    if (!why.empty()) return why;
  }
  return "";
}

void ClientSession::Grow(Upload upload, wire::SubmitEnd end) {
  JobId job = upload.job;
  if (std::string why = WhyNever(end); !why.empty()) {
    jobs_.EndGrow(job);
    jobs_.UnloadSoon(job);
    return Fail({ErrorKind::kInvalid, std::move(why)});
  }
  // Adding to a named job means that it shall go on.
  bool goes_on = jobs_.known().Find(job)->finished;
  if (jobs_.engine().Held(job) == engine::HoldReason::kUser && HabitsOf(upload).grows_by_name) {
    jobs_.hub().Post(engine::ReleaseJob{job});
  }
  // The requests of the job that it grows are numbered before ours; equal ones are one.
  std::vector<TaskClass> before = jobs_.engine().Requests(job);
  std::map<TaskClass, uint32_t> known;
  for (uint32_t i = 0; i < before.size(); ++i) known.try_emplace(before[i], i);
  std::vector<TaskClass> fresh;
  std::vector<uint32_t> numbers;
  for (TaskClass& each : end.requests) {
    auto [same, is_fresh] = known.try_emplace(each, before.size() + fresh.size());
    numbers.push_back(same->second);
    if (is_fresh) fresh.push_back(std::move(each));
  }
  if (before.size() + fresh.size() > kLimits.requests) {
    jobs_.EndGrow(job);
    jobs_.UnloadSoon(job);
    return Fail({ErrorKind::kInvalid,
                 fmt::format("the job's tasks would have more than {} different needs; round them "
                             "up, or make another job",
                             FormatCount(kLimits.requests))});
  }
  for (RequestRun& run : end.runs) {
    run.first += upload.grown_from;
    run.request = numbers.at(run.request);
  }
  jobs_.hub().Post(engine::GrowJob{job, end.count, std::move(fresh), std::move(end.runs),
                                   static_cast<uint32_t>(before.size()), std::move(upload.edges),
                                   end.known_tasks});
  if (goes_on && end.count > 0) jobs_.known().Reopened(job);
  jobs_.WhenSettled([jobs = &jobs_, job, tell = Guarded([this, job, first = upload.grown_from] {
                                           Accepted(job, false, first);
                                         })] {
    jobs->EndGrow(job);
    // The news of its end may have come after we looked.
    bool reopened = jobs->engine().Counts(job) && !jobs->engine().Finished(job);
    if (reopened) jobs->known().Reopened(job);
    jobs->UnloadSoon(job);  // when nothing was added
    tell();
  });
}

void ClientSession::AwaitAccepted(JobId job, bool known) {
  jobs_.WhenAccepted(job, [this, alive = alive_, job, known](const Error* error) {
    if (!*alive) return;
    if (error != nullptr) return Fail(*error);
    Accepted(job, known);
  });
}

void ClientSession::Accepted(JobId job, bool known, TaskIndex first) {
  Send(wire::Accepted{job, known, host_.nodes_joined(), first, jobs_.known().WhyStalled(job)});
}

void ClientSession::HandleNextRequests() {
  port_->PauseReading(false);
  for (auto alive = alive_; *alive && turn_ == 0 && !waits_ && !next_requests_.empty();) {
    std::string next = std::move(next_requests_.front());
    next_requests_.pop_front();
    OnRequest(next);
  }
}

// ---- Questions ---------------------------------------------------------------------------------

void ClientSession::On(wire::Query query) { host_.OnQuery(*this, std::move(query)); }

void ClientSession::On(wire::Watch watch) {
  if (watch.job == JobId()) {
    auto newest = jobs_.known().NewestOf(caller_.user);
    if (!newest) return Fail({ErrorKind::kNotFound, "you have no job on this hub yet"});
    watch.job = *newest;
  }
  if (jobs_.known().Find(watch.job) == nullptr) {
    return Fail({ErrorKind::kNotFound, fmt::format("there is no job {}", watch.job.value)});
  }
  // Of a job of this user or another one: whoever waits for it would wait for ever.
  if (std::string damage = jobs_.known().Find(watch.job)->damage; !damage.empty()) {
    return Fail(
        {ErrorKind::kCorrupt, fmt::format("job {} is set aside: {}", watch.job.value, damage)});
  }
  follows_.reset();
  jobs_.known().Unlisten(listening_);
  listening_ = jobs_.known().Listen(watch.job, [this, job = watch.job] { TellNews(job); });
  TellNews(watch.job);
}

void ClientSession::TellNews(JobId job) {
  const KnownJobs::Job* entry = jobs_.known().Find(job);
  if (entry == nullptr) return;
  wire::JobNews news = jobs_.NewsOf(job, host_.nodes_joined());
  has_news_ = true;
  if (follows_ && turn_ == 0) FollowOn();
  if (!entry->finished && port_->queued() > kQueuedMost) return;  // it does not listen
  Send(std::move(news));
  if (!entry->finished) return;
  jobs_.known().Unlisten(listening_);
  listening_ = 0;
}

void ClientSession::On(wire::ReadEnds read) {
  if (auto right = jobs_.CheckUsable(caller_, read.job); !right) return Fail(right.error());
  follows_.reset();
  jobs_.known().Unlisten(listening_);
  listening_ = jobs_.known().Listen(read.job, [this, job = read.job] { TellNews(job); });
  TellNews(read.job);
  Read(std::move(read));
}

// The answer comes from the journal: another process reads it, as long as that may take.
void ClientSession::Read(const wire::Request& request) {
  std::string input;
  bool fits = wire::AppendFrame(input, wire::FrameType::kRequest,
                                [&](std::string& out) { wire::Append(out, request); });
  if (!fits) return Fail({ErrorKind::kInvalid, "the question is too long"});
  const auto* read = std::get_if<wire::ReadEnds>(&request);
  follows_ = read == nullptr ? std::nullopt : std::optional(*read);
  WaitForTurn(std::move(input));
}

void ClientSession::WaitForTurn(std::string input) {
  auto start = [this, input = std::move(input)] { StartReader(input); };
  host_.reader_turns().Enter(caller_.user, caller_.is_admin, turn_, std::move(start));
}

void ClientSession::StartReader(const std::string& input) {
  reader_done_.reset();
  auto reader = host_.StartReader(
      caller_, input,
      {[this](std::string_view bytes) { PassOn(bytes); }, [this] { ReaderEnded(); }});
  if (reader) {
    reader_ = std::move(*reader);
    return;
  }
  follows_.reset();
  Fail(reader.error());
  LeaveTurn();
}

void ClientSession::PassOn(std::string_view bytes) {
  reader_frames_.Feed(bytes);
  for (;;) {
    auto frame = reader_frames_.Next();
    if (!frame || !*frame) return;
    if ((*frame)->type == wire::FrameType::kHeartbeat) {
      reader_done_ = std::string((*frame)->message);
      return;
    }
    if (!port_->Send((*frame)->message)) PauseReader(true);
  }
}

// The window of the connection has closed, or opened again.
void ClientSession::PauseReader(bool paused) {
  jobs_.loop().Cancel(stuck_);
  if (reader_) reader_->Pause(paused);
  if (!paused || !reader_) return;
  stuck_ = jobs_.loop().At(jobs_.loop().Now() + kReaderPatience, [this] {
    if (!host_.reader_turns().HasWaiting()) return PauseReader(true);
    port_->Refuse({wire::RefusalCode::kBusy,
                   "nothing of the answer was taken for a minute, and others wait"});
  });
}

void ClientSession::ReaderEnded() {
  jobs_.loop().Cancel(stuck_);
  reader_.reset();
  reader_frames_ = {};
  reader_frames_.Accept();
  LeaveTurn();
  if (!reader_done_) {
    follows_.reset();
    Fail({ErrorKind::kIo, "the hub's reader has failed; the hub's log may tell why"});
  } else if (follows_ && !reader_done_->empty()) {
    follows_->after = std::strtoull(reader_done_->c_str(), nullptr, 10);
    if (has_news_ && next_requests_.empty()) return FollowOn();
  } else {
    follows_.reset();
  }
  HandleNextRequests();
}

void ClientSession::LeaveTurn() { host_.reader_turns().Leave(std::exchange(turn_, 0)); }

// Somebody who follows a job has a reader only while there is something to read.
void ClientSession::FollowOn() {
  has_news_ = false;
  Read(wire::Request(*follows_));
}

}  // namespace spate::hub
