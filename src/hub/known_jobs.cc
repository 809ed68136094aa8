#include "hub/known_jobs.h"

#include <algorithm>
#include <utility>

#include "wire/client_codec.h"

namespace spate::hub {
namespace {

constexpr Duration kWriteEvery = Duration::Seconds(1);
constexpr size_t kNameBytes = 100;
// Nodes come and go without a word to the jobs that wait for them.
constexpr Duration kLookEvery = Duration::Millis(500);
constexpr int kLooksAtOnce = 20;
// A job is given its first tasks sooner, where anything is free.
constexpr Duration kIdleFor = Duration::Millis(1500);

store::JobState StateOf(const KnownJobs::Job& job) {
  if (job.finished) return store::JobState::kFinished;
  if (job.held != engine::HoldReason::kNone) return store::JobState::kHeld;
  return job.started ? store::JobState::kRunning : store::JobState::kQueued;
}

}  // namespace

KnownJobs::KnownJobs(os::Loop& loop, store::HubStore& store, const engine::Engine& engine,
                     Rows rows)
    : loop_(loop), store_(store), engine_(engine), rows_(rows) {}

KnownJobs::~KnownJobs() {
  loop_.Cancel(tell_timer_);
  loop_.Cancel(write_timer_);
  loop_.Cancel(look_timer_);
  loop_.Cancel(past_timer_);
}

KnownJobs::Job KnownJobs::FromRow(const store::JobRow& row) const {
  Job job;
  job.user = row.user;
  job.name = store::NameOf(row).substr(0, kNameBytes);
  job.since = row.started;
  job.counts = row.counts;
  job.accepted = true;
  job.finished = row.last_seq != 0;
  job.started = row.counts.finished() > 0;
  job.ended = row.ended;
  if (public_rule_) job.is_public.reset();
  return job;
}

Status KnownJobs::Load(PublicRule rule) {
  public_rule_ = std::move(rule);
  auto rows = TRY(store_.ReadJobs(store::WhichJobs::kUnfinished));
  for (const store::JobRow& row : rows) {
    Job& job = jobs_[row.job] = FromRow(row);
    if (auto counts = engine_.Counts(row.job)) {
      job.counts = *counts;
      job.held = engine_.Held(row.job);
      job.finished = engine_.Finished(row.job);
    }
    job.started = row.state == store::JobState::kRunning || job.counts.finished() > 0;
    if (store_.damaged().contains(row.job)) continue;
    // The last life may have ended before it wrote down what had changed.
    if (!job.finished && StateOf(job) != row.state) Changed(row.job);
  }
  for (const auto& [id, what] : store_.damaged()) {
    Job& job = jobs_[id];
    job.accepted = true;
    job.damage = what;
    if (job.user.empty()) continue;  // the row itself is damaged, and nobody changes that
    store_.PutProgress({id, store::JobState::kDamaged, std::nullopt, std::nullopt, job.counts},
                       nullptr);
  }
  return {};
}

bool KnownJobs::IsPublic(JobId id, const Job& job) const {
  if (!job.is_public) {
    auto row = store_.ReadJob(id);
    auto settings = wire::DecodeSettings(row ? row->settings : "");
    job.is_public = row && settings && public_rule_(settings->row_kind);
  }
  return *job.is_public;
}

// From now on the journal knows it all; unless it goes on already.
void KnownJobs::Leave(JobId job) {
  auto at = jobs_.find(job);
  if (at != jobs_.end() && at->second.finished) jobs_.erase(at);
}

std::optional<KnownJobs::Job> KnownJobs::Read(JobId id) const {
  auto rows = store_.ReadJobsBetween(id, id, 1);
  if (rows && rows->empty()) return std::nullopt;
  if (rows && rows->front().damage.empty()) return FromJournal(rows->front());
  if (!rows && rows.error().kind != ErrorKind::kCorrupt) return std::nullopt;
  Job damaged;  // nobody's, for nobody knows whose
  damaged.accepted = damaged.finished = true;
  damaged.damage = rows ? rows->front().damage : rows.error().message;
  return damaged;
}

std::optional<KnownJobs::Job> KnownJobs::FromJournal(const store::JobRow& row) const {
  if (row.first_seq == 0) return std::nullopt;
  Job job = FromRow(row);
  if (auto from = counted_from_.find(row.job); from != counted_from_.end()) {
    job.counted_from = from->second;
  }
  return job;
}

const KnownJobs::Job* KnownJobs::Cache(JobId id, Job job) const {
  if (past_timer_ == 0) {
    past_timer_ = loop_.At(loop_.Now(), [this] {
      past_timer_ = 0;
      past_.clear();
    });
  }
  return &past_.try_emplace(id, std::move(job)).first->second;
}

const KnownJobs::Job* KnownJobs::Find(JobId job) const {
  auto at = jobs_.find(job);
  if (at != jobs_.end()) return at->second.accepted ? &at->second : nullptr;
  if (hidden_.contains(job)) return nullptr;
  if (auto past = past_.find(job); past != past_.end()) return &past->second;
  auto read = Read(job);
  return read ? Cache(job, std::move(*read)) : nullptr;
}

void KnownJobs::Prepare(JobId first, JobId last, size_t most) const {
  auto rows = store_.ReadJobsBetween(first, last, most);
  if (!rows) return;  // Find meets it again
  for (const store::JobRow& row : *rows) {
    bool is_past = !jobs_.contains(row.job) && !hidden_.contains(row.job);
    if (!is_past || !row.damage.empty()) continue;
    if (auto job = FromJournal(row)) Cache(row.job, std::move(*job));
  }
}

std::optional<JobId> KnownJobs::NewestOf(const std::string& user) const {
  auto newest = store_.NewestOf(user).value_or(std::nullopt);
  for (auto at = jobs_.rbegin(); at != jobs_.rend(); ++at) {
    if (newest && at->first < *newest) break;
    if (at->second.accepted && at->second.user == user) return at->first;
  }
  return newest;
}

std::vector<JobId> KnownJobs::UnfinishedOf(const std::string& user, bool everybody) const {
  std::vector<JobId> all;
  for (const auto& [id, job] : jobs_) {
    bool counts = job.accepted && !job.finished && job.damage.empty();
    if (counts && (everybody || job.user == user)) all.push_back(id);
  }
  return all;
}

std::vector<engine::JobInfo> KnownJobs::Unfinished() const {
  std::vector<engine::JobInfo> jobs = engine_.Jobs();
  std::erase_if(
      jobs, [&](const engine::JobInfo& job) { return job.finished || Find(job.job) == nullptr; });
  std::ranges::sort(jobs, {}, &engine::JobInfo::job);
  return jobs;
}

std::vector<JobId> KnownJobs::UnfinishedFrom(JobId from, size_t most) const {
  std::vector<JobId> jobs;
  for (auto at = jobs_.lower_bound(from); at != jobs_.end() && jobs.size() < most; ++at) {
    const auto& [id, job] = *at;
    if (job.accepted && !job.finished && !IsHidden(id) && engine_.Counts(id)) jobs.push_back(id);
  }
  return jobs;
}

std::vector<JobId> KnownJobs::Between(JobId first, JobId last, size_t most) const {
  // Some of what the journal has is not there for anybody.
  size_t more = most > SIZE_MAX - hidden_.size() ? most : most + hidden_.size();
  auto found = store_.JobsBetween(first, last, more).value_or(std::vector<JobId>());
  std::erase_if(found, [&](JobId id) {
    auto known = jobs_.find(id);
    return IsHidden(id) || (known != jobs_.end() && !known->second.accepted);
  });
  if (found.size() > most) found.resize(most);
  return found;
}

std::vector<JobId> KnownJobs::AllJobs() const {
  return Between(JobId(1), JobId(UINT32_MAX), SIZE_MAX);
}

std::vector<JobId> KnownJobs::EndedBefore(Instant when, size_t most,
                                          const std::string& user) const {
  auto ended = store_.EndedBefore(when, most, user).value_or(std::vector<JobId>());
  if (!ended.empty()) {
    auto [first, last] = std::ranges::minmax(ended);
    Prepare(first, last, ended.size());
  }
  std::erase_if(ended, [&](JobId id) {
    const Job* job = Find(id);
    return job == nullptr || !job->finished || !job->ended || *job->ended >= when;
  });
  return ended;
}

void KnownJobs::Add(JobId job, std::string user) { jobs_[job].user = std::move(user); }

void KnownJobs::SetName(const store::JobRow& row) {
  jobs_[row.job].name = store::NameOf(row).substr(0, kNameBytes);
  jobs_[row.job].since = loop_.Now();
}

void KnownJobs::Drop(JobId job) {
  jobs_.erase(job);
  past_.erase(job);
  counted_from_.erase(job);
}

void KnownJobs::Hide(JobId job, bool hidden) {
  if (hidden) {
    hidden_.insert(job);
  } else if (auto at = hidden_.find(job); at != hidden_.end()) {
    hidden_.erase(at);
  }
}

void KnownJobs::Accepted(JobId job) {
  jobs_[job].accepted = true;
  // Its row was written when it came, and says what there is to say.
  changed_.insert(job);
  Schedule();
}

void KnownJobs::Changed(JobId job) {
  if (!jobs_.contains(job)) {
    // It may have been given more to do just before the news of its end.
    bool goes_on = engine_.Counts(job) && !engine_.Finished(job);
    return goes_on ? Reopened(job) : void();
  }
  changed_.insert(job);
  unwritten_.insert(job);
  Schedule();
}

void KnownJobs::Held(JobId job, engine::HoldReason reason) {
  if (auto at = jobs_.find(job); at != jobs_.end() && at->second.held == reason) return;
  Changed(job);
  if (auto at = jobs_.find(job); at != jobs_.end()) at->second.held = reason;
}

void KnownJobs::Finished(JobId job, const JobCounts& counts) {
  Job& entry = jobs_[job];
  past_.erase(job);
  entry.counts = counts;
  entry.finished = true;
  entry.ended = loop_.Wall();
  entry.held = engine::HoldReason::kNone;
  // Its row was written with its last record, so that whoever is told may ask the journal.
  unwritten_.erase(job);
  changed_.erase(job);
  Notify(job);
  Leave(job);
}

void KnownJobs::Reopened(JobId job) {
  if (!jobs_.contains(job)) {
    auto read = Read(job);
    if (!read) return;
    read->since = loop_.Now() - (loop_.Wall() - read->since);
    jobs_[job] = std::move(*read);
  }
  jobs_[job].finished = false;
  Changed(job);
}

void KnownJobs::ResetCounts(JobId job) {
  const Job* entry = Find(job);
  if (entry == nullptr) return;
  JobCounts counts = engine_.Counts(job).value_or(entry->counts);
  counted_from_[job] = counts;
  if (auto at = jobs_.find(job); at != jobs_.end()) at->second.counted_from = counts;
}

std::vector<JobId> KnownJobs::WithResetCounts(JobId from, size_t most) const {
  std::vector<JobId> jobs;
  for (auto at = counted_from_.lower_bound(from); at != counted_from_.end(); ++at) {
    if (jobs.size() == most) break;
    if (Find(at->first) != nullptr) jobs.push_back(at->first);
  }
  return jobs;
}

std::optional<JobCounts> KnownJobs::Counts(JobId job) const {
  auto counts = engine_.Counts(job);
  if (!counts || !count_running_ || engine_.Held(job) != engine::HoldReason::kNone) return counts;
  const uint32_t running = count_running_(job, counts->leased).value_or(counts->leased);
  counts->queued += counts->leased - running;
  counts->leased = running;
  return counts;
}

// For certain: not if its tasks only may run, on a node that has not told or while it is held.
bool KnownJobs::HasStarted(JobId job, const JobCounts& counts) const {
  if (counts.finished() > 0 || counts.leased == 0) return counts.finished() > 0;
  return !count_running_ || count_running_(job, counts.leased).value_or(0) > 0;
}

void KnownJobs::Schedule() {
  if (tell_timer_ == 0) {
    tell_timer_ = loop_.At(loop_.Now() + kTellEvery, [this] { TellChanged(); });
  }
  if (write_timer_ == 0 && rows_ == Rows::kWritten) {
    write_timer_ = loop_.At(loop_.Now() + kWriteEvery, [this] {
      write_timer_ = 0;
      Flush();
    });
  }
}

void KnownJobs::Flush() {
  for (JobId job : std::exchange(unwritten_, {})) {
    if (rows_ == Rows::kOfOwner) continue;
    Job& entry = jobs_[job];
    if (entry.finished || !entry.accepted) continue;
    if (auto counts = Counts(job)) entry.counts = *counts;
    store_.PutProgress({.job = job,
                        .state = StateOf(entry),
                        .started = std::nullopt,
                        .ended = std::nullopt,
                        .counts = entry.counts},
                       nullptr);
  }
}

void KnownJobs::ClockStepped() {
  for (const auto& [id, job] : jobs_) {
    if (!job.accepted || job.finished || !job.damage.empty() || job.since.ns == 0) continue;
    const bool of_hub = rows_ == Rows::kWritten;
    store_.PutProgress({.job = id,
                        .state = of_hub ? StateOf(job) : store::JobState::kRunning,
                        .started = loop_.ToWall(job.since),
                        .ended = std::nullopt,
                        .counts = Counts(id).value_or(job.counts)},
                       nullptr);
  }
}

// The listeners that have waited longest come first.
void KnownJobs::TellChanged() {
  tell_timer_ = 0;
  told_.clear();
  for (uint64_t id : std::exchange(untold_, {})) {
    auto at = listeners_.find(id);
    if (at == listeners_.end()) continue;
    at->second.is_untold = false;
    TellListener(id);
  }
  for (JobId job : std::exchange(changed_, {})) Notify(job);
}

uint64_t KnownJobs::Listen(JobId job, std::string user, Listener fn) {
  uint64_t id = ++last_listener_;
  if (!user.empty()) ++listeners_of_[user];
  listeners_[id] = {.job = job, .user = std::move(user), .fn = std::move(fn)};
  by_job_.emplace(job, id);
  if (look_timer_ == 0) {
    look_timer_ = loop_.At(loop_.Now() + kLookEvery, [this] { LookAtWaiting(); });
  }
  return id;
}

size_t KnownJobs::ListenersOf(const std::string& user) const {
  auto of_user = listeners_of_.find(user);
  return of_user == listeners_of_.end() ? 0 : of_user->second;
}

const Why& KnownJobs::WhyStalled(JobId job) {
  static const Why kNothing;
  auto at = jobs_.find(job);
  if (at == jobs_.end()) return kNothing;
  Job& entry = at->second;
  Instant now = loop_.Now();
  if (entry.finished || entry.held != engine::HoldReason::kNone) {
    entry.stalled.clear();
    entry.looked = Instant();
  } else if (now - entry.looked >= kLookEvery) {
    entry.stalled = engine_.WhyStalled(job, now);
    if (add_reasons_) entry.stalled = add_reasons_(job, std::move(entry.stalled));
    const auto info = engine_.Info(job);
    const JobCounts counts = Counts(job).value_or(JobCounts());
    const bool idle = info && (info->cancelled || (counts.queued > 0 && counts.leased == 0));
    entry.idle_since = idle ? std::min(entry.idle_since, now) : Instant::Never();
    if (idle && entry.stalled.empty() && now - entry.idle_since >= kIdleFor) {
      entry.stalled = engine_.WhyWaits(job, now);
    }
    entry.looked = now;
  }
  return entry.stalled;
}

// A few at a time, one after another: each looks at all nodes.
void KnownJobs::LookAtWaiting() {
  look_timer_ = 0;
  for (int i = 0; i < kLooksAtOnce && !by_job_.empty(); ++i) {
    auto next = by_job_.upper_bound({last_looked_, UINT64_MAX});
    if (next == by_job_.end()) {
      last_looked_ = JobId();
      break;
    }
    last_looked_ = next->first;
    auto at = jobs_.find(last_looked_);
    if (at == jobs_.end()) continue;
    const Why before = at->second.stalled;
    if (WhyStalled(last_looked_) != before) Notify(last_looked_);
  }
  if (by_job_.empty()) return;
  look_timer_ = loop_.At(loop_.Now() + kLookEvery, [this] { LookAtWaiting(); });
}

void KnownJobs::Unlisten(uint64_t id) {
  auto at = listeners_.find(id);
  if (at == listeners_.end()) return;
  by_job_.erase({at->second.job, id});
  auto of_user = listeners_of_.find(at->second.user);
  if (of_user != listeners_of_.end() && --of_user->second == 0) listeners_of_.erase(of_user);
  listeners_.erase(at);
}

void KnownJobs::Notify(JobId job) {
  auto entry = jobs_.find(job);
  if (entry == jobs_.end()) return;
  if (!entry->second.finished) {
    if (auto counts = Counts(job)) entry->second.counts = *counts;
    entry->second.started |= HasStarted(job, entry->second.counts);
  }
  // A listener may go while others are told.
  std::vector<uint64_t> ids;
  auto each = by_job_.lower_bound({job, 0});
  for (; each != by_job_.end() && each->first == job; ++each) ids.push_back(each->second);
  for (uint64_t id : ids) TellListener(id);
}

void KnownJobs::TellListener(uint64_t id) {
  auto at = listeners_.find(id);
  if (at == listeners_.end()) return;
  const std::string& user = at->second.user;
  if (at->second.is_untold || (!user.empty() && ++told_[user] > kTellsOfUser)) {
    if (!std::exchange(at->second.is_untold, true)) untold_.push_back(id);
    return Schedule();
  }
  Listener fn = at->second.fn;
  fn();
}

}  // namespace spate::hub
