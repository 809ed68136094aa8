#include "apps/hub_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "apps/hub_look.h"
#include "base/check.h"
#include "base/units.h"
#include "core/model/ranges.h"
#include "os/file.h"
#include "os/process.h"
#include "store/sqlite/schema.h"
#include "wire/client_codec.h"

namespace spate::apps {
namespace {

constexpr Duration kLagEvery = Duration::Seconds(1);

const char* ReasonOf(engine::HoldReason reason) {
  switch (reason) {
    case engine::HoldReason::kHaltRule:
      return "its --halt says so";
    case engine::HoldReason::kMaxFailures:
      return "so many of its tasks have failed as --max-failures allows";
    case engine::HoldReason::kAllFail:
      return "25 attempts of its tasks failed in a row, and none has succeeded";
    case engine::HoldReason::kDamaged:
      return "some of it is damaged";
    default:
      return "somebody asked for it";
  }
}

Result<std::vector<TaskRange>> ReadSucceeded(const store::JournalPlace& place, JobId job) {
  engine::Engine past;
  auto read = store::SqliteStore::ReplayJobApart(
      place, job, [&](const engine::Record& record) { past.Apply(record); });
  if (!read) return std::unexpected(read.error());
  std::vector<TaskRange> succeeded;
  auto counts = past.Counts(job);
  for (TaskIndex i = 0; counts && i < counts->total; ++i) {
    if (past.StateOf(job, i) == TaskState::kSucceeded) AppendIndex(succeeded, i);
  }
  return succeeded;
}

Result<uint64_t> SumOutput(const store::JournalPlace& place, const std::string& user) {
  auto db = store::OpenJournalToRead(place.DbPath());
  if (!db) return std::unexpected(db.error());
  auto jobs = store::JobsOfUser(*db, user);
  if (!jobs) return std::unexpected(jobs.error());
  uint64_t bytes = 0;
  for (JobId job : *jobs) {
    auto file = os::Stat(place.OutputPath(job));
    if (file) bytes += file->size;
  }
  return bytes;
}

// What the hub keeps of all jobs: rows, and what tasks wrote.
Result<uint64_t> SumOfAll(const store::JournalPlace& place) {
  auto db = store::OpenJournalToRead(place.DbPath());
  if (!db) return std::unexpected(db.error());
  auto used = db->QueryInt(
      "SELECT (page_count - freelist_count) * page_size "
      "FROM pragma_page_count, pragma_freelist_count, pragma_page_size");
  if (!used) return std::unexpected(used.error());
  auto sum = static_cast<uint64_t>(*used);
  const std::string folder = os::DirName(place.OutputPath(JobId(1)));
  auto entries = os::ListDir(folder);
  if (!entries) return std::unexpected(entries.error());
  for (const os::DirEntry& entry : *entries) {
    // One may have gone meanwhile.
    if (auto info = os::Stat(os::JoinPath(folder, entry.name))) sum += info->size;
  }
  return sum;
}

// In a folder whose hub has had a journal. (Its key may be older, as nodes may come before the
// hub.)
constexpr const char* kBegan = "began";

// A hub without the journal of its earlier life would be taken for it, by nodes and people who know
// of jobs that it does not.
Status CheckWhole(const store::HubDir& dir) {
  if (os::Exists(dir.place().DbPath()) || !os::Exists(os::JoinPath(dir.path(), kBegan))) return {};
  return Fail(
      ErrorKind::kCorrupt,
      fmt::format("the hub in {} has lost its journal ({}), and would know nothing of its "
                  "jobs\nRestore a backup: spate hub restore FILE; or move the folder away, "
                  "for a new hub with a key of its own",
                  EscapeForScreen(dir.path()), EscapeForScreen(dir.place().DbPath())));
}

}  // namespace

Result<std::unique_ptr<HubService>> HubService::Open(os::RealLoop& loop, Options options) {
  auto dir = store::HubDir::Open(options.dir);
  if (!dir) return std::unexpected(dir.error());
  if (auto whole = CheckWhole(*dir); !whole) return std::unexpected(whole.error());
  store::SqliteOptions journal;
  journal.waiting = [log = options.log, path = dir->place().DbPath()](Duration time) {
    log(fmt::format(
        "another program has held a lock on {} for {:.0f} s; the hub waits, and nothing "
        "is started or acknowledged before it is gone (fuser {} tells who)",
        EscapeForScreen(path), time.seconds(), ShellQuote(path)));
  };
  auto store = store::SqliteStore::Open(*dir, loop, std::move(journal));
  if (!store) return std::unexpected(store.error());
  auto began = os::WriteFile(os::JoinPath(options.dir, kBegan), "", 0600);
  if (!began) return std::unexpected(began.error());
  auto keys = HubKeys::Open(options.dir);
  if (!keys) return std::unexpected(keys.error());
  auto identity = keys->LoadOrMakeKey();
  if (!identity) return std::unexpected(identity.error());
  std::unique_ptr<HubService> service(new HubService(loop, std::move(options), std::move(*dir),
                                                     std::move(*store), std::move(*identity)));
  if (auto up = service->TakeUp(); !up) return std::unexpected(up.error());
  if (auto open = service->OpenDoor(); !open) return std::unexpected(open.error());
  if (auto open = service->OpenMetrics(); !open) return std::unexpected(open.error());
  if (auto taken = service->TakeFirstAccess(*keys); !taken) return std::unexpected(taken.error());
  return service;
}

HubService::HubService(os::RealLoop& loop, Options options, store::HubDir dir,
                       std::unique_ptr<store::SqliteStore> store, transport::Identity identity)
    : loop_(loop),
      options_(std::move(options)),
      dir_(std::move(dir)),
      store_(std::move(store)),
      identity_(std::move(identity)),
      epoch_(store_->last_epoch().value + 1),
      since_(loop.Now()) {
  MakeParts();
}

void HubService::MakeParts() {
  Limits limits;
  limits.node_patience = options_.lost_after;
  hub_ = std::make_unique<hub::Hub>(loop_, *store_, *this, epoch_, limits);
  jobs_ = std::make_unique<HubJobs>(loop_, *store_, hub_->engine());
  access_ = std::make_unique<HubAccess>(loop_, *store_, [this](uint64_t serial) {
    DropClientsOf(serial, "this access has expired");
  });
  nodes_ = std::make_unique<HubNodes>(loop_, *store_, *hub_, dir_.SpoolPath(), options_.log);
}

HubService::~HubService() {
  loop_.Cancel(lag_timer_);
  metrics_.reset();
  loop_.Cancel(prune_timer_);
  clients_.clear();
  door_.reset();
}

// Damage of a job sets it aside; what the engine has heard of it before then must go.
Status HubService::ReplayAll() {
  for (;;) {
    size_t damaged = store_->damaged().size();
    auto replayed = hub_->Replay();
    if (replayed) break;
    if (store_->damaged().size() == damaged) {
      return Fail(
          replayed.error().kind,
          replayed.error().message +
              "\nwhat is left of it can be saved: spate state check, then spate state salvage");
    }
    nodes_.reset();
    jobs_.reset();
    access_.reset();
    MakeParts();
  }
  for (const auto& [job, what] : store_->damaged()) {
    options_.log(fmt::format("job {} is set aside, nothing of it runs: {}", job.value, what));
    hub_->SetAside(job);
  }
  if (!store_->damaged().empty()) {
    options_.log(
        "all other jobs go on; what is sound of these can be saved while no hub runs: "
        "spate state check, then spate state salvage");
  }
  return {};
}

Status HubService::TakeUp() {
  // This very file, also when a newer one has taken its place meanwhile.
  program_ = "/proc/self/exe";
  if (!os::Exists(program_)) {
    auto program = os::OwnProgram();
    if (!program) return std::unexpected(program.error());
    program_ = std::move(*program);
  }
  if (auto replayed = ReplayAll(); !replayed) return replayed;
  CHECK(store_->BeginEpoch([](Status) {}) == epoch_);
  hub_->SetSettingsSource([this](JobId job) { return ReadSettings(job); });
  if (auto loaded = jobs_->Load(); !loaded) return loaded;
  if (auto loaded = access_->Load(); !loaded) return loaded;
  if (auto loaded = nodes_->Load(); !loaded) return loaded;
  hub_->Resume(engine::LastNodes::kMayReturn);
  Prune();
  return {};
}

Status HubService::OpenDoor() {
  std::vector<link::DoorAddress> addresses;
  os::Address socket;
  socket.path = os::JoinPath(options_.dir, "socket");
  addresses.push_back({.address = socket, .permissions = 0666});
  for (const os::Address& address : options_.listen) {
    addresses.push_back({.address = address, .permissions = 0666});
  }
  link::Door::Events events;
  events.arrived = [this](link::Visitor visitor) { Arrived(std::move(visitor)); };
  events.trouble = [this](const Error& error) { options_.log(error.message); };
  link::DoorLimits limits;
  limits.silence = options_.suspect_after;
  limits.strangers = options_.strangers;
  auto door = link::Door::Open(loop_, std::move(addresses), identity_, SPATE_VERSION, *this,
                               std::move(events), limits);
  if (!door) return std::unexpected(door.error());
  door_ = std::move(*door);
  for (const os::SocketAddress& at : door_->addresses()) {
    if (at.is_unix()) continue;
    auto address = os::ParseAddress(at.Text());
    if (!address) continue;
    // Who listens everywhere is reached by the machine's name.
    if (address->host == "0.0.0.0" || address->host == "::" || address->host == "*") {
      address->host = options_.host;
    }
    if (std::find(reached_at_.begin(), reached_at_.end(), *address) == reached_at_.end()) {
      reached_at_.push_back(std::move(*address));
    }
  }
  return {};
}

Status HubService::OpenMetrics() {
  if (!options_.metrics) return {};
  auto text = [this] { return MetricsText(FiguresOf(*this)); };
  auto trouble = [this](const Error& error) { options_.log("metrics: " + error.message); };
  auto opened = MetricsDoor::Open(loop_, *options_.metrics, text, trouble);
  if (!opened) return Within("--metrics", opened.error());
  metrics_ = std::move(*opened);
  MeasureLag();
  return {};
}

void HubService::MeasureLag() {
  Instant due = loop_.Now() + kLagEvery;
  lag_timer_ = loop_.At(due, [this, due] {
    lag_ = loop_.Now() - due;
    MeasureLag();
  });
}

// The first credentials lie in the hub's folder, for its owner to pass on.
Status HubService::TakeFirstAccess(const HubKeys& keys) {
  if (!access_->all().empty() || reached_at_.empty()) return {};
  auto first = keys.LoadOrMake(identity_, {reached_at_, options_.user, options_.node_user});
  if (!first) return std::unexpected(first.error());
  for (auto [access, name] :
       {std::pair{&first->admin, kAdminAccess}, {&first->node, kNodeAccess}}) {
    access_->Add(*access, [](Status) {});
    if (access->hubs == reached_at_) continue;  // they were made for another port, or by somebody
    access->hubs = reached_at_;                 // who did not know it
    if (auto saved = access::SaveAccess(keys.PathOf(name), *access); !saved) return saved;
  }
  return {};
}

void HubService::Stop() {
  if (std::exchange(stopping_, true)) return;
  options_.log("the hub stops");
  jobs_->Flush();
  metrics_.reset();
  door_.reset();
  for (auto& [id, client] : clients_) client->Close();
  nodes_->DropAll();
  WhenSettled([this] { options_.stopped(0); });
}

// ---- The door ----------------------------------------------------------------------------------

std::expected<link::Admission, wire::Refusal> HubService::Admit(const link::Guest& guest) {
  auto admission = Judge(guest);
  if (!admission) {
    const std::string user = guest.local ? guest.user : "";
    refusals_.Add(loop_.Now(), guest.peer, user, admission.error().reason, options_.log);
  }
  return admission;
}

std::expected<link::Admission, wire::Refusal> HubService::Judge(const link::Guest& guest) {
  if (options_.peers && !guest.local && !options_.peers->HasText(guest.peer)) {
    return std::unexpected(
        wire::Refusal{wire::RefusalCode::kOther, "it takes no peers from this network"});
  }
  auto caller = access_->Who(guest);
  if (!caller) return std::unexpected(caller.error());
  const wire::Role role = guest.greeting.role;
  if (role == wire::Role::kAdmin && !caller->is_admin) {
    return std::unexpected(
        wire::Refusal{wire::RefusalCode::kRole, "this access is not an administrator's"});
  }
  if (auto places = CheckPlaces(*caller, role); !places) return std::unexpected(places.error());
  link::Admission admission{epoch_, NodeId()};
  if (role != wire::Role::kNode) return admission;
  auto node = nodes_->Admit(guest, *caller);
  if (!node) return std::unexpected(node.error());
  admission.node = *node;
  return admission;
}

// A part is kept for administrators and nodes that serve all, and nobody else has more than a
// quarter.
std::expected<void, wire::Refusal> HubService::CheckPlaces(const Caller& caller,
                                                           wire::Role role) const {
  const size_t all = options_.connections;
  bool serves_all = role == wire::Role::kNode && caller.user == access::kEveryUser;
  bool trusted = caller.is_admin || serves_all;
  auto refuse = [](std::string why) {
    return std::unexpected(wire::Refusal{wire::RefusalCode::kBusy, std::move(why)});
  };
  if (clients_.size() + nodes_->connected() >= (trusted ? all : all - all / 8)) {
    return refuse(
        fmt::format("it has {} connections, as many as its open files allow; who runs it may give "
                    "it more (ulimit -n)",
                    clients_.size() + nodes_->connected()));
  }
  if (trusted) return {};
  auto share = shares_.find(caller.user);
  auto theirs = share == shares_.end() ? nullptr : share->second.lock();
  if (!theirs || theirs->members() < std::max<size_t>(all / 4, 1)) return {};
  return refuse(
      fmt::format("user {} has {} connections to it, a quarter of all, and no user has "
                  "more",
                  caller.user, theirs->members()));
}

// Of the nodes that serve all each has its own.
std::shared_ptr<link::Share> HubService::ShareOf(const Caller& caller, wire::Role role) {
  bool serves_all = role == wire::Role::kNode && caller.user == access::kEveryUser;
  if (serves_all) return std::make_shared<link::Share>(loop_);
  std::erase_if(shares_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<link::Share>& known = shares_[caller.user];
  auto share = known.lock();
  if (!share) known = share = std::make_shared<link::Share>(loop_);
  return share;
}

void HubService::Arrived(link::Visitor visitor) {
  auto caller = access_->Who(visitor.guest);
  if (!caller || stopping_) return;  // revoked in between
  visitor.connection->SetShare(ShareOf(*caller, visitor.guest.greeting.role));
  if (visitor.guest.greeting.role == wire::Role::kNode) {
    return nodes_->Arrived(std::move(visitor), *caller);
  }
  uint64_t id = ++last_client_;
  clients_[id] = std::make_unique<HubClient>(
      *this, std::move(*caller), std::move(visitor.connection), [this, id] { clients_.erase(id); });
}

void HubService::DropClientsOf(uint64_t serial, const std::string& why) {
  nodes_->Drop(serial, why);
  for (auto& [id, client] : clients_) {
    if (client->caller().serial == serial) client->Refuse(why);
  }
}

Result<std::unique_ptr<os::Child>> HubService::StartReader(const Caller& caller, std::string input,
                                                           os::Child::Events events) {
  return os::Child::Start(
      loop_,
      {program_, "__hub-reader", options_.dir, caller.user, caller.is_admin ? "admin" : "user"},
      std::move(input), std::move(events));
}

void HubService::FetchStderr(const std::string& node, JobId job, TaskIndex task, Fetched fn) {
  constexpr Duration kPatience = Duration::Seconds(10);
  const HubNodes::Node* from = nodes_->FindByName(node);
  if (from == nullptr || !from->channel) {
    return fn(Fail(ErrorKind::kUnavailable,
                   fmt::format("the node {} is not connected", EscapeForScreen(node))));
  }
  const HubJobs::Job* entry = jobs_->Find(job);
  if (entry == nullptr) return fn(Fail(ErrorKind::kNotFound, "the batch is not there any more"));
  uint64_t call = ++last_fetch_;
  fetching_[call] = {from->row.id, std::move(fn)};
  from->channel->Send(wire::FetchStderr{call, job, task, entry->user});
  loop_.At(loop_.Now() + kPatience, [this, call, node] {
    auto at = fetching_.find(call);
    if (at == fetching_.end()) return;
    Fetched tell = std::move(at->second.fn);
    fetching_.erase(at);
    tell(Fail(ErrorKind::kUnavailable,
              fmt::format("the node {} does not answer", EscapeForScreen(node))));
  });
}

void HubService::OnStderrFetched(NodeId node, wire::StderrFetched fetched) {
  auto at = fetching_.find(fetched.call);
  if (at == fetching_.end() || at->second.from != node) return;  // too late, or another's to say
  Fetched tell = std::move(at->second.fn);
  fetching_.erase(at);
  if (fetched.found) return tell(std::move(fetched.bytes));
  tell(Fail(ErrorKind::kNotFound, std::move(fetched.bytes)));
}

// ---- Jobs --------------------------------------------------------------------------------------

Status HubService::CheckRight(const Caller& caller, JobId job) const {
  const HubJobs::Job* entry = jobs_->Find(job);
  if (entry == nullptr) {
    return Fail(ErrorKind::kNotFound, fmt::format("there is no job {} on this hub", job.value));
  }
  if (caller.is_admin || entry->user == caller.user) return {};
  return Fail(ErrorKind::kPermission,
              fmt::format("job {} belongs to {}; only they and administrators may do that",
                          job.value, entry->user));
}

Status HubService::CheckUsable(const Caller& caller, JobId job) const {
  if (auto right = CheckRight(caller, job); !right) return right;
  const HubJobs::Job* entry = jobs_->Find(job);
  if (entry->damage.empty()) return {};
  return Fail(ErrorKind::kCorrupt,
              fmt::format("job {0} is damaged and was set aside; what is sound of it can be saved "
                          "while no hub runs (spate state salvage), or: spate job forget {0}",
                          job.value));
}

void HubService::WhenAccepted(JobId job, std::function<void(const Error*)> fn) {
  if (jobs_->Find(job) != nullptr || jobs_->IsHidden(job))
    return loop_.Post([fn = std::move(fn)] { fn(nullptr); });
  awaiting_.emplace(job, std::move(fn));
}

void HubService::DropUpload(JobId job) {
  jobs_->Drop(job);
  if (!stopping_) store_->ForgetJob(job);
}

void HubService::TellAccepted(JobId job, const Error* error) {
  auto [first, last] = awaiting_.equal_range(job);
  std::vector<std::function<void(const Error*)>> waiting;
  for (auto each = first; each != last; ++each) waiting.push_back(std::move(each->second));
  awaiting_.erase(first, last);
  for (auto& fn : waiting) fn(error);
}

void HubService::WhenSettled(std::function<void()> fn) {
  // What was posted is stepped in an earlier turn of the loop, and commits are in order.
  loop_.Post([this, fn = std::move(fn)] {
    store_->Append({}, [fn](Status status) {
      if (status) fn();
    });
  });
}

void HubService::ReadFor(std::vector<JobId> jobs, std::string user,
                         std::function<void(Result<Readings>)> done) {
  aside_.Do([place = dir_.place(), jobs = std::move(jobs), user = std::move(user),
             done = std::move(done)]() -> HubAside::Then {
    Result<Readings> readings;
    for (JobId job : jobs) {
      auto succeeded = ReadSucceeded(place, job);
      if (!succeeded) return [done, error = succeeded.error()] { done(std::unexpected(error)); };
      readings->succeeded[job] = std::move(*succeeded);
    }
    if (!user.empty()) {
      auto bytes = SumOutput(place, user);
      if (!bytes) return [done, error = bytes.error()] { done(std::unexpected(error)); };
      readings->output = *bytes;
    }
    return [done, readings = std::move(readings)] { done(readings); };
  });
}

bool HubService::IsPast(JobId job) const {
  const HubJobs::Job* entry = jobs_->Find(job);
  return entry != nullptr && entry->damage.empty() && !hub_->engine().Counts(job);
}

Status HubService::FillOutcomes(engine::SubmitJob& event, const Readings& readings) const {
  for (const After& after : event.plan.after) {
    const HubJobs::Job* job = jobs_->Find(after.job);
    if (job == nullptr) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("--after: there is no job {} on this hub", after.job.value));
    }
    if (!job->damage.empty()) {
      return Fail(ErrorKind::kCorrupt,
                  fmt::format("--after: job {} is damaged, and nobody knows how it ended",
                              after.job.value));
    }
    if (hub_->engine().Counts(after.job)) continue;
    engine::JobOutcome outcome{after.job, job->counts, {}};
    if (after.kind == AfterKind::kEach) outcome.succeeded = readings.succeeded.at(after.job);
    event.outcomes.push_back(std::move(outcome));
  }
  return {};
}

