// Runs a prepared job: a JobFeed of the hub in this process.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/report.h"
#include "core/model/ranges.h"
#include "forward/shared_files.h"
#include "node/process_executor.h"
#include "os/file.h"
#include "plan/job_text.h"
#include "plan/this_machine.h"
#include "present/text/end_text.h"
#include "run/job_feed.h"
#include "run/job_input.h"
#include "run/prepared_job.h"
#include "run/whose_jobs.h"
#include "store/sqlite/job_journal.h"
#include "store/sqlite/prune.h"
#include "view/joblog.h"
#include "view/output_pieces.h"
#include "view/results_table.h"
#include "view/results_tree.h"
#include "view/run_view.h"

namespace spate::run {
namespace {

// ---- What a killed run did not deliver ----

// A kill can come between a task's durable end and its line in --joblog or its files in --results.
// The task will not run again, so what is missing there is made from the journal when the job is
// taken up (JobRun::DeliverLate).

constexpr uint64_t kInMemory = 256 << 10;  // of a stream; longer ones go through a file

// A stream of a task's output, as the journal kept it. What `owner` holds must live as long.
Result<OutputStream> StreamOf(store::JobJournal& history, const store::AttemptEntry& attempt,
                              store::Stream stream, const std::string& spill_folder,
                              std::shared_ptr<cli::SpillFile>& owner) {
  OutputStream output;
  Status spilled;
  TRY(history.ReadOutput(attempt, stream, [&](std::string_view bytes, uint64_t) {
    output.total += bytes.size();
    if (!owner && output.total > kInMemory) {
      auto made = cli::SpillFile::Make(spill_folder);
      spilled =
          made ? (*made)->Append(std::exchange(output.bytes, {})) : std::unexpected(made.error());
      if (made) owner = std::move(*made);
    }
    if (!spilled) return;
    if (owner) {
      spilled = owner->Append(bytes);
    } else {
      output.bytes += bytes;
    }
  }));
  if (!spilled) return std::unexpected(spilled.error());
  if (owner) output.spool = owner->path();
  return output;
}

// Shows the last ends of tasks, as the journal has them, to a view.
struct Shown {
  bool with_output = false;
  std::string spill_folder;
};
Status Show(store::JobJournal& history, const std::vector<TaskRange>& tasks, const Shown& what,
            cli::RunView& view) {
  for (TaskRange range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      auto task = TRY(history.Task(i));
      if (!task.last) continue;  // withdrawn before it ran
      auto output = std::make_shared<TaskOutput>();
      std::shared_ptr<cli::SpillFile> owners[2];
      for (auto [stream, to, owner] : {std::tuple{store::Stream::kStdout, &output->out, &owners[0]},
                                       {store::Stream::kStderr, &output->err, &owners[1]}}) {
        if (!what.with_output) break;
        auto read = TRY(StreamOf(history, *task.last, stream, what.spill_folder, *owner));
        *to = std::move(read);
      }
      const engine::AttemptEnded& record = task.last->record;
      view.OnEnded({record.end, record.verdict, std::move(output), record.ended});
    }
  }
  return {};
}

// The numbers in a folder's `seq`, each with a newline around it.
std::string NumbersIn(const std::string& seq) {
  auto text = os::ReadFile(seq, 64 << 20);
  return '\n' + (text ? *text : std::string()) + '\n';
}

// ---- The run ----

class JobRun final : public JobFeed {
 public:
  JobRun(PreparedJob& job, bool resumed) : job_(job), resumed_(resumed) {}

  Result<std::unique_ptr<cli::RunView>> MakeView(cli::Screen& screen) override;
  cli::RunStart Start() override;
  Result<Followed> Follow(cli::RunView& view) override;
  uint32_t Tick(uint64_t backlog) override {
    return job_.foreground().Tick(backlog + job_.store().Backlog());
  }
  void OnUnwritable(const Error& error, bool reader_gone) override;
  Result<int> Leave() override;

 private:
  std::string RowOf(TaskIndex index);
  std::vector<TaskRange> EndedTasks() const;
  std::vector<TaskRange> MissingInResults(const std::string& dir) const;
  Status DeliverLate() const;
  Status TakeBackForwards(cli::RunView& view);
  void OnBroken(const Error& error);
  // Says where this machine gives less than was asked for.
  void TellBounds(cli::RunView& view, const Offer& offer);
  node::ProcessExecutorOptions ExecutorOptions(cli::RunView& view) const;
  void Prune();
  JobCounts DurableCounts() const;

