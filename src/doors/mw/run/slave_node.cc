#include "doors/mw/run/slave_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "access/access_file.h"
#include "base/check.h"
#include "base/number.h"
#include "base/product.h"
#include "base/units.h"
#include "base/utc.h"
#include "core/model/steer.h"
#include "doors/mw/formats/resource_file.h"
#include "doors/mw/run/algorithms.h"
#include "doors/mw/run/audit.h"
#include "format/dialect.h"
#include "link/connector.h"
#include "node/host.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/terminal.h"
#include "os/thread.h"

namespace spate::mw {
namespace {

// A slave that has lost its master looks for so long whether the resource file names another one.
// So does one that finds the file of a computation that was over before the slave was started: the
// next master of the same file may be about to start.
constexpr Duration kLookFor = Duration::Seconds(10);
// An algorithm that runs when all is over may go on for so long: nobody wants its result.
constexpr Duration kEndMost = Duration::Seconds(5);
// How often a slave looks whether a task has passed its time limit.
constexpr Duration kLookAtLimit = Duration::Millis(100);
// One that ends by itself waits so long for the master to take its results.
constexpr Duration kLeaveMost = Duration::Seconds(2);
constexpr Duration kLookEvery = Duration::Millis(500);
// The credential, for slaves that others start by the arguments in the resource file alone.
constexpr const char* kAccessVariable = "SPATE_MW_ACCESS";

class Packets final : public format::RowReader {
 public:
  Result<TaskBody> Body(std::string_view row, const format::RowRun&) const override {
    TaskBody body;
    body.input = row;
    return body;
  }
  std::string CommandText(std::string_view, const format::RowRun&) const override {
    return "tasks of a master";
  }
};

class PacketDialect final : public format::RowDialect {
 public:
  Result<format::CompiledJob> Compile(const JobSettings&, JobId) const override {
    return std::make_shared<Packets>();
  }
};

// A master's address and state, as far as a slave knows.
struct Master {
  std::string host;
  uint16_t port = 0;
  std::string socket;  // the same on the master's machine; empty: not known
  std::string member;
  std::optional<access::Access> access;
  bool finished = false;
  bool failed = false;  // of one that is finished
  Instant written;      // likewise: when the file says so
  friend bool operator==(const Master&, const Master&) = default;
};

Result<Master> FromResourceFile(const FromFile& from, Master so_far) {
  auto text = TRY(os::ReadFile(from.path, kResourceFileBytesMax));
  auto file = TRY(ReadResourceFile(text, from.path, {.member_id = so_far.member}));
  so_far.socket.clear();
  so_far.finished = file.finished;
  so_far.failed = file.failed;
  constexpr int64_t kLatest = 9'000'000'000;  // in nanoseconds it fits
  so_far.written = {std::clamp<int64_t>(file.timestamp, 0, kLatest) * 1'000'000'000};
  if (!file.finished) so_far.written = {};  // a living master writes it again and again
  so_far.member = file.member_id;
  if (auto host = SlaveArgument(file, "--mw-master-host")) so_far.host = *host;
  if (auto port = SlaveArgument(file, "--mw-master-port")) {
    so_far.port = ReadNumber<uint16_t>(*port).value_or(0);
  }
  if (file.access.empty()) return so_far;
  auto access = TRY(access::ParseAccess(file.access, from.path + ", access"));
  for (const os::Address& each : access.hubs) {
    if (each.is_unix()) so_far.socket = each.path;
  }
  so_far.access = std::move(access);
  return so_far;
}

// Later words of the command line win. A missing file matters only when nothing
// else states where the master is.
Result<Master> FindMaster(const Options& options) {
  Master master{.member = Options().member_id};
  std::optional<Error> missing;
  for (const Where& where : options.where) {
    if (const auto* file = std::get_if<FromFile>(&where)) {
      auto read = FromResourceFile(*file, master);
      if (read) {
        master = std::move(*read);
      } else if (read.error().kind == ErrorKind::kNotFound) {
        missing = read.error();
      } else {
        return std::unexpected(read.error());
      }
    } else if (const auto* host = std::get_if<MasterHost>(&where)) {
      master.host = host->host;
      master.socket.clear();
    } else if (const auto* port = std::get_if<MasterPort>(&where)) {
      master.port = port->port;
      master.socket.clear();
    } else {
      master.member = std::get<MemberId>(where).id;
    }
  }
  if (master.finished) return master;
  std::string access = options.access_file;
  if (access.empty()) access = os::Environment::OfProcess().Get(kAccessVariable).value_or("");
  if (!access.empty()) {
    auto loaded = TRY(access::LoadAccess(access));
    master.access = std::move(loaded);
  }
  if (master.host.empty() || master.port == 0) {
    if (missing) return std::unexpected(*missing);
    return Fail(ErrorKind::kInvalid, "the resource file does not say where the master is");
  }
  if (!master.access) {
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("a slave must prove that it is one: give it --mw-resource-file with the "
                    "master's resource file, or --mw-access (or ${}) with the file that "
                    "the master was given by --mw-access",
                    kAccessVariable));
  }
  master.access->hubs = {{.host = master.host, .port = master.port, .path = ""}};
  return master;
}

Offer OfferOf(const Options& options, NodeId id) {
  Offer offer{.node_name = fmt::format("SLAVE-{}", id.value),
              .slots = options.slots,
              .milli_cpus = options.slots * kMilliCpu,
              .memory = options.memory,
              .named = {},
              .labels = options.labels};
  for (const Pieces& each : options.resources) offer.named.push_back({each.name, each.names});
  return offer;
}

int ExitCodeOf(Workbench::Over how) {
  const slave_status status{.shutdown = how == Workbench::Over::kShutdown,
                            .master_failed = how == Workbench::Over::kMasterFailed};
  return status.exit_code();
}

}  // namespace

class SlaveNode::Inside {
 public:
  Inside(os::RealLoop& loop, const Options& options, Workbench& bench, std::unique_ptr<Audit> audit,
         std::function<void(const std::string&)> say)
      : loop_(loop),
        options_(options),
        bench_(bench),
        audit_(std::move(audit)),
        say_(std::move(say)) {}
  ~Inside() { Drop(); }

