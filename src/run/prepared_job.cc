// PreparedJob: see prepared_job.h.
#include "run/prepared_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "format/input_row.h"
#include "forward/shared_files.h"
#include "os/batch_job.h"
#include "os/file.h"
#include "os/process.h"
#include "plan/job_text.h"
#include "plan/slots_file.h"
#include "plan/this_machine.h"
#include "present/advice.h"
#include "present/text/end_text.h"
#include "shepherd/launch.h"
#include "wire/client_codec.h"

namespace spate::run {
namespace {

constexpr uint32_t kRowsPerChunk = 1024;
// Rows that wait to be written while a list is taken in.
constexpr uint64_t kBacklogMost = 48u << 20;
constexpr Duration kPatience = Duration::Seconds(5);

Duration CheckPatience(const std::string& cwd) {
  auto facts = os::FileSystemOf(cwd);
  return facts && facts->is_network ? Duration::Seconds(30) : Duration{};
}

// A run that is resumed on another machine may still be running on the first one.
store::StateOptions Patient(uint32_t number) {
  store::StateOptions patient;
  patient.patience = store::OwnerFile::kPatience;
  patient.waiting = [number](const store::JobOwner& owner) {
    fmt::print(stderr,
               "spate: job {} was last run by {}; watching for {:.0f} s whether that one still "
               "works. Tasks that it may have left there are not ended from here\n",
               number, owner.Text(), store::OwnerFile::kPatience.seconds());
  };
  return patient;
}

}  // namespace

PreparedJob::~PreparedJob() = default;

Status PreparedJob::OpenStore() {
  auto loop = TRY(os::RealLoop::Create());
  loop_ = std::move(loop);
  store::SqliteOptions journal;
  journal.waiting = [path = dir_.DbPath()](Duration time) {
    fmt::print(stderr,
               "spate: another program has held a lock on {} for {:.0f} s; the run waits for it\n",
               EscapeForScreen(path), time.seconds());
  };
  auto store = TRY(store::SqliteStore::Open(dir_, *loop_, std::move(journal)));
  store_ = std::move(store);
  return {};
}

Result<std::unique_ptr<PreparedJob>> PreparedJob::Create(const Surroundings& here,
                                                         const std::string& state_dir,
                                                         const cli::RunOptions& options) {
  auto dir = TRY(store::JobDir::Create(state_dir));
  std::unique_ptr<PreparedJob> job(new PreparedJob(here, std::move(dir), state_dir));
  job->options_ = options;
  if (auto status = job->OpenStore(); !status) {
    job->Discard();
    return std::unexpected(status.error());
  }
  const os::MachineFacts& facts = here.machine.facts();
  store::JobRow& row = job->row_;
  row.job = job->id();
  row.cwd = here.cwd;
  row.user = facts.user_name;
  row.created = job->loop_->Wall();
  row.runs = 0;
  return job;
}

Result<std::unique_ptr<PreparedJob>> PreparedJob::Open(const Surroundings& here,
                                                       const std::string& state_dir,
                                                       uint32_t number, const ParseStored& parse) {
  auto dir = TRY(store::JobDir::Open(state_dir, number, Patient(number)));
  if (!os::Exists(dir.DbPath())) {
    return Fail(
        ErrorKind::kNotFound,
        fmt::format("job {} has lost its journal ('{}' is missing)", number,
                    EscapeForScreen(dir.DbPath())),
        Remedy("; `{}` removes what is left of it", Advice("job forget", "--local", number)));
  }
  std::unique_ptr<PreparedJob> job(new PreparedJob(here, std::move(dir), state_dir));
  // Before anything starts: what a killed run left is not to run beside its own repetition.
  (void)shepherd::EndLeftovers(job->dir_.path(), "", kPatience.ns);
  TRY(job->OpenStore());
  auto row = TRY(job->store_->ReadJob());
  job->row_ = std::move(row);
  auto options = TRY(parse(job->row_.argv));
  job->options_ = std::move(options);
  if (const std::string& name = job->options_.settings.name; !name.empty()) job->row_.name = name;
  TRY(ReadSlotsFile(job->options_, job->row_.cwd, here.machine.facts().cores));
  TRY(UseGrantedGpus(here.machine.facts(), job->options_.offers));
  *job->settings_ = cli::SettingsOf(job->options_, job->row_.cwd, here.machine.facts().cores);
  TRY(DecodeRowSettings(job->row_.settings, *job->settings_));
  if (job->is_pipe()) job->settings_->stdin_pattern = job->InputFolder();
  TRY(job->ReadJournal());
  if (!job->engine().Counts(job->id())) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("job {} was never accepted: its run ended before its tasks were "
                            "stored, so none of them ran; run the same again",
                            number));
  }
  job->requests_ = job->engine().Requests(job->id());
  // A task keeps its deadline when its run goes on, and those that are added have the same.
  if (!job->requests_.empty()) job->options_.deadline = job->requests_.front().deadline;
  return job;
}

