#include "hub/service.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "hub/answers/look.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

// Questions that cost less of the loop at worst are no matter.
constexpr Duration kDear = Duration::Millis(1);

}  // namespace

Result<std::unique_ptr<Service>> Service::Read(const Parts& parts, Options options) {
  std::unique_ptr<Service> service(new Service(parts, std::move(options)));
  TRY(service->ReplayAll());
  return service;
}

Result<std::unique_ptr<Service>> Service::Open(const Parts& parts, Options options) {
  auto service = TRY(Read(parts, std::move(options)));
  TRY(service->Resume(engine::LastNodes::kMayReturn));
  return service;
}

Service::Service(const Parts& parts, Options options)
    : parts_(parts),
      options_(std::move(options)),
      self_{.dir = options_.dir,
            .product = options_.product,
            .pin = options_.pin,
            .epoch = Epoch(parts.store.last_epoch().value + 1),
            .since = parts.loop.Now()} {
  MakeParts();
}

void Service::MakeParts() {
  os::Loop& loop = parts_.loop;
  store::HubStore& store = parts_.store;
  hub_ = std::make_unique<Hub>(loop, store, *this, self_.epoch, options_.limits);
  disk_ = std::make_unique<DiskWatch>(loop, store, options_.space, options_.log);
  if (!options_.key.empty()) hub_->SetGangKey(options_.key);
  jobs_ = std::make_unique<Jobs>(Jobs::Parts{
      loop, store, *hub_, parts_.aside, options_.log, options_.pause_after_failures,
      options_.one_job, [this] { return disk_->CheckRoom(); }, [this] { return ExpectsNodes(); }});
  access_ = std::make_unique<Credentials>(
      loop, store, options_.owner,
      [this](uint64_t serial, const std::string& why) { DropClientsOf(serial, why); });
  nodes_ = std::make_unique<Nodes>(
      loop, store, *hub_, options_.log,
      Nodes::PilotEvents{
          .joined = [this](NodeId node, provision::PilotId pilot,
                           const Offer& offer) { pools_->NodeJoined(node, pilot, offer); },
          .away = [this](NodeId node) { pools_->NodeAway(node); },
          .left = [this](NodeId node) { pools_->NodeGone(node); }});
  calls_ = std::make_unique<NodeCalls>(loop, *nodes_);
  if (options_.keep_replay) {
    keeper_ = std::make_unique<ReplayKeeper>(options_.keep_replay, [this](JobId job) -> uint64_t {
      auto counts = engine().Counts(job);
      return counts ? counts->finished() : 0;
    });
  }
  MakePools();
}

void Service::MakePools() {
  pools_ = std::make_unique<Pools>(
      Pools::Parts{parts_.loop, parts_.store, *hub_, *nodes_, parts_.commands, options_.log},
      Pools::Here{.dir = options_.dir,
                  .user = options_.user,
                  .program = options_.program,
                  .access = PilotAccess(options_.key, options_.pin),
                  .keep = options_.keep,
                  .lost_after = options_.limits.node_patience,
                  .records = options_.limits.pool_records,
                  .owner = options_.owner,
                  .reached_at = [this] { return self_.reached_at; }});
  jobs_->known().SetCountRunning(
      [this](JobId job, uint32_t leased) { return nodes_->Running(job, leased); });
  jobs_->known().SetAddReasons([this](JobId job, Why stalled) -> Why {
    auto since = parts_.store.StuckSince();
    if (since && parts_.loop.Now() - *since >= kStuckAfter) return {{ReasonKind::kNothingStored}};
    stalled = nodes_->Complete(std::move(stalled));
    if (stalled.empty()) stalled = nodes_->WhyOutputWaits(job);
    const bool runs = jobs_->known().Counts(job).value_or(JobCounts()).leased > 0;
    if (stalled.empty() && !runs) stalled = nodes_->WhyHeldUp(job);
    return pools_->WhyStalled(job, std::move(stalled));
  });
  hub_->SetStepped([this] {
    pools_->Stirred();
    if (options_.stepped) options_.stepped();
  });
}

