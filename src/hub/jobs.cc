#include "hub/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "core/model/ranges.h"
#include "hub/same_tasks.h"
#include "wire/client_codec.h"
#include "wire/field_bytes.h"

namespace spate::hub {
namespace {

const char* ReasonOf(engine::HoldReason reason) {
  switch (reason) {
    case engine::HoldReason::kHaltRule:
      return "its --halt stopped it";
    case engine::HoldReason::kMaxFailures:
      return "its failed tasks have reached --max-failures";
    case engine::HoldReason::kAllFail:
      return "25 attempts of its tasks failed in a row, and none has succeeded";
    case engine::HoldReason::kDamaged:
      return "some of it is damaged";
    case engine::HoldReason::kResults:
      return "its program has results to take first";
    default:
      return "a user requested it";
  }
}

Result<std::vector<TaskRange>> ReadSucceeded(const store::JobReader& reader, JobId job) {
  engine::Engine past;
  (void)TRY(reader.ReplayJob(job, [&](const engine::Record& record) { past.Apply(record); }));
  std::vector<TaskRange> succeeded;
  auto counts = past.Counts(job);
  for (TaskIndex i = 0; counts && i < counts->total; ++i) {
    if (past.StateOf(job, i) == TaskState::kSucceeded) AppendIndex(succeeded, i);
  }
  return succeeded;
}

}  // namespace

Jobs::Jobs(Parts parts)
    : parts_(std::move(parts)),
      known_(parts_.loop, parts_.store, engine(),
             parts_.one_job ? KnownJobs::Rows::kOfOwner : KnownJobs::Rows::kWritten) {}

Status Jobs::Load(KnownJobs::PublicRule rule) {
  parts_.hub.SetSettingsSource([this](JobId job) { return ReadSettings(job); });
  return known_.Load(std::move(rule));
}

void Jobs::Stop() {
  stopping_ = true;
  known_.Flush();
}

Status Jobs::CheckRight(const Caller& caller, JobId job) const {
  const KnownJobs::Job* entry = known_.Find(job);
  if (entry == nullptr) {
    return Fail(ErrorKind::kNotFound, fmt::format("no job {} on this hub", job.value));
  }
  if (caller.is_admin || entry->user == caller.user) return {};
  return Fail(ErrorKind::kPermission,
              fmt::format("job {} belongs to {}; only they and administrators may do that",
                          job.value, entry->user));
}

Status Jobs::CheckUsable(const Caller& caller, JobId job) const {
  TRY(CheckRight(caller, job));
  const KnownJobs::Job* entry = known_.Find(job);
  if (entry->damage.empty()) return {};
  return Fail(ErrorKind::kCorrupt,
              fmt::format("job {} is damaged and was excluded; to save its undamaged parts, stop "
                          "the hub",
                          job.value),
              Remedy(" and run {}; to remove it: {}", Advice("state salvage"),
                     Advice("job forget", job.value)));
}

wire::JobNews Jobs::NewsOf(JobId job, uint32_t nodes_joined) {
  const KnownJobs::Job& entry = *known_.Find(job);
  wire::JobNews news{.job = job,
                     .counts = entry.counts,
                     .finished = entry.finished,
                     .held = static_cast<uint32_t>(entry.held),
                     .nodes = nodes_joined,
                     .why = known_.WhyStalled(job)};
  // The entry may be a little older than its hold: who waits would see that nothing runs.
  if (!entry.finished) news.counts = known_.Counts(job).value_or(entry.counts);
  if (!entry.finished && news.held == 0) return news;
  auto rows = parts_.store.ReadJobsBetween(job, job, 1);
  if (rows && !rows->empty()) news.not_kept = std::move(rows->front().not_kept);
  return news;
}

void Jobs::WhenAccepted(JobId job, std::function<void(const wire::Failed*)> fn) {
  if (known_.Find(job) != nullptr) return parts_.loop.Post([fn = std::move(fn)] { fn(nullptr); });
  awaiting_.emplace(job, std::move(fn));
}

Result<std::optional<JobId>> Jobs::FindSubmission(const std::string& submission) const {
  auto found = parts_.store.FindSubmission(submission);
  if (!found || !*found || !known_.IsHidden(**found)) return found;
  JobId job = **found;
  // The journal has been told to drop the others, and does so before it takes anything new.
  bool waits =
      std::ranges::any_of(forgetting_, [&](const auto& each) { return each.first == job; });
  if (!waits) return std::nullopt;
  return Fail(ErrorKind::kBusy,
              fmt::format("job {}, which this submission made, is being removed from the hub; "
                          "submit it again in a moment",
                          job.value));
}

void Jobs::DropUpload(JobId job) {
  known_.Drop(job);
  if (stopping_) return;
  known_.Hide(job, true);
  parts_.store.ForgetJob(job, parts_.hub.Stored([this, job] { known_.Hide(job, false); }));
}

void Jobs::TellAccepted(JobId job, const wire::Failed* failed) {
  auto [first, last] = awaiting_.equal_range(job);
  std::vector<std::function<void(const wire::Failed*)>> waiting;
  for (auto each = first; each != last; ++each) waiting.push_back(std::move(each->second));
  awaiting_.erase(first, last);
  for (auto& fn : waiting) fn(failed);
}

void Jobs::WhenSettled(std::function<void()> fn) {
  // Posted events are stepped in an earlier turn of the loop, and commits are in order.
  parts_.loop.Post([this, fn = std::move(fn)] { parts_.hub.WhenDurable(fn); });
}

void Jobs::ReadFor(std::vector<JobId> jobs, const std::string& user,
                   std::function<void(Result<Readings>)> done) {
  parts_.aside.Do(user,
                  [reader = parts_.store.Reader(), jobs = std::move(jobs),
                   done = std::move(done)]() -> Aside::Then {
                    Result<Readings> readings;
                    for (JobId job : jobs) {
                      auto succeeded = ReadSucceeded(*reader, job);
                      if (!succeeded)
                        return [done, error = succeeded.error()] { done(std::unexpected(error)); };
                      readings->succeeded[job] = std::move(*succeeded);
                    }
                    return [done, readings = std::move(readings)] { done(readings); };
                  });
}

void Jobs::ReadKept(const std::string& user, std::set<JobId> arriving,
                    std::function<void(Result<uint64_t>)> done) {
  WhenSettled([this, user, arriving = std::move(arriving), done = std::move(done)] {
    parts_.aside.Do(user, [reader = parts_.store.Reader(), user, arriving, done]() -> Aside::Then {
      return [done, kept = reader->KeptOf(user, arriving)] { done(kept); };
    });
  });
}

bool Jobs::IsPast(JobId job) const {
  const KnownJobs::Job* entry = known_.Find(job);
  return entry != nullptr && entry->damage.empty() && !engine().Counts(job);
}

Status Jobs::FillOutcomes(engine::SubmitJob& event, const Readings& readings) const {
  for (const After& after : event.plan.after) {
    const KnownJobs::Job* job = known_.Find(after.job);
    if (job == nullptr) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("--after: no job {} on this hub", after.job.value));
    }
    if (!job->damage.empty()) {
      return Fail(ErrorKind::kCorrupt,
                  fmt::format("--after: job {} is damaged, and nobody knows how it ended",
                              after.job.value));
    }
    if (engine().Counts(after.job)) continue;
    engine::JobOutcome outcome{after.job, job->counts, {}};
    if (after.kind == AfterKind::kEach) outcome.succeeded = readings.succeeded.at(after.job);
    event.outcomes.push_back(std::move(outcome));
  }
  return {};
}