  Status Begin();
  // Sends off the computed results; calls `done` when they have gone, or cannot go.
  void Leave(std::function<void()> done);
  void Kill(const std::string& why);

 private:
  void Call(Master master);
  void Reached(std::expected<link::Connector::Met, link::Connector::Failure> result);
  void Drain();
  void AskForConstants();
  void Closed(const link::Ended& ended);
  void Lost(const std::string& why, Duration look_for = kLookFor);
  void LookAgain(Instant until);
  void AwaitNext(const Master& old);
  void Finished(const Master& last);
  using How = Workbench::Over;
  void Over(How how, audit::End audited);
  void EndProcess(How how);
  void WatchLimit();
  void Drop();
  void Left();
  std::string address() const { return fmt::format("{}:{}", master_.host, master_.port); }

  os::RealLoop& loop_;
  const Options options_;
  Workbench& bench_;
  std::unique_ptr<Audit> audit_;
  const std::function<void(const std::string&)> say_;
  Master master_;
  std::optional<Master> before_;  // was finished when this slave came, and no other one has come
  std::unique_ptr<link::Connector> caller_;
  uint64_t life_ = 0;
  std::unique_ptr<BenchExecutor> executor_;
  std::unique_ptr<node::Host> node_;
  bool over_ = false;
  const Instant began_ = loop_.Now();
  std::string why_;  // the last master was lost
  std::function<void()> left_;
};

Status SlaveNode::Inside::Begin() {
  audit_->Record(audit::Version(SPATE_VERSION));
  audit_->Record(audit::SlaveInit(options_.member_id));
  bench_.OnLimit([this] { loop_.Post([this] { WatchLimit(); }); });
  auto master = FindMaster(options_);
  if (!master) {
    // If master and slaves are started at once, the slaves are quicker.
    if (master.error().kind != ErrorKind::kNotFound) return std::unexpected(master.error());
    Lost(master.error().message);
  } else if (master->finished) {
    AwaitNext(*master);
  } else {
    Call(std::move(*master));
  }
  return {};
}

// The file may be that of the last run, whose commands somebody has typed again. What ends while a
// slave is on its way is over.
void SlaveNode::Inside::AwaitNext(const Master& old) {
  auto file = os::Stat(options_.resource_file);
  if (!file || file->modified >= began_) return Finished(old);
  before_ = old;
  say_(fmt::format("{} says that its computation {} at {}; waiting {} for another master",
                   EscapeForScreen(options_.resource_file), old.failed ? "failed" : "finished",
                   FormatUtc(old.written), FormatDuration(kLookFor)));
  LookAgain(loop_.Now() + kLookFor);
}

void SlaveNode::Inside::Finished(const Master& last) {
  const std::string file = EscapeForScreen(options_.resource_file);
  if (!last.failed) {
    if (before_) say_("no other master has come: there is nothing to do");
    return Over(How::kShutdown, audit::End::kComputationFinished);
  }
  why_ = fmt::format("{} says that the computation failed: its master ended by an exception", file);
  Over(How::kMasterFailed, audit::End::kComputationFinished);
}

void SlaveNode::Inside::Call(Master master) {
  master_ = std::move(master);
  link::Target target = link::Target::Of(*master_.access);
  if (!master_.socket.empty() && os::Exists(master_.socket)) {
    target.hubs.insert(target.hubs.begin(), {.host = "", .port = 0, .path = master_.socket});
  }
  target.name = "the master";
  link::Self self{.product = ProductVersion(),
                  .role = wire::Role::kNode,
                  .node_name = master_.member,
                  .instance = std::string(wire::kInstanceBytes, '\0')};
  for (std::string& word : Algorithms::Get().Words()) self.features.push_back(std::move(word));
  self.features.emplace_back(kInProgram);
  caller_ = std::make_unique<link::Connector>(
      loop_, std::move(target), std::move(self),
      [this](std::expected<link::Connector::Met, link::Connector::Failure> result) {
        Reached(std::move(result));
      });
}

void SlaveNode::Inside::Reached(
    std::expected<link::Connector::Met, link::Connector::Failure> result) {
  caller_.reset();
  if (!result) {
    audit_->Record(audit::ConnectRefused(address()));
    const link::Connector::Failure& failure = result.error();
    std::string why = failure.error.message;
    if (failure.error.kind == ErrorKind::kPermission && !failure.refusal) {
      why = fmt::format(
          "the master at {} has another key than this slave expects: another master listens there "
          "now. Start the slave with the newest resource file, or access file, of its master",
          address());
    }
    // This master will refuse it again: only another one may accept it.
    return Lost(why, failure.lasting ? Duration() : kLookFor);
  }
  const NodeId id = result->welcome.node;
  audit_->Record(audit::Connected(result->hub.Text(), result->self.Text()));
  audit_->Record(audit::GotId(id.value));
  bench_.Met({id.value});
  ++life_;
  executor_ = std::make_unique<BenchExecutor>(loop_, bench_);
  bench_.Begin([this, life = life_] {
    loop_.Post([this, life] {
      if (life == life_ && executor_) Drain();
    });
  });
  bench_.constants().Begin([this, life = life_] {
    loop_.Post([this, life] {
      if (life == life_) AskForConstants();
    });
  });
  node::HostOptions with{.id = id,
                         .offer = OfferOf(options_, id),
                         .tasks = executor_.get(),
                         .first = [this](wire::ToNode& message) {
                           if (const auto* go = std::get_if<wire::Go>(&message)) {
                             bench_.Go(go->ref);
                             return true;
                           }
                           if (!bench_.constants().Accept(message)) return false;
                           AskForConstants();
                           return true;
                         }};
  with.dialects.Add(RowKind::kFunction, std::make_shared<PacketDialect>());
  auto node = node::Host::Open(loop_, std::move(with));
  CHECK(node.has_value());  // without shepherds nothing can fail
  node_ = std::move(*node);
  executor_->SetEvents(node_->events());
  node_->Connect(std::move(result->connection),
                 [this](const link::Ended& ended) { Closed(ended); });
}

void SlaveNode::Inside::Drain() {
  std::vector<AttemptRef> begins = bench_.DrainBegins();  // before what was done by then
  executor_->Drain();
  if (begins.empty()) return;
  // The node sends the ends in its next turn; they go first.
  loop_.Post([this, life = life_, begins = std::move(begins)] {
    if (life != life_ || !node_ || node_->channel() == nullptr) return;
    for (const AttemptRef& ref : begins) node_->channel()->Send(wire::RoomTaken{ref});
  });
}

void SlaveNode::Inside::AskForConstants() {
  if (!node_ || node_->channel() == nullptr) return;
  for (const wire::WantPiece& each : bench_.constants().Wants()) node_->channel()->Send(each);
}

void SlaveNode::Inside::Closed(const link::Ended& ended) {
  const auto code = ended.refusal ? std::optional(ended.refusal->code) : std::nullopt;
  // Its functions are in a call now.
  loop_.Post([this, code, text = ended.text] {
    Drop();
    if (left_) return Left();
    if (code == wire::RefusalCode::kRemoved || code == wire::RefusalCode::kOther) {
      audit_->Record(audit::GotShutdown());
      const bool failed = code == wire::RefusalCode::kOther;
      if (failed) why_ = "the master ended by an exception: the computation failed";
      return Over(failed ? How::kMasterFailed : How::kShutdown, audit::End::kMasterShutdown);
    }
    audit_->Record(audit::MasterClosed());
    Lost(text);
  });
}

void SlaveNode::Inside::Drop() {
  ++life_;
  node_.reset();
  executor_.reset();
}

// The master may have been started again, and be elsewhere by now.
void SlaveNode::Inside::Lost(const std::string& why, Duration look_for) {
  audit_->Record({"MASTER", "LOST " + why});
  why_ = why;
  LookAgain(loop_.Now() + look_for);
}

void SlaveNode::Inside::LookAgain(Instant until) {
  if (over_) return;
  const bool late = loop_.Now() >= until;
  if (!options_.resource_file.empty()) {
    auto now = FindMaster(options_);
    if (now && now->finished) {
      if (!before_ || *before_ != *now) before_.reset();
      if (late || !before_) return Finished(*now);
    } else if (now && *now != master_) {
      before_.reset();
      return Call(std::move(*now));
    }
  }
  if (late && before_) return Finished(*before_);
  if (late || options_.resource_file.empty()) {
    return Over(How::kMasterLost, audit::End::kMasterDisconnect);
  }
  loop_.At(loop_.Now() + kLookEvery, [this, until] { LookAgain(until); });
}

void SlaveNode::Inside::Over(How how, audit::End audited) {
  over_ = true;
  audit_->Record(
      audit::SlaveEnd(audited, master_.member.empty() ? options_.member_id : master_.member));
  audit_->Flush();
  bench_.End(how, why_);
  loop_.At(loop_.Now() + kEndMost, [this, how] { EndProcess(how); });
}

// Nothing else stops an algorithm that goes on, and a process that does keeps its overseer waiting.
void SlaveNode::Inside::EndProcess(How how) {
  const std::string algorithm = bench_.Computing();
  if (algorithm.empty() || options_.in_process) return;
  if (!why_.empty()) say_(why_);
  say_(fmt::format("the algorithm '{}' still runs {} after the end; ending this slave", algorithm,
                   FormatDuration(kEndMost)));
  bench_.Abandon();
  std::_Exit(ExitCodeOf(how));
}

// A task that has passed its limit is answered for; then only the end of the process stops it.
void SlaveNode::Inside::WatchLimit() {
  if (over_) return;  // EndProcess
  auto limit = bench_.LookAtLimits(loop_.Now());
  if (!limit) return;
  if (limit->overdue.empty()) {
    loop_.At(loop_.Now() + kLookAtLimit, [this] { WatchLimit(); });
    return;
  }
  say_(fmt::format("a task of '{}' took longer than its time limit; ending this slave",
                   limit->overdue));
  Leave([this] {
    if (options_.in_process) return Kill("its task passed its time limit");
    bench_.Abandon();
    std::_Exit(ExitCodeOf(How::kMasterLost));
  });
}

void SlaveNode::Inside::Leave(std::function<void()> done) {
  left_ = std::move(done);
  if (!node_) return Left();
  executor_->Drain();
  loop_.At(loop_.Now() + kLeaveMost, [this] { Left(); });
  // The node tells of it in its next turn.
  loop_.Post([this] {
    loop_.Post([this] {
      if (node_) node_->channel()->connection().Close();
    });
  });
}

void SlaveNode::Inside::Kill(const std::string& why) {
  over_ = true;
  bench_.End(How::kMasterLost, why);
  Drop();
}

void SlaveNode::Inside::Left() {
  Drop();
  audit_->Flush();
  if (left_) std::exchange(left_, nullptr)();
}

// ---- From the slave's thread -------------------------------------------------------------------

SlaveNode::SlaveNode() = default;

Result<std::unique_ptr<SlaveNode>> SlaveNode::Open(const Options& options, Workbench& bench,
                                                   std::function<void(const std::string&)> say) {
  std::unique_ptr<SlaveNode> slave(new SlaveNode());
  auto loop = os::RealLoop::Create();
  if (!loop) return std::unexpected(loop.error());
  slave->loop_ = std::move(*loop);
  auto audit = TRY(Audit::Open(*slave->loop_, options.audit_file, os::kStdout));
  slave->inside_ =
      std::make_unique<Inside>(*slave->loop_, options, bench, std::move(audit), std::move(say));
  TRY(slave->inside_->Begin());
  slave->thread_ = os::ThreadWithoutSignals([loop = slave->loop_.get()] { loop->Run(); });
  return slave;
}

void SlaveNode::Kill() {
  loop_->Post([this] { inside_->Kill("it was killed"); });
}

SlaveNode::~SlaveNode() {
  if (!thread_.joinable()) return;
  loop_->Post([this] { inside_->Leave([this] { loop_->Stop(); }); });
  thread_.join();
}

}  // namespace spate::mw
