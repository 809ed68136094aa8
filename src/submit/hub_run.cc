// `spate run --hub`: a submit, with the job's output and its bar on this screen until it has ended.
//
//   INT once     goes away, and tells how to come back; the job goes on      exit 130
//   INT twice    cancels the job                                             exit 130
//
// A job that has stopped (--halt, --max-failures, all tasks fail) ends it, as it ends `spate run`.
// A connection that is lost is made again, and the output goes on where it was.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/report.h"
#include "os/file.h"
#include "os/signals.h"
#include "os/temp_dir.h"
#include "os/terminal.h"
#include "plan/job_text.h"
#include "present/advice.h"
#include "present/text/end_text.h"
#include "run/job_feed.h"
#include "submit/hub_submit.h"
#include "submit/hub_wait.h"
#include "submit/row_file.h"
#include "view/failures.h"
#include "view/run_view.h"
#include "view/summary.h"

namespace spate::submit {
namespace {

// How long the first Ctrl-C waits for a second one.
constexpr Duration kSecondThoughts = Duration::Seconds(2);

// A file of a task's long output, removed with the last who needs it.
struct SpoolFile {
  explicit SpoolFile(std::string where) : path(std::move(where)) {}
  ~SpoolFile() { (void)os::RemoveFile(path); }
  std::string path;
};

// A job of a hub, by a subscription to its ends.
class HubFeed final : public run::JobFeed {
 public:
  HubFeed(client::HubCall& call, const client::HubSetting& setting,
          const cli::SubmitOptions& options, Submission& submission, JobId job)
      : call_(call),
        loop_(call.loop()),
        here_(setting.here),
        reach_(setting.reach),
        resume_(setting.resume),
        options_(options),
        submission_(submission),
        job_(job) {
    counts_.total = counts_.queued = submission.end.count;
  }

  Result<std::unique_ptr<cli::RunView>> MakeView(cli::Screen& screen) override;
  cli::RunStart Start() override {
    return {job_, submission_.head.name, 0, false, false, counts_, {}, loop_.Now()};
  }
  Result<Followed> Follow(cli::RunView& view) override;
  uint32_t Tick(uint64_t) override { return counts_.leased; }
  void OnUnwritable(const Error&, bool) override {
    output_closed_ = true;
    call_.Interrupt();
  }
  Result<int> Leave() override { return goes_on_ ? GoAway() : code_; }

 private:
  // Until the connection ends (an error), or the job has.
  Result<cli::RunFinish> Stream();
  Status KeepPiece(const wire::Printed& piece);
  void DecodeEnds(wire::EndsRead& read);
  void DrainNews(const wire::JobNews& news);
  void TakeLeftRunning(const wire::JobNews& news);
  // The journal has told of every end that the hub has counted.
  bool AllRead() const;
  TaskOutputPtr Whole(const TaskOutputPtr& output);
  cli::RunFinish Finish(const wire::JobNews& news);
  int GoAway();
  Status Cancel();