Result<TaskIndex> HubService::BeginGrow(JobId job) {
  auto counts = hub_->engine().Counts(job);
  if (!counts) return Fail(ErrorKind::kNotFound, fmt::format("job {} has ended", job.value));
  if (!growing_.insert(job).second) {
    return Fail(ErrorKind::kBusy, fmt::format("somebody else adds tasks to job {} at this moment; "
                                              "try again when they are done",
                                              job.value));
  }
  return counts->total;
}

void HubService::ForgetJob(JobId job, std::function<void()> done) {
  TellRevived(job, Fail(ErrorKind::kNotFound,
                        fmt::format("job {} is being removed from the hub", job.value)));
  jobs_->Drop(job);
  jobs_->Hide(job, true);
  forgetting_.emplace_back(job, std::move(done));
  ForgetNext();
}

// A few at a time: what others have the journal write comes in between.
void HubService::ForgetNext() {
  constexpr size_t kAtOnce = 20;
  for (; !forgetting_.empty() && forgotten_now_ < kAtOnce; forgetting_.pop_front()) {
    ++forgotten_now_;
    auto& [job, done] = forgetting_.front();
    store_->ForgetJob(job, [this, job, done = std::move(done)](Status) {
      --forgotten_now_;
      jobs_->Hide(job, false);
      done();
      ForgetNext();
    });
  }
}

