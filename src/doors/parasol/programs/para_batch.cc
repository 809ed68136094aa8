#include "doors/parasol/programs/para_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "doors/parasol/formats/job_list.h"

namespace spate::parasol {
namespace {

constexpr int32_t kLost = 3;                 // as Parasol has it in the file
constexpr std::string_view kNotYet = "n/a";  // host and file of what waits, likewise

uint64_t NumberOf(std::string_view id) { return ReadNumber<uint64_t>(id).value_or(0); }

bool IsOpen(const ParasolSubmission& submission) {
  return !submission.got_status && !submission.hung && !submission.submit_error &&
         !submission.queue_error;
}

}  // namespace

ParaBatch::ParaBatch(std::vector<ParasolJob> jobs, uint64_t tries)
    : jobs_(std::move(jobs)), tries_(tries) {
  FindOpen();
}

ParasolSubmission& ParaBatch::SubmissionOf(const Open& open) {
  auto& submissions = jobs_[open.job].submissions;
  return submissions[submissions.size() - 1 - open.place];
}

void ParaBatch::FindOpen() {
  open_.clear();
  in_hub_ = 0;
  for (uint32_t job = 0; job < jobs_.size(); ++job) {
    const auto& submissions = jobs_[job].submissions;
    for (uint32_t place = 0; place < submissions.size(); ++place) {
      const ParasolSubmission& submission = submissions[submissions.size() - 1 - place];
      if (!IsOpen(submission)) continue;
      bool lost = submission.tracking_error != 0;
      open_.push_back({.id = NumberOf(submission.id), .job = job, .place = place, .lost = lost});
      in_hub_ += !lost;
    }
  }
  if (!std::ranges::is_sorted(open_, {}, &Open::id)) std::ranges::stable_sort(open_, {}, &Open::id);
}

void ParaBatch::Insert(uint32_t job, uint64_t id, int64_t now, bool added) {
  auto& submissions = jobs_[job].submissions;
  ParasolSubmission submission;
  submission.id = fmt::format_int(id).str();
  submission.submitted = now;
  submission.in_queue = true;
  submission.host = submission.err_file = kNotYet;
  submissions.insert(submissions.begin(), std::move(submission));
  Open open{.id = id, .job = job, .place = static_cast<uint32_t>(submissions.size() - 1)};
  open.added = added;
  open_.insert(std::ranges::upper_bound(open_, id, {}, &Open::id), open);
  ++in_hub_;
}

void ParaBatch::Add(const BatchHub::Submitted& submitted) {
  if (submitted.job >= jobs_.size()) return;
  auto job = static_cast<uint32_t>(submitted.job);
  std::string id = fmt::format_int(submitted.id).str();
  auto same = [&](const ParasolSubmission& known) { return known.id == id; };
  if (std::ranges::any_of(jobs_[job].submissions, same)) return;
  Insert(job, submitted.id, submitted.submitted, true);
  counted_ = false;
}

ParaBatch::Open* ParaBatch::OpenOf(uint64_t id) {
  Open* found = nullptr;
  auto at = std::ranges::lower_bound(open_, id, {}, &Open::id);
  for (; at != open_.end() && at->id == id; ++at) {
    if (!at->ended) found = &*at;
  }
  return found;
}

void ParaBatch::Close(Open& open) {
  in_hub_ -= !open.lost;
  open.ended = true;
}

ParaBatch::Taken ParaBatch::AcceptEnd(ParasolEnd end, const WhyFileFails& why) {
  Taken taken;
  Open* open = OpenOf(NumberOf(end.id));
  if (open == nullptr) return taken;
  taken.open = true;
  const ParasolJob& job = jobs_[open->job];
  ParasolSubmission& submission = SubmissionOf(*open);
  submission.host = std::move(end.host);
  submission.cpu_seconds = static_cast<double>(end.user_ticks + end.system_ticks) / 100;
  submission.submitted = end.submitted;
  submission.started = end.started;
  submission.ended = end.ended;
  submission.status = end.status;
  submission.got_status = true;
  submission.in_queue = submission.running = submission.slow = false;
  submission.tracking_error = 0;
  submission.err_file = std::move(end.err_file);
  if (end.status == 0) {
    taken.checked = std::ranges::count(job.checks, CheckWhen::kOut, &Check::when) > 0;
    taken.messages = FailedChecks(job.checks, CheckWhen::kOut, why);
  }
  submission.ran_ok = end.status == 0 && taken.messages.empty();
  submission.crashed = !submission.ran_ok;
  Close(*open);
  if (open->lost) {
    counted_ = false;
  } else if (IsNewest(*open)) {
    CountEnded(open->job);
  }
  return taken;
}

void ParaBatch::FindLost(const BatchHub::State& state) {
  std::erase_if(open_, [](const Open& open) { return open.ended; });
  auto range = state.unended.begin();
  for (Open& open : open_) {
    while (range != state.unended.end() && range->last < open.id) ++range;
    bool there = range != state.unended.end() && range->first <= open.id;
    if (there != open.lost) continue;
    open.lost = !there;
    SubmissionOf(open).tracking_error = there ? 0 : kLost;
    if (there) {
      ++in_hub_;
      counted_ = false;
    } else {
      --in_hub_;
      if (IsNewest(open)) CountEnded(open.job);
    }
  }
}

void ParaBatch::SetHung(const BatchHub::Running& running) {
  Open* open = OpenOf(running.id);
  if (open == nullptr) return;
  ParasolSubmission& submission = SubmissionOf(*open);
  submission.host = running.host;
  submission.started = running.started;
  submission.in_queue = submission.running = submission.slow = false;
  submission.hung = true;
  Close(*open);
  if (IsNewest(*open)) CountEnded(open->job);
}

bool ParaBatch::Mark(const BatchHub::State& state, int64_t now, int64_t warn_minutes) {
  auto running = state.running.begin();
  bool more = false;
  for (const Open& open : open_) {
    if (open.ended) continue;
    while (running != state.running.end() && running->id < open.id) ++running;
    ParasolSubmission& submission = SubmissionOf(open);
    submission.running = running != state.running.end() && running->id == open.id;
    submission.in_queue = !submission.running && !open.lost;
    submission.host = submission.running ? running->host : std::string(kNotYet);
    const int64_t started = submission.running ? running->started : 0;
    const bool was = submission.slow && submission.started == started;
    submission.started = started;
    submission.slow = submission.running && (was || now - started > warn_minutes * 60);
    more |= submission.slow && !was;
  }
  return more;
}

bool ParaBatch::DropLost(Lost which) {
  bool dropped = false;
  for (const Open& open : open_) {
    if (!open.lost || open.ended || (which == Lost::kAdded && !open.added)) continue;
    dropped = true;
    std::erase_if(jobs_[open.job].submissions, [&](const ParasolSubmission& submission) {
      return submission.tracking_error != 0 &&
             (which == Lost::kAll || NumberOf(submission.id) == open.id);
    });
  }
  if (!dropped) return false;
  FindOpen();
  counted_ = false;
  return true;
}

void ParaBatch::CountEnded(uint32_t job) {
  if (!counted_) return;
  const auto& submissions = jobs_[job].submissions;
  size_t tries = submissions.size();
  if (tries > 0 && !NeedsRerun(submissions.front())) {
    done_ += submissions.front().ran_ok;
  } else if (tries >= tries_) {
    failed_ = failed_.value_or(job);
  } else {
    waiting_.resize(std::max(waiting_.size(), tries + 1));
    waiting_[tries].jobs.push_back(job);
  }
}

void ParaBatch::Count() {
  if (counted_) return;
  counted_ = true;
  waiting_.clear();
  done_ = 0;
  failed_.reset();
  for (uint32_t job = 0; job < jobs_.size(); ++job) CountEnded(job);
}

std::vector<uint32_t> ParaBatch::Next(uint64_t most) {
  Count();
  std::vector<uint32_t> next;
  for (const Waiting& same : waiting_) {
    size_t count = std::min<uint64_t>(most - next.size(), same.jobs.size() - same.next);
    auto first = same.jobs.begin() + static_cast<std::ptrdiff_t>(same.next);
    next.insert(next.end(), first, first + static_cast<std::ptrdiff_t>(count));
  }
  return next;
}

void ParaBatch::SetSubmitted(uint64_t count, uint64_t first, int64_t now) {
  Count();
  for (Waiting& same : waiting_) {
    for (; count > 0 && same.next < same.jobs.size(); ++same.next, --count) {
      Insert(same.jobs[same.next], first++, now);
    }
    if (same.next < same.jobs.size()) return;
    same = {};
  }
}

}  // namespace spate::parasol