Status PreparedJob::ReadJournal() {
  const os::MachineFacts& facts = here_.machine.facts();
  ++row_.runs;
  row_.host = facts.host_name;
  row_.pid = store::JobOwner::ThisProcess().pid;
  row_.started = loop_->Now();
  row_.ended.reset();
  row_.state = store::JobState::kRunning;
  settings_->check_patience = CheckPatience(settings_->cwd);
  auto files =
      std::make_shared<forward::SharedFiles>(ForwardsLog(), settings_->cwd, forward::MostOpen());
  auto forward = [files](const AttemptEnd& end, const OutputStream& pack) {
    auto done = files->Deliver(fmt::format("{}", uint64_t{end.ref.index} + 1), pack);
    return done ? done : Within("what the task forwards", done.error());
  };
  run_ = TRY(Foreground::Read(
      *loop_, *store_,
      {.id = id(),
       .folder = dir_.path(),
       .state_dir = state_dir_,
       .user = facts.user_name,
       .settings = settings_,
       .offer = OfferOf(options_, here_),
       .halt = options_.policy.halt,
       .forward = std::move(forward),
       .doubt = os::IsInBatchJob(here_.environment) ? node::kDoubtInBatchJobs : node::Doubt()}));
  return {};
}

void PreparedJob::PutRow() {
  row_.settings = wire::EncodeSettings(*settings_);
  row_.keep_output = options_.keep_output;
  store_->PutJob(row_);
}

Status PreparedJob::SetTasks(client::Submission job) {
  row_.name = std::move(job.head.name);
  row_.argv = std::move(job.head.argv);
  row_.files = std::move(job.head.files);
  *settings_ = *job.head.settings;
  open_ = job.head.open;
  reads_ = is_pipe();
  if (reads_) settings_->stdin_pattern = InputFolder();
  TRY(ReadJournal());
  TRY(run_->Begin(row_));
  PutRow();
  AppendAll(job.rows);
  JobPlan plan;
  plan.task_count = job.end.count;
  plan.open = open_;
  plan.requests = requests_ = std::move(job.end.requests);
  plan.runs = std::move(job.end.runs);
  plan.order = std::move(job.end.order);
  plan.policy = job.head.policy;
  plan.user = row_.user;
  run_->Post(
      engine::SubmitJob{.job = id(), .plan = std::move(plan), .edges = std::move(job.edges)});
  return {};
}

void PreparedJob::AppendAll(const cli::RowSource& source) {
  std::vector<std::string> rows;
  source([&](std::string_view row) {
    rows.emplace_back(row);
    if (rows.size() < kRowsPerChunk) return;
    AppendRows(std::exchange(rows, {}));
    WaitForStore();
  });
  if (!rows.empty()) AppendRows(std::move(rows));
}

void PreparedJob::AppendRows(std::vector<std::string> rows) {
  TaskIndex first = next_task_;
  next_task_ += static_cast<TaskIndex>(rows.size());
  store::Bundle bundle;
  bundle.rows.push_back({id(), first, std::move(rows)});
  // A failure is told to the hub by its own next bundle.
  store_->Append(std::move(bundle), [](Status) {});
}

void PreparedJob::WaitForStore() {
  if (store_->Backlog() < kBacklogMost) return;
  std::function<void()> look = [&] {
    if (store_->Backlog() < kBacklogMost / 2) return loop_->Stop();
    loop_->At(loop_->Now() + Duration::Millis(1), look);
  };
  look();
  loop_->Run();
}

cli::RowSource PreparedJob::StoredRows() {
  return [this](const cli::RowVisitor& visit) {
    uint32_t total = task_count();
    for (TaskIndex first = 0; first < total; first += kRowsPerChunk) {
      auto rows = store_->Rows(id(), first, std::min(kRowsPerChunk, total - first));
      if (!rows) {
        rows_status_ = std::unexpected(rows.error());
        return;
      }
      for (const std::string& row : *rows) visit(row);
    }
  };
}