// A few at a time, each of which is some work for the journal; and on, as long as there are more.
void HubService::Prune() {
  const Duration every =
      std::clamp(options_.forget_nodes, Duration::Seconds(1), Duration::Seconds(60));
  constexpr Duration kNext = Duration::Millis(20);
  constexpr size_t kAtOnce = 20;
  // Names of nodes are kept as long as tasks that ran there.
  nodes_->ForgetAway(loop_.Now() - options_.forget_nodes, loop_.Now() - options_.keep);
  auto old = jobs_->EndedBefore(loop_.Now() - options_.keep, kAtOnce);
  for (JobId job : old) {
    if (Grows(job)) continue;
    hub_->Forget(job);
    ForgetJob(job, [] {});
  }
  Duration pause = old.size() < kAtOnce ? every : kNext;
  // What was asked of the journal before is done when it says so.
  WhenSettled([this, pause, every] {
    if (pause == every && options_.keep_bytes != UINT64_MAX) return PruneBySize(every);
    PruneIn(pause);
  });
}

void HubService::PruneIn(Duration pause) {
  prune_timer_ = loop_.At(loop_.Now() + pause, [this] { Prune(); });
}

// The oldest first, a few at a time, until what is left is small enough.
void HubService::PruneBySize(Duration every) {
  // The thread may outlive the service.
  aside_.Do([this, every, place = dir_.place(), most = options_.keep_bytes]() -> HubAside::Then {
    auto kept = SumOfAll(place);
    bool too_much = kept && *kept > most;
    return [this, every, too_much, bytes = too_much ? *kept - most : 0] {
      too_much ? ForgetOldest(bytes, every) : PruneIn(every);
    };
  });
}

