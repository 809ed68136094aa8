#include "apps/hub_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "apps/hub_commands.h"
#include "apps/hub_notes.h"
#include "apps/hub_service.h"
#include "apps/para_hub.h"
#include "apps/parasol_hub.h"
#include "base/units.h"
#include "core/model/limits.h"
#include "wire/client_codec.h"

namespace spate::apps {
namespace {

// Rows that wait to be written; above it the client waits.
constexpr uint64_t kBacklogMost = 32u << 20;
constexpr size_t kPrintBytes = 256 << 10;
constexpr size_t kRequestsAhead = 4;
constexpr size_t kLong = 64 << 10;  // one of so many bytes waits alone
// Nothing of an answer was taken for so long, while others wait for a reader.
constexpr Duration kReaderPatience = Duration::Seconds(60);
// 25 failures in a row and no success are the job's fault, not its tasks' luck.
constexpr uint32_t kPauseAfterFailures = 25;

}  // namespace

HubClient::HubClient(HubService& service, Caller caller,
                     std::unique_ptr<link::Connection> connection, std::function<void()> closed)
    : service_(service),
      caller_(std::move(caller)),
      connection_(std::move(connection)),
      closed_(std::move(closed)) {
  reader_frames_.Accept();
  connection_->Start(
      {.opened = {},
       .frame = [this](wire::FrameType, std::string_view bytes) { OnRequest(bytes); },
       .writable = [this] { PauseReader(false); },
       .silent = {},
       .closed =
           [this](const link::Ended&) {
             auto tell = closed_;
             tell();
           }});
}

HubClient::~HubClient() {
  *alive_ = false;
  service_.jobs().Unlisten(listening_);
  service_.loop().Cancel(slow_);
  service_.loop().Cancel(stuck_);
  if (turn_ != 0) service_.reader_turns().Leave(turn_);
  if (!upload_ || upload_->known) return;
  if (upload_->submit.add_to == JobId()) {
    service_.DropUpload(upload_->job);
  } else {
    service_.EndGrow(upload_->job);
    service_.ForgetSoon(upload_->job);
  }
}

bool HubClient::Send(const wire::Reply& reply) {
  std::string bytes;
  wire::Append(bytes, reply);
  return connection_->Send(wire::FrameType::kReply, bytes);
}

void HubClient::Print(int stream, std::string_view text) {
  while (!text.empty()) {
    std::string_view piece = text.substr(0, kPrintBytes);
    Send(wire::Printed{stream, std::string(piece)});
    text.remove_prefix(piece.size());
  }
}

void HubClient::Exit(int code) { Send(wire::Exited{static_cast<uint32_t>(code)}); }

void HubClient::Fail(const Error& error) { Send(wire::Failed{error.kind, error.message}); }

void HubClient::OnRequest(std::string_view bytes) {
  if (turn_ != 0 || waits_) {
    // The client has heard its answer before we hear that the reader is done.
    next_requests_.emplace_back(bytes);
    connection_->PauseReading(next_requests_.size() >= kRequestsAhead || bytes.size() > kLong);
    return;
  }
  auto request = wire::DecodeRequest(bytes);
  if (!request) return connection_->Breach(request.error().message);
  bool of_upload = std::holds_alternative<wire::Rows>(*request) ||
                   std::holds_alternative<wire::PutPieces>(*request) ||
                   std::holds_alternative<wire::SubmitEnd>(*request);
  if (of_upload != upload_.has_value()) {
    return connection_->Breach(of_upload ? "rows without a submit" : "a submit without its end");
  }
  auto alive = alive_;
  std::visit([this](auto& each) { Take(std::move(each)); }, *request);
  if (!*alive) return;
  if (waits_) next_requests_.emplace_front(bytes);
  needed_ = {};
}

// ---- Jobs come in ------------------------------------------------------------------------------

Status HubClient::CheckUpload(Upload& upload) {
  wire::Submit& submit = upload.submit;
  if (submit.add_to == JobId()) {
    // One user cannot take another one's submission for their own.
    submit.submission = caller_.user + ":" + submit.submission;
    if (submit.settings->row_kind == RowKind::kParasol) return FindBatch(upload);
    auto known = service_.store().FindSubmission(submit.submission);
    if (!known) return std::unexpected(known.error());
    upload.known = known->has_value();
    upload.job = upload.known ? **known : service_.store().NextJobId();
    return {};
  }
  const HubJobs::Job* job = service_.jobs().Find(submit.add_to);
  if (auto right = service_.CheckUsable(caller_, submit.add_to); !right) return right;
  if (job->finished) {
    return spate::Fail(ErrorKind::kInvalid,
                       fmt::format("job {} has ended; only a job that was submitted with --open, "
                                   "and not closed, takes more tasks",
                                   submit.add_to.value));
  }
  auto from = service_.BeginGrow(submit.add_to);
  if (!from) return std::unexpected(from.error());
  upload.job = submit.add_to;
  upload.grown_from = upload.next = *from;
  return {};
}

// A batch is one job, from the first of its submissions on.
Status HubClient::FindBatch(Upload& upload) {
  auto known = service_.store().FindSubmission(upload.submit.submission);
  if (!known) return std::unexpected(known.error());
  if (!known->has_value()) {
    upload.job = service_.store().NextJobId();
    return {};
  }
  upload.job = upload.submit.add_to = **known;
  if (service_.jobs().Find(upload.job) == nullptr) {
    return spate::Fail(ErrorKind::kBusy, "somebody else begins this batch; try again");
  }
  const engine::Engine& engine = service_.hub().engine();
  if (!engine.Finished(upload.job) && engine.Held(upload.job) == engine::HoldReason::kAllFail) {
    return spate::Fail(ErrorKind::kPermission,
                       "Sick batch! Correct the problem, and then: para clearSickNodes, or parasol "
                       "-results=FILE clear sick");
  }
  auto there = IsThere(upload.job);
  if (!there || !*there) return there ? Status() : std::unexpected(there.error());
  auto info = service_.hub().engine().Info(upload.job);
  if (info && info->cancelled && !info->finished) {
    return spate::Fail(ErrorKind::kBusy, "the batch's job is being cancelled; try again");
  }
  auto from = service_.BeginGrow(upload.job);
  if (!from) return std::unexpected(from.error());
  upload.grown_from = upload.next = *from;
  return {};
}

void HubClient::Take(wire::Submit submit) {
  Upload upload{.submit = std::move(submit), .job = {}};
  if (auto checked = CheckUpload(upload); !checked) {
    // What the client sends after it is dropped with the connection.
    Fail(checked.error());
    return connection_->Close();
  }
  if (waits_) return;
  if (upload.submit.add_to == JobId() && !upload.known) {
    service_.jobs().Add(upload.job, caller_.user);
  }
  upload_ = std::move(upload);
}

// They lie behind the rows of all tasks.
void HubClient::Take(wire::PutPieces pieces) {
  if (upload_->known || pieces.pieces.empty()) return;
  auto count = static_cast<uint32_t>(pieces.pieces.size());
  if (upload_->submit.add_to != JobId() || count > kMostPieces - upload_->pieces) {
    return connection_->Breach("more pieces of files than a job may have");
  }
  store::Batch batch;
  batch.rows.push_back({upload_->job, kFirstPieceRow + upload_->pieces, std::move(pieces.pieces)});
  upload_->pieces += count;
  service_.store().Append(std::move(batch), [](Status) {});  // a failure ends the hub
  SlowDown();
}

void HubClient::Take(wire::Rows rows) {
  if (upload_->known || rows.rows.empty()) return;
  auto count = static_cast<TaskIndex>(rows.rows.size());
  if (count > kLimits.tasks_per_job - upload_->next) {
    return connection_->Breach("more tasks than a job may have");
  }
  store::Batch batch;
  batch.rows.push_back({upload_->job, upload_->next, std::move(rows.rows)});
  upload_->next += count;
  service_.store().Append(std::move(batch), [](Status) {});  // a failure ends the hub
  SlowDown();
}

void HubClient::SlowDown() {
  bool full = service_.store().Backlog() > kBacklogMost;
  connection_->PauseReading(full);
  if (full && slow_ == 0) {
    slow_ = service_.loop().At(service_.loop().Now() + Duration::Millis(2), [this] {
      slow_ = 0;
      SlowDown();
    });
  }
}

Status HubClient::CheckEnd(const Upload& upload, const wire::SubmitEnd& end) {
  if (upload.known) return {};
  if (end.count != upload.next - upload.grown_from || end.requests.empty()) {
    return spate::Fail(ErrorKind::kInvalid, "another number of rows than of tasks");
  }
  for (const PutFile& file : upload.submit.settings->puts) {
    if (file.first_piece + PutPieces(file.size) <= upload.pieces) continue;
    return spate::Fail(ErrorKind::kInvalid, "a file without its pieces");
  }
  return {};
}

void HubClient::Take(wire::SubmitEnd end) {
  auto ready = IsReady();
  if (ready && !*ready) return;
  if (auto sound = CheckEnd(*upload_, end); !sound) {
    return connection_->Breach(sound.error().message);  // the upload goes with the connection
  }
  Upload upload = std::move(*upload_);
  upload_.reset();
  if (upload.known) {
    // It may be durable only a little later than this second try came.
    return AwaitAccepted(upload.job, true);
  }
  if (upload.submit.settings->row_kind == RowKind::kParasol && service_.parasol() != nullptr) {
    for (Needs& needs : end.requests) {
      if (needs.memory == 0) needs.memory = service_.parasol()->default_ram;
    }
  }
  if (!ready) {
    upload.submit.add_to == JobId() ? service_.DropUpload(upload.job)
                                    : service_.EndGrow(upload.job);
    return Fail(ready.error());
  }
  if (upload.submit.add_to != JobId()) return Grow(std::move(upload), std::move(end));
  // The end of an earlier try may have come after the beginning of this one.
  auto known = service_.store().FindSubmission(upload.submit.submission);
  if (!known || known->has_value()) {
    service_.DropUpload(upload.job);
    if (known && upload.submit.settings->row_kind == RowKind::kParasol) {
      return Fail({ErrorKind::kBusy, "somebody else began this batch at the same time"});
    }
    return known ? AwaitAccepted(**known, true) : Fail(known.error());
  }
  Accept(std::move(upload), std::move(end));
}

// ---- What a request needs first

// Once more with the request that waits for it.
std::function<void(Status)> HubClient::TakeAgain() {
  waits_ = true;
  return [this, alive = alive_](const Status& status) {
    if (!*alive) return;
    needed_ = status;
    waits_ = false;
    TakeNextRequests();
  };
}

Result<bool> HubClient::IsThere(JobId job) {
  Status needed = std::exchange(needed_, {});
  if (!needed) return std::unexpected(needed.error());
  if (service_.hub().engine().Counts(job)) return true;
  service_.Revive(job,
                  [again = TakeAgain(), alive = alive_, service = &service_, job](auto status) {
                    if (!*alive) service->ForgetSoon(job);
                    again(status);
                  });
  return false;
}

Result<bool> HubClient::IsReady() {
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
    if (!each || known || !service_.CheckRight(caller_, after.job)) continue;
    if (service_.IsPast(after.job)) jobs.push_back(after.job);
  }
  bool sum = MostOutput() > 0 && !upload.readings.output;
  if (jobs.empty() && !sum) return true;
  service_.ReadFor(std::move(jobs), sum ? caller_.user : "",
                   [this, alive = alive_, again = TakeAgain()](auto read) {
                     if (*alive && read) {
                       upload_->readings.succeeded.merge(read->succeeded);
                       if (read->output) upload_->readings.output = read->output;
                     }
                     again(read ? Status() : std::unexpected(read.error()));
                   });
  return false;
}

