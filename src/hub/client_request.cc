#include "hub/client_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/units.h"
#include "core/model/limits.h"
#include "core/model/memory.h"
#include "hub/client_session.h"
#include "wire/client_codec.h"

namespace spate::hub {
namespace {

// A reader that could be started again where it is paused ends after so long.
constexpr Duration kReaderIdle = Duration::Seconds(2);
// One that cannot be started, as the hub is short of descriptors, is tried again for so long.
constexpr Duration kReaderWait = Duration::Seconds(10);
constexpr Duration kReaderAgain = Duration::Millis(250);
// Nothing of an answer was taken for so long, while others wait for a reader.
constexpr Duration kReaderPatience = Duration::Seconds(60);
// Memory of a message that waits.
int64_t WeightOf(std::string_view message) {
  return static_cast<int64_t>(message.size() + sizeof(std::string) + kAllocation);
}
constexpr Duration kChange = Duration::Millis(1);  // weight of a job's change in Readers::changes
}  // namespace

ClientRequest::ClientRequest(ClientSession& session, uint32_t id, wire::RequestKind kind)
    : session_(session),
      jobs_(session.jobs()),
      host_(session.host()),
      caller_(session.caller()),
      id_(id),
      kind_(kind) {}

ClientRequest::~ClientRequest() { Over(); }

void ClientRequest::Over() {
  if (!*alive_) return;
  *alive_ = false;
  jobs_.known().Unlisten(listening_);
  jobs_.loop().Cancel(stuck_);
  if (answer_) answer_->Pause(true);  // it ends with this, in a later turn
  if (turn_ != 0) LeaveTurn();
  AbandonUpload();
  Weigh(-weight_);
  SetKept(0);
  session_.Over(id_);
}

void ClientRequest::AbandonUpload() {
  auto upload = std::exchange(upload_, std::nullopt);
  if (!upload || upload->known) return;
  jobs_.kept().Leave(caller_.user, upload->job);
  if (upload->submit.add_to == JobId()) {
    jobs_.DropUpload(upload->job);
  } else {
    jobs_.EndGrow(upload->job);
    jobs_.UnloadSoon(upload->job);
  }
}

void ClientRequest::Weigh(int64_t bytes) {
  if (bytes == 0) return;
  weight_ += bytes;
  session_.Weigh(bytes);
  SetKept(kept_ + static_cast<size_t>(bytes));
}

void ClientRequest::SetKept(size_t bytes) {
  jobs_.hub().peer_memory().Set(caller_.user, kept_, bytes);
}

bool ClientRequest::KeepMore(size_t bytes) {
  SetKept(kept_ + bytes);
  auto room = jobs_.hub().peer_memory().Check(caller_.user);
  if (room) return true;
  Fail(room.error());
  session_.Refused();
  return false;
}

// ---- Replies -----------------------------------------------------------------------------------

void ClientRequest::SendBytes(std::string_view reply) {
  untaken_ += reply.size();
  session_.Send(id_, reply);
}

void ClientRequest::Send(const wire::Reply& reply) {
  std::string bytes;
  wire::Append(bytes, reply);
  SendBytes(bytes);
}

void ClientRequest::Fail(const Error& error) { Refuse({error.kind, error.message, error.remedy}); }

void ClientRequest::Refuse(const wire::Failed& failed) {
  Send(failed);
  if (!takes_more_) return Over();
  // The client may be sending the rest of it.
  refused_ = true;
  AbandonUpload();
  const bool has_end = !messages_.empty() && std::holds_alternative<wire::SubmitEnd>(
                                                 *wire::DecodeRequest(messages_.back()));
  if (has_end) return Over();
  messages_.clear();
  Weigh(-weight_);
  SetKept(kMemoryOfRequest);
}

bool ClientRequest::HasRoom() const { return untaken_ < wire::WindowOf(kind_) && !session_.full(); }

void ClientRequest::Taken(uint32_t bytes) {
  untaken_ -= std::min<uint64_t>(bytes, untaken_);
  RoomAgain();
}

void ClientRequest::RoomAgain() {
  if (!HasRoom()) return;
  if (auto go_on = std::exchange(at_room_, nullptr)) return go_on({});
  PauseReader(false);
  if (missed_ > 0) return TellNews();
  if (follows_ && turn_ == 0 && has_news_) FollowOn();
}

// ---- Messages ----------------------------------------------------------------------------------

void ClientRequest::Receive(wire::Request request, std::string_view bytes) {
  const bool is_first = kept_ == 0;
  takes_more_ = takes_more_ || std::holds_alternative<wire::Submit>(request);
  if (is_first && !KeepMore(MemoryOf(request))) return;
  Handle(std::move(request), bytes);
}

void ClientRequest::Handle(wire::Request request, std::string_view bytes) {
  const bool is_end = std::holds_alternative<wire::SubmitEnd>(request);
  if (refused_) {
    if (is_end) Over();
    return;
  }
  if (waits_) {
    messages_.emplace_back(bytes);
    Weigh(WeightOf(bytes));
    return void(KeepMore(0));
  }
  if (kind_ == wire::RequestKind::kUpload && !takes_more_) {
    return session_.Breach("rows without a submit");  // they came while its end waited
  }
  if (is_end) takes_more_ = false;
  auto alive = alive_;
  const bool may = MayKeep(request, bytes.size());
  if (may) std::visit([this](auto& each) { On(std::move(each)); }, request);
  if (!*alive) return;
  if (upload_ && std::holds_alternative<wire::Submit>(request)) upload_->unpaid = bytes.size();
  if (waits_) {
    messages_.emplace_front(bytes);
    takes_more_ = takes_more_ || is_end;
  }
  const bool has_turn_to_come = turn_ != 0 && !answer_;
  if (!waits_) paid_ = Paid::kNo;
  needed_ = {};
  if (!waits_ && !has_turn_to_come) return;
  Weigh(WeightOf(bytes));
  KeepMore(0);
}

void ClientRequest::HandleNext() {
  for (auto alive = alive_; *alive && !waits_ && !messages_.empty();) {
    std::string next = std::move(messages_.front());
    messages_.pop_front();
    Weigh(-WeightOf(next));
    Handle(*wire::DecodeRequest(next), next);
  }
}

// ---- Jobs come in ------------------------------------------------------------------------------

Status ClientRequest::CheckUpload(Upload& upload) {
  wire::Submit& submit = upload.submit;
  if (jobs_.one_job()) {
    return spate::Fail(
        ErrorKind::kInvalid,
        "this run accepts no other jobs or tasks; submit to another hub, or start another run");
  }
  // One user cannot take another one's submission for their own.
  submit.submission = caller_.user + ":" + submit.submission;
  if (submit.add_to == JobId()) {
    if (HabitsOf(upload).grows_by_name) return FindNamed(upload);
    auto known = TRY(jobs_.FindSubmission(submit.submission));
    upload.known = known.has_value();
    if (!upload.known) TRY(jobs_.CheckRoom());
    upload.job = upload.known ? *known : jobs_.store().NextJobId();
    return {};
  }
  const KnownJobs::Job* job = jobs_.known().Find(submit.add_to);
  TRY(jobs_.CheckUsable(caller_, submit.add_to));
  if (jobs_.engine().AdditionOf(submit.add_to, submit.submission)) {
    upload.known = true;
    upload.job = submit.add_to;
    return {};
  }
  if (job->finished) {
    return spate::Fail(ErrorKind::kPermission,
                       fmt::format("job {} has ended; only jobs submitted with --open that are not "
                                   "closed accept more tasks",
                                   submit.add_to.value));
  }
  TRY(jobs_.CheckRoom());
  auto from = TRY(jobs_.BeginGrow(submit.add_to, *submit.settings));
  upload.job = submit.add_to;
  upload.grown_from = upload.next = from;
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
Status ClientRequest::FindNamed(Upload& upload) {
  auto known = TRY(jobs_.FindSubmission(upload.submit.submission));
  if (!known.has_value()) {
    TRY(jobs_.CheckRoom());
    upload.job = jobs_.store().NextJobId();
    return CheckKnownTasks(upload.submit, 0);
  }
  upload.job = upload.submit.add_to = *known;
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
  auto from = TRY(jobs_.BeginGrow(upload.job, *upload.submit.settings));
  if (auto same = CheckKnownTasks(upload.submit, from); !same) {
    jobs_.EndGrow(upload.job);
    return same;
  }
  upload.grown_from = upload.next = from;
  return {};
}

void ClientRequest::On(wire::Submit submit) {
  Upload upload{.submit = std::move(submit), .job = {}};
  if (auto checked = CheckUpload(upload); !checked) return Fail(checked.error());
  if (waits_) return;
  if (upload.submit.add_to == JobId() && !upload.known) {
    jobs_.known().Add(upload.job, caller_.user);
  }
  upload_ = std::move(upload);
}

// They lie behind the rows of all tasks.
void ClientRequest::On(wire::PutPieces pieces) {
  if (upload_->known || pieces.pieces.empty()) return;
  auto count = static_cast<uint32_t>(pieces.pieces.size());
  if (upload_->submit.add_to != JobId() || count > kMostPieces - upload_->pieces) {
    return session_.Breach("more pieces of files than a job may have");
  }
  store::Bundle bundle;
  bundle.rows.push_back({upload_->job, kFirstPieceRow + upload_->pieces, std::move(pieces.pieces)});
  upload_->pieces += count;
  jobs_.store().Append(std::move(bundle), jobs_.hub().Stored());
  session_.Pace();
}

void ClientRequest::On(wire::Rows rows) {
  if (upload_->known || rows.rows.empty()) return;
  auto count = static_cast<TaskIndex>(rows.rows.size());
  if (count > kLimits.tasks_per_job - upload_->next) {
    return session_.Breach("more tasks than a job may have");
  }
  const uint32_t most = jobs_.engine().RuleOf(caller_.user).max_queued;
  const TaskIndex tasks = upload_->next - upload_->grown_from + count;
  if (most > 0 && tasks > most) {
    return Refuse({.kind = ErrorKind::kExhausted,
                   .text = "",
                   .why = {{ReasonKind::kQueueIsFull, {most, tasks}, {}, {caller_.user}}}});
  }
  store::Bundle bundle;
  bundle.rows.push_back({upload_->job, upload_->next, std::move(rows.rows)});
  upload_->next += count;
  jobs_.store().Append(std::move(bundle), jobs_.hub().Stored());
  session_.Pace();
}

void ClientRequest::On(wire::Edges edges) {
  if (upload_->known) return;
  PackedEdges& all = upload_->packed;
  if (edges.edges.size() > kLimits.edges_per_job - all.size()) {
    return session_.Breach("more edges than a job may have");
  }
  const size_t before = all.memory();
  all.Add(edges.edges);
  KeepMore(all.memory() - before);
}

namespace {

// Checks the edges of `count` new tasks; before them are the tasks of the job that grows.
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
                     fmt::format("task {} depends on itself, directly or through other tasks",
                                 cycle.front() + known + 1));
}

}  // namespace