// So many that `bytes` of output go, and measures again when they have gone.
void HubService::ForgetOldest(uint64_t bytes, Duration every) {
  constexpr size_t kAtOnce = 20;
  uint64_t freed = 0;
  auto left = std::make_shared<size_t>(0);
  for (JobId job : jobs_->EndedBefore(loop_.Now(), kAtOnce)) {
    if (freed >= bytes) break;
    if (Grows(job)) continue;
    ++*left;
    if (auto output = os::Stat(output_of(job))) freed += output->size;
    hub_->Forget(job);
    ForgetJob(job, [this, every, left] {
      if (--*left == 0) PruneBySize(every);
    });
  }
  if (*left == 0) PruneIn(every);
}

Result<std::shared_ptr<const JobSettings>> HubService::ReadSettings(JobId job) const {
  auto row = store_->ReadJob(job);
  if (!row) return std::unexpected(row.error());
  auto settings = wire::DecodeSettings(row->settings);
  if (!settings) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("its settings are damaged: {}", settings.error().message));
  }
  return std::make_shared<const JobSettings>(std::move(*settings));
}

void HubService::Revive(JobId job, std::function<void(Status)> done) {
  auto& waiting = reviving_[job];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  aside_.Do([this, job, place = dir_.place()]() -> HubAside::Then {
    auto past = std::make_shared<engine::Engine>();
    auto output = store::SqliteStore::ReplayJobApart(
        place, job, [&](const engine::Record& record) { past->Apply(record); });
    return [this, job, past, output] {
      if (!output) return TellRevived(job, std::unexpected(output.error()));
      auto settings = ReadSettings(job);
      if (!settings) return TellRevived(job, std::unexpected(settings.error()));
      // Nobody else takes it up meanwhile; it may have been removed.
      bool taken = reviving_.contains(job) && hub_->Adopt(job, *past);
      if (taken) store_->SetOutputEnd(job, *output);
      TellRevived(job, taken ? Status() : Fail(ErrorKind::kBusy, "the job changes; try again"));
    };
  });
}