void PreparedJob::AddTasks(const cli::TaskList& tasks, const std::vector<uint32_t>& added,
                           std::vector<Edge> edges) {
  if (added.empty()) return;
  next_task_ = task_count();
  cli::GrownRequests grown = cli::RequestsOfAdded(tasks, added, requests_, next_task_);
  AppendAll([&](const cli::RowVisitor& visit) {
    uint32_t position = 0;
    size_t next = 0;
    tasks.rows([&](std::string_view row) {
      if (next == added.size() || added[next] != position++) return;
      ++next;
      visit(row);
    });
  });
  const auto known_requests = static_cast<uint32_t>(requests_.size());
  requests_.insert(requests_.end(), grown.new_requests.begin(), grown.new_requests.end());
  run_->Post(engine::GrowJob{.job = id(),
                             .count = static_cast<uint32_t>(added.size()),
                             .new_requests = std::move(grown.new_requests),
                             .runs = std::move(grown.runs),
                             .known_requests = known_requests,
                             .edges = std::move(edges),
                             .known_tasks = task_count()});
}

void PreparedJob::Grow(std::vector<std::string> rows, const std::vector<Needs>& needs) {
  engine::GrowJob grow{id(), static_cast<uint32_t>(rows.size()), {}, {}};
  RequestTable table(requests_);
  for (size_t i = 0; i < needs.size(); ++i) {
    table.Add(next_task_ + static_cast<TaskIndex>(i), cli::ClassOf(options_, needs[i]),
              [] { return std::string(); });
  }
  auto known = static_cast<std::ptrdiff_t>(requests_.size());
  grow.new_requests.assign(table.requests().begin() + known, table.requests().end());
  grow.runs = std::move(table.runs());
  grow.known_requests = static_cast<uint32_t>(requests_.size());
  requests_ = std::move(table.requests());
  AppendRows(std::move(rows));
  run_->Post(std::move(grow));
}

bool PreparedJob::StoreIsFull() const { return store_->Backlog() > kBacklogMost; }

Status PreparedJob::Resume(std::optional<engine::Event> first) {
  PutRow();
  TRY(run_->Begin(row_));
  run_->Post(engine::ChangePolicy{id(), options_.policy});
  if (first) run_->Post(std::move(*first));
  run_->Post(engine::ReleaseJob{id()});
  return {};
}

// ---- --pipe ------------------------------------------------------------------------------------

bool PreparedJob::is_pipe() const {
  return options_.sources.input.from == cli::InputOptions::From::kPipe;
}

Status PreparedJob::ReadOn() {
  open_ = reads_ = true;
  Status sound;
  StoredRows()([&](std::string_view text) {
    auto row = format::ParseInputRow(text);
    if (row) {
      taken_.push_back({row->length, row->hash});
    } else if (sound) {
      sound = std::unexpected(row.error());
    }
  });
  if (!sound) return sound;
  next_task_ = task_count();
  return rows_status();
}

void PreparedJob::TellRestOfInput() const {
  if (!is_pipe() || InputIsWhole()) return;
  uint32_t blocks = std::max(next_task_, task_count());
  fmt::print(stderr,
             "spate: the input was not read to its end: {} of it {} read\n"
             "to continue, provide the same input again: ... | {}\n",
             present::CountOf(blocks, "block"), blocks == 1 ? "was" : "were",
             present::TextOf(Advice("run", "--resume", "--pipe", "...", "--", "COMMAND")));
}

void PreparedJob::SetMostRunning(uint32_t slots) {
  options_.policy.max_running = slots;
  run_->Post(engine::ChangePolicy{id(), options_.policy});
}

void PreparedJob::PutEnd() {
  store::JobProgress progress;
  progress.job = id();
  progress.started = loop_->ToWall(row_.started);
  progress.ended = loop_->Wall();
  progress.counts = counts();
  progress.state = engine().Finished(id()) ? store::JobState::kFinished : store::JobState::kStopped;
  store_->PutProgress(progress);
}

void PreparedJob::Discard() {
  run_.reset();
  store_.reset();
  (void)dir_.Remove();
}

}  // namespace spate::run