  PreparedJob& job_;
  const bool resumed_;
  cli::ViewTexts texts_;
  std::optional<Error> broken_;  // where the run's results go, what cannot be written
  std::optional<JobInput> input_;
};

std::string JobRun::RowOf(TaskIndex index) {
  auto rows = job_.store().Rows(job_.id(), index, 1);
  return rows && !rows->empty() ? std::move(rows->front()) : std::string();
}

std::vector<TaskRange> JobRun::EndedTasks() const {
  std::vector<TaskRange> ended;
  for (TaskIndex i = 0; i < job_.task_count(); ++i) {
    TaskState state = *job_.engine().StateOf(job_.id(), i);
    if (state != TaskState::kQueued && state != TaskState::kLeased) AppendIndex(ended, i);
  }
  return ended;
}

std::vector<TaskRange> JobRun::MissingInResults(const std::string& dir) const {
  const JobSettings& settings = job_.settings();
  std::vector<TaskRange> missing;
  std::map<std::string, std::string> shared;  // with --append: NumbersIn, by path
  for (TaskRange range : EndedTasks()) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      std::string folder =
          cli::ResultsFolder(texts_.values(i), settings.value_names, settings.record_values);
      std::string seq = os::JoinPath(os::JoinPath(dir, folder), "seq");
      bool there = os::Exists(seq);
      if (there && job_.options().show.append_results) {
        auto known = shared.try_emplace(seq);
        if (known.second) known.first->second = NumbersIn(seq);
        there = known.first->second.find(fmt::format("\n{}\n", i + 1)) != std::string::npos;
      }
      if (!there) AppendIndex(missing, i);
    }
  }
  return missing;
}

// Cost: a look at the joblog, and one at a folder for each ended task. Output that the journal did
// not keep whole (--keep-output) is written as far as it was kept.
Status JobRun::DeliverLate() const {
  const cli::ShowOptions& show = job_.options().show;
  const std::vector<TaskRange> ended = EndedTasks();
  if (ended.empty() || (show.joblog.empty() && show.results_dir.empty())) return {};
  auto history = TRY(store::SqliteJobJournal::Open(job_.state_dir(), job_.dir().number()));
  Status broken;
  auto on_broken = [&](const Error& error) { broken = std::unexpected(error); };
  if (const auto joblog = cli::JoblogPath(job_.row().cwd, show.joblog); !joblog.empty()) {
    auto missing = TRY(cli::MissingInJoblog(joblog, ended));
    auto log = TRY(cli::Joblog::Open(joblog, /*append=*/true, texts_.command, on_broken));
    TRY(Show(history, missing, {}, *log));
  }
  if (show.results_dir.empty()) return broken;
  const std::string dir = os::JoinPath(job_.row().cwd, show.results_dir);
  const Shown with{true, job_.dir().SpoolPath()};
  if (cli::TableFormOf(dir)) {
    auto missing = TRY(cli::MissingInTable(dir, ended));
    auto table = TRY(cli::ResultsTable::Open(dir, /*append=*/true, texts_, on_broken));
    TRY(Show(history, missing, with, *table));
    return broken;
  }
  const JobSettings& settings = job_.settings();
  auto tree = TRY(cli::ResultsTree::Open(
      {dir, settings.value_names, settings.record_values, show.append_results}, texts_.values,
      on_broken));
  TRY(Show(history, MissingInResults(dir), with, *tree));
  return broken;
}

// Takes back what a killed run has appended for tasks that did not end.
Status JobRun::TakeBackForwards(cli::RunView& view) {
  auto is_done = [this](std::string_view task) {
    auto number = ReadNumber<uint64_t>(task);
    auto state = number && *number > 0
                     ? job_.engine().StateOf(job_.id(), static_cast<TaskIndex>(*number - 1))
                     : std::nullopt;
    return state == TaskState::kSucceeded;
  };
  return forward::SharedFiles::Recover(job_.ForwardsLog(), is_done, [&](std::string text) {
    view.OnNews(cli::Remark{std::move(text), true}, job_.loop().Now());
  });
}

Result<std::unique_ptr<cli::RunView>> JobRun::MakeView(cli::Screen& screen) {
  texts_ = TRY(MakeTexts({.settings = job_.settings(),
                          .options = job_.options(),
                          .job = job_.id(),
                          .cwd = job_.row().cwd,
                          .row = [this](TaskIndex index) { return RowOf(index); }}));
  if (resumed_) {
    TRY(DeliverLate());
    RemoveLateBlocks(job_);
  }
  cli::ViewParts parts{screen,
                       texts_,
                       job_.options().show,
                       job_.options().state_dir,
                       job_.options().sources.files,
                       job_.settings().value_names,
                       job_.settings().record_values,
                       resumed_,
                       job_.row().cwd,
                       job_.dir().SpoolPath(),
                       HubIsConfigured(job_.here())};
  auto view = TRY(cli::MakeRunView(std::move(parts), [this](const Error& error) {
    job_.loop().Post([this, error] { OnBroken(error); });
  }));
  if (job_.is_pipe()) {
    view =
        std::make_unique<BlockView>(std::move(view), job_.InputFolder(), [this](TaskIndex index) {
          if (input_) input_->OnEnded(index);
        });
  }
  TRY(TakeBackForwards(*view));
  return view;
}