void HubService::TellRevived(JobId job, const Status& status) {
  auto waiting = reviving_.extract(job);
  if (waiting.empty()) return;
  for (const auto& tell : waiting.mapped()) tell(status);
}

Status HubService::ChangeSettings(JobId job, const std::function<void(JobSettings&)>& change) {
  if (!hub_->engine().Finished(job)) {
    return Fail(ErrorKind::kBusy,
                fmt::format("job {} has not ended; its --time-limit can be changed once it has",
                            job.value));
  }
  auto row = store_->ReadJob(job);
  if (!row) return std::unexpected(row.error());
  auto settings = wire::DecodeSettings(row->settings);
  if (!settings) return std::unexpected(settings.error());
  change(*settings);
  row->settings = wire::EncodeSettings(*settings);
  store_->PutJob(std::move(*row));
  // Its row is read no sooner than what follows from it.
  hub_->SetSettings(job, std::make_shared<const JobSettings>(std::move(*settings)));
  return {};
}

// ---- What the hub tells ------------------------------------------------------------------------

void HubService::OnHubNotice(const engine::Notice& notice) {
  if (const auto* accepted = std::get_if<engine::NoticeAccepted>(&notice)) {
    jobs_->Accepted(accepted->job);
    TellAccepted(accepted->job, nullptr);
  } else if (const auto* refused = std::get_if<engine::NoticeRefused>(&notice)) {
    Error error{ErrorKind::kExhausted, refused->text};
    DropUpload(refused->job);
    TellAccepted(refused->job, &error);
  } else if (const auto* sick = std::get_if<engine::NoticeNodeSick>(&notice)) {
    options_.log(sick->text);
  }
}