Result<TaskIndex> Jobs::BeginGrow(JobId job, const JobSettings& added) {
  auto counts = engine().Counts(job);
  if (!counts) return Fail(ErrorKind::kNotFound, fmt::format("job {} has ended", job.value));
  auto settings = TRY(parts_.hub.SettingsOf(job));
  TRY(CheckSameTasks(job, *settings, added));
  if (!growing_.insert(job).second) {
    return Fail(ErrorKind::kBusy,
                fmt::format("another user is adding tasks to job {}; try again later", job.value));
  }
  return engine().TaskCount(job);
}

void Jobs::Reopen(JobId job, std::vector<TaskRange> tasks, NeedsChange change, bool succeeded) {
  parts_.hub.Post(engine::ReopenTasks{job, std::move(tasks), std::move(change), succeeded});
  parts_.hub.Post(engine::ReleaseJob{job});
  known_.Reopened(job);
}

void Jobs::ChangePolicy(JobId job, const std::function<void(JobPolicy&)>& change) {
  auto next = next_policies_.find(job);
  if (next == next_policies_.end()) {
    next = next_policies_.emplace(job, *engine().Policy(job)).first;
  }
  const std::string before = wire::BytesOf(next->second);
  change(next->second);
  if (wire::BytesOf(next->second) == before) return;
  parts_.hub.Post(engine::ChangePolicy{job, next->second});
  // The hub's step was scheduled before.
  parts_.loop.Post([this] { next_policies_.clear(); });
}

