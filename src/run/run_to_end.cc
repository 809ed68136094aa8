// Runs a prepared job: see run_to_end.h.
#include "run/run_to_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/report.h"
#include "cli/run/list_places.h"
#include "cli/view/joblog.h"
#include "cli/view/run_view.h"
#include "cli/view/terminal_screen.h"
#include "core/model/ranges.h"
#include "format/expand.h"
#include "forward/shared_files.h"
#include "node/process_executor.h"
#include "os/file.h"
#include "present/text/end_text.h"
#include "run/job_input.h"
#include "run/job_text.h"
#include "run/late_delivery.h"
#include "run/this_machine.h"
#include "run/whose_jobs.h"
#include "store/sqlite/job_journal.h"
#include "store/sqlite/prune.h"

namespace spate::run {
namespace {

class JobRun {
 public:
  explicit JobRun(PreparedJob& job) : job_(job) {}
  Result<int> Run(bool resumed);

 private:
  std::string RowOf(TaskIndex index);
  Status CompileTexts();
  Status CompileTag();
  std::vector<TaskRange> EndedTasks() const;
  Status DeliverLate();
  Status TakeBackForwards(cli::RunView& view);
  Result<std::unique_ptr<cli::RunView>> MakeView(cli::Screen& screen, bool resumed);
  void OnBroken(const Error& error);
  // Says where this machine gives less than was asked for.
  void TellBounds(cli::RunView& view, const Offer& offer);
  node::ProcessExecutorOptions ExecutorOptions(cli::RunView& view) const;
  void Prune();
  JobCounts DurableCounts() const;
  void ShowRest(cli::TerminalScreen& screen);