// True after a restart of the hub, or while a machine boots.
bool Service::ExpectsNodes() const {
  constexpr Duration kReturnsWithin = Duration::Seconds(3600);
  return nodes_->ExpectsAny(parts_.loop.Now() - kReturnsWithin);
}

Service::~Service() {
  loop().OnClockStep(nullptr);
  pruner_.reset();
  clients_.clear();
}

// Damage of a job sets it aside; what the engine has heard of it before then must go.
Status Service::ReplayAll() {
  const auto& damaged = parts_.store.damaged();
  for (;;) {
    size_t before = damaged.size();
    // Before, so that what is measured of tasks is known to them, too.
    pools_->Load();
    if (pools_->count() > 0) hub_->WatchDemand();
    auto replayed = hub_->Replay();
    if (replayed) break;
    if (options_.one_job) return replayed;
    if (damaged.size() == before) {
      Error error = std::move(replayed.error());
      error.remedy.text += "\nwhat is left of it can be saved: {}, then {}";
      error.remedy.commands.insert(error.remedy.commands.end(),
                                   {Advice("state check"), Advice("state salvage")});
      return std::unexpected(std::move(error));
    }
    calls_.reset();
    pools_.reset();
    nodes_.reset();
    jobs_.reset();
    access_.reset();
    MakeParts();
  }
  for (const auto& [job, what] : damaged) {
    options_.log(fmt::format("job {} is excluded and does not run: {}", job.value, what));
    hub_->SetAside(job);
  }
  if (!damaged.empty()) {
    options_.log({"all other jobs continue; to save the undamaged parts of these, stop the hub",
                  Remedy(", then: {}, {}", Advice("state check"), Advice("state salvage"))});
  }
  return {};
}

Status Service::Resume(engine::LastNodes nodes) {
  CHECK(parts_.store.BeginEpoch(nullptr) == self_.epoch);
  TRY(jobs_->Load([this](RowKind kind) { return HabitsOf(kind).public_tasks; }));
  TRY(access_->Load());
  TRY(nodes_->Load());
  hub_->Resume(nodes);
  loop().OnClockStep([this](const os::ClockStep& clock) { ClockStepped(clock); });
  if (options_.policy) hub_->Post(engine::ChangeGangPolicy{*options_.policy});
  if (options_.one_job) return {};
  pruner_ = std::make_unique<Pruner>(
      *jobs_, *nodes_, parts_.aside, options_.log,
      Pruner::Rules{options_.forget_nodes, options_.keep, options_.keep_bytes});
  pruner_->Begin();
  return {};
}

void Service::ClockStepped(const os::ClockStep& clock) {
  constexpr int64_t kWorthTelling = Duration::Seconds(1).ns;
  const Instant now = loop().Wall(), before = now - clock.set;
  if (clock.suspended.ns >= kWorthTelling) {
    options_.log("this machine was suspended for " + FormatDuration(clock.suspended));
  }
  const bool told = std::abs(clock.set.ns) >= kWorthTelling;
  if (told) {
    self_.clock = {before, now};
    options_.log("the clock was " + FormatClockStep(before, now) +
                 "; deadlines and times of day use the new time, running times do not change");
  }
  if (clock.suspended > Duration()) hub_->Slept(clock.suspended);
  hub_->ClockStepped(told ? std::optional(engine::ClockStepped{before, now}) : std::nullopt);
  jobs_->known().ClockStepped();
  access_->AwaitExpiry();
}

void Service::Begin(std::vector<os::Address> reached_at) {
  self_.reached_at = std::move(reached_at);
  pools_->Resume();
}

void Service::Stop() {
  if (std::exchange(stopping_, true)) return;
  options_.log("the hub stops");
  jobs_->Stop();
  pools_->Stop();
  for (auto& [id, client] : clients_) client->Close();
  nodes_->DropAll();
  jobs_->WhenSettled(options_.stopped);
}

void Service::EndWork(Duration patience, std::function<void()> done) {
  for (const engine::JobInfo& job : engine().Jobs()) {
    if (!job.finished) hub_->Post(engine::HoldJob{job.job, /*end_running=*/true});
  }
  pools_->CloseAll(patience, std::move(done));
}

