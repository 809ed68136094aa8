#include "daemon/hub_program.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "access/proof.h"
#include "base/bytes32.h"
#include "base/product.h"
#include "base/units.h"
#include "client/target.h"
#include "daemon/batch_commands.h"
#include "daemon/metrics_text.h"
#include "doors/doors.h"
#include "history/reader.h"
#include "history/reader_end.h"
#include "os/account.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_history.h"
#include "wire/client_codec.h"

namespace spate::daemon {
namespace {

constexpr Duration kLagEvery = Duration::Seconds(1);

// The number by which the journal knows the key.
int64_t PinNumber(const transport::Identity& key) {
  const Bytes32 pin = key.pin();
  return std::bit_cast<std::array<int64_t, 4>>(pin)[0];
}

uint64_t SizeOf(const std::string& path) {
  auto info = os::Stat(path);
  return info ? info->size : 0;
}

// A hub without the journal of its earlier life would be taken for it, by nodes and people who know
// of jobs that it does not.
Status CheckWhole(const store::HubDir& dir) {
  if (!os::Exists(dir.place().BeganPath())) return {};
  auto journal = os::Stat(dir.place().DbPath());
  // Without a mark its first life has not written anything yet.
  const bool lived = SizeOf(dir.place().BeganPath()) > 0;
  if (journal && !lived) return {};
  if (journal && journal->size > 0) {
    auto opened = store::OpenJournalToRead(dir.place().DbPath());
    if (opened || opened.error().kind != ErrorKind::kNotFound) return {};
  }
  return Fail(ErrorKind::kCorrupt,
              fmt::format("the journal of the hub in {} is {} ({}), and its jobs with it\n"
                          "Restore a backup",
                          EscapeForScreen(dir.path()), journal ? "empty" : "missing",
                          EscapeForScreen(dir.place().DbPath())),
              Remedy(": {}; or move the folder away, for a new hub with a new key",
                     Advice("hub restore", "FILE")));
}

// Nodes and clients know a hub by its key: one that has run before gets another on request only.
Result<transport::Identity> OpenKey(const link::HubKeys& keys, const store::HubDir& dir,
                                    const HubProgram::Options& options) {
  const std::string journal = dir.place().DbPath();
  auto db = TRY(store::OpenJournalToRead(journal));
  const int64_t known = TRY(store::MetaNumber(db, "key_pin"));
  const bool lived = known != 0 || SizeOf(dir.place().BeganPath()) > 0;
  const bool missing = lived && !keys.Has(link::kHubKey);
  if (!missing) {
    auto key = TRY(keys.LoadOrMakeKey());
    if (known == 0) TRY(store::WriteMetaNumber(journal, "key_pin", PinNumber(key)));
    if (known == 0 || known == PinNumber(key)) return key;
  }
  if (options.new_key) {
    auto key = TRY(transport::Identity::Make());
    TRY(store::WriteMetaNumber(journal, "key_pin", PinNumber(key)));
    TRY(keys.Replace(key));
    options.hub.log(
        fmt::format("the hub has a new key: nodes and clients on other machines need new access "
                    "files; {} and node.access have it",
                    EscapeForScreen(keys.PathOf(link::kAdminAccess))));
    return key;
  }
  return Fail(
      ErrorKind::kCorrupt,
      fmt::format("the hub's key {} {}: nodes and clients would not recognize the hub\nRestore it "
                  "from a copy",
                  EscapeForScreen(keys.PathOf(link::kHubKey)),
                  missing ? "is missing" : "is not the one that its journal records"),
      Remedy("; or make a new key and new access files: {}", Advice("hub start", "--new-key")));
}

// A hub that ended while it made its first journal has left an empty one, and has never lived.
Status RemoveUnborn(const store::HubDir& dir) {
  const std::string path = dir.place().DbPath();
  if (!os::Exists(path) || os::Exists(dir.place().BeganPath())) return {};
  auto journal = store::OpenJournalToRead(path);
  if (journal || journal.error().kind != ErrorKind::kNotFound) return {};
  for (const char* part : {"-wal", "-shm", "-journal", ""}) {
    TRY(os::RemoveFile(path + part));
  }
  return {};
}

// This very file, also when a newer one has taken its place meanwhile.
Result<std::string> OwnProgram() {
  constexpr const char* kItself = "/proc/self/exe";
  if (os::Exists(kItself)) return kItself;
  return os::OwnProgram();
}

store::SqliteOptions JournalOptions(const store::HubDir& dir,
                                    const std::function<void(std::string)>& log) {
  store::SqliteOptions options;
  options.waiting = [log, path = dir.place().DbPath()](Duration time) {
    log(
        fmt::format("another program has held a lock on {} for {:.0f} s; until it releases the "
                    "lock, the hub starts and acknowledges nothing (fuser {} shows the program)",
                    EscapeForScreen(path), time.seconds(), ShellQuote(path)));
  };
  return options;
}

// A hub that is moved to another machine may still run on the old one.
store::StateOptions Patient(const std::function<void(std::string)>& log) {
  store::StateOptions patient;
  patient.patience = store::OwnerFile::kPatience;
  patient.waiting = [log](const store::JobOwner& owner) {
    log(
        fmt::format("the last hub of this folder was {}; watching for {:.0f} s whether that one "
                    "still works",
                    owner.Text(), store::OwnerFile::kPatience.seconds()));
  };
  return patient;
}

void TellCosts(const store::HubDir& dir, const std::function<void(std::string)>& log) {
  log(fmt::format(
      "the hub's folder is on a network file system ({}): to write and sync a few bytes took "
      "{:.1f} "
      "ms, each commit does so several times, readers and commits wait for each other, and while "
      "the server is away nothing is accepted. A folder on a disk of this machine (--state) is "
      "faster and safer",
      dir.network_file_system(), dir.SyncTime().seconds() * 1e3));
}

}  // namespace

Result<std::unique_ptr<HubProgram>> HubProgram::Open(os::RealLoop& loop, Options options) {
  auto held = store::HubDir::Open(options.hub.dir, Patient(options.hub.log));
  if (std::string stops = held ? "" : client::StoppingText(options.hub.dir); !stops.empty()) {
    return Fail(ErrorKind::kBusy, stops + "\nThen start it again");
  }
  auto dir = TRY(std::move(held));
  if (options.check) TRY(options.check());
  if (!dir.network_file_system().empty()) TellCosts(dir, options.hub.log);
  TRY(CheckWhole(dir));
  TRY(RemoveUnborn(dir));
  for (const char* name : {client::kRestsName, client::kStopsName}) {
    TRY(os::RemoveFile(os::JoinPath(dir.path(), name)));
  }
  auto store = TRY(store::SqliteStore::Open(dir, loop, JournalOptions(dir, options.hub.log)));
  if (!os::Exists(dir.place().BeganPath())) {
    TRY(os::WriteFile(dir.place().BeganPath(), "", 0600));
  }
  auto keys = TRY(link::HubKeys::Open(options.hub.dir));
  auto identity = TRY(OpenKey(keys, dir, options));
  std::unique_ptr<HubProgram> program(new HubProgram(loop, std::move(options), std::move(dir),
                                                     std::move(store), std::move(identity)));
  TRY(program->Serve());
  TRY(program->WriteFirstAccess(keys));
  return program;
}

HubProgram::~HubProgram() { loop_.Cancel(lag_timer_); }

Status HubProgram::Serve() {
  TRY(OpenService());
  TRY(OpenDoor());
  // Pilots are told where the door is.
  service_->Begin(door_->reached_at());
  return OpenMetrics();
}

Status HubProgram::OpenService() {
  auto file = TRY(OwnProgram());
  auto program = TRY(os::OwnProgram());
  const uint32_t owner = os::EffectiveUser();
  reader_ = std::make_unique<hub::ReaderProcesses>(
      loop_, std::vector<std::string>{std::move(file), "__hub-reader", dir_.path()},
      history::FindRow);
  commands_ = std::make_unique<BatchCommands>(
      loop_, BatchCommands::Options{.user = options_.user,
                                    .is_root = owner == 0,
                                    .environment = os::Environment::OfProcess()});
  const parasol::ParasolSite* site = options_.parasol ? &*options_.parasol : nullptr;
  site_ = doors::SiteFacts(site);
  hub::Service::Options with = options_.hub;
  with.product = ProductVersion();
  with.habits = doors::AllHabits(site);
  with.user = options_.user;
  with.owner = owner;
  with.program = std::move(program);
  with.key = identity_.ToPem();
  with.pin = identity_.pin();
  // Without the file, commands need this hub as one that was killed.
  const std::string rests = os::JoinPath(dir_.path(), client::kRestsName);
  with.stop_asked = [this, rests] {
    if (service_->known().Unfinished().empty()) (void)os::WriteFileAtomically(rests, "", 0600);
    Stop();
  };
  with.stopped = [this, rests] {
    // A job may have been accepted since.
    if (!service_->known().Unfinished().empty()) (void)os::RemoveFile(rests);
    options_.stopped(0);
  };
  with.make_secret = access::MakeRandom;
  with.keep_replay = [reader = reader_.get()](JobId job, std::function<void()> done) {
    return reader->StoreState(job, std::move(done));
  };
  with.space = [this, own = os::Stat(options_.hub.dir)] {
    auto now = os::Stat(options_.hub.dir);
    const bool other = now && own && now->inode != own->inode;
    if (other || (!now && now.error().kind == ErrorKind::kNotFound)) {
      options_.hub.log("the hub's folder " + EscapeForScreen(options_.hub.dir) +
                       " was removed or moved away; this hub ends");
      options_.stopped(3);
    }
    return os::SpaceOf(options_.hub.dir);
  };
  with.about = [this](HubFacts& facts) { TellAbout(facts); };
  auto service =
      hub::Service::Open({loop_, *store_, aside_, *reader_, *commands_, *this}, std::move(with));
  if (!service) return std::unexpected(service.error());
  service_ = std::move(*service);
  return {};
}

Status HubProgram::OpenDoor() {
  hub::Door::Options with = options_.door;
  with.dir = options_.hub.dir;
  with.product = ProductVersion();
  with.log = options_.hub.log;
  auto door = TRY(hub::Door::Open(loop_, *service_, &identity_, std::move(with)));
  door_ = std::move(door);
  return {};
}

void HubProgram::TellAbout(HubFacts& facts) const {
  if (door_) door_->TellAbout(facts);
  std::string journal = dir_.place().DbPath();
  facts.site = site_;
  facts.metrics = metrics_at_;
  facts.journal_bytes = SizeOf(journal) + SizeOf(journal + "-wal");
  facts.lag = lag_;
}

Status HubProgram::OpenMetrics() {
  if (!options_.metrics) return {};
  auto text = [this] {
    auto pools = service_->pools().Describe({.user = "", .is_admin = true}, {}, /*pilots=*/false);
    return MetricsText(service_->Facts(), pools.value_or(std::vector<PoolFacts>())) +
           ProcessMetricsText();
  };
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
  auto first = TRY(keys.LoadOrMake(identity_, {reached_at, options_.user, options_.node_user}));
  for (auto [access, name] :
       {std::pair{&first.admin, link::kAdminAccess}, {&first.node, link::kNodeAccess}}) {
    service_->access().Add(*access, [](Status) {});
    if (access->hubs == reached_at) continue;  // they were made for another port, or by somebody
    access->hubs = reached_at;                 // who did not know it
    TRY(access::SaveAccess(keys.PathOf(name), *access));
  }
  return {};
}

void HubProgram::Stop() {
  // Commands name the process that is stopping.
  (void)os::WriteFile(os::JoinPath(dir_.path(), client::kStopsName),
                      fmt::format("process {}", os::OwnPid()), 0600);
  metrics_.reset();
  door_->Close();
  service_->Stop();
}

std::optional<int> HubReaderEntry(int argc, char** argv) {
  if (argc != 5 || std::string_view(argv[1]) != "__hub-reader") return std::nullopt;
  store::JobPlace place = store::JobPlace::Hub(argv[2]);
  if (std::string_view(argv[4]) == history::kKeepWord) place.keep_replay_after = 1;
  history::Source source(store::OpenHistory(place));
  source.viewer = {argv[3], std::string_view(argv[4]) == "admin"};
  source.settings = [](const store::JobRow& row) { return wire::DecodeSettings(row.settings); };
  source.dialects = doors::AllDialects();
  if (history::KeepIfAsked(source, argv[3], argv[4])) return 0;
  source.now = os::WallNow;
  history::AnswerOnce(source);
  return 0;
}

}  // namespace spate::daemon
