#include "daemon/hub_program.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "daemon/batch_commands.h"
#include "daemon/metrics_text.h"
#include "doors/doors.h"
#include "hub/look.h"
#include "os/account.h"
#include "os/file.h"
#include "os/process.h"
#include "store/sqlite/schema.h"

namespace spate::daemon {
namespace {

constexpr Duration kLagEvery = Duration::Seconds(1);

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

// A hub that ended while it made its first journal has left an empty one, and has never lived.
Status RemoveUnborn(const store::HubDir& dir) {
  const std::string path = dir.place().DbPath();
  if (!os::Exists(path) || os::Exists(os::JoinPath(dir.path(), kBegan))) return {};
  auto journal = store::OpenJournalToRead(path);
  if (journal || journal.error().kind != ErrorKind::kNotFound) return {};
  for (const char* part : {"-wal", "-shm", "-journal", ""}) {
    if (auto removed = os::RemoveFile(path + part); !removed) return removed;
  }
  return {};
}

// This very file, also when a newer one has taken its place meanwhile.
Result<std::string> OwnProgram() {
  constexpr const char* kItself = "/proc/self/exe";
  if (os::Exists(kItself)) return kItself;
  return os::OwnProgram();
}

uint64_t SizeOf(const std::string& path) {
  auto info = os::Stat(path);
  return info ? info->size : 0;
}

store::SqliteOptions JournalOptions(const store::HubDir& dir,
                                    const std::function<void(std::string)>& log) {
  store::SqliteOptions options;
  options.waiting = [log, path = dir.place().DbPath()](Duration time) {
    log(fmt::format(
        "another program has held a lock on {} for {:.0f} s; the hub waits, and nothing "
        "is started or acknowledged before it is gone (fuser {} tells who)",
        EscapeForScreen(path), time.seconds(), ShellQuote(path)));
  };
  return options;
}

}  // namespace

Result<std::unique_ptr<HubProgram>> HubProgram::Open(os::RealLoop& loop, Options options) {
  auto dir = store::HubDir::Open(options.hub.dir);
  if (!dir) return std::unexpected(dir.error());
  if (auto whole = CheckWhole(*dir); !whole) return std::unexpected(whole.error());
  if (auto removed = RemoveUnborn(*dir); !removed) return std::unexpected(removed.error());
  auto store = store::SqliteStore::Open(*dir, loop, JournalOptions(*dir, options.hub.log));
  if (!store) return std::unexpected(store.error());
  auto began = os::WriteFile(os::JoinPath(options.hub.dir, kBegan), "", 0600);
  if (!began) return std::unexpected(began.error());
  auto keys = link::HubKeys::Open(options.hub.dir);
  if (!keys) return std::unexpected(keys.error());
  auto identity = keys->LoadOrMakeKey();
  if (!identity) return std::unexpected(identity.error());
  std::unique_ptr<HubProgram> program(
      new HubProgram(loop, std::move(options), std::move(*dir), std::move(*store)));
  if (auto serves = program->Serve(std::move(*identity)); !serves)
    return std::unexpected(serves.error());
  if (auto written = program->WriteFirstAccess(*keys); !written) {
    return std::unexpected(written.error());
  }
  return program;
}

HubProgram::~HubProgram() { loop_.Cancel(lag_timer_); }

Status HubProgram::Serve(transport::Identity identity) {
  auto file = OwnProgram();
  if (!file) return std::unexpected(file.error());
  hub::Service::Options with = options_.hub;
  with.product = SPATE_VERSION;
  const parasol::ParasolSite* site = options_.parasol ? &*options_.parasol : nullptr;
  with.habits = doors::AllHabits(site);
  site_ = doors::SiteFacts(site);
  auto program = os::OwnProgram();
  if (!program) return std::unexpected(program.error());
  with.user = options_.user;
  with.program = std::move(*program);
  with.commands = std::make_shared<BatchCommands>(
      loop_, BatchCommands::Options{.user = options_.user,
                                    .is_root = os::EffectiveUser() == 0,
                                    .environment = os::Environment::OfProcess()});
  with.about = [this](HubFacts& facts) { TellAbout(facts); };
  with.start_reader = [this, file = *file](const hub::Caller& caller, std::string input,
                                           os::Child::Events events) {
    std::vector<std::string> argv = {file, "__hub-reader", dir_.path(), caller.user,
                                     caller.is_admin ? "admin" : "user"};
    return os::Child::Start(loop_, std::move(argv), std::move(input), std::move(events));
  };
  auto service = hub::Service::Open(loop_, *store_, std::move(identity), std::move(with));
  if (!service) return std::unexpected(service.error());
  service_ = std::move(*service);
  return OpenMetrics();
}

void HubProgram::TellAbout(HubFacts& facts) const {
  std::string journal = dir_.place().DbPath();
  facts.site = site_;
  facts.metrics = metrics_at_;
  facts.journal_bytes = SizeOf(journal) + SizeOf(journal + "-wal");
  facts.lag = lag_;
}

Status HubProgram::OpenMetrics() {
  if (!options_.metrics) return {};
  auto text = [this] { return MetricsText(hub::FactsOfHub(*service_)); };
  auto trouble = [this](const Error& error) { options_.hub.log("metrics: " + error.message); };
  auto opened = MetricsServer::Open(loop_, *options_.metrics, text, trouble);
  if (!opened) return Within("--metrics", opened.error());
  metrics_ = std::move(*opened);
  metrics_at_ = fmt::format("http://{}/metrics", metrics_->address().Text());
  MeasureLag();
  return {};
}

void HubProgram::MeasureLag() {
  Instant due = loop_.Now() + kLagEvery;
  lag_timer_ = loop_.At(due, [this, due] {
    lag_ = loop_.Now() - due;
    MeasureLag();
  });
}

// The first credentials lie in the hub's folder, for its owner to pass on.
Status HubProgram::WriteFirstAccess(const link::HubKeys& keys) {
  const std::vector<os::Address>& reached_at = service_->self().reached_at;
  if (!service_->access().all().empty() || reached_at.empty()) return {};
  auto first =
      keys.LoadOrMake(service_->identity(), {reached_at, options_.user, options_.node_user});
  if (!first) return std::unexpected(first.error());
  for (auto [access, name] :
       {std::pair{&first->admin, link::kAdminAccess}, {&first->node, link::kNodeAccess}}) {
    service_->access().Add(*access, [](Status) {});
    if (access->hubs == reached_at) continue;  // they were made for another port, or by somebody
    access->hubs = reached_at;                 // who did not know it
    if (auto saved = access::SaveAccess(keys.PathOf(name), *access); !saved) return saved;
  }
  return {};
}

void HubProgram::Stop() {
  metrics_.reset();
  service_->Stop();
}

}  // namespace spate::daemon