// ---- Who comes in ------------------------------------------------------------------------------

std::expected<Caller, wire::Refusal> Service::Who(const Guest& guest) const {
  if (stopping_) {
    return std::unexpected(wire::Refusal{wire::RefusalCode::kBusy, "the hub stops"});
  }
  if (auto pilot = pools_->Who(guest)) {
    if (*pilot) (*pilot)->is_owner = (*pilot)->user == options_.user;
    return *std::move(pilot);
  }
  auto caller = access_->Who(guest);
  if (!caller) return caller;
  caller->is_owner = caller->user == options_.user;
  const wire::Role role = guest.greeting.role;
  const std::string& name = guest.greeting.node_name;
  if (role == wire::Role::kNode && pools_->OwnsName(name)) {
    return std::unexpected(wire::Refusal{
        wire::RefusalCode::kName,
        fmt::format("'{}' is a name for pilots of a pool; choose another one with --name", name)});
  }
  if (role == wire::Role::kAdmin && !caller->is_admin) {
    return std::unexpected(
        wire::Refusal{wire::RefusalCode::kRole, "this access is not an administrator's"});
  }
  return caller;
}

std::expected<NodeId, wire::Refusal> Service::AdmitNode(const wire::Greeting& greeting,
                                                        const Caller& caller) {
  return nodes_->Admit(greeting.node_name, greeting.instance, caller);
}

void Service::ClientArrived(Caller caller, std::unique_ptr<ClientPort> port) {
  uint64_t id = ++last_client_;
  clients_[id] = std::make_unique<ClientSession>(*jobs_, *this, std::move(caller), std::move(port),
                                                 [this, id] { clients_.erase(id); });
}

void Service::NodeArrived(NodeId node, Nodes::Arrival arrival, const Caller& caller) {
  nodes_->Arrived(node, std::move(arrival), caller);
}

void Service::NodeKnocked(const wire::Greeting& greeting, const Caller& caller) {
  nodes_->Knocked(greeting, caller);
}

void Service::NodeGone(NodeId node, const std::string& why, Duration quiet) {
  calls_->Disconnected(node);
  nodes_->Disconnected(
      node, why, quiet,
      options_.nodes_return ? engine::LastNodes::kMayReturn : engine::LastNodes::kEnded);
}

void Service::DropClientsOf(uint64_t serial, const std::string& why) {
  nodes_->Drop(serial, why);
  for (auto& [id, client] : clients_) {
    if (client->caller().serial == serial) client->Refuse(why);
  }
}

// ---- What it is asked, and hears ---------------------------------------------------------------

void Service::TellAbout(HubFacts& facts) const {
  disk_->TellAbout(facts);
  if (pruner_) pruner_->TellAbout(facts);
  if (options_.about) options_.about(facts);
}

AnswerParts Service::PartsOfAnswers() const {
  return {.jobs = *jobs_,
          .nodes = *nodes_,
          .calls = *calls_,
          .pools = *pools_,
          .access = *access_,
          .self = self_,
          .clients = clients_.size(),
          .log = options_.log,
          .stop_asked = options_.stop_asked,
          .make_secret = options_.make_secret,
          .about = about_};
}

const wire::QuestionRow& Service::RowOf(const wire::Question& question) const {
  static constexpr wire::QuestionRow kUnknown;
  if (const HubQuestion* found = FindQuestion(question.number())) return found->row;
  const wire::QuestionRow* read = parts_.reader.RowOf(question.number());
  return read == nullptr ? kUnknown : *read;
}

Duration Service::CostOf(const wire::Query& query) const {
  return WorstCost(RowOf(query.question), query.question,
                   {.nodes = nodes_->all().size(),
                    .runs = nodes_->runs(),
                    .jobs = known().unfinished(),
                    .tasks = engine().unended(),
                    .users = engine().user_count()});
}