cli::RunStart JobRun::Start() {
  return {job_.id(),    job_.row().name,  OfferOf(job_.options(), job_.here()).slots,
          job_.open(),  resumed_,         job_.counts(),
          EndedTasks(), job_.loop().Now()};
}

void JobRun::OnUnwritable(const Error& error, bool reader_gone) {
  if (!reader_gone) return OnBroken(error);
  job_.foreground().EndRunning(cli::RunEnd::kOutputClosed, cli::kExitOutputClosed);
}

void JobRun::OnBroken(const Error& error) {
  if (!broken_) broken_ = error;
  job_.foreground().EndRunning(cli::RunEnd::kBroken, cli::ExitCodeOf(error.kind));
}

void JobRun::TellBounds(cli::RunView& view, const Offer& offer) {
  const auto& cgroups = job_.foreground().node().cgroups();
  auto tell = [&](std::string text) {
    view.OnNews(cli::Remark{std::move(text), false}, job_.loop().Now());
  };
  bool limited = std::any_of(job_.requests().begin(), job_.requests().end(),
                             [](const TaskClass& each) { return each.needs.memory > 0; });
  if (limited && !(cgroups && (*cgroups)->has_memory())) {
    tell("--memory is watched a few times a second and not enforced by the kernel: " +
         (cgroups ? (*cgroups)->Describe() : cgroups.error().message));
  }
  uint32_t asked = cli::OfferedSlots(job_.options(), job_.here().machine.facts().cores);
  if (offer.slots < asked) {
    tell(
        fmt::format("{} at once instead of {}: the limit of open files (ulimit -n) allows no "
                    "more",
                    present::CountOf(offer.slots, "task"), asked));
  }
}

node::ProcessExecutorOptions JobRun::ExecutorOptions(cli::RunView& view) const {
  node::ProcessExecutorOptions with;
  with.spool_folder = job_.dir().SpoolPath();
  with.job_folder = job_.dir().path();
  with.task_open_files = job_.here().open_files;
  with.can_visit = true;
  with.on_trouble = [this, &view](std::string text) {
    view.OnNews(cli::Remark{std::move(text), true}, job_.loop().Now());
  };
  return with;
}

void JobRun::Prune() {
  store::PruneOptions keep;
  keep.keep_age = job_.options().keep.age;
  keep.keep_size = job_.options().keep.bytes;
  keep.at_most_every = Duration::Seconds(600);
  keep.most_steps = 100;  // some 20 ms: a person waits for the prompt
  (void)store::Prune(job_.state_dir(), keep,
                     job_.loop().Now());  // tidying is never worth a failed run
}

// The counts that the next run will read.
JobCounts JobRun::DurableCounts() const {
  if (!job_.foreground().store_failed()) return job_.counts();
  store::JobPlace place(job_.state_dir());
  place.keep_replay_after = UINT64_MAX;  // there is no room for the file
  auto journal = store::SqliteJobJournal::Open(place, job_.dir().number());
  return journal ? journal->Counts().value_or(job_.counts()) : job_.counts();
}

Result<JobFeed::Followed> JobRun::Follow(cli::RunView& view) {
  TRY(job_.foreground().OpenNode(job_.here().machine, ExecutorOptions(view)));
  TellBounds(view, OfferOf(job_.options(), job_.here()));
  input_.emplace(job_, view);
  input_->StopWithoutInput();
  const cli::RunEnd how = job_.foreground().Run(view);
  input_.reset();
  job_.PutEnd();
  // All that was appended is of tasks that are done.
  if (job_.engine().Finished(job_.id())) (void)os::RemoveFile(job_.ForwardsLog());
  return Followed{{how, DurableCounts(), job_.loop().Now()}};
}

Result<int> JobRun::Leave() {
  if (broken_) (void)cli::ReportError(*broken_);
  job_.TellRestOfInput();
  Prune();
  return job_.foreground().exit_code();
}

}  // namespace

Result<int> RunToEnd(PreparedJob& job, bool resumed) {
  TRY(job.foreground().Settle());
  JobRun run(job, resumed);
  return ShowJob(job.loop(), job.here().environment, run);
}

}  // namespace spate::run