  client::HubCall& call_;
  os::RealLoop& loop_;
  const client::Surroundings& here_;
  const std::string& reach_;
  const std::string& resume_;
  const cli::SubmitOptions& options_;
  Submission& submission_;
  const JobId job_;
  os::TempDir spools_;
  RowFile rows_;
  cli::RunView* view_ = nullptr;
  JobCounts counts_;
  uint64_t position_ = 0;
  uint64_t ends_ = 0;                       // of tasks, not of attempts that were tried again
  std::optional<uint64_t> old_ends_;        // those there were at the first news
  int task_code_ = 0;                       // of the last task that failed
  uint32_t held_ = 0;                       // as was told
  std::string told_;                        // why nothing is started: its KeyOfWait
  std::string shown_;                       // the same as the bar has it
  std::map<AttemptRef, std::string> left_;  // left running, as was told
  uint64_t spooled_ = 0;
  std::shared_ptr<SpoolFile> pieces_[2];  // of the next end's long output
  bool output_closed_ = false;
  bool goes_on_ = false;  // without us
  int code_ = 0;
  uint64_t damaged_ = 0;  // tasks whose output cannot be read
};

Result<std::unique_ptr<cli::RunView>> HubFeed::MakeView(cli::Screen& screen) {
  const JobSettings& settings = *submission_.head.settings;
  if (auto kept = rows_.Write(submission_.rows, spools_.Path("rows")); !kept) {
    TellItContinues(job_, reach_);  // it was accepted
    return std::unexpected(kept.error());
  }
  submission_.rows = nullptr;
  submission_.edges = {};
  submission_.pieces = {};
  auto texts = TRY(run::MakeTexts({.settings = settings,
                                   .options = options_.run,
                                   .job = job_,
                                   .cwd = here_.cwd,
                                   .row = [this](TaskIndex index) { return rows_.Row(index); }}));
  cli::ViewParts parts{screen,
                       std::move(texts),
                       options_.run.show,
                       options_.run.state_dir,
                       options_.run.sources.files,
                       settings.value_names,
                       settings.record_values,
                       false,
                       here_.cwd,
                       spools_.path(),
                       /*beside_hub=*/false,
                       /*on_hub=*/true,
                       reach_};
  return cli::MakeRunView(std::move(parts), [this](const Error& error) {
    cli::PrintMessage(error.message);
    OnUnwritable(error, false);
  });
}

Status HubFeed::KeepPiece(const wire::Printed& piece) {
  auto& file = pieces_[piece.stream == 2];
  if (!file) file = std::make_shared<SpoolFile>(spools_.Path(fmt::format("{}", ++spooled_)));
  auto fd = TRY(os::OpenWrite(file->path, os::OpenHow::kAppend, 0600));
  return os::WriteAll(fd.get(), piece.bytes, file->path);
}

// With the pieces that came before it.
TaskOutputPtr HubFeed::Whole(const TaskOutputPtr& output) {
  auto first = std::exchange(pieces_[0], nullptr);
  auto second = std::exchange(pieces_[1], nullptr);
  if (!output || (!first && !second)) return output;
  TaskOutput whole = *output;
  for (auto [file, stream] : {std::pair{first, &whole.out}, {second, &whole.err}}) {
    if (!file) continue;
    auto info = os::Stat(file->path);
    stream->spool = file->path;
    stream->total = info ? info->size : 0;
  }
  return {new TaskOutput(std::move(whole)),
          [first, second](const TaskOutput* each) { delete each; }};
}

void HubFeed::DecodeEnds(wire::EndsRead& read) {
  for (size_t i = 0; i < read.ends.ends.size(); ++i) {
    auto verdict = read.verdicts[i];
    if (EndsTask(verdict) && verdict != engine::Verdict::kCancelled) ++ends_;
    if (verdict == engine::Verdict::kFailed) {
      task_code_ = cli::ExitCodeOfTask(read.ends.ends[i]);
    }
    const TaskOutputPtr output = Whole(read.ends.outputs[i]);
    if (read.ends.ends[i].not_kept == NotKept::kDamaged) ++damaged_;
    view_->OnEnded({std::move(read.ends.ends[i]), verdict, output, loop_.Now()});
  }
  position_ = read.position;
  // Ends from before this program came, as of a job that is resumed, come all at once.
  if (old_ends_.value_or(0) == 0 || ends_ < *old_ends_) return;
  old_ends_ = 0;
  view_->OnNews(cli::PaceBegins{}, loop_.Now());
}

// A hold by the job's own rule is told as `run` tells it; all else in words that name the job.
void HubFeed::DrainNews(const wire::JobNews& news) {
  counts_ = news.counts;
  if (!old_ends_) old_ends_ = uint64_t{counts_.succeeded} + counts_.failed + counts_.unknown;
  Instant now = loop_.Now();
  TakeLeftRunning(news);
  auto reason = static_cast<engine::HoldReason>(news.held);
  bool by_rule = news.held != 0 && reason != engine::HoldReason::kUser;
  bool ending = reason == engine::HoldReason::kHaltRule &&
                options_.run.policy.halt.when == HaltRule::When::kNow;
  if (std::exchange(held_, news.held) != news.held) {
    if (by_rule || news.held == 0)
      view_->OnNews(cli::HoldNews{reason, counts_.leased, ending}, now);
  }
  std::string why = by_rule ? "" : WhyNot(news, reach_);
  const std::string key = why.empty() ? "" : KeyOfWait(news);
  if (!why.empty() && key != told_) view_->OnNews(cli::Remark{why, false}, now);
  told_ = key;
  // Elsewhere a remark is enough.
  if (why != shown_ && os::LookAtTerminal(os::kStderr, here_.environment).is_terminal) {
    view_->OnNews(cli::StartsPaused{why.empty() ? "" : BriefWhyNot(news)}, now);
  }
  shown_ = std::move(why);
}

// To the view these are news of tasks, which it forgets when it hears of their ends.
void HubFeed::TakeLeftRunning(const wire::JobNews& news) {
  std::map<AttemptRef, std::string> now;
  for (const LeftRunningFacts& left : news.left) {
    if (left.task == 0) continue;
    AttemptRef ref{job_, left.task - 1, Attempt(static_cast<uint16_t>(left.attempt))};
    now[ref] = fmt::format("{} on {}", left.processes, left.node);
  }
  for (const auto& [ref, processes] : now) {
    auto told = left_.find(ref);
    if (told != left_.end() && told->second == processes) continue;
    view_->OnNews(cli::TaskLeftRunning{ref, processes}, loop_.Now());
  }
  for (const auto& [ref, processes] : left_) {
    if (!now.contains(ref)) view_->OnNews(cli::TaskLeftRunning{ref, ""}, loop_.Now());
  }
  left_ = std::move(now);
}

bool HubFeed::AllRead() const {
  return ends_ >= uint64_t{counts_.succeeded} + counts_.failed + counts_.unknown;
}

Result<cli::RunFinish> HubFeed::Stream() {
  auto ends = TRY(call_.Begin(wire::ReadEnds{job_, position_}));
  bool all_read = false;
  wire::JobNews last;
  while (!all_read) {
    if (HasStopped(last) && AllRead()) return Finish(last);
    auto reply = TRY(call_.Next(*ends));
    if (auto* news = std::get_if<wire::JobNews>(&reply)) {
      DrainNews(*news);
      last = std::move(*news);
    } else if (auto* piece = std::get_if<wire::Printed>(&reply)) {
      TRY(KeepPiece(*piece));
    } else if (auto* read = std::get_if<wire::EndsRead>(&reply)) {
      DecodeEnds(*read);
      all_read = read->finished;
    } else if (auto* failed = std::get_if<wire::Failed>(&reply)) {
      return std::unexpected(client::ErrorOf(*failed));
    }
  }
  // The journal may tell of the last end before the hub tells the job's counts.
  if (!last.finished) {
    auto watch = TRY(call_.Begin(wire::Watch{job_}));
    while (!last.finished) {
      last = TRY(call_.NextNews(*watch));
      DrainNews(last);
    }
  }
  return Finish(last);
}

cli::RunFinish HubFeed::Finish(const wire::JobNews& news) {
  auto how = news.finished ? cli::RunEnd::kFinished : cli::RunEnd::kHalted;
  cli::RunFinish finish{how, counts_, loop_.Now()};
  if (counts_.failed + counts_.cancelled > 0) {
    JobDetails details = cli::AskDetails(call_, job_);
    finish.blamed = std::move(details.blamed);
    if (auto why = details.job.why_cancelled) {
      view_->OnNews(cli::Remark{"cancelled: " + *why, true}, loop_.Now());
    }
  }
  std::vector<NotKeptFacts> not_kept = news.not_kept;
  if (damaged_ > 0) not_kept.push_back({NotKept::kDamaged, damaged_});
  const int lost = cli::TellNotKept(job_, not_kept, [&](std::string text) {
    view_->OnNews(cli::Remark{std::move(text), true}, loop_.Now());
  });
  code_ = std::max(WaitedCode(options_.run.policy.halt, news), lost);
  const bool is_task = counts_.total == 1 && counts_.failed == 1 && task_code_ > 0;
  if (code_ == cli::kExitTasksFailed && is_task) code_ = task_code_;
  return finish;
}

int HubFeed::GoAway() {
  if (output_closed_) return cli::kExitOutputClosed;
  if (!resume_.empty()) {
    fmt::print(stderr, "spate: stopped, {} of {} ended; to continue: {}\n",
               FormatCount(std::max<uint64_t>(counts_.finished(), ends_)),
               present::CountOf(counts_.total, "task"), resume_);
    return cli::kExitInterrupted;
  }
  fmt::print(
      stderr,
      "spate: job {} continues without this terminal, {} of {} ended; to watch it: {}; to end it: "
      "{}, or Ctrl-C within {:.0f} s\n",
      job_.value, FormatCount(std::max<uint64_t>(counts_.finished(), ends_)),
      present::CountOf(counts_.total, "task"),
      present::TextOf(Advice("job progress", job_.value), reach_),
      present::TextOf(Advice("job cancel", job_.value), reach_), kSecondThoughts.seconds());
  call_.Resume();
  call_.Pause(kSecondThoughts);
  if (!call_.interrupted()) return cli::kExitInterrupted;
  call_.Resume();
  auto cancelled = Cancel();
  fmt::print(
      stderr, "spate: job {} {}\n", job_.value,
      cancelled ? "is cancelled" : "continues: " + present::TextOf(cancelled.error(), reach_));
  return cli::kExitInterrupted;
}

Status HubFeed::Cancel() {
  wire::Cancel question;
  question.jobs.ranges = {{job_.value, job_.value, 1}};
  auto cancelled = client::QueryOne(call_, std::move(question));
  return cancelled ? Status() : std::unexpected(cancelled.error());
}

Result<run::JobFeed::Followed> HubFeed::Follow(cli::RunView& view) {
  view_ = &view;
  Patience patience(call_);
  for (;;) {
    uint64_t before = position_;
    auto finish = Stream();
    if (finish) return Followed{std::move(*finish)};
    if (position_ != before) patience.Heard();
    pieces_[0] = pieces_[1] = nullptr;
    const bool again = patience.Again(finish.error(), [this](std::string text) {
      view_->OnNews(cli::Remark{std::move(text), false}, loop_.Now());
    });
    goes_on_ = call_.interrupted();
    if (goes_on_) return Followed{{cli::RunEnd::kInterrupted, counts_, loop_.Now()}, true};
    if (!again) return std::unexpected(std::move(finish.error()));
  }
}

}  // namespace

Result<int> FollowJob(client::HubCall& call, const client::HubSetting& setting,
                      const cli::SubmitOptions& options, Submission& submission, JobId job) {
  HubFeed feed(call, setting, options, submission, job);
  return run::ShowJob(call.loop(), setting.here.environment, feed);
}

}  // namespace spate::submit
