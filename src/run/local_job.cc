// LocalJob: see local_job.h.
#include "run/local_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/report.h"
#include "cli/run/list_places.h"
#include "cli/text/end_text.h"
#include "cli/view/terminal_screen.h"
#include "client/hub_call.h"
#include "core/model/gang.h"
#include "core/model/ranges.h"
#include "format/expand.h"
#include "forward/shared_files.h"
#include "node/process_executor.h"
#include "os/batch_job.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "os/process.h"
#include "run/earlier_runs.h"
#include "run/job_text.h"
#include "run/late_delivery.h"
#include "shepherd/launch.h"
#include "shepherd/output_check.h"
#include "store/sqlite/prune.h"
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

}  // namespace

bool HubIsConfigured(const Surroundings& here) {
  auto hub = client::FindHub("", here.environment, HubDirOf("", here));
  // An access file that cannot be used, or a hub that is away, is told where it is used.
  return !hub || hub->has_value() || client::KnowsHub(HubDirOf("", here));
}

uint32_t FitOpenFiles(uint32_t slots) {
  constexpr uint64_t kOfASlot = 4;    // a socket, a page, and while it is started two more
  constexpr uint64_t kOfTheRun = 48;  // journal, lists, loop, terminal
  os::OpenFileLimit limit = os::GetOpenFileLimit();
  uint64_t wanted = kOfTheRun + kOfASlot * slots;
  if (wanted > limit.now && os::SetOpenFileLimit(std::min(wanted, limit.most))) {
    limit = os::GetOpenFileLimit();
  }
  uint64_t allowed = limit.now > kOfTheRun ? (limit.now - kOfTheRun) / kOfASlot : 0;
  return static_cast<uint32_t>(std::clamp<uint64_t>(allowed, 1, slots));
}

Offer OfferOf(const cli::RunOptions& options, const Surroundings& here) {
  const os::MachineFacts& facts = here.machine.facts();
  Offer offer;
  offer.node_name = facts.host_name;
  offer.slots = FitOpenFiles(cli::OfferedSlots(options, facts.cores));
  offer.milli_cpus = cli::OfferedMilliCpus(options, facts.cores);
  offer.memory = facts.memory;
  if (!facts.gpus.empty()) offer.named.push_back({"gpus", facts.gpus});
  for (const NamedOffer& given : options.offers) {
    std::erase_if(offer.named, [&](const NamedOffer& named) { return named.name == given.name; });
    offer.named.push_back(given);
  }
  std::sort(offer.named.begin(), offer.named.end(),
            [](const NamedOffer& a, const NamedOffer& b) { return a.name < b.name; });
  return offer;
}

std::optional<std::string> WhyNeverHere(const Offer& offer, const TaskClass& of_tasks) {
  auto why = WhyNever(offer, of_tasks.needs);
  const GangShape& gang = of_tasks.gang;
  if (why || gang.empty()) return why;
  if (gang.nodes > 1) {
    return fmt::format(
        "is a gang on {} nodes, and this machine is one: give it to a hub (spate run "
        "--hub), or write --nodes 1",
        gang.nodes);
  }
  why = WhyNever(offer, NeedsOfPart(of_tasks.needs, gang.procs));
  if (!why) return why;
  return fmt::format("is a gang of {} processes, which together {}", gang.procs, *why);
}

Status CheckNeeds(const cli::TaskList& tasks, const Offer& offer) {
  std::string problems;
  bool named = false;
  for (size_t i = 0; i < tasks.requests.size(); ++i) {
    auto why = WhyNeverHere(offer, tasks.requests[i]);
    if (!why) continue;
    problems += fmt::format("{}: it {}\n", tasks.places[i], *why);
    named |= !tasks.requests[i].needs.named.empty();
  }
  if (problems.empty()) return {};
  return Fail(ErrorKind::kInvalid,
              problems +
                  (named ? "ask for less, or tell what this machine has with --offer NAME=N"
                         : "ask for less") +
                  "\nnothing was started");
}