Result<UserRule> Jobs::ChangeUser(const std::string& user, const UserChange& change) {
  auto next = next_rules_.find(user);
  auto rule =
      TRY(change.AppliedTo(next == next_rules_.end() ? engine().RuleOf(user) : next->second));
  next_rules_[user] = rule;
  parts_.hub.Post(engine::SetUser{user, rule});
  parts_.loop.Post([this] { next_rules_.clear(); });
  return rule;
}

bool Jobs::KnowsRule(const std::string& user) const {
  return next_rules_.contains(user) || engine().HasRule(user);
}

void Jobs::BeginWithdraw(JobId job) {
  if (engine().Held(job) != engine::HoldReason::kNone) return;
  parts_.hub.Post(engine::HoldJob{job, false});
  withdrawing_.insert(job);
}

void Jobs::EndWithdraw(JobId job) {
  if (withdrawing_.erase(job) == 0) return;
  parts_.hub.Post(engine::ReleaseJob{job});
}

void Jobs::ForgetJob(JobId job, std::function<void()> done) {
  TellRevived(job, Fail(ErrorKind::kNotFound,
                        fmt::format("job {} is being removed from the hub", job.value)));
  known_.Drop(job);
  known_.Hide(job, true);
  forgetting_.emplace_back(job, std::move(done));
  ForgetNext();
}

// A few at a time: what others have the journal write comes in between.
void Jobs::ForgetNext() {
  for (; !forgetting_.empty() && forgotten_now_ < parts_.forgets_at_once; forgetting_.pop_front()) {
    ++forgotten_now_;
    auto& [job, done] = forgetting_.front();
    parts_.store.ForgetJob(job, parts_.hub.Stored([this, job, then = std::move(done)] {
      --forgotten_now_;
      known_.Hide(job, false);
      then();
      ForgetNext();
    }));
  }
}

Result<std::shared_ptr<const JobSettings>> Jobs::ReadSettings(JobId job) const {
  auto row = TRY(parts_.store.ReadJob(job));
  auto settings = wire::DecodeSettings(row.settings);
  if (!settings) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("its settings are damaged: {}", settings.error().message));
  }
  return std::make_shared<const JobSettings>(std::move(*settings));
}

void Jobs::Revive(JobId job, const std::string& user, std::function<void(Status)> done) {
  auto& waiting = reviving_[job];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  parts_.aside.Do(user, [this, job, reader = parts_.store.Reader()]() -> Aside::Then {
    auto past = std::make_shared<engine::Engine>();
    auto output =
        reader->ReplayJob(job, [&](const engine::Record& record) { past->Apply(record); });
    return [this, job, past, output] {
      if (!output) return TellRevived(job, std::unexpected(output.error()));
      // Nobody else takes it up meanwhile; it may have been removed.
      bool taken = reviving_.contains(job) && parts_.hub.Reload(job, *past);
      if (taken) parts_.store.SetOutputEnd(job, *output);
      TellRevived(job, taken ? Status() : Fail(ErrorKind::kBusy, "the job changes; try again"));
    };
  });
}

void Jobs::TellRevived(JobId job, const Status& status) {
  auto waiting = reviving_.extract(job);
  if (waiting.empty()) return;
  for (const auto& tell : waiting.mapped()) tell(status);
}