uint64_t HubClient::MostOutput() const {
  for (const engine::UserInfo& info : service_.hub().engine().Users()) {
    if (info.user == caller_.user) return info.rule.max_output;
  }
  return 0;
}

Result<uint64_t> HubClient::OutputLeft(const Readings& readings) const {
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
Status HubClient::CheckAfter(const JobPlan& plan) const {
  for (const After& after : plan.after) {
    if (after.kind != AfterKind::kEach) continue;
    auto right = service_.CheckRight(caller_, after.job);
    if (!right) return Within("--after each", right.error());
  }
  return {};
}

void HubClient::Accept(Upload upload, wire::SubmitEnd end) {
  wire::Submit& submit = upload.submit;
  auto output_left = OutputLeft(upload.readings);
  if (!output_left) {
    service_.DropUpload(upload.job);
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
  row.created = row.started = service_.loop().Now();
  row.state = store::JobState::kQueued;
  row.submission = submit.submission;
  row.priority = submit.priority;
  row.keep_output = std::min(submit.keep_output, *output_left);
  row.counts.total = end.count;
  service_.jobs().SetName(row);
  service_.store().PutJob(std::move(row));
  engine::SubmitJob event{upload.job, {}, {}};
  JobPlan& plan = event.plan;
  plan.task_count = end.count;
  plan.open = submit.open;
  plan.requests = std::move(end.requests);
  plan.runs = std::move(end.runs);
  plan.order = std::move(end.order);
  plan.policy = submit.policy;
  plan.policy.max_running = submit.max_running;
  plan.policy.weight = submit.weight;
  plan.policy.pause_after_failures = kPauseAfterFailures;
  plan.policy.pause_despite_success = settings->row_kind == RowKind::kParasol;
  plan.user = caller_.user;
  plan.priority = submit.priority;
  for (const wire::Submit::After& after : submit.after) {
    plan.after.push_back({after.job, static_cast<AfterKind>(after.kind)});
  }
  if (auto right = CheckAfter(plan); !right) {
    service_.DropUpload(upload.job);
    return Fail(right.error());
  }
  if (auto ready = service_.FillOutcomes(event, upload.readings); !ready) {
    service_.DropUpload(upload.job);
    return Fail(ready.error());
  }
  AwaitAccepted(upload.job, false);
  service_.hub().Post(std::move(event));
}

void HubClient::Grow(Upload upload, wire::SubmitEnd end) {
  JobId job = upload.job;
  // Who adds to a batch wants it to go on.
  bool goes_on = service_.jobs().Find(job)->finished;
  if (service_.hub().engine().Held(job) == engine::HoldReason::kUser &&
      upload.submit.settings->row_kind == RowKind::kParasol) {
    service_.hub().Post(engine::ReleaseJob{job});
  }
  // The requests of the job that it grows are numbered before ours; equal ones are one.
  std::vector<Needs> before = service_.hub().engine().Requests(job);
  std::map<Needs, uint32_t> known;
  for (uint32_t i = 0; i < before.size(); ++i) known.try_emplace(before[i], i);
  std::vector<Needs> fresh;
  std::vector<uint32_t> numbers;
  for (Needs& needs : end.requests) {
    auto [same, is_fresh] = known.try_emplace(needs, before.size() + fresh.size());
    numbers.push_back(same->second);
    if (is_fresh) fresh.push_back(std::move(needs));
  }
  if (before.size() + fresh.size() > kLimits.requests) {
    service_.EndGrow(job);
    service_.ForgetSoon(job);
    return Fail({ErrorKind::kInvalid,
                 fmt::format("the job's tasks would have more than {} different needs; round them "
                             "up, or make another job",
                             FormatCount(kLimits.requests))});
  }
  for (RequestRun& run : end.runs) {
    run.first += upload.grown_from;
    run.request = numbers.at(run.request);
  }
  service_.hub().Post(engine::GrowJob{job, end.count, std::move(fresh), std::move(end.runs),
                                      static_cast<uint32_t>(before.size())});
  if (goes_on && end.count > 0) service_.jobs().Reopened(job);
  service_.WhenSettled(
      [service = &service_, job,
       tell = Guarded([this, job, first = upload.grown_from] { Accepted(job, false, first); })] {
        service->EndGrow(job);
        // The news of its end may have come after we looked.
        bool reopened =
            service->hub().engine().Counts(job) && !service->hub().engine().Finished(job);
        if (reopened) service->jobs().Reopened(job);
        service->ForgetSoon(job);  // when nothing was added
        tell();
      });
}

void HubClient::AwaitAccepted(JobId job, bool known) {
  service_.WhenAccepted(job, [this, alive = alive_, job, known](const Error* error) {
    if (!*alive) return;
    if (error != nullptr) return Fail(*error);
    Accepted(job, known);
  });
}

void HubClient::Accepted(JobId job, bool known, TaskIndex first) {
  Send(wire::Accepted{job, known, service_.nodes_joined(), first, service_.jobs().WhyStalled(job)});
}

void HubClient::TakeNextRequests() {
  connection_->PauseReading(false);
  for (auto alive = alive_; *alive && turn_ == 0 && !waits_ && !next_requests_.empty();) {
    std::string next = std::move(next_requests_.front());
    next_requests_.pop_front();
    OnRequest(next);
  }
}

// ---- Questions ---------------------------------------------------------------------------------

void HubClient::Take(wire::Command command) {
  command.notes.clear();
  bool failures = !command.argv.empty() && command.argv[0] == kFailuresWord;
  if (failures) return Read(std::move(command));
  if (RunParaCommand(service_, *this, command)) return;
  if (RunParasolCommand(service_, *this, command)) return;
  if (RunHubCommand(service_, *this, command)) return;
  AddNotes(service_, caller_, command);
  Read(std::move(command));
}

void HubClient::Take(wire::Watch watch) {
  if (watch.job == JobId()) {
    auto newest = service_.jobs().NewestOf(caller_.user);
    if (!newest) return Fail({ErrorKind::kNotFound, "you have no job on this hub yet"});
    watch.job = *newest;
  }
  if (service_.jobs().Find(watch.job) == nullptr) {
    return Fail({ErrorKind::kNotFound, fmt::format("there is no job {}", watch.job.value)});
  }
  // Of a job of this user or another one: whoever waits for it would wait for ever.
  if (std::string damage = service_.jobs().Find(watch.job)->damage; !damage.empty()) {
    return Fail(
        {ErrorKind::kCorrupt, fmt::format("job {} is set aside: {}", watch.job.value, damage)});
  }
  follows_.reset();
  service_.jobs().Unlisten(listening_);
  listening_ = service_.jobs().Listen(watch.job, [this, job = watch.job] { TellNews(job); });
  TellNews(watch.job);
}

void HubClient::TellNews(JobId job) {
  const HubJobs::Job* entry = service_.jobs().Find(job);
  if (entry == nullptr) return;
  wire::JobNews news = NewsOf(service_, job);
  has_news_ = true;
  if (follows_ && turn_ == 0) FollowOn();
  if (!entry->finished && connection_->queued() > kPrintBytes) return;  // it does not listen
  Send(std::move(news));
  if (!entry->finished) return;
  service_.jobs().Unlisten(listening_);
  listening_ = 0;
}

void HubClient::Take(wire::ReadEnds read) {
  if (auto right = service_.CheckUsable(caller_, read.job); !right) return Fail(right.error());
  follows_.reset();
  service_.jobs().Unlisten(listening_);
  listening_ = service_.jobs().Listen(read.job, [this, job = read.job] { TellNews(job); });
  TellNews(read.job);
  Read(std::move(read));
}

// The answer comes from the journal: another process reads it, as long as that may take.
void HubClient::Read(const wire::Request& request) {
  std::string input;
  bool fits = wire::AppendFrame(input, wire::FrameType::kRequest,
                                [&](std::string& out) { wire::Append(out, request); });
  if (!fits) return Fail({ErrorKind::kInvalid, "the question is too long"});
  const auto* read = std::get_if<wire::ReadEnds>(&request);
  follows_ = read == nullptr ? std::nullopt : std::optional(*read);
  TakeTurn(std::move(input));
}

void HubClient::TakeTurn(std::string input) {
  auto start = [this, input = std::move(input)] { StartReader(input); };
  service_.reader_turns().Enter(caller_.user, caller_.is_admin, turn_, std::move(start));
}

void HubClient::StartReader(const std::string& input) {
  reader_done_.reset();
  auto reader = service_.StartReader(
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

void HubClient::PassOn(std::string_view bytes) {
  reader_frames_.Feed(bytes);
  for (;;) {
    auto frame = reader_frames_.Next();
    if (!frame || !*frame) return;
    if ((*frame)->type == wire::FrameType::kHeartbeat) {
      reader_done_ = std::string((*frame)->message);
      return;
    }
    if (!connection_->Send(wire::FrameType::kReply, (*frame)->message)) PauseReader(true);
  }
}

// The window of the connection has closed, or opened again.
void HubClient::PauseReader(bool paused) {
  service_.loop().Cancel(stuck_);
  if (reader_) reader_->Pause(paused);
  if (!paused || !reader_) return;
  stuck_ = service_.loop().At(service_.loop().Now() + kReaderPatience, [this] {
    if (!service_.reader_turns().HasWaiting()) return PauseReader(true);
    connection_->Refuse({wire::RefusalCode::kBusy,
                         "nothing of the answer was taken for a minute, and others wait"});
  });
}

void HubClient::ReaderEnded() {
  service_.loop().Cancel(stuck_);
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
  TakeNextRequests();
}

void HubClient::LeaveTurn() { service_.reader_turns().Leave(std::exchange(turn_, 0)); }

// Somebody who follows a job has a reader only while there is something to read.
void HubClient::FollowOn() {
  has_news_ = false;
  Read(wire::Request(*follows_));
}

}  // namespace spate::apps
