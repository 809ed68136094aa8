#include "hub/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "link/channels.h"
#include "os/account.h"
#include "os/file.h"

namespace spate::hub {
namespace {

// A connection of the entrance, as a session has it.
class LinkPort final : public ClientPort {
 public:
  explicit LinkPort(std::unique_ptr<link::Connection> connection)
      : connection_(std::move(connection)) {}

  void Start(Events events) override {
    connection_->Start(
        {.opened = {},
         .frame = [take = std::move(events.request)](wire::FrameType,
                                                     std::string_view bytes) { take(bytes); },
         .writable = std::move(events.writable),
         .silent = {},
         .closed = [closed = std::move(events.closed)](const link::Ended&) { closed(); }});
  }
  bool Send(std::string_view reply) override {
    return connection_->Send(wire::FrameType::kReply, reply);
  }
  size_t queued() const override { return connection_->queued(); }
  void PauseReading(bool paused) override { connection_->PauseReading(paused); }
  void Refuse(const wire::Refusal& why) override {
    why.code == wire::RefusalCode::kBreach ? connection_->Breach(why.reason)
                                           : connection_->Refuse(why);
  }
  void Close() override { connection_->Close(); }

 private:
  std::unique_ptr<link::Connection> connection_;
};

// The same of a node.
class LinkNodePort final : public NodePort {
 public:
  explicit LinkNodePort(std::unique_ptr<link::NodeChannelTcp> channel)
      : channel_(std::move(channel)) {}

  void Send(wire::ToNode message) override { channel_->Send(std::move(message)); }
  void OnMessage(std::function<void(wire::ToHub)> receiver) override {
    channel_->OnMessage(std::move(receiver));
  }
  void Refuse(const wire::Refusal& why) override { channel_->connection().Refuse(why); }
  void Close() override { channel_->connection().Close(); }