void HubService::OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr&) {
  ++ends_[static_cast<size_t>(notice.verdict)];
  jobs_->Changed(notice.end.ref.job);
}

void HubService::OnHeld(const engine::NoticeHeld& notice) {
  jobs_->Held(notice.job, notice.reason);
  // What is damaged, and what helps, was told when it was found.
  bool told =
      notice.reason == engine::HoldReason::kUser || notice.reason == engine::HoldReason::kDamaged;
  if (!told) {
    options_.log(fmt::format("job {0} is held: {1}; its user lets it go on: spate job release {0}",
                             notice.job.value, ReasonOf(notice.reason)));
  }
}

void HubService::OnFinished(const engine::NoticeFinished& notice) {
  // Between the commit and now it may have been given more to do.
  if (!hub_->engine().Finished(notice.job)) return;
  jobs_->Finished(notice.job, notice.counts);
  ForgetSoon(notice.job);
}

// Not within a notice, nor while an event waits that may take the job up again, or wait for it.
void HubService::ForgetSoon(JobId job) {
  constexpr Duration kAgain = Duration::Millis(1);
  loop_.Post([this, job] {
    if (!hub_->engine().Finished(job) || hub_->Forget(job)) return;
    loop_.At(loop_.Now() + kAgain, [this, job] { ForgetSoon(job); });
  });
}

// Every lease that meets the damage is told; the job is held once.
bool HubService::OnRowsDamaged(JobId job, std::span<const TaskRange>, const Error& error) {
  if (hub_->engine().Held(job) == engine::HoldReason::kDamaged) return true;
  options_.log(fmt::format("job {} is held: {}", job.value, error.message));
  // Without its settings no task can run, and a release would only find the same again.
  options_.log(
      ReadSettings(job)
          ? fmt::format("its other tasks can go on without these: spate job cancel {0}.FIRST-LAST, "
                        "then spate job release {0}",
                        job.value)
          : fmt::format("nothing of it can run; to end it: spate job cancel {}", job.value));
  hub_->Post(engine::HoldJob{job, false, engine::HoldReason::kDamaged});
  return true;
}

void HubService::OnStoreFailed(const Error& error) {
  options_.log(error.message);
  options_.log(
      "the hub stops, since it could not write its journal; fix that and start it again: "
      "nothing that was acknowledged is lost");
  options_.stopped(3);
}

}  // namespace spate::apps
