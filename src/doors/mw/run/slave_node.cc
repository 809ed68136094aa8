#include "doors/mw/run/slave_node.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "access/access_file.h"
#include "base/number.h"
#include "doors/mw/formats/resource_file.h"
#include "doors/mw/run/algorithms.h"
#include "doors/mw/run/audit.h"
#include "format/dialect.h"
#include "link/caller.h"
#include "link/channels.h"
#include "node/node.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/thread.h"

namespace spate::mw {
namespace {

// A slave that has lost its master looks for so long whether the resource file names another one.
constexpr Duration kLookFor = Duration::Seconds(10);
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

// Where a master is, as far as a slave knows.
struct Master {
  std::string host;
  uint16_t port = 0;
  std::string member;
  std::optional<access::Access> access;
  bool finished = false;
  friend bool operator==(const Master&, const Master&) = default;
};

Result<Master> FromResourceFile(const FromFile& from, Master so_far) {
  auto text = os::ReadFile(from.path, kResourceFileBytesMax);
  if (!text) return std::unexpected(text.error());
  auto file = ReadResourceFile(*text, from.path, {.member_id = so_far.member});
  if (!file) return std::unexpected(file.error());
  so_far.finished = file->finished;
  so_far.member = file->member_id;
  if (auto host = SlaveArgument(*file, "--mw-master-host")) so_far.host = *host;
  if (auto port = SlaveArgument(*file, "--mw-master-port")) {
    so_far.port = ReadNumber<uint16_t>(*port).value_or(0);
  }
  if (file->access.empty()) return so_far;
  auto access = access::ParseAccess(file->access, from.path + ", access");
  if (!access) return std::unexpected(access.error());
  so_far.access = std::move(*access);
  return so_far;
}

// What stands later on the command line wins. A file that is not there matters only when nothing
// else says where the master is.
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
    } else if (const auto* port = std::get_if<MasterPort>(&where)) {
      master.port = port->port;
    } else {
      master.member = std::get<MemberId>(where).id;
    }
  }
  if (master.finished) return master;
  std::string access = options.access_file;
  if (access.empty()) access = os::Environment::OfProcess().Get(kAccessVariable).value_or("");
  if (!access.empty()) {
    auto loaded = access::LoadAccess(access);
    if (!loaded) return std::unexpected(loaded.error());
    master.access = std::move(*loaded);
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

}  // namespace

class SlaveNode::Inside {
 public:
  Inside(os::RealLoop& loop, const Options& options, Workbench& bench, std::unique_ptr<Audit> audit)
      : loop_(loop), options_(options), bench_(bench), audit_(std::move(audit)) {}
  ~Inside() { Drop(); }

  Status Begin();
  // What was computed goes; `done` when it has gone, or cannot go.
  void Leave(std::function<void()> done);

 private:
  void Call(Master master);
  void Reached(std::expected<link::Caller::Met, link::Caller::Failure> result);
  void Closed(const link::Ended& ended);
  void Lost(const std::string& why, Duration look_for = kLookFor);
  void LookAgain(Instant until);
  void Over(bool shutdown, audit::End how);
  void Drop();
  void Left();
  std::string address() const { return fmt::format("{}:{}", master_.host, master_.port); }

  os::RealLoop& loop_;
  const Options options_;
  Workbench& bench_;
  std::unique_ptr<Audit> audit_;
  Master master_;
  std::unique_ptr<link::Caller> caller_;
  uint64_t life_ = 0;
  std::unique_ptr<BenchExecutor> executor_;
  std::unique_ptr<node::Node> node_;
  std::unique_ptr<link::HubChannelTcp> channel_;
  bool over_ = false;
  std::string why_;  // the last master was lost
  std::function<void()> left_;
};

Status SlaveNode::Inside::Begin() {
  audit_->Say(audit::Version(SPATE_VERSION));
  audit_->Say(audit::SlaveInit(options_.member_id));
  auto master = FindMaster(options_);
  if (!master) {
    // Whoever starts master and slaves at once has slaves that are quicker.
    if (master.error().kind != ErrorKind::kNotFound) return std::unexpected(master.error());
    Lost(master.error().message);
  } else if (master->finished) {
    Over(true, audit::End::kComputationFinished);
  } else {
    Call(std::move(*master));
  }
  return {};
}

void SlaveNode::Inside::Call(Master master) {
  master_ = std::move(master);
  link::Target target = link::Target::Of(*master_.access);
  target.name = "the master";
  link::Self self{.product = SPATE_VERSION,
                  .role = wire::Role::kNode,
                  .node_name = master_.member,
                  .instance = std::string(wire::kInstanceBytes, '\0')};
  for (std::string& word : Algorithms::Get().Words()) self.features.push_back(std::move(word));
  caller_ = std::make_unique<link::Caller>(
      loop_, std::move(target), std::move(self),
      [this](std::expected<link::Caller::Met, link::Caller::Failure> result) {
        Reached(std::move(result));
      });
}

