#include "doors/mw/run/master_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "access/access_file.h"
#include "base/check.h"
#include "base/product.h"
#include "base/units.h"
#include "client/surroundings.h"
#include "doors/mw/formats/resource_file.h"
#include "doors/mw/ledger/ledger.h"
#include "doors/mw/run/algorithms.h"
#include "doors/mw/run/audit.h"
#include "doors/mw/run/slave_access.h"
#include "doors/mw/run/slave_channel.h"
#include "doors/mw/run/state_store.h"
#include "doors/mw/run/waiting_results.h"
#include "hub/door/embedded_hub.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/held_file.h"
#include "os/loaded_code.h"
#include "os/machine.h"
#include "os/process.h"
#include "os/signals.h"
#include "os/temp_dir.h"
#include "os/terminal.h"
#include "os/thread.h"
#include "transport/tcp/identity.h"

namespace spate::mw {
namespace {

constexpr size_t kSlavesMost = 1'000'000;
constexpr size_t kUnkeptFew = 10'000;          // numbers of ended tasks that may stay
constexpr const char* kDoorSocket = "socket";  // hub::Door::Options::dir
constexpr Duration kLookAtSlow = Duration::Millis(250);
// A master without slaves prints how to start them, after this time.
constexpr Duration kHintAfter = Duration::Seconds(5);
// The resource file is written anew at most so often where what it says has changed.
constexpr Duration kFileAtMost = Duration::Seconds(1);
// People hear at most so often that results wait.
constexpr Duration kTellHeldEvery = Duration::Seconds(60);

uint64_t UnixSeconds(Instant now) { return static_cast<uint64_t>(now.ns / 1'000'000'000); }

slave_id SlaveFor(NodeId node) { return {node.value}; }

Limits LimitsOf(const Options& options) {
  Limits limits;
  limits.node_patience = options.client_timeout;
  return limits;
}

}  // namespace

class MasterHub::Inside final : public hub::Watcher {
 public:
  Inside(os::RealLoop& loop, const Options& options, Inbox& inbox, std::shared_ptr<StateFile> state,
         std::shared_ptr<MasterConstants> constants)
      : loop_(loop),
        options_(options),
        inbox_(inbox),
        has_state_(state != nullptr),
        ledger_(std::min(options.task_group, options.result_group.value_or(UINT32_MAX))),
        store_(loop, ledger_, std::move(state)),
        memory_(std::make_shared<link::OutputMemory>(options_.result_memory)),
        keeper_(memory_, spool_.path()),
        constants_(loop, std::move(constants)),
        words_(Algorithms::Get().Words()) {
    settings_->name = "master-worker";
    settings_->cwd = "/";
    settings_->row_kind = RowKind::kFunction;
  }

  Status Begin();
  void Restore(StateFile::Kept kept);
  void Submit(std::vector<task> tasks);
  void Want(group which, int64_t change) {
    ledger_.AdjustWanted(which, change);
    WriteFileSoon();
  }
  bool Free(slave_id slave);
  void Checkpoint(const std::vector<task_id>& taken, std::string state, uint64_t last_task,
                  std::function<void(Status)> done);
  std::vector<task> Cancel(const std::optional<std::vector<task_id>>& tasks) {
    auto cancelled = tasks ? ledger_.Cancel(*tasks) : ledger_.CancelAll();
    Carry();
    return cancelled;
  }
  const Ledger& ledger() const { return ledger_; }
  bool has_state() const { return has_state_; }
  void ResultsTaken();
  void Finish(bool failed, std::function<void()> done);

  // hub::Watcher
  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) override;
  void OnHeld(const engine::NoticeHeld&) override {}
  void OnFinished(const engine::NoticeFinished& notice) override {
    ledger_.Finished(notice.job);
    Carry();
  }
  void OnNews(const wire::ToHub&) override {}
  void OnStoreFailed(const Error& error) override { Fail(error.message); }

 private:
  // The computation's state in the resource file, and whether tasks are still given out.
  enum class Phase : uint8_t { kWorks, kEnds, kOver };

  Status HoldFile();
  Status OpenHub();
  hub::Hub& hub() { return hub_->hub(); }
  hub::Service& service() { return hub_->service(); }
  Status Listen();
  Status ListenAt(const os::Address& address);
  void ListenHere();
  hub::Door::Options DoorOptions();
  std::expected<wire::Greeting, wire::Refusal> Judge(const link::Guest& guest);
  std::string TextOf(JobId job, TaskIndex packet) const;
  std::unique_ptr<hub::NodePort> Joined(slave_id slave, const std::string& peer,
                                        std::unique_ptr<hub::NodePort> port);
  void Dismiss(slave_id slave);
  void Lost(slave_id slave, const link::Ended& ended);
  void Told(slave_id slave, const wire::ToHub& message);
  void Given(slave_id slave, const wire::Lease& lease);
  void Carry();
  void Deliver(Ledger::Effects& effects);
  void HoldTasks();
  void Stepped();
  void Fail(const std::string& why);
  uint64_t Missing() const { return phase_ == Phase::kWorks ? ledger_.Missing() : 0; }
  Status WriteFile();
  void WriteFileOften();
  void WriteFileSoon();
  void TryToWriteFile();
  void LookAtSlow();
  void Hint();
  void Finished();

  os::RealLoop& loop_;
  const Options options_;
  Inbox& inbox_;
  const bool has_state_;
  Ledger ledger_;
  StateStore store_;
  os::TempDir spool_;
  const std::shared_ptr<link::OutputMemory> memory_;  // of results, from their arrival on
  ResultKeeper keeper_;
  ConstantServer constants_;
  Instant told_held_;  // when people heard of it
  const std::vector<std::string> words_;
  bool words_are_kept_ = false;  // by a checkpoint of this life
  const std::shared_ptr<JobSettings> settings_ = std::make_shared<JobSettings>();
  std::unique_ptr<Audit> audit_;
  std::optional<transport::Identity> identity_;
  access::Access access_;
  HostAndPort place_;
  std::string executable_;
  std::vector<std::string> libraries_;        // that travel with it
  std::map<slave_id, SlaveChannel*> slaves_;  // the hub has them
  std::unique_ptr<hub::EmbeddedHub> hub_;
  std::vector<std::unique_ptr<hub::Door>> doors_;
  uint64_t last_slave_ = 0;
  std::vector<task_id> unkept_;  // that no checkpoint has seen, with some that have ended
  std::vector<JobId> over_;
  Phase phase_ = Phase::kWorks;
  bool failed_ = false;
  std::function<void()> finished_;    // while it ends
  std::optional<os::HeldFile> file_;  // the resource file
  uint64_t told_missing_ = 0;         // what the resource file says
  Instant file_written_;
  bool file_due_ = false;
  bool file_problem_ = false;
};

// ---- The beginning -----------------------------------------------------------------------------

Status MasterHub::Inside::Begin() {
  auto audit = Audit::Open(loop_, options_.audit_file, os::kStderr);
  if (!audit) return std::unexpected(audit.error());
  audit_ = std::move(*audit);
  audit_->Record(audit::Version(SPATE_VERSION));
  audit_->Record(audit::MasterInit(options_.member_id));
  auto program = options_.executable.empty() ? os::OwnProgram() : os::RealPath(options_.executable);
  if (!program) return Within("--mw-slave-executable", program.error());
  executable_ = std::move(*program);
  // Only the libraries of this program are known.
  if (auto own = os::OwnProgram(); own && *own == executable_) libraries_ = os::LoadedLibraries();
  TRY(HoldFile());
  place_.host = options_.host.empty() ? os::Machine(os::Environment::OfProcess()).facts().host_name
                                      : options_.host;
  auto made = TRY(SlaveAccess::Make(options_.access_file));
  identity_ = std::move(made.identity);
  access_ = std::move(made.access);
  TRY(OpenHub());
  TRY(Listen());
  access_.hubs = {{.host = place_.host, .port = place_.port, .path = ""}};
  if (!options_.access_file.empty()) {
    TRY(access::SaveAccess(options_.access_file, access_));
  }
  ListenHere();
  if (auto written = WriteFile(); !written) {
    if (written.error().kind == ErrorKind::kBusy) return InUse(options_.resource_file);
    return Within("--mw-resource-file " + options_.resource_file, written.error());
  }
  WriteFileOften();
  LookAtSlow();
  loop_.At(loop_.Now() + kHintAfter, [this] { Hint(); });
  return {};
}

// Two masters of one file would take each other's slaves.
Status MasterHub::Inside::HoldFile() {
  if (options_.resource_file.empty()) return {};
  auto held = os::HeldFile::Hold(options_.resource_file);
  if (!held && held.error().kind == ErrorKind::kBusy) return InUse(options_.resource_file);
  if (!held) return std::unexpected(std::move(held.error()));
  file_ = std::move(*held);
  return {};
}

Status MasterHub::Inside::Listen() {
  const std::string& host = options_.bind.empty() ? place_.host : options_.bind;
  os::Address address{.host = host, .port = 0, .path = ""};
  std::vector<os::SocketAddress> all;
  if (host != "*") {
    auto found = os::ResolveBlocking(address);
    if (!found) {
      return Within(fmt::format("cannot listen at '{}' (--mw-master-host, --mw-master-bind)", host),
                    found.error());
    }
    all = std::move(*found);
  }
  // All addresses of the name, by the port that the first of them took.
  std::string first_error;
  for (const os::SocketAddress& each : all) {
    auto parsed = TRY(os::ParseAddress(each.Text()));
    parsed.port = place_.port;
    auto listens = ListenAt(parsed);
    if (!listens && first_error.empty()) first_error = listens.error().message;
  }
  if (host == "*") {
    TRY(ListenAt(address));
  }
  if (!doors_.empty()) return {};
  return spate::Fail(ErrorKind::kUnavailable,
                     first_error + "; name another address with --mw-master-bind");
}

Status MasterHub::Inside::OpenHub() {
  TRY(os::MakeDirs(spool_.Path("spool")));  // of the doors
  store_.AddCredential({.serial = kSlaveSerial,
                        .role = std::string(WordOf(access_.role)),
                        .user = access_.user,
                        .secret = std::string(access_.secret.begin(), access_.secret.end())});
  auto here = client::Surroundings::Find();
  hub::LiveReader::Texts texts;
  texts.command = [this](JobId job, TaskIndex packet) { return TextOf(job, packet); };
  auto hub = TRY(hub::EmbeddedHub::Open(
      {.loop = loop_,
       .store = store_,
       .owner = *this,
       .texts = std::move(texts),
       .state_dir = here && !options_.in_process ? client::StateDirOf("", *here) : "",
       .limits = LimitsOf(options_),
       .stepped = [this] { Stepped(); }}));
  hub_ = std::move(hub);
  auto at = hub_->OpenDoor();
  audit_->Record({"MASTER", at ? "to look at it: spate top --at " + *at
                               : "nobody can look at it: " + at.error().message});
  return {};
}

// Describes a packet for people.
std::string MasterHub::Inside::TextOf(JobId job, TaskIndex packet) const {
  if (ledger_.IsUnbound(job, packet)) return "the next task that waits";
  std::string text;
  for (uint64_t id : ledger_.TasksOf(job, packet)) {
    const task* what = ledger_.Find(id);
    if (what != nullptr)
      text += fmt::format("{}task {}: {}", text.empty() ? "" : ", ", id, what->algorithm);
  }
  return text;
}

hub::Door::Options MasterHub::Inside::DoorOptions() {
  hub::Door::Options with;
  with.dir = spool_.path();
  with.socket = false;
  with.product = ProductVersion();
  with.connections = kSlavesMost;
  with.suspect_after = options_.client_timeout;
  with.output_memory = memory_;
  with.log = [this](std::string line) { audit_->Record({"MW-INTERNAL", std::move(line)}); };
  with.judge = [this](const link::Guest& guest) { return Judge(guest); };
  with.joined = [this](NodeId node, const std::string& peer, std::unique_ptr<hub::NodePort> port) {
    return Joined(SlaveFor(node), peer, std::move(port));
  };
  with.gone = [this](NodeId node, const link::Ended& ended) { Lost(SlaveFor(node), ended); };
  return with;
}

Status MasterHub::Inside::ListenAt(const os::Address& address) {
  hub::Door::Options with = DoorOptions();
  with.listen = {address};
  auto door = TRY(hub::Door::Open(loop_, service(), &*identity_, std::move(with)));
  HubFacts facts;
  door->TellAbout(facts);
  for (const std::string& at : facts.addresses) {
    if (auto parsed = os::ParseAddress(at)) place_.port = parsed->port;
    audit_->Record(audit::MasterReady(at));
  }
  doors_.push_back(std::move(door));
  return {};
}

// Slaves of this user on this machine come by a socket, without TLS: the system knows them.
void MasterHub::Inside::ListenHere() {
  hub::Door::Options with = DoorOptions();
  with.socket = true;
  with.permissions = 0600;
  auto door = hub::Door::Open(loop_, service(), nullptr, std::move(with));
  if (!door) {
    audit_->Record(
        {"MASTER", "slaves of this machine come over the network: " + door.error().message});
    return;
  }
  doors_.push_back(std::move(*door));
  access_.hubs.push_back({.host = "", .port = 0, .path = os::JoinPath(spool_.path(), kDoorSocket)});
}

void MasterHub::Inside::Restore(StateFile::Kept kept) {
  for (const result& each : kept.results) store_.Keeps(each.task);
  Ledger::Effects left;
  left.results = std::move(kept.results);
  Deliver(left);
  std::vector<task> tasks;
  for (StateFile::Kept::Task& each : kept.tasks) {
    store_.Keeps(each.what.id);
    if (each.given) {
      ledger_.HandBack(std::move(each.what), "its master was killed, and it may not be retried");
    } else if (each.what.how.slave && !each.what.how.do_it_anyway) {
      ledger_.HandBack(std::move(each.what), "its slave was that of an earlier master");
    } else {
      each.what.how.slave = {};
      tasks.push_back(std::move(each.what));
    }
  }
  ledger_.Submit(std::move(tasks));
  Carry();
}

// ---- The master's wishes -----------------------------------------------------------------------

void MasterHub::Inside::Submit(std::vector<task> tasks) {
  if (has_state_) {
    for (const task& each : tasks) unkept_.push_back(each.id);
    if (unkept_.size() > 2 * ledger_.size() + kUnkeptFew) {
      std::erase_if(unkept_, [this](task_id id) {
        if (ledger_.Find(id.value) != nullptr) return false;
        (void)store_.WasGiven(id);
        return true;
      });
    }
  }
  ledger_.Submit(std::move(tasks));
  Carry();
}

bool MasterHub::Inside::Free(slave_id slave) {
  const bool there = ledger_.Free(slave);
  if (there) audit_->Record(audit::Freed(slave.value));
  Carry();
  return there;
}

void MasterHub::Inside::Checkpoint(const std::vector<task_id>& taken, std::string state,
                                   uint64_t last_task, std::function<void(Status)> done) {
  StateChange change{.state = std::move(state), .algorithms = {}, .last_task = last_task};
  if (!std::exchange(words_are_kept_, true)) change.algorithms = words_;
  for (task_id id : std::exchange(unkept_, {})) {
    const bool given = store_.WasGiven(id);
    const task* what = ledger_.Find(id.value);
    if (what == nullptr) continue;
    if (given) change.given.push_back(id);
    change.tasks.push_back(*what);
    store_.Keeps(id);
  }
  {
    // Results that have arrived and were not taken.
    std::lock_guard lock(inbox_.mutex);
    inbox_.EachResult([&](const WaitingResult& each) {
      if (store_.IsKept(each.what.task)) return;
      change.results.push_back(Whole(each));
      store_.Keeps(each.what.task);
    });
    for (const task& each : inbox_.unrunnable) {
      change.given.push_back(each.id);
      if (store_.IsKept(each.id)) continue;
      change.tasks.push_back(each);
      store_.Keeps(each.id);
    }
  }
  for (task_id id : taken) {
    if (!store_.IsKept(id)) continue;
    change.taken.push_back(id);
    store_.Forget(id);
  }
  store_.Write(std::move(change), std::move(done));
}

// Carries out the effects of the ledger's news.
void MasterHub::Inside::Carry() {
  Ledger::Effects effects = ledger_.DrainEffects();
  for (engine::Event& event : effects.events) {
    if (auto* submit = std::get_if<engine::SubmitJob>(&event)) {
      hub_->Submit(std::move(*submit), {.name = settings_->name, .cwd = settings_->cwd}, settings_);
    } else {
      hub().Post(std::move(event));
    }
  }
  over_.insert(over_.end(), effects.over.begin(), effects.over.end());
  WriteFileSoon();
  Deliver(effects);
}

void MasterHub::Inside::Deliver(Ledger::Effects& effects) {
  std::vector<WaitingResult> kept;
  kept.reserve(effects.results.size());
  for (result& each : effects.results) kept.push_back(keeper_.Store(std::move(each)));
  std::lock_guard lock(inbox_.mutex);
  inbox_.slaves = ledger_.slaves();
  inbox_.runnable = ledger_.runnable();
  inbox_.Add(std::move(kept), effects);
  if (!inbox_.HoldsNow(memory_->most())) return;
  loop_.Post([this] { HoldTasks(); });
}

// Results wait that fill their memory, or did. A master that never takes them has no more than
// that, and what its slaves had in work.
void MasterHub::Inside::HoldTasks() {
  {
    std::lock_guard lock(inbox_.mutex);
    if (ledger_.held() == inbox_.holds_tasks) return;
  }
  ledger_.Hold(!ledger_.held());
  Carry();
  if (!ledger_.held() || (told_held_ != Instant() && loop_.Now() - told_held_ < kTellHeldEvery)) {
    return;
  }
  told_held_ = loop_.Now();
  audit_->Record({"MASTER", fmt::format("{} of results wait to be taken; slaves get no new tasks "
                                        "until then (--mw-result-memory)",
                                        FormatSize(memory_->most()))});
}

void MasterHub::Inside::ResultsTaken() {
  {
    std::lock_guard lock(inbox_.mutex);
    if (!inbox_.wants_more && inbox_.result_cost > memory_->most() / 2) return;
    inbox_.holds_tasks = false;
  }
  HoldTasks();
}

void MasterHub::Inside::Stepped() {
  if (ledger_.has_effects()) Carry();
  std::erase_if(over_, [this](JobId job) { return hub_->Drop(job); });
}

void MasterHub::Inside::Fail(const std::string& why) {
  std::lock_guard lock(inbox_.mutex);
  inbox_.failure = why;
  inbox_.changed.notify_all();
}

// ---- Slaves ------------------------------------------------------------------------------------

std::expected<wire::Greeting, wire::Refusal> MasterHub::Inside::Judge(const link::Guest& guest) {
  audit_->Record(audit::NewClient(guest.peer));
  if (auto why = WhyNoSlave(guest, {access_, options_.member_id, words_}, *audit_)) {
    return std::unexpected(std::move(*why));
  }
  wire::Greeting greeting = guest.greeting;
  greeting.node_name = SlaveName({++last_slave_});
  return greeting;
}

std::unique_ptr<hub::NodePort> MasterHub::Inside::Joined(slave_id slave, const std::string& peer,
                                                         std::unique_ptr<hub::NodePort> port) {
  const bool is_here = peer.starts_with("unix:");
  const group joined = ledger_.Arrived(slave, is_here ? place_.host : peer);
  audit_->Record(
      audit::Connecting(slave.value, peer, options_.member_id, static_cast<audit::Group>(joined)));
  audit_->Record(audit::Became(slave.value, audit::State::kIdle));
  auto channel = std::make_unique<SlaveChannel>(
      std::move(port), constants_,
      SlaveChannel::Events{
          .given = [this, slave](const wire::Lease& lease) { Given(slave, lease); },
          .told = [this, slave](const wire::ToHub& message) { Told(slave, message); },
          .offer = [this, slave](Offer said) { return ledger_.Offers(slave, std::move(said)); },
          .constant =
              [this, slave](uint64_t bytes) {
                audit_->RecordOften(audit::SentConstant(slave.value, bytes));
              },
          .begins = [this](const AttemptRef& ref) { return ledger_.Begins(ref); }});
  slaves_[slave] = channel.get();
  // Connected, as else nobody would hear of its end.
  loop_.Post([this, slave] {
    Carry();
    if (phase_ != Phase::kWorks) Dismiss(slave);
  });
  return channel;
}

void MasterHub::Inside::Dismiss(slave_id slave) {
  auto at = slaves_.find(slave);
  if (at == slaves_.end()) return;
  audit_->Record(audit::TryShutdown(slave.value));
  at->second->Refuse(failed_ ? wire::Refusal{wire::RefusalCode::kOther, "the master has failed"}
                             : wire::Refusal{wire::RefusalCode::kRemoved, "the work is done"});
}

void MasterHub::Inside::Given(slave_id slave, const wire::Lease& lease) {
  if (!ledger_.IsBusy(slave)) audit_->RecordOften(audit::Became(slave.value, audit::State::kBusy));
  ledger_.Given(slave, lease.job, lease.tasks, loop_.Now());
  {
    std::lock_guard lock(inbox_.mutex);
    inbox_.runnable = ledger_.runnable();
  }
  if (!audit_->often()) return;
  size_t tasks = 0;
  for (TaskRange range : lease.tasks) {
    for (uint32_t k = 0; k < range.count; ++k) {
      tasks += ledger_.TasksOf(lease.job, range.first + k).size();
    }
  }
  audit_->RecordOften(audit::SentTasks(slave.value, tasks));
}

void MasterHub::Inside::Told(slave_id slave, const wire::ToHub& message) {
  if (const auto* running = std::get_if<wire::Running>(&message)) {
    ledger_.Begun(running->ref, loop_.Now());
  } else if (const auto* ends = std::get_if<wire::Ends>(&message); ends && audit_->often()) {
    size_t tasks = 0;
    for (const AttemptEnd& end : ends->ends) {
      tasks += ledger_.TasksOf(end.ref.job, end.ref.index).size();
    }
    audit_->RecordOften(audit::GotResults(slave.value, tasks));
  }
}

void MasterHub::Inside::Lost(slave_id slave, const link::Ended& ended) {
  auto at = slaves_.find(slave);
  if (at == slaves_.end()) return;
  using Why = link::Ended::Why;
  if (ended.why == Why::kSilent) {
    audit_->Record(audit::Lost(slave.value, audit::Loss::kTimeout));
  } else if (ended.why == Why::kByPeer || ended.why == Why::kLost || ended.why == Why::kAsked) {
    audit_->Record(audit::Lost(slave.value, audit::Loss::kClosed));
  } else {
    audit_->Record(audit::Lost(slave.value, audit::Loss::kProblem, ended.text));
  }
  audit_->Record(audit::Became(slave.value, audit::State::kDisconnected));
  slaves_.erase(at);
  ledger_.Disconnected(slave);
  Carry();
  if (slaves_.empty()) Finished();
}

void MasterHub::Inside::OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) {
  std::string from_file;
  auto answers = AnswersOf(output, from_file);
  const AttemptRef& ref = notice.end.ref;
  const slave_id slave = audit_->often() ? ledger_.SlaveOf(ref.job, ref.index) : slave_id();
  if (slave && notice.verdict == Verdict::kRetry) {
    for (uint64_t task : ledger_.TasksOf(ref.job, ref.index)) {
      audit_->RecordOften(audit::Reclaimed(slave.value, task));
    }
  }
  ledger_.Ended(notice, answers ? *answers : "");
  if (slaves_.contains(slave) && !ledger_.IsBusy(slave)) {
    audit_->RecordOften(audit::Became(slave.value, audit::State::kIdle));
  }
  Carry();
}

void MasterHub::Inside::LookAtSlow() {
  if (ledger_.idle() > 0) {
    ledger_.Speculate(loop_.Now());
    Carry();
  }
  loop_.At(loop_.Now() + kLookAtSlow, [this] { LookAtSlow(); });
}

// ---- Files -------------------------------------------------------------------------------------

Status MasterHub::Inside::WriteFile() {
  file_written_ = loop_.Now();
  told_missing_ = Missing();
  if (!file_) return {};
  ResourceFile file{.finished = phase_ == Phase::kOver,
                    .failed = phase_ == Phase::kOver && failed_,
                    .timestamp = static_cast<int64_t>(UnixSeconds(loop_.Now())),
                    .member_id = options_.member_id,
                    .update_interval = options_.update_interval.ns / 1'000'000'000,
                    .slaves_needed = static_cast<int64_t>(told_missing_),
                    .executable = executable_,
                    .libraries = libraries_,
                    .slave_arguments = SlaveArguments(place_.host, place_.port),
                    .access = access::FormatAccess(access_)};
  auto written = file_->Write(WriteResourceFile(file), 0600);
  if (written) audit_->Record(audit::WroteResourceFile(options_.resource_file));
  return written;
}

// Also while what it says stays the same: its age tells that the master lives.
void MasterHub::Inside::WriteFileOften() {
  loop_.At(loop_.Now() + options_.update_interval, [this] {
    TryToWriteFile();
    WriteFileOften();
  });
}

// It wants another number of slaves, and whoever starts them should hear of it.
void MasterHub::Inside::WriteFileSoon() {
  if (Missing() == told_missing_ || std::exchange(file_due_, true)) return;
  loop_.At(file_written_ + kFileAtMost, [this] {
    file_due_ = false;
    TryToWriteFile();
  });
}

// The file written at the end is the last one: a timer may be due after it.
void MasterHub::Inside::TryToWriteFile() {
  if (phase_ == Phase::kOver) return;
  auto written = WriteFile();
  if (!written && !std::exchange(file_problem_, true)) {
    audit_->Record({"RESFILE", written.error().message});
  }
  if (written) file_problem_ = false;
}

void MasterHub::Inside::Hint() {
  if (ledger_.slaves() > 0 || last_slave_ > 0) return;
  if (ledger_.size() == 0) {
    loop_.At(loop_.Now() + kHintAfter, [this] { Hint(); });
    return;
  }
  const std::string how = HowToStartSlaves(options_, executable_, place_);
  audit_->Record(
      {"MASTER", fmt::format("{} tasks wait, and no slave has come yet: {}", ledger_.size(), how)});
}

// ---- The end -----------------------------------------------------------------------------------

void MasterHub::Inside::Finish(bool failed, std::function<void()> done) {
  finished_ = std::move(done);
  phase_ = Phase::kEnds;
  failed_ = failed;
  std::vector<slave_id> all;
  for (const auto& [slave, known] : slaves_) all.push_back(slave);
  for (slave_id each : all) Dismiss(each);
  if (slaves_.empty()) return Finished();
  if (told_missing_ > 0) TryToWriteFile();  // nobody is to start slaves for it any more
  loop_.At(loop_.Now() + options_.shutdown_timeout, [this] {
    if (!finished_) return;
    audit_->Record(
        {"MASTER", fmt::format("{} slaves have not heard that it is over", slaves_.size())});
    Finished();
  });
}

void MasterHub::Inside::Finished() {
  if (!finished_) return;
  phase_ = Phase::kOver;
  if (auto written = WriteFile(); !written) audit_->Record({"RESFILE", written.error().message});
  if (file_) file_->Release();
  audit_->Record(audit::MasterEnd(options_.member_id));
  audit_->Flush();
  std::exchange(finished_, nullptr)();
}

// ---- From the master's thread ------------------------------------------------------------------

MasterHub::MasterHub() = default;

Result<MasterHub::Start> MasterHub::Open(const Options& options, Inbox& inbox,
                                         std::shared_ptr<MasterConstants> constants) {
  Start start;
  auto loop = os::RealLoop::Create();
  if (!loop) return std::unexpected(loop.error());
  auto [state, kept] = TRY(OpenState(options.state_dir, *constants));
  start.hub.reset(new MasterHub());
  start.hub->loop_ = std::move(*loop);
  start.hub->inside_ =
      std::make_unique<Inside>(*start.hub->loop_, options, inbox, state, constants);
  TRY(start.hub->inside_->Begin());
  if (kept.found) {
    start.left = restored{kept.state, kept.tasks.size(), kept.results.size()};
    start.last_task = kept.last_task;
    for (const StateFile::Kept::Task& each : kept.tasks) ++start.pending[each.what.algorithm];
    for (const result& each : kept.results) ++start.pending[each.algorithm];
    start.hub->inside_->Restore(std::move(kept));
  }
  start.hub->thread_ = os::ThreadWithoutSignals([loop = start.hub->loop_.get()] { loop->Run(); });
  return start;
}

MasterHub::~MasterHub() {
  if (loop_) loop_->Stop();
  if (thread_.joinable()) thread_.join();
}

void MasterHub::Invoke(std::function<void()> fn) {
  std::promise<void> done;
  loop_->Post([&] {
    fn();
    done.set_value();
  });
  done.get_future().wait();
}

void MasterHub::Submit(std::vector<task> tasks) {
  loop_->Post([this, tasks = std::move(tasks)]() mutable { inside_->Submit(std::move(tasks)); });
}

void MasterHub::AdjustWanted(group which, int64_t change) {
  loop_->Post([this, which, change] { inside_->Want(which, change); });
}

bool MasterHub::Free(slave_id slave) {
  bool there = false;
  Invoke([&] { there = inside_->Free(slave); });
  return there;
}

void MasterHub::ResultsTaken() {
  loop_->Post([this] { inside_->ResultsTaken(); });
}

std::vector<task> MasterHub::Cancel(const std::optional<std::vector<task_id>>& tasks) {
  std::vector<task> cancelled;
  Invoke([&] { cancelled = inside_->Cancel(tasks); });
  return cancelled;
}

std::string MasterHub::AlgorithmOf(task_id id) {
  std::string algorithm;
  Invoke([&] {
    const task* what = inside_->ledger().Find(id.value);
    if (what != nullptr) algorithm = what->algorithm;
  });
  return algorithm;
}

std::vector<slave_info> MasterHub::ListSlaves() {
  std::vector<slave_info> all;
  Invoke([&] { all = inside_->ledger().ListSlaves(); });
  return all;
}

bool MasterHub::has_state() const { return inside_->has_state(); }

Status MasterHub::Checkpoint(std::vector<task_id> taken, std::string state, uint64_t last_task) {
  std::promise<Status> written;
  loop_->Post([&] {
    inside_->Checkpoint(taken, std::move(state), last_task,
                        [&](Status status) { written.set_value(std::move(status)); });
  });
  return written.get_future().get();
}

void MasterHub::Finish(bool failed) {
  std::promise<void> done;
  loop_->Post([&] { inside_->Finish(failed, [&] { done.set_value(); }); });
  done.get_future().wait();
}

}  // namespace spate::mw