// Administrators keep everything going, and wait for nobody.
Result<Instant> Service::WhenToAnswer(const Caller& caller, const wire::Query& query) {
  const wire::QuestionRow& row = RowOf(query.question);
  if (row.check != nullptr) TRY(row.check(query.question));
  const Instant now = loop().Now();
  const Duration cost = CostOf(query);
  if (caller.is_admin || cost < kDear) return now;
  auto when = pace_.Enter(caller.user, cost, now);
  if (when) return *when;
  return Fail(ErrorKind::kBusy,
              fmt::format("user {} has asked the hub more than it answers in minutes; ask less "
                          "often",
                          caller.user));
}

void Service::OnQuery(ClientRequest& client, wire::Query query) {
  if (options_.allows) {
    if (auto allowed = options_.allows(query); !allowed) return client.Fail(allowed.error());
  }
  const std::string user = client.caller().is_admin ? "" : client.caller().user;
  const Duration cost = CostOf(query);
  const Instant begin = loop().Now();
  AnswerQuery(PartsOfAnswers(), client, std::move(query));
  // The clock stands still in worlds where everything is known before.
  const Duration took = loop().Now() - begin;
  if (cost >= kDear && took.ns > 0) pace_.Correct(user, cost, took);
}

Result<std::unique_ptr<JournalAnswer>> Service::QuestionReader::Start(const Caller& caller,
                                                                      const wire::Request& request,
                                                                      Events events) {
  const auto* query = std::get_if<wire::Query>(&request);
  if (query == nullptr) return service_.parts_.reader.Start(caller, request, std::move(events));
  wire::Query asked = *query;
  const wire::QuestionRow& row = service_.RowOf(asked.question);
  if (row.jobs != nullptr) {
    asked.live = LiveOf(service_.PartsOfAnswers(), caller, row, asked.question);
  }
  return service_.parts_.reader.Start(caller, asked, std::move(events));
}

HubFacts Service::Facts() const { return FactsOfHub(PartsOfAnswers()); }

const JobHabits& Service::HabitsOf(RowKind kind) const {
  static const JobHabits kNone;
  auto at = options_.habits.find(kind);
  return at == options_.habits.end() ? kNone : at->second;
}

void Service::OnHubNotice(const engine::Notice& notice) {
  if (const auto* gone = std::get_if<engine::NoticeNodeRemoved>(&notice)) {
    nodes_->Removed(gone->node);
  }
  if (const auto* sick = std::get_if<engine::NoticeNodeSick>(&notice)) {
    const auto node = nodes_->all().find(sick->node);
    const std::string name = node == nodes_->all().end() ? "" : node->second.row.name;
    options_.log(fmt::format("node {}: {}", name, sick->text));
  }
  jobs_->OnHubNotice(notice);
  parts_.owner.OnHubNotice(notice);
}

void Service::OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) {
  jobs_->OnEnded(notice);
  if (notice.verdict != engine::Verdict::kPart) nodes_->Ended(notice.end.ref);
  if (keeper_) keeper_->Ended(notice.end.ref.job);
  if (pruner_) pruner_->Synced();
  parts_.owner.OnEnded(notice, output);
}

void Service::OnHeld(const engine::NoticeHeld& notice) {
  jobs_->OnHeld(notice);
  parts_.owner.OnHeld(notice);
}

void Service::OnFinished(const engine::NoticeFinished& notice) {
  jobs_->OnFinished(notice);
  if (keeper_) keeper_->Finished(notice.job);
  parts_.owner.OnFinished(notice);
}

void Service::OnRunning(NodeId node, const wire::Running& running) {
  if (nodes_->Started(node, running.ref)) jobs_->known().Changed(running.ref.job);
  parts_.owner.OnNews(running);
}

void Service::OnNodeState(NodeId node, wire::NodeState state) {
  for (JobId job : nodes_->StoreState(node, std::move(state))) jobs_->known().Changed(job);
  pools_->NodeTold(node);
}

void Service::OnStoreFailed(const Error& error) {
  options_.log(error.message);
  options_.log(
      "the hub stops, since it could not write its journal; fix that and start it again: "
      "nothing that was acknowledged is lost");
  parts_.owner.OnStoreFailed(error);
}

}  // namespace spate::hub