void SlaveNode::Inside::Reached(std::expected<link::Caller::Met, link::Caller::Failure> result) {
  caller_.reset();
  if (!result) {
    audit_->Say(audit::ConnectRefused(address()));
    // Who refuses it now will do so again: only another master may take it.
    return Lost(result.error().error.message, result.error().lasting ? Duration() : kLookFor);
  }
  const NodeId id = result->welcome.node;
  audit_->Say(audit::Connected(result->hub.Text(), result->self.Text()));
  audit_->Say(audit::GotId(id.value));
  bench_.Met({id.value});
  ++life_;
  executor_ = std::make_unique<BenchExecutor>(loop_, bench_, life_);
  bench_.Begin([this, life = life_] {
    loop_.Post([this, life] {
      if (life == life_ && executor_) executor_->Drain();
    });
  });
  Offer offer{.node_name = fmt::format("SLAVE-{}", id.value), .slots = 1, .milli_cpus = kMilliCpu};
  node::Node::Parts parts{loop_, *executor_, nullptr};
  parts.dialects.Add(RowKind::kFunction, std::make_shared<PacketDialect>());
  node_ = std::make_unique<node::Node>(id, std::move(offer), std::move(parts));
  executor_->SetEvents(*node_);
  channel_ = std::make_unique<link::HubChannelTcp>(
      std::move(result->connection),
      link::HubChannelTcp::Events{.closed = [this](const link::Ended& ended) { Closed(ended); },
                                  .silent = [](bool) {},
                                  .backlogged = [this](bool is) { node_->SetOutputBlocked(is); }});
  node_->Connect(*channel_);
}

void SlaveNode::Inside::Closed(const link::Ended& ended) {
  const bool shutdown = ended.refusal && ended.refusal->code == wire::RefusalCode::kRemoved;
  // Its functions are in a call now.
  loop_.Post([this, shutdown, text = ended.text] {
    Drop();
    if (left_) return Left();
    if (shutdown) {
      audit_->Say(audit::GotShutdown());
      return Over(true, audit::End::kMasterShutdown);
    }
    audit_->Say(audit::MasterClosed());
    Lost(text);
  });
}

void SlaveNode::Inside::Drop() {
  ++life_;
  if (node_) node_->Disconnect();
  channel_.reset();
  node_.reset();
  executor_.reset();
}

// The master may have been started again, and be elsewhere by now.
void SlaveNode::Inside::Lost(const std::string& why, Duration look_for) {
  audit_->Say({"MASTER", "LOST " + why});
  why_ = why;
  LookAgain(loop_.Now() + look_for);
}

void SlaveNode::Inside::LookAgain(Instant until) {
  if (over_) return;
  if (!options_.resource_file.empty()) {
    auto now = FindMaster(options_);
    if (now && now->finished) return Over(true, audit::End::kComputationFinished);
    if (now && *now != master_) return Call(std::move(*now));
  }
  if (options_.resource_file.empty() || loop_.Now() >= until) {
    return Over(false, audit::End::kMasterDisconnect);
  }
  loop_.At(loop_.Now() + kLookEvery, [this, until] { LookAgain(until); });
}

void SlaveNode::Inside::Over(bool shutdown, audit::End how) {
  over_ = true;
  audit_->Say(audit::SlaveEnd(how, master_.member.empty() ? options_.member_id : master_.member));
  audit_->Flush();
  bench_.End(shutdown, why_);
}

void SlaveNode::Inside::Leave(std::function<void()> done) {
  left_ = std::move(done);
  if (!node_) return Left();
  executor_->Drain();
  loop_.At(loop_.Now() + kLeaveMost, [this] { Left(); });
  // The node tells of it in its next turn.
  loop_.Post([this] {
    loop_.Post([this] {
      if (channel_) channel_->connection().Close();
    });
  });
}

void SlaveNode::Inside::Left() {
  Drop();
  audit_->Flush();
  if (left_) std::exchange(left_, nullptr)();
}

// ---- From the slave's thread -------------------------------------------------------------------

SlaveNode::SlaveNode() = default;

Result<std::unique_ptr<SlaveNode>> SlaveNode::Open(const Options& options, Workbench& bench) {
  std::unique_ptr<SlaveNode> slave(new SlaveNode());
  auto loop = os::RealLoop::Create();
  if (!loop) return std::unexpected(loop.error());
  slave->loop_ = std::move(*loop);
  auto audit = Audit::Open(*slave->loop_, options.audit_file);
  if (!audit) return std::unexpected(audit.error());
  slave->inside_ = std::make_unique<Inside>(*slave->loop_, options, bench, std::move(*audit));
  if (auto begun = slave->inside_->Begin(); !begun) return std::unexpected(begun.error());
  slave->thread_ = os::ThreadWithoutSignals([loop = slave->loop_.get()] { loop->Run(); });
  return slave;
}

SlaveNode::~SlaveNode() {
  if (!thread_.joinable()) return;
  loop_->Post([this] { inside_->Leave([this] { loop_->Stop(); }); });
  thread_.join();
}

}  // namespace spate::mw