Status Jobs::ChangeSettings(JobId job, const std::function<void(JobSettings&)>& change) {
  if (!engine().Finished(job)) {
    return Fail(ErrorKind::kBusy,
                fmt::format("job {} has not ended; its --time-limit can be changed once it has",
                            job.value));
  }
  auto row = TRY(parts_.store.ReadJob(job));
  auto settings = TRY(wire::DecodeSettings(row.settings));
  change(settings);
  row.settings = wire::EncodeSettings(settings);
  parts_.store.PutJob(std::move(row), parts_.hub.Stored());
  // Its row is read no sooner than what follows from it.
  parts_.hub.SetSettings(job, std::make_shared<const JobSettings>(std::move(settings)));
  return {};
}

// ---- What the hub tells ------------------------------------------------------------------------

void Jobs::OnHubNotice(const engine::Notice& notice) {
  if (const auto* accepted = std::get_if<engine::NoticeAccepted>(&notice)) {
    known_.Accepted(accepted->job);
    TellAccepted(accepted->job, nullptr);
  } else if (const auto* refused = std::get_if<engine::NoticeRefused>(&notice)) {
    wire::Failed failed{.kind = refused->may_later ? ErrorKind::kExhausted : ErrorKind::kInvalid,
                        .text = "",
                        .why = refused->why};
    DropUpload(refused->job);
    TellAccepted(refused->job, &failed);
  } else if (const auto* released = std::get_if<engine::NoticeReleased>(&notice)) {
    known_.Held(released->job, engine::HoldReason::kNone);
  } else if (const auto* returned = std::get_if<engine::NoticeReturned>(&notice)) {
    known_.Changed(returned->job);
  }
}

void Jobs::OnEnded(const engine::NoticeEnded& notice) {
  ++ends_[static_cast<size_t>(notice.verdict)];
  if (notice.end.cause == Cause::kNode && !IsDiskFull(notice.end)) ++lost_ends_;
  known_.Changed(notice.end.ref.job);
}

void Jobs::OnHeld(const engine::NoticeHeld& notice) {
  known_.Held(notice.job, notice.reason);
  // The damage, and what helps, was told when it was found.
  bool told = notice.reason == engine::HoldReason::kUser ||
              notice.reason == engine::HoldReason::kDamaged ||
              notice.reason == engine::HoldReason::kResults;  // its program tells
  if (!told) {
    parts_.log({fmt::format("job {} is held: {}; its user can release it", notice.job.value,
                            ReasonOf(notice.reason)),
                Remedy(": {}", Advice("job release", notice.job.value))});
  }
}

void Jobs::OnFinished(const engine::NoticeFinished& notice) {
  // Between the commit and now it may have been given more to do.
  if (!engine().Finished(notice.job)) return;
  known_.Finished(notice.job, notice.counts);
  UnloadSoon(notice.job);
}

// Not within a notice, nor while an event waits that may take the job up again, or wait for it.
void Jobs::UnloadSoon(JobId job) {
  static constexpr Duration kAgain = Duration::Millis(1);
  if (parts_.one_job) return;
  parts_.loop.Post([this, job] {
    if (!engine().Finished(job) || parts_.hub.Unload(job)) return;
    parts_.loop.At(parts_.loop.Now() + kAgain, [this, job] { UnloadSoon(job); });
  });
}

// Every lease that meets the damage is told; the job is held once.
void Jobs::OnRowsDamaged(JobId job, const Error& error) {
  if (engine().Held(job) == engine::HoldReason::kDamaged) return;
  parts_.log(fmt::format("job {} is held: {}", job.value, error.message));
  // Without its settings no task can run, and a release would only find the same again.
  if (ReadSettings(job)) {
    const Advice cancel("job cancel", fmt::format("{}.FIRST-LAST", job.value));
    parts_.log({"to continue without these tasks",
                Remedy(": {}, then {}", cancel, Advice("job release", job.value))});
  } else {
    parts_.log(
        {"nothing of it can run; to end it", Remedy(": {}", Advice("job cancel", job.value))});
  }
  parts_.hub.Post(engine::HoldJob{job, false, engine::HoldReason::kDamaged});
}

}  // namespace spate::hub