 private:
  std::unique_ptr<link::NodeChannelTcp> channel_;
};

}  // namespace

Result<std::unique_ptr<Service>> Service::Open(os::RealLoop& loop, store::HubStore& store,
                                               transport::Identity identity, Options options) {
  std::unique_ptr<Service> service(
      new Service(loop, store, std::move(identity), std::move(options)));
  if (auto up = service->Resume(); !up) return std::unexpected(up.error());
  if (auto open = service->OpenEntrance(); !open) return std::unexpected(open.error());
  // Pilots are told where the entrance is.
  service->pools_->Resume();
  return service;
}

Service::Service(os::RealLoop& loop, store::HubStore& store, transport::Identity identity,
                 Options options)
    : loop_(loop),
      store_(store),
      options_(std::move(options)),
      identity_(std::move(identity)),
      self_{.dir = options_.dir,
            .host = options_.host,
            .product = options_.product,
            .epoch = Epoch(store_.last_epoch().value + 1),
            .since = loop.Now(),
            .reached_at = {}} {
  MakeParts();
}

void Service::MakeParts() {
  Limits limits;
  limits.node_patience = options_.lost_after;
  hub_ = std::make_unique<Hub>(loop_, store_, *this, self_.epoch, limits);
  hub_->SetGangKey(identity_.ToPem());
  jobs_ = std::make_unique<Jobs>(Jobs::Parts{loop_, store_, *hub_, aside_, options_.log});
  access_ = std::make_unique<Credentials>(
      loop_, store_, [this](uint64_t serial) { DropClientsOf(serial, "this access has expired"); });
  nodes_ = std::make_unique<Nodes>(
      loop_, store_, *hub_, options_.log,
      Nodes::PilotEvents{
          .joined = [this](NodeId node, provision::PilotId pilot,
                           const Offer& offer) { pools_->NodeJoined(node, pilot, offer); },
          .away = [this](NodeId node) { pools_->NodeAway(node); },
          .left = [this](NodeId node) { pools_->NodeGone(node); }});
  pools_ = std::make_unique<Pools>(
      Pools::Parts{loop_, store_, *hub_, *nodes_, *options_.commands, options_.log},
      Pools::Here{.dir = options_.dir,
                  .user = options_.user,
                  .program = options_.program,
                  .access = PilotAccess(identity_.ToPem(), identity_.pin()),
                  .keep = options_.keep,
                  .lost_after = options_.lost_after,
                  .is_root = os::EffectiveUser() == 0,
                  .reached_at = [this] { return self_.reached_at; }});
  jobs_->known().SetRemedy([this](JobId job, std::string stalled) {
    return pools_->WhyStalled(job, std::move(stalled));
  });
  hub_->SetStepped([this] { pools_->Stirred(); });
  calls_ = std::make_unique<NodeCalls>(loop_, *nodes_);
}

Service::~Service() {
  pruner_.reset();
  clients_.clear();
  entrance_.reset();
}

// Damage of a job sets it aside; what the engine has heard of it before then must go.
Status Service::ReplayAll() {
  for (;;) {
    size_t damaged = store_.damaged().size();
    // Before, so that what is measured of tasks is known to them, too.
    pools_->Load();
    if (pools_->count() > 0) hub_->WatchDemand();
    auto replayed = hub_->Replay();
    if (replayed) break;
    if (store_.damaged().size() == damaged) {
      return Fail(
          replayed.error().kind,
          replayed.error().message +
              "\nwhat is left of it can be saved: spate state check, then spate state salvage");
    }
    calls_.reset();
    pools_.reset();
    nodes_.reset();
    jobs_.reset();
    access_.reset();
    MakeParts();
  }
  for (const auto& [job, what] : store_.damaged()) {
    options_.log(fmt::format("job {} is set aside, nothing of it runs: {}", job.value, what));
    hub_->SetAside(job);
  }
  if (!store_.damaged().empty()) {
    options_.log(
        "all other jobs go on; what is sound of these can be saved while no hub runs: "
        "spate state check, then spate state salvage");
  }
  return {};
}

Status Service::Resume() {
  if (auto replayed = ReplayAll(); !replayed) return replayed;
  CHECK(store_.BeginEpoch(nullptr) == self_.epoch);
  if (auto loaded = jobs_->Load(); !loaded) return loaded;
  if (auto loaded = access_->Load(); !loaded) return loaded;
  if (auto loaded = nodes_->Load(); !loaded) return loaded;
  hub_->Resume(engine::LastNodes::kMayReturn);
  if (options_.policy) hub_->Post(engine::ChangeGangPolicy{*options_.policy});
  pruner_ = std::make_unique<Pruner>(
      *jobs_, *nodes_, aside_,
      Pruner::Rules{options_.forget_nodes, options_.keep, options_.keep_bytes});
  pruner_->Begin();
  return {};
}

Status Service::OpenEntrance() {
  std::vector<link::EntranceAddress> addresses;
  os::Address socket;
  socket.path = os::JoinPath(options_.dir, "socket");
  addresses.push_back({.address = socket, .permissions = 0666});
  for (const os::Address& address : options_.listen) {
    addresses.push_back({.address = address, .permissions = 0666});
  }
  link::Entrance::Events events;
  events.arrived = [this](link::Visitor visitor) { Arrived(std::move(visitor)); };
  events.trouble = [this](const Error& error) { options_.log(error.message); };
  link::EntranceLimits limits;
  limits.silence = options_.suspect_after;
  limits.strangers = options_.strangers;
  auto entrance = link::Entrance::Open(loop_, std::move(addresses), identity_, options_.product,
                                       *this, std::move(events), limits);
  if (!entrance) return std::unexpected(entrance.error());
  entrance_ = std::move(*entrance);
  for (const os::SocketAddress& at : entrance_->addresses()) {
    if (at.is_unix()) continue;
    auto address = os::ParseAddress(at.Text());
    if (!address) continue;
    // A hub that listens everywhere is reached by the machine's name.
    if (address->host == "0.0.0.0" || address->host == "::" || address->host == "*") {
      address->host = options_.host;
    }
    if (std::find(self_.reached_at.begin(), self_.reached_at.end(), *address) ==
        self_.reached_at.end()) {
      self_.reached_at.push_back(std::move(*address));
    }
  }
  return {};
}

void Service::Stop() {
  if (std::exchange(stopping_, true)) return;
  options_.log("the hub stops");
  jobs_->Stop();
  pools_->Stop();
  entrance_.reset();
  for (auto& [id, client] : clients_) client->Close();
  nodes_->DropAll();
  jobs_->WhenSettled([this] { options_.stopped(0); });
}

void Service::EndWork(Duration patience, std::function<void()> done) {
  for (const engine::JobInfo& job : engine().Jobs()) {
    if (!job.finished) hub_->Post(engine::HoldJob{job.job, /*end_running=*/true});
  }
  pools_->CloseAll(patience, std::move(done));
}

// ---- The entrance ------------------------------------------------------------------------------

std::expected<link::Admission, wire::Refusal> Service::Admit(const link::Guest& guest) {
  auto admission = Judge(guest);
  if (!admission) {
    const std::string user = guest.local ? guest.user : "";
    refusals_.Add(loop_.Now(), guest.peer, user, admission.error().reason, options_.log);
  }
  return admission;
}

std::expected<Caller, wire::Refusal> Service::Who(const link::Guest& guest) const {
  if (auto pilot = pools_->Who(guest)) return *pilot;
  auto caller = access_->Who(guest);
  const std::string& name = guest.greeting.node_name;
  bool takes_name = caller && guest.greeting.role == wire::Role::kNode && pools_->OwnsName(name);
  if (!takes_name) return caller;
  return std::unexpected(wire::Refusal{
      wire::RefusalCode::kName,
      fmt::format("'{}' is a name for pilots of a pool; choose another one with --name", name)});
}

std::expected<link::Admission, wire::Refusal> Service::Judge(const link::Guest& guest) {
  if (options_.peers && !guest.local && !options_.peers->HasText(guest.peer)) {
    return std::unexpected(
        wire::Refusal{wire::RefusalCode::kOther, "it takes no peers from this network"});
  }
  auto caller = Who(guest);
  if (!caller) return std::unexpected(caller.error());
  const wire::Role role = guest.greeting.role;
  if (role == wire::Role::kAdmin && !caller->is_admin) {
    return std::unexpected(
        wire::Refusal{wire::RefusalCode::kRole, "this access is not an administrator's"});
  }
  if (auto places = CheckPlaces(*caller, role); !places) return std::unexpected(places.error());
  link::Admission admission{self_.epoch, NodeId()};
  if (role != wire::Role::kNode) return admission;
  auto node = nodes_->Admit(guest.greeting.node_name, guest.greeting.instance, *caller);
  if (!node) return std::unexpected(node.error());
  admission.node = *node;
  return admission;
}

// A part is kept for administrators and nodes that serve all, and nobody else has more than a
// quarter.
std::expected<void, wire::Refusal> Service::CheckPlaces(const Caller& caller,
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
std::shared_ptr<link::Share> Service::ShareOf(const Caller& caller, wire::Role role) {
  bool serves_all = role == wire::Role::kNode && caller.user == access::kEveryUser;
  if (serves_all) return std::make_shared<link::Share>(loop_);
  std::erase_if(shares_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<link::Share>& known = shares_[caller.user];
  auto share = known.lock();
  if (!share) known = share = std::make_shared<link::Share>(loop_);
  return share;
}

void Service::Arrived(link::Visitor visitor) {
  auto caller = Who(visitor.guest);
  if (!caller || stopping_) return;  // revoked in between
  visitor.connection->SetShare(ShareOf(*caller, visitor.guest.greeting.role));
  if (visitor.guest.greeting.role == wire::Role::kNode) {
    return NodeArrived(std::move(visitor), *caller);
  }
  uint64_t id = ++last_client_;
  clients_[id] = std::make_unique<ClientSession>(
      *jobs_, *this, std::move(*caller), std::make_unique<LinkPort>(std::move(visitor.connection)),
      [this, id] { clients_.erase(id); });
}

void Service::NodeArrived(link::Visitor visitor, const Caller& caller) {
  NodeId id = visitor.admission.node;
  link::ChannelEvents events;
  events.closed = [this, id](const link::Ended& ended) {
    nodes_->Gone(id, ended.text, ended.quiet);
  };
  events.wants = [this, id](const AttemptRef& ref) { return hub_->engine().Holds(id, ref); };
  std::string spool = os::JoinPath(options_.dir, fmt::format("spool/node-{}-", id.value));
  auto channel = std::make_unique<link::NodeChannelTcp>(std::move(visitor.connection),
                                                        std::move(spool), std::move(events));
  nodes_->Arrived(id,
                  {std::make_unique<LinkNodePort>(std::move(channel)), visitor.guest.peer,
                   visitor.guest.greeting.product, visitor.guest.greeting.features},
                  caller);
}

void Service::DropClientsOf(uint64_t serial, const std::string& why) {
  nodes_->Drop(serial, why);
  for (auto& [id, client] : clients_) {
    if (client->caller().serial == serial) client->Refuse(why);
  }
}

const JobHabits& Service::HabitsOf(RowKind kind) const {
  static const JobHabits kNone;
  auto at = options_.habits.find(kind);
  return at == options_.habits.end() ? kNone : at->second;
}

void Service::OnStoreFailed(const Error& error) {
  options_.log(error.message);
  options_.log(
      "the hub stops, since it could not write its journal; fix that and start it again: "
      "nothing that was acknowledged is lost");
  options_.stopped(3);
}

}  // namespace spate::hub