  PreparedJob& job_;
  std::optional<format::CompiledJob> compiled_;
  cli::ViewTexts texts_;
  std::optional<Error> broken_;  // where the run's results go, what cannot be written
  std::optional<JobInput> input_;
};

std::string JobRun::RowOf(TaskIndex index) {
  auto rows = job_.store().Rows(job_.id(), index, 1);
  return rows && !rows->empty() ? std::move(rows->front()) : std::string();
}

Status JobRun::CompileTexts() {
  auto compiled = TRY(format::CompileJob(job_.settings(), job_.id()));
  compiled_ = std::move(compiled);
  texts_.command = [this](TaskIndex index) {
    return format::CommandText(*compiled_, RowOf(index), index, 0);
  };
  if ((*compiled_)->HasNames()) {
    texts_.name = [this](TaskIndex index) { return (*compiled_)->Name(RowOf(index)); };
  }
  texts_.values = [this](TaskIndex index) { return ValuesOfRow(job_.settings(), RowOf(index)); };
  const RowKind kind = job_.settings().row_kind;
  if (kind != RowKind::kListLine && kind != RowKind::kDagTask) return CompileTag();
  texts_.places = [this, kind](const std::vector<TaskIndex>& indices) {
    std::vector<cli::WantedPlace> wanted;
    for (TaskIndex index : indices) wanted.push_back({index, RowOf(index)});
    const cli::SourceOptions& sources = job_.options().sources;
    return cli::PlacesInLists(job_.row().cwd, sources.files, wanted, kind, sources.follow_until);
  };
  return CompileTag();
}

Status JobRun::CompileTag() {
  if (job_.options().show.tag_text.empty()) return {};
  auto tag = MakeTag(job_.options().show.tag_text, job_.settings());
  if (!tag) return std::unexpected(tag.error());
  texts_.tag = [this, tag = std::move(*tag)](TaskIndex index) { return tag(RowOf(index), index); };
  return {};
}

std::vector<TaskRange> JobRun::EndedTasks() const {
  std::vector<TaskRange> ended;
  for (TaskIndex i = 0; i < job_.task_count(); ++i) {
    TaskState state = *job_.engine().StateOf(job_.id(), i);
    if (state != TaskState::kQueued && state != TaskState::kLeased) AppendIndex(ended, i);
  }
  return ended;
}

Status JobRun::DeliverLate() {
  const cli::ShowOptions& show = job_.options().show;
  LateDelivery late;
  late.state_dir = job_.state_dir();
  late.job = job_.dir().number();
  late.joblog = cli::JoblogPath(job_.row().cwd, show.joblog);
  if (!show.results_dir.empty()) late.results_dir = os::JoinPath(job_.row().cwd, show.results_dir);
  late.spill_folder = job_.dir().SpoolPath();
  late.value_names = job_.settings().value_names;
  late.columns = job_.settings().record_values;
  late.append_results = show.append_results;
  late.texts = texts_;
  late.ended = EndedTasks();
  return DeliverMissing(late);
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

Result<std::unique_ptr<cli::RunView>> JobRun::MakeView(cli::Screen& screen, bool resumed) {
  cli::ViewParts parts{screen,
                       texts_,
                       job_.options().show,
                       job_.options().state_dir,
                       job_.options().sources.files,
                       job_.settings().value_names,
                       job_.settings().record_values,
                       resumed,
                       job_.row().cwd,
                       job_.dir().SpoolPath(),
                       HubIsConfigured(job_.here())};
  auto view = cli::MakeRunView(std::move(parts), [this](const Error& error) {
    job_.loop().Post([this, error] { OnBroken(error); });
  });
  if (!view || !job_.is_pipe()) return view;
  return std::make_unique<BlockView>(std::move(*view), job_.InputFolder(), [this](TaskIndex index) {
    if (input_) input_->OnEnded(index);
  });
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

Result<int> JobRun::Run(bool resumed) {
  TRY(job_.foreground().Settle());
  cli::TerminalScreen screen(
      job_.loop(), job_.here().environment, {}, [this](const Error& error, bool reader_gone) {
        if (reader_gone) {
          job_.foreground().EndRunning(cli::RunEnd::kOutputClosed, cli::kExitOutputClosed);
        } else {
          OnBroken(error);
        }
      });
  TRY(CompileTexts());
  if (resumed) {
    TRY(DeliverLate());
    RemoveLateBlocks(job_);
  }
  auto view = TRY(MakeView(screen, resumed));
  TRY(TakeBackForwards(*view));

  const Offer offer = OfferOf(job_.options(), job_.here());
  view->OnStart({job_.id(), job_.row().name, offer.slots, job_.open(), resumed, job_.counts(),
                 EndedTasks(), job_.loop().Now()});
  TRY(job_.foreground().OpenNode(job_.here().machine, ExecutorOptions(*view)));
  TellBounds(*view, offer);
  input_.emplace(job_, *view);
  input_->StopWithoutInput();
  cli::RunEnd how =
      job_.foreground().Run({*view, [&] { return screen.Backlog() + job_.store().Backlog(); }});
  input_.reset();
  job_.PutEnd();
  // All that was appended is of tasks that are done.
  if (job_.engine().Finished(job_.id())) (void)os::RemoveFile(job_.ForwardsLog());
  view->OnFinish({how, DurableCounts(), job_.loop().Now()});
  ShowRest(screen);
  if (broken_) (void)cli::ReportError(*broken_);
  job_.TellRestOfInput();
  Prune();
  return job_.foreground().exit_code();
}

// Writes what the terminal has not accepted yet; signals are handled in between.
void JobRun::ShowRest(cli::TerminalScreen& screen) {
  do {
    job_.loop().Post([this] { job_.loop().Stop(); });
    job_.loop().Run();
  } while (!screen.Drain(Duration::Millis(100)));
  // An error of the last writes is told by the loop.
  job_.loop().Post([this] { job_.loop().Stop(); });
  job_.loop().Run();
}

}  // namespace

Result<int> RunToEnd(PreparedJob& job, bool resumed) { return JobRun(job).Run(resumed); }

}  // namespace spate::run
