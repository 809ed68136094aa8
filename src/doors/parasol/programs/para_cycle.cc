// A cycle: Refresh, then perhaps Push, then perhaps Save. What the hub has is asked first, and what
// has ended is read after that: whatever is in neither of them is lost.

#include "doors/parasol/programs/para_cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "doors/parasol/formats/hub_report.h"
#include "doors/parasol/formats/results.h"
#include "doors/parasol/programs/para_talk.h"
#include "os/file.h"

namespace spate::parasol {
namespace {

constexpr Duration kHaltLook = Duration::Seconds(1);
constexpr Duration kTurnLook = Duration::Millis(20);
constexpr Duration kResultsLag = Duration::Seconds(1), kResultsLook = Duration::Millis(50);
constexpr uint64_t kTurnLooksInSilence = 5;  // each of them waits a while by itself
constexpr int kMostSurprises = 10;           // of one push

}  // namespace

void ParaCycle::TellTime(std::string_view step) {
  Instant began = std::exchange(step_began_, now());
  if (options().verbose < 2) return;
  ParaWarn(fmt::format("{}: {} millis", step, (step_began_ - began).millis()));
}

Status WaitForTurn(const ParaOptions& options, ParaFolder& folder, BatchHub& hub) {
  for (uint64_t look = 0;; ++look) {
    Status locked = folder.Lock(options.words[0]);
    if (locked || locked.error().kind != ErrorKind::kBusy) return locked;
    if (look == kTurnLooksInSilence) {
      ParaTalk(options, locked.error().message + "; waiting for it");
    }
    TRY(hub.Pause(kTurnLook));
  }
}

Status ParaCycle::TakeTurn() {
  TRY(WaitForTurn(options(), parts_.folder, parts_.hub));
  if (!loaded_) return {};
  Status seen = SeeHalt();
  if (seen && !parts_.folder.IsAsRead()) seen = Load();
  if (!seen) EndTurn();
  return seen;
}

Status ParaCycle::SeeHalt() {
  auto marks = TRY(parts_.folder.ReadHubMarks());
  if (marks.halts != marks_.halts) halted_by_ = marks.halted_by;
  return {};
}

Status ParaCycle::Halt() {
  Status told = parts_.folder.Halt(options().words[0]);
  if (told && loaded_) ++marks_.halts;
  return told;
}

Error ParaCycle::HaltError() {
  size_t done = batch_.CountDone(), all = batch_.jobs().size();
  if (halted_by_ == "create") {
    return {ErrorKind::kBusy, "another para has created the batch again; this one has ended"};
  }
  return {ErrorKind::kBusy, fmt::format("para {} has ended this run: {} of {} jobs are done; para "
                                        "shove continues with the others",
                                        halted_by_, done, all)};
}

Status ParaCycle::Load() {
  step_began_ = now();
  auto stored = TRY(parts_.folder.Read());
  // Halts are counted from when the batch was read first.
  if (loaded_) {
    stored.marks.halts = marks_.halts;
    stored.marks.halted_by = marks_.halted_by;
  }
  marks_ = stored.marks;
  batch_ = ParaBatch(std::move(stored.jobs), parts_.options.tries);
  loaded_ = true;
  changed_ = checked_ = false;
  TellTime("read batch");
  return {};
}

void ParaCycle::TellJobs() const {
  ParaTalk(parts_.options, fmt::format("{} jobs in batch", batch_.jobs().size()));
}

void ParaCycle::TellQueue() const {
  ParaTalk(options(), fmt::format("{} jobs (including everybody's) in Parasol queue or running.",
                                  state_.everybody));
  // Also with -verbose=0, as in Parasol.
  std::string sick = state_.sick ? SickBatchText(state_.failures_in_row) : "";
  if (sick.ends_with('\n')) sick.pop_back();
  if (!sick.empty()) ParaWarn(sick);
  ParaTalk(options(), "Checking finished jobs");
}

void ParaCycle::TellHeld() const {
  if (state_.held == JobId()) return;
  ParaWarn(
      fmt::format("the batch is held; to release it: spate job release {}", state_.held.value));
}

void ParaCycle::TellChecks() {
  for (const std::string& message : messages_) ParaWarn(message);
  messages_.clear();
}

Status ParaCycle::Refresh(For what) {
  step_began_ = now();
  auto state = TRY(what == For::kReport ? parts_.hub.QueryForReport() : parts_.hub.QueryState());
  state_ = std::move(state);
  TRY(AcceptSubmitted());
  TellTime("ask hub");
  caught_up_ = parts_.hub.CatchUp();
  // When there is no file at all, reports say so.
  if (!caught_up_ && os::Exists(parts_.folder.Results())) return caught_up_;
  TRY(AcceptResults());
  batch_.FindLost(state_);
  if (state_.of_owner) TRY(LookAsReader());
  TellTime("read results");
  return {};
}

// Takes in the submissions of a push that was killed, or whose answer was lost.
Status ParaCycle::AcceptSubmitted() {
  if (state_.of_owner) marks_.known = 0;  // ours is of another batch
  if (state_.submitted < marks_.known) {
    marks_.known = 0;
    forgotten_ = true;
  }
  if (state_.submitted == marks_.known) return {};
  auto submitted = TRY(parts_.hub.SubmittedFrom(marks_.known));
  // Later ones are not in the state.
  submitted.resize(std::min<uint64_t>(submitted.size(), state_.submitted - marks_.known));
  for (const BatchHub::Submitted& one : submitted) batch_.Add(one);
  marks_.known = state_.submitted;
  changed_ = true;
  return {};
}

Status ParaCycle::AcceptResults() {
  ParaDots dots(options());
  auto take = [&](std::string_view lines, uint64_t offset) {
    ReadResultsResult read = ReadResults(lines, parts_.folder.Results(), offset);
    for (ParasolEnd& end : read.ends) {
      ParaBatch::Taken taken = batch_.AcceptEnd(std::move(end), parts_.why_file_fails);
      changed_ |= taken.open;
      checked_ |= taken.checked;
      if (taken.checked) dots.Step();
      std::ranges::move(taken.messages, std::back_inserter(messages_));
    }
    std::ranges::move(read.damage, std::back_inserter(messages_));
  };
  auto bytes = TRY(parts_.folder.ReadResults(marks_.results, take));
  marks_.results = bytes;
  return {};
}

// Only its owner knows which submissions the batch has dropped, and writes the results: a moment
// after the hub has the ends.
Status ParaCycle::LookAsReader() {
  batch_.DropLost(ParaBatch::Lost::kAdded);
  for (const Instant until = now() + kResultsLag; batch_.AnyLost() && now() < until;) {
    TRY(parts_.hub.Pause(kResultsLook));
    TRY(AcceptResults());
    batch_.FindLost(state_);
  }
  return {};
}

Status ParaCycle::GiveUpHung() {
  if (options().kill_minutes == 0) return {};
  std::vector<uint64_t> ids;
  std::vector<BatchHub::Running> hung;
  for (const BatchHub::Running& running : state_.running) {
    if (seconds() - running.started <= options().kill_minutes * 60) continue;
    ids.push_back(running.id);
    hung.push_back(running);
  }
  if (ids.empty()) return {};
  TRY(parts_.hub.Remove(ids));
  for (const BatchHub::Running& running : hung) {
    batch_.SetHung(running);
    ParaTalk(options(), fmt::format("killed hung jobId: {}", running.id));
  }
  // Later it would only be lost.
  changed_ = checked_ = true;
  return {};
}

// How many of them are retries.
Result<uint64_t> ParaCycle::Submit(const std::vector<uint32_t>& jobs) {
  if (forgotten_) {
    // Else, were this to end before Save, the file would count these submissions as known.
    TRY(parts_.folder.ForgetHub());
    forgotten_ = false;
  }
  uint64_t retries = 0;
  std::vector<BatchHub::Submission> submissions;
  submissions.reserve(jobs.size());
  for (uint32_t job : jobs) {
    retries += batch_.IsRetry(job);
    ParasolJob& what = batch_.mutable_jobs()[job];
    if (what.cpus == 0) what.cpus = options().cpus;
    if (what.ram == 0) what.ram = options().ram;
    submissions.push_back({job, &what});
  }
  int64_t now = seconds();
  auto first = TRY(parts_.hub.Submit(submissions, marks_.known, options().job_dir, now));
  batch_.SetSubmitted(jobs.size(), first, now);
  marks_.known += jobs.size();
  changed_ = true;
  return retries;
}

// Between two submissions of a push. Of what another para has written since, the hub and the
// results tell the rest.
Status ParaCycle::LetOthers() {
  EndTurn();
  Status paused;
  Instant until = now() + Duration::Seconds(options().delay_seconds);
  while (paused && halted_by_.empty() && now() < until) {
    paused = parts_.hub.Pause(std::min(kHaltLook, until - now()));
    if (paused) paused = SeeHalt();
  }
  bool was_changed = changed_;
  Status again = TakeTurn();
  if (!paused) return paused;
  if (!again || !was_changed || changed_) return again;
  TRY(Refresh());
  return caught_up_;
}

uint64_t ParaCycle::MostPushed() const {
  const ParaOptions& options = parts_.options;
  uint64_t room = options.max_queue - std::min(options.max_queue, state_.everybody);
  return std::min(options.max_push, std::max(options.min_push, room));
}

Result<ParaCycle::Pushed> ParaCycle::Push() {
  Pushed pushed;
  bool one_by_one = options().delay_seconds > 0;
  int surprises = 0;
  for (uint64_t most = MostPushed(); halted_by_.empty();) {
    auto jobs = batch_.Next(one_by_one ? std::min<uint64_t>(1, most) : most);
    if (jobs.empty()) break;
    step_began_ = now();
    auto retries = Submit(jobs);
    TellTime("submit jobs");
    if (!retries && retries.error().kind == ErrorKind::kExists && ++surprises < kMostSurprises) {
      // A killed push was heard by the hub after we looked.
      TRY(Refresh());
      if (!caught_up_) return std::unexpected(caught_up_.error());
      continue;
    }
    if (!retries) return std::unexpected(std::move(retries.error()));
    pushed.jobs += jobs.size();
    pushed.retries += *retries;
    most -= jobs.size();
    if (!one_by_one || batch_.Next(std::min<uint64_t>(1, most)).empty()) break;
    TRY(LetOthers());
  }
  return pushed;
}

void ParaCycle::TellPushed(const Pushed& pushed) const {
  if (pushed.jobs > 0) ParaTalk(parts_.options, fmt::format("Pushed Jobs: {}", pushed.jobs));
  if (pushed.retries > 0) ParaTalk(parts_.options, fmt::format("Retried jobs: {}", pushed.retries));
}

void ParaCycle::DropLost() { changed_ |= batch_.DropLost(); }

void ParaCycle::DropAll() {
  state_.unended.clear();
  state_.running.clear();
  batch_.FindLost(state_);
  DropLost();
}

void ParaCycle::ChangeJobs(const std::function<void(ParasolJob&)>& change) {
  std::ranges::for_each(batch_.mutable_jobs(), change);
  changed_ = true;
}

Status ParaCycle::Save() {
  Mark();
  if (!changed_) return {};
  step_began_ = now();
  auto written = parts_.folder.Write(batch_.jobs(), marks_);
  if (written) changed_ = checked_ = false;
  TellTime("write batch");
  return written;
}

Status PushOnce(ParaCycle& cycle) {
  TRY(cycle.Refresh());
  if (!cycle.caught_up()) return cycle.caught_up();
  cycle.TellQueue();
  cycle.TellChecks();
  Status done = cycle.GiveUpHung();
  ParaCycle::Pushed pushed;
  if (done && !cycle.state().sick) {
    auto result = cycle.Push();
    if (result) {
      pushed = *result;
    } else {
      done = std::unexpected(std::move(result.error()));
    }
  }
  // All that was found out and submitted is kept, whatever went wrong then.
  Status saved = cycle.folder().locked() ? cycle.Save() : Status();
  if (!done) return done;
  if (!saved) return saved;
  ParaTalk(cycle.options(), "updated job database on disk");
  cycle.TellPushed(pushed);
  cycle.TellHeld();
  return {};
}

}  // namespace spate::parasol