Status ClientRequest::CheckEnd(const Upload& upload, const wire::SubmitEnd& end) {
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

void ClientRequest::On(wire::SubmitEnd end) {
  auto ready = IsReady();
  if (ready && !*ready) return;
  upload_->edges = upload_->packed.All();
  if (auto sound = CheckEnd(*upload_, end); !sound) {
    return session_.Breach(sound.error().message);  // the upload goes with the connection
  }
  Upload upload = std::move(*upload_);
  upload_.reset();
  if (upload.known) {
    // It may be durable only a little later than this second try came.
    if (upload.submit.add_to == JobId()) return AwaitFirstTry(upload);
    const JobId job = upload.job;
    auto first = jobs_.engine().AdditionOf(job, upload.submit.submission);
    return jobs_.WhenSettled(
        Guarded([this, job, first = first.value_or(TaskIndex{0})] { Accepted(job, true, first); }));
  }
  const uint64_t most_kept = jobs_.kept().Leave(caller_.user, upload.job);
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
  Accept(std::move(upload), std::move(end), most_kept);
}

// Nothing of this second try was kept. The first one may have been refused meanwhile.
void ClientRequest::AwaitFirstTry(const Upload& upload) {
  auto first = jobs_.FindSubmission(upload.submit.submission);
  if (!first) return Fail(first.error());
  if (*first == upload.job) return AwaitAccepted(upload.job, true);
  Fail({ErrorKind::kBusy,
        "an earlier try of this submission was refused just now; submit it again"});
}

// ---- What a request needs first

// Once more with the request that waits for it.
std::function<void(Status)> ClientRequest::Continuation() {
  waits_ = true;
  return [this, alive = alive_](const Status& status) {
    if (!*alive) return;
    needed_ = status;
    waits_ = false;
    HandleNext();
  };
}

Result<bool> ClientRequest::IsThere(JobId job) {
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

Result<bool> ClientRequest::IsReady() {
  Upload& upload = *upload_;
  if (upload.known) return true;
  if (upload.submit.add_to != JobId()) return IsThere(upload.job);
  Status needed = std::exchange(needed_, {});
  if (!needed) return std::unexpected(needed.error());
  std::vector<JobId> jobs;
  for (const wire::Submit::After& after : upload.submit.after) {
    bool each = static_cast<AfterKind>(after.kind) == AfterKind::kEach;
    bool known = upload.readings.succeeded.contains(after.job);
    // Another user's job is not read, because it is refused then (CheckAfter).
    if (!each || known || !jobs_.CheckRight(caller_, after.job)) continue;
    if (jobs_.IsPast(after.job)) jobs.push_back(after.job);
  }
  if (jobs.empty()) return true;
  jobs_.ReadFor(std::move(jobs), caller_.user,
                [this, alive = alive_, again = Continuation()](auto read) {
                  if (*alive && read) upload_->readings.succeeded.merge(read->succeeded);
                  again(read ? Status() : std::unexpected(read.error()));
                });
  return false;
}

bool ClientRequest::MayKeep(const wire::Request& request, uint64_t bytes) {
  if (!upload_ || upload_->known || paid_ == Paid::kYes) return true;
  Status may = paid_ == Paid::kAsked ? std::exchange(needed_, {}) : jobs_.CheckRoom();
  const uint64_t most = jobs_.engine().RuleOf(caller_.user).max_output;
  if (may && paid_ == Paid::kNo && most > 0) {
    const bool is_stored = std::holds_alternative<wire::Rows>(request) ||
                           std::holds_alternative<wire::PutPieces>(request);
    const uint64_t before = std::exchange(upload_->unpaid, 0);
    const KeptBytes::Part part{.user = caller_.user,
                               .job = upload_->job,
                               .most = most,
                               .bytes = before + bytes,
                               .in_memory = before + (is_stored ? 0 : bytes),
                               .is_last = std::holds_alternative<wire::SubmitEnd>(request)};
    paid_ = Paid::kAsked;
    if (!jobs_.kept().Admit(part, Continuation())) return false;
    waits_ = false;
  }
  paid_ = Paid::kYes;
  if (!may) Fail(may.error());
  return may.has_value();
}

// Only a job's user may know which of its tasks succeed; everybody may know how the job ended.
Status ClientRequest::CheckAfter(const JobPlan& plan) const {
  for (const After& after : plan.after) {
    if (after.kind != AfterKind::kEach) continue;
    auto right = jobs_.CheckRight(caller_, after.job);
    if (!right) return Within("--after each", right.error());
  }
  return {};
}

void ClientRequest::Accept(Upload upload, wire::SubmitEnd end, uint64_t most_kept) {
  wire::Submit& submit = upload.submit;
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
  row.host = submit.host;
  if (row.host.empty()) {
    row.host = submit.submission.substr(caller_.user.size() + 1);
    row.host = row.host.substr(0, row.host.find('/'));
  }
  row.created = row.started = jobs_.loop().Wall();
  row.state = store::JobState::kQueued;
  row.submission = submit.submission;
  row.priority = submit.priority;
  row.keep_output = static_cast<int64_t>(std::min(submit.keep_output, most_kept));
  if (most_kept < submit.keep_output) row.keep_output = ~row.keep_output;
  row.counts.total = end.count;
  jobs_.known().SetName(row);
  if (HabitsOf(upload).public_tasks) jobs_.known().SetPublic(upload.job);
  jobs_.store().PutJob(std::move(row), jobs_.hub().Stored());
  engine::SubmitJob event{.job = upload.job, .plan = {}, .edges = std::move(upload.edges)};
  const bool has_gang =
      std::ranges::any_of(end.requests, [](const TaskClass& each) { return !each.gang.empty(); });
  event.expects_nodes = has_gang && jobs_.ExpectsNodes();
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

// For a new job the engine says it.
Why ClientRequest::WhyNever(const wire::SubmitEnd& end) const {
  for (const TaskClass& each : end.requests) {
    if (!each.deadline && each.gang.empty()) continue;
    Why why =
        jobs_.engine().WhyNeverRuns(caller_.user, each, jobs_.loop().Now(), jobs_.ExpectsNodes());
    if (!why.empty()) return why;
  }
  return {};
}

void ClientRequest::Grow(Upload upload, wire::SubmitEnd end) {
  JobId job = upload.job;
  auto refuse = [&](ErrorKind kind, Why why) {
    jobs_.EndGrow(job);
    jobs_.UnloadSoon(job);
    Refuse({.kind = kind, .text = "", .why = std::move(why)});
  };
  if (Why why = WhyNever(end); !why.empty()) return refuse(ErrorKind::kInvalid, std::move(why));
  if (Why why = jobs_.engine().WhyNotGrown(job, end.count); !why.empty()) {
    return refuse(ErrorKind::kExhausted, std::move(why));
  }
  // Adding to a named job means that it shall go on.
  bool goes_on = jobs_.known().Find(job)->finished;
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
                                   end.known_tasks,
                                   HabitsOf(upload).grows_by_name ? "" : upload.submit.submission});
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

void ClientRequest::AwaitAccepted(JobId job, bool known) {
  jobs_.WhenAccepted(job, [this, alive = alive_, job, known](const wire::Failed* failed) {
    if (!*alive) return;
    if (failed == nullptr) return Accepted(job, known);
    Send(*failed);
    Over();
  });
}

void ClientRequest::Accepted(JobId job, bool known, TaskIndex first) {
  Send(wire::Accepted{job, known, host_.nodes_joined(), first, jobs_.known().WhyStalled(job)});
  Over();
}

// ---- Questions ---------------------------------------------------------------------------------

// A user who asks much, or reads no answers, waits, and others do not.
void ClientRequest::On(wire::Query query) {
  if (!WaitsToAsk(query)) host_.OnQuery(*this, std::move(query));
}

bool ClientRequest::WaitsToAsk(const wire::Query& query) {
  if (!std::exchange(may_ask_, true)) {
    auto when = host_.WhenToAnswer(caller_, query);
    if (!when) {
      const Error& why = when.error();
      why.kind == ErrorKind::kCorrupt ? session_.BreachSoon(why.message) : Fail(why);
      return true;
    }
    if (*when > jobs_.loop().Now()) {
      jobs_.loop().At(*when, [again = Continuation()] { again({}); });
      return true;
    }
  }
  if (!session_.full()) return false;
  at_room_ = Continuation();
  return true;
}

// Administrators are not paced, because they keep the hub working.
Result<bool> ClientRequest::MayChange(uint64_t changes) {
  if (changes == 0 || caller_.is_admin || std::exchange(may_change_, true)) return true;
  const Instant now = jobs_.loop().Now();
  auto when =
      host_.readers().changes.Enter(caller_.user, kChange * static_cast<int64_t>(changes), now);
  if (!when) {
    return spate::Fail(ErrorKind::kBusy,
                       fmt::format("user {} has changed jobs so often that the hub's journal would "
                                   "grow without end; change them less often",
                                   caller_.user));
  }
  if (*when <= now) return true;
  jobs_.loop().At(*when, [again = Continuation()] { again({}); });
  return false;
}

void ClientRequest::On(wire::Watch watch) {
  if (watch.job == JobId()) {
    auto newest = jobs_.known().NewestOf(caller_.user);
    if (!newest) return Fail({ErrorKind::kNotFound, "you have no job on this hub yet"});
    watch.job = *newest;
  }
  if (jobs_.known().Find(watch.job) == nullptr) {
    return Fail({ErrorKind::kNotFound, fmt::format("no job {}", watch.job.value)});
  }
  // For any user's job: a client that waits for it would wait for ever.
  if (std::string damage = jobs_.known().Find(watch.job)->damage; !damage.empty()) {
    return Fail(
        {ErrorKind::kCorrupt, fmt::format("job {} is set aside: {}", watch.job.value, damage)});
  }
  Listen(watch.job);
  TellNews();
}

void ClientRequest::Listen(JobId job) {
  job_ = job;
  listening_ =
      jobs_.known().Listen(job, caller_.is_admin ? "" : caller_.user, [this] { TellNews(); });
}

void ClientRequest::TellNews() {
  const KnownJobs::Job* entry = jobs_.known().Find(job_);
  if (entry == nullptr) {
    return Fail({ErrorKind::kNotFound, fmt::format("job {} has been removed", job_.value)});
  }
  const bool finished = entry->finished;
  has_news_ = true;
  auto alive = alive_;
  if (follows_ && turn_ == 0 && HasRoom()) FollowOn();
  if (!*alive) return;
  // A client that takes nothing gets the newest when it does, and how many it has missed.
  if (!finished && !HasRoom()) {
    ++missed_;
    return;
  }
  wire::JobNews news = jobs_.NewsOf(job_, host_.nodes_joined());
  if (!finished) news.left = host_.LeftRunning(job_);
  news.missed = std::exchange(missed_, 0);
  Send(std::move(news));
  // A reader of its ends has heard the last one only when it says so: the job may go on meanwhile.
  if (finished && !follows_) Over();
}

void ClientRequest::On(wire::ReadEnds read) {
  if (auto right = jobs_.CheckUsable(caller_, read.job); !right) return Fail(right.error());
  Listen(read.job);
  follows_ = read;
  auto alive = alive_;
  Read(std::move(read));
  if (*alive) TellNews();
}

// The answer comes from the journal, and takes as long as it may.
void ClientRequest::Read(const wire::Request& request) {
  auto start = [this, request] { StartReader(request, jobs_.loop().Now()); };
  host_.readers().turns.Enter(caller_.user, caller_.is_admin, turn_, std::move(start));
}

// A hub without free descriptors or processes may have some a moment later.
void ClientRequest::StartReader(const wire::Request& request, Instant since) {
  Weigh(-weight_);
  auto answer = host_.readers().reader.Start(
      caller_, request,
      {.reply = [this](std::string_view reply) { PassOn(reply); },
       .ended = [this](std::optional<JournalReader::End> end) { ReaderEnded(end); }});
  if (answer) {
    answer_ = std::move(*answer);
    return;
  }
  if (answer.error().kind != ErrorKind::kExhausted) return Fail(answer.error());
  const Instant now = jobs_.loop().Now();
  if (!follows_ && now - since >= kReaderWait) {
    return Fail({ErrorKind::kBusy,
                 "the hub is short of open files or processes, so it cannot answer this now; try "
                 "again later, or ask its administrator to raise its limits (ulimit -n, -u)"});
  }
  stuck_ =
      jobs_.loop().At(now + kReaderAgain, [this, request, since] { StartReader(request, since); });
}

void ClientRequest::PassOn(std::string_view reply) {
  if (!*alive_) return;
  SendBytes(reply);
  if (HasRoom()) return;
  auto decoded = wire::DecodeReply(reply);
  if (!decoded || wire::IsLast(kind_, *decoded)) return;  // its end comes
  const auto* read = std::get_if<wire::EndsRead>(&*decoded);
  resumes_at_ = read == nullptr ? std::nullopt : std::optional(read->position);
  PauseReader(true);
}

void ClientRequest::PauseReader(bool paused) {
  jobs_.loop().Cancel(stuck_);
  if (!answer_) return;
  answer_->Pause(paused);
  if (!paused) {
    resumes_at_.reset();
    return;
  }
  const Duration patience = resumes_at_ ? kReaderIdle : kReaderPatience;
  stuck_ = jobs_.loop().At(jobs_.loop().Now() + patience, [this] { Stuck(); });
}

// Readers are few. Ends wait in the journal until the client has room for them; of other answers
// the reader alone knows the rest.
void ClientRequest::Stuck() {
  if (resumes_at_) {
    follows_->after = *std::exchange(resumes_at_, std::nullopt);
    has_news_ = true;
    answer_.reset();
    return LeaveTurn();
  }
  if (!host_.readers().turns.HasWaiting()) return PauseReader(true);
  Fail({ErrorKind::kBusy, "the answer was not read for a minute while others waited"});
}

void ClientRequest::ReaderEnded(std::optional<JournalReader::End> end) {
  if (!*alive_) return;
  jobs_.loop().Cancel(stuck_);
  resumes_at_.reset();
  answer_.reset();
  LeaveTurn();
  if (!end) return Fail({ErrorKind::kIo, "the hub's reader failed; see the hub's log"});
  if (!follows_ || !end->position) return Over();
  follows_->after = *end->position;
  if (has_news_ && HasRoom()) FollowOn();
}

void ClientRequest::LeaveTurn() { host_.readers().turns.Leave(std::exchange(turn_, 0)); }

// A request that reads a job's ends has a reader only while there is something to read.
void ClientRequest::FollowOn() {
  has_news_ = false;
  Read(wire::Request(*follows_));
}

}  // namespace spate::hub