cli::LoadContext LoadContextOf(const JobSettings& settings, uint32_t slots, bool run_checks) {
  cli::LoadContext context;
  context.why_check_fails = [cwd = settings.cwd](CheckKind kind, const char* file) {
    std::string path = os::JoinPath(cwd, file);
    std::string why = shepherd::WhyCheckFails(kind, path.c_str());
    // People know the file by the name that they wrote.
    return why.starts_with(path) ? file + why.substr(path.size()) : why;
  };
  context.slots = slots;
  context.run_input_checks = run_checks;
  context.shell = cli::ShellCheck(settings, /*inherits=*/true);
  context.on_slow_stdin = [] {
    fmt::print(stderr, "spate: reading values from standard input (for none: < /dev/null)\n");
  };
  return context;
}

LocalJob::~LocalJob() = default;

Status LocalJob::OpenStore() {
  auto loop = os::RealLoop::Create();
  if (!loop) return std::unexpected(loop.error());
  loop_ = std::move(*loop);
  store::SqliteOptions journal;
  journal.waiting = [path = dir_.DbPath()](Duration time) {
    fmt::print(stderr,
               "spate: another program has held a lock on {} for {:.0f} s; the run waits for it\n",
               EscapeForScreen(path), time.seconds());
  };
  auto store = store::SqliteStore::Open(dir_, *loop_, std::move(journal));
  if (!store) return std::unexpected(store.error());
  store_ = std::move(*store);
  return {};
}

Result<std::unique_ptr<LocalJob>> LocalJob::Create(const Surroundings& here,
                                                   const std::string& state_dir,
                                                   const cli::RunOptions& options,
                                                   std::vector<std::string> argv) {
  auto dir = store::JobDir::Create(state_dir);
  if (!dir) return std::unexpected(dir.error());
  std::unique_ptr<LocalJob> job(new LocalJob(here, std::move(*dir), state_dir));
  job->options_ = options;
  job->follow_ = options.sources.follow;
  if (auto status = job->OpenStore(); !status) {
    job->Discard();
    return std::unexpected(status.error());
  }
  const os::MachineFacts& facts = here.machine.facts();
  store::JobRow& row = job->row_;
  row.job = job->id();
  row.name = cli::NameOf(options);
  row.argv = std::move(argv);
  row.cwd = here.cwd;
  for (const std::string& file : options.sources.files) {
    row.files.push_back(ListName(here.cwd, file));
  }
  row.user = facts.user_name;
  row.created = job->loop_->Now();
  row.runs = 0;
  return job;
}

Result<std::unique_ptr<LocalJob>> LocalJob::Open(const Surroundings& here,
                                                 const std::string& state_dir, uint32_t number,
                                                 const ParseStored& parse) {
  auto dir = store::JobDir::Open(state_dir, number);
  if (!dir) return std::unexpected(dir.error());
  if (!os::Exists(dir->DbPath())) {
    return Fail(
        ErrorKind::kNotFound,
        fmt::format(
            "job {0} has lost its journal ('{1}' is missing); `spate job forget --local {0}` "
            "removes what is left of it",
            number, EscapeForScreen(dir->DbPath())));
  }
  std::unique_ptr<LocalJob> job(new LocalJob(here, std::move(*dir), state_dir));
  // Before anything starts: what a killed run left is not to run beside its own repetition.
  (void)shepherd::EndLeftovers(job->dir_.path(), "", kPatience.ns);
  if (auto status = job->OpenStore(); !status) {
    return std::unexpected(status.error());
  }
  auto row = job->store_->ReadJob();
  if (!row) return std::unexpected(row.error());
  job->row_ = std::move(*row);
  auto options = parse(job->row_.argv);
  if (!options) return std::unexpected(options.error());
  job->options_ = std::move(*options);
  if (const std::string& name = job->options_.settings.name; !name.empty()) job->row_.name = name;
  auto slots = ReadSlotsFile(job->options_, job->row_.cwd, here.machine.facts().cores);
  if (!slots) return std::unexpected(slots.error());
  *job->settings_ = cli::SettingsOf(job->options_, job->row_.cwd, here.machine.facts().cores);
  if (auto status = TakeRowSettings(job->row_.settings, *job->settings_); !status) {
    return std::unexpected(status.error());
  }
  if (job->is_pipe()) job->settings_->stdin_pattern = job->InputFolder();
  job->MakeSession();
  if (auto status = job->session_->Replay(); !status) return std::unexpected(status.error());
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

void LocalJob::MakeSession() {
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
  session_ = std::make_unique<RunSession>(
      *loop_, *store_,
      RunSession::Job{
          id(), settings_, OfferOf(options_, here_), Epoch(row_.runs), options_.policy.halt,
          std::move(forward),
          os::IsInBatchJob(here_.environment) ? node::kDoubtInBatchJobs : node::Doubt()});
}

void LocalJob::PutRow() {
  row_.settings = wire::EncodeSettings(*settings_);
  row_.keep_output = options_.keep_output;
  store_->PutJob(row_);
}

void LocalJob::SetTasks(const cli::TaskList& tasks, JobSettings settings,
                        std::vector<TaskIndex> order) {
  *settings_ = std::move(settings);
  MakeSession();
  PutRow();
  std::vector<std::string> rows;
  tasks.rows([&](std::string_view row) {
    rows.emplace_back(row);
    if (rows.size() < kRowsPerChunk) return;
    AppendRows(std::exchange(rows, {}));
    WaitForStore();
  });
  if (!rows.empty()) AppendRows(std::move(rows));
  JobPlan plan;
  plan.task_count = tasks.count;
  plan.open = follow_;
  plan.requests = tasks.requests;
  plan.runs = tasks.runs;
  plan.order = std::move(order);
  plan.policy = options_.policy;
  requests_ = tasks.requests;
  session_->Post(engine::SubmitJob{.job = id(), .plan = std::move(plan), .edges = tasks.edges});
}

void LocalJob::AppendRows(std::vector<std::string> rows) {
  TaskIndex first = next_task_;
  next_task_ += static_cast<TaskIndex>(rows.size());
  store::Bundle bundle;
  bundle.rows.push_back({id(), first, std::move(rows)});
  // A failure is told to the hub by its own next bundle.
  store_->Append(std::move(bundle), [](Status) {});
}

void LocalJob::WaitForStore() {
  if (store_->Backlog() < kBacklogMost) return;
  std::function<void()> look = [&] {
    if (store_->Backlog() < kBacklogMost / 2) return loop_->Stop();
    loop_->At(loop_->Now() + Duration::Millis(1), look);
  };
  look();
  loop_->Run();
}

cli::RowSource LocalJob::StoredRows() {
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

void LocalJob::AddTasks(const cli::TaskList& tasks, const std::vector<uint32_t>& added,
                        std::vector<Edge> edges) {
  if (added.empty()) return;
  next_task_ = task_count();
  cli::GrownRequests grown = cli::RequestsOfAdded(tasks, added, requests_, next_task_);
  std::vector<std::string> rows;
  uint32_t position = 0;
  size_t next = 0;
  tasks.rows([&](std::string_view row) {
    if (next == added.size() || added[next] != position++) return;
    ++next;
    rows.emplace_back(row);
    if (rows.size() < kRowsPerChunk) return;
    AppendRows(std::exchange(rows, {}));
    WaitForStore();
  });
  if (!rows.empty()) AppendRows(std::move(rows));
  const auto known_requests = static_cast<uint32_t>(requests_.size());
  requests_.insert(requests_.end(), grown.new_requests.begin(), grown.new_requests.end());
  session_->Post(engine::GrowJob{.job = id(),
                                 .count = static_cast<uint32_t>(added.size()),
                                 .new_requests = std::move(grown.new_requests),
                                 .runs = std::move(grown.runs),
                                 .known_requests = known_requests,
                                 .edges = std::move(edges),
                                 .known_tasks = task_count()});
}

void LocalJob::AddFollowed(std::vector<std::string> rows, const std::vector<Needs>& needs,
                           cli::RunView& view) {
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
  session_->Post(std::move(grow));
  view.OnNews(cli::TotalChanged{next_task_, true}, loop_->Now());
}

std::unique_ptr<Follower> LocalJob::MakeFollower(cli::RunView& view) {
  Follower::Sink sink;
  sink.add = [this, &view](std::vector<std::string> rows, std::vector<Needs> needs) {
    AddFollowed(std::move(rows), needs, view);
  };
  sink.end = [this, &view] {
    session_->Post(engine::SealJob{id()});
    view.OnNews(cli::TotalChanged{next_task_, false}, loop_->Now());
  };
  sink.wrong = [this, &view](const Error& error) {
    view.OnNews(cli::Remark{error.message, true}, loop_->Now());
    session_->StopStarting(cli::RunEnd::kBroken, cli::kExitUsage);
  };
  sink.why_never = [this, offer = OfferOf(options_, here_)](const Needs& needs) {
    auto why = WhyNeverHere(offer, cli::ClassOf(options_, needs));
    return why ? "it " + *why : std::string();
  };
  sink.check = [this](const std::string& file, std::string_view beginning) {
    return cli::CheckNoScript(options_, file, beginning);
  };
  sink.full = [this] { return store_->Backlog() > kBacklogMost; };
  return std::make_unique<Follower>(*loop_, options_.sources.files, options_.needs,
                                    LoadContextOf(*settings_, 1, /*run_checks=*/true),
                                    std::move(sink));
}

void LocalJob::Resume() {
  PutRow();
  session_->Resume();
  session_->Post(engine::ChangePolicy{id(), options_.policy});
  session_->Post(engine::ReleaseJob{id()});
}

std::string LocalJob::RowOf(TaskIndex index) {
  auto rows = store_->Rows(id(), index, 1);
  return rows && !rows->empty() ? std::move(rows->front()) : std::string();
}

std::vector<TaskRange> LocalJob::EndedTasks() const {
  std::vector<TaskRange> ended;
  for (TaskIndex i = 0; i < task_count(); ++i) {
    TaskState state = *engine().StateOf(id(), i);
    if (state != TaskState::kQueued && state != TaskState::kLeased) AppendIndex(ended, i);
  }
  return ended;
}

Status LocalJob::CompileTexts() {
  auto compiled = format::CompileJob(*settings_, id());
  if (!compiled) return std::unexpected(compiled.error());
  compiled_ = std::move(*compiled);
  texts_.command = [this](TaskIndex index) {
    return format::CommandText(*compiled_, RowOf(index), index, 0);
  };
  texts_.values = [this](TaskIndex index) { return ValuesOfRow(*settings_, RowOf(index)); };
  const RowKind kind = settings_->row_kind;
  if (kind != RowKind::kListLine && kind != RowKind::kDagTask) return CompileTag();
  texts_.places = [this, kind](const std::vector<TaskIndex>& indices) {
    std::vector<cli::WantedPlace> wanted;
    for (TaskIndex index : indices) wanted.push_back({index, RowOf(index)});
    return cli::PlacesInLists(row_.cwd, options_.sources.files, wanted, kind);
  };
  return CompileTag();
}

Status LocalJob::DeliverLate() {
  const cli::ShowOptions& show = options_.show;
  LateDelivery late;
  late.state_dir = state_dir_;
  late.job = dir_.number();
  if (!show.joblog.empty()) late.joblog = os::JoinPath(row_.cwd, show.joblog);
  if (!show.results_dir.empty()) late.results_dir = os::JoinPath(row_.cwd, show.results_dir);
  late.spill_folder = dir_.SpoolPath();
  late.value_names = settings_->value_names;
  late.texts = texts_;
  late.ended = EndedTasks();
  return DeliverMissing(late);
}

// What a killed run has appended for tasks that did not end.
Status LocalJob::TakeBackForwards(cli::RunView& view) {
  auto is_done = [this](std::string_view task) {
    auto number = ReadNumber<uint64_t>(task);
    auto state = number && *number > 0 ? engine().StateOf(id(), static_cast<TaskIndex>(*number - 1))
                                       : std::nullopt;
    return state == TaskState::kSucceeded;
  };
  return forward::SharedFiles::Recover(ForwardsLog(), is_done, [&](std::string text) {
    view.OnNews(cli::Remark{std::move(text), true}, loop_->Now());
  });
}

Status LocalJob::CompileTag() {
  if (options_.show.tag_text.empty()) return {};
  auto tag = MakeTag(options_.show.tag_text, *settings_);
  if (!tag) return std::unexpected(tag.error());
  texts_.tag = [this, tag = std::move(*tag)](TaskIndex index) { return tag(RowOf(index), index); };
  return {};
}

Result<std::unique_ptr<cli::RunView>> LocalJob::MakeView(cli::Screen& screen, bool resumed) {
  cli::ViewParts parts{screen,
                       texts_,
                       options_.show,
                       options_.state_dir,
                       options_.sources.files,
                       settings_->value_names,
                       settings_->record_values,
                       resumed,
                       row_.cwd,
                       dir_.SpoolPath(),
                       HubIsConfigured(here_)};
  auto view = cli::MakeRunView(std::move(parts), [this](const Error& error) {
    loop_->Post([this, error] { OnBroken(error); });
  });
  if (!view || !is_pipe()) return view;
  return std::make_unique<BlockView>(std::move(*view), InputFolder(),
                                     [this](TaskIndex index) { OnTaskEnded(index); });
}

void LocalJob::OnBroken(const Error& error) {
  if (!broken_) broken_ = error;
  session_->EndRunning(cli::RunEnd::kBroken, cli::ExitCodeOf(error.kind));
}

void LocalJob::TellBounds(cli::RunView& view, const Offer& offer, bool memory_enforced,
                          const std::string& cgroups) {
  auto tell = [&](std::string text) {
    view.OnNews(cli::Remark{std::move(text), false}, loop_->Now());
  };
  bool limited = std::any_of(requests_.begin(), requests_.end(),
                             [](const TaskClass& each) { return each.needs.memory > 0; });
  if (limited && !memory_enforced) {
    tell("--memory is watched a few times a second and not enforced by the kernel: " + cgroups);
  }
  uint32_t asked = cli::OfferedSlots(options_, here_.machine.facts().cores);
  if (offer.slots < asked) {
    tell(
        fmt::format("{} at once instead of {}: the limit of open files (ulimit -n) allows no "
                    "more",
                    cli::CountOf(offer.slots, "task"), asked));
  }
}

Result<int> LocalJob::Run(bool resumed) {
  if (auto status = session_->Settle(); !status) return std::unexpected(status.error());
  cli::TerminalScreen screen(
      *loop_, here_.environment, {}, [this](const Error& error, bool reader_gone) {
        if (reader_gone) {
          session_->EndRunning(cli::RunEnd::kOutputClosed, cli::kExitOutputClosed);
        } else {
          OnBroken(error);
        }
      });
  if (auto status = CompileTexts(); !status) return std::unexpected(status.error());
  if (resumed) {
    if (auto status = DeliverLate(); !status) return std::unexpected(status.error());
    RemoveLateBlocks();
  }
  auto view = MakeView(screen, resumed);
  if (!view) return std::unexpected(view.error());
  if (auto status = TakeBackForwards(**view); !status) return std::unexpected(status.error());

  const os::CgroupPlaces& places = here_.machine.cgroups();
  os::SweepCgroups(places, kPatience);
  auto cgroups = os::CgroupTree::Create(places);
  Offer offer = OfferOf(options_, here_);
  node::ProcessExecutorOptions with;
  with.slots = static_cast<uint16_t>(offer.slots);
  with.spool_folder = dir_.SpoolPath();
  with.job_folder = dir_.path();
  with.task_open_files = here_.open_files;
  if (cgroups) with.cgroup = (*cgroups)->dir();
  with.on_trouble = [&](std::string text) {
    (*view)->OnNews(cli::Remark{std::move(text), true}, loop_->Now());
  };
  (*view)->OnStart(
      {id(), row_.name, offer.slots, follow_, resumed, counts(), EndedTasks(), loop_->Now()});
  TellBounds(**view, offer, cgroups ? (*cgroups)->has_memory() : false,
             cgroups ? (*cgroups)->Describe() : cgroups.error().message);
  auto executor = node::ProcessExecutor::Create(*loop_, std::move(with));
  if (!executor) return std::unexpected(executor.error());
  (*executor)->SetEvents(*session_);
  std::unique_ptr<Follower> follower;
  if (follow_ && !is_pipe()) follower = MakeFollower(**view);
  if (reads_) input_ = MakePipeInput(**view);
  auto slots = WatchSlots(**view);
  StopWithoutInput();
  auto entrance = OpenEntrance();
  cli::RunEnd how = session_->Run(
      **executor, {**view, [&] { return screen.Backlog() + store_->Backlog(); }},
      [this] { return MachineLoad{here_.machine.FreeMemory(), here_.machine.LoadAverage()}; });
  follower.reset();
  input_.reset();
  slots.reset();
  executor->reset();  // ends what still runs
  PutEnd();
  // All that was appended is of tasks that are done.
  if (engine().Finished(id())) (void)os::RemoveFile(ForwardsLog());
  if (entrance) (*entrance)->SetExitCode(session_->exit_code());
  store::PruneOptions keep;
  keep.keep_age = options_.keep.age;
  keep.keep_size = options_.keep.bytes;
  keep.at_most_every = Duration::Seconds(600);
  (void)store::Prune(state_dir_, keep, loop_->Now());  // tidying is never worth a failed run
  (*view)->OnFinish({how, counts(), loop_->Now()});
  ShowRest(screen);
  if (broken_) (void)cli::ReportError(*broken_);
  TellRestOfInput();
  return session_->exit_code();
}

// What the terminal has not taken yet: signals are seen in between.
void LocalJob::ShowRest(cli::TerminalScreen& screen) {
  do {
    loop_->Post([this] { loop_->Stop(); });
    loop_->Run();
  } while (!screen.Drain(Duration::Millis(100)));
  // An error of the last writes is told by the loop.
  loop_->Post([this] { loop_->Stop(); });
  loop_->Run();
}

// An order is answered when it is durable.
Result<std::unique_ptr<RunEntrance>> LocalJob::OpenEntrance() {
  RunEntrance::Events events;
  events.on_order = [this](const std::string& order,
                           const std::function<void(RunEntrance::Answer)>& to) {
    RunEntrance::Answer answer = session_->Obey(order);
    // The engine takes its step before this, and the store writes in order.
    loop_->Post([this, answer, to] {
      store_->Append({}, [answer, to](Status written) {
        to(written ? answer : RunEntrance::Answer{false, written.error().message});
      });
    });
  };
  events.news = [this] {
    RunNews news = session_->News();
    news.open = follow_;
    return news;
  };
  return RunEntrance::Open(*loop_, dir_.path(), std::move(events));
}

void LocalJob::PutEnd() {
  store::JobProgress progress;
  progress.job = id();
  progress.ended = loop_->Now();
  progress.counts = counts();
  progress.state = engine().Finished(id()) ? store::JobState::kFinished : store::JobState::kStopped;
  store_->PutProgress(progress);
}

void LocalJob::Discard() {
  session_.reset();
  store_.reset();
  (void)dir_.Remove();
}

bool SpeaksOfHub(const cli::Words& words) {
  using cli::Opt;
  if (words.Has(Opt::kHub) || words.Last(Opt::kAccess)) return true;
  if (words.Has(Opt::kLocal) || words.Last(Opt::kState)) return false;
  auto here = Surroundings::Find();
  return here && HubIsConfigured(*here);
}

}  // namespace spate::run
