// HubProcess: see hub_process.h.
#include "sim/hub_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "hub/client_port.h"
#include "present/advice.h"
#include "present/why.h"
#include "sim/broken_answers.h"
#include "store/sqlite/hub_scan.h"
#include "wire/client_codec.h"

namespace spate::sim {

namespace {

constexpr const char* kAdministrator = "root";  // whose pools may serve everybody
constexpr size_t kConnections = 3;              // of a user, for questions

Limits LimitsOf(const Options& options, Sabotage sabotage) {
  Limits limits = options.limits();
  if (sabotage == Sabotage::kHastyHub) limits.node_patience = limits.node_patience / 10;
  if (sabotage == Sabotage::kPatientHub) limits.node_patience = limits.node_patience * 20;
  return limits;
}

}  // namespace

HubProcess::HubProcess(Parts parts)
    : parts_(std::move(parts)),
      loop_(parts_.world, parts_.clock_ahead),
      faults_(parts_.crash_at),
      mirror_(parts_.options.limits()),
      aside_(loop_, faults_, Derive(parts_.seed, 1)),
      reader_(loop_, faults_, parts_.disk, Derive(parts_.seed, 3)),
      prng_(Derive(parts_.seed, 2)),
      uploads_(parts_.workload, parts_.sabotage, Derive(parts_.seed, 4)) {
  const Options& o = parts_.options;
  store_ =
      std::make_unique<SimStore>(StoreParts{loop_, faults_, RecordSink(), parts_.disk, o.commit_min,
                                            o.commit_max, parts_.seed, parts_.sabotage});
  if (parts_.batch != nullptr) {
    commands_ = std::make_unique<SimCommands>(*parts_.batch, loop_, faults_);
  } else {
    commands_ = std::make_unique<hub::NoCommands>(loop_);
  }
}

// Ports of sessions know their clients.
HubProcess::~HubProcess() {
  clients_.clear();
  service_.reset();
}

FactSink HubProcess::RecordSink() {
  return [this](const Fact& fact) {
    if (const auto* decided = std::get_if<Decided>(&fact)) mirror_.Apply(*decided->record);
    if (const auto* of_pool = std::get_if<PoolDecided>(&fact)) of_pools_.Apply(*of_pool->record);
    if (const auto* cut = std::get_if<PoolsCut>(&fact); cut != nullptr && !cut->durable) {
      provision::Provisioner kept;
      for (const provision::Record& record : *cut->images) kept.Apply(record);
      images_differ_ |= kept.Digest() != of_pools_.Digest();
    }
    parts_.sink(fact);
  };
}

hub::Service::Options HubProcess::ServiceOptions() {
  hub::Service::Options with;
  with.dir = "/hub";
  with.product = "1";
  with.user = kAdministrator;
  with.owner = kHubUser;
  with.program = "/bin/spate";
  with.key = "a key";
  with.pin = {1, 2, 3, 4, 5, 6, 7, 8};
  with.limits = LimitsOf(parts_.options, parts_.sabotage);
  with.pause_after_failures = parts_.workload.pause_after_failures();
  with.forget_nodes = parts_.options.forget_nodes;
  with.log = [this](const LogText& line) {
    log_lines_ += parts_.sabotage == Sabotage::kBabble ? 30 : 1;
    parts_.sink(Remark{present::TextOf(line)});
  };
  with.stop_asked = [this] { service_->Stop(); };
  with.stopped = [this] { stopped_ = true; };
  with.make_secret = [this]() -> Result<Bytes32> {
    Bytes32 secret;
    for (auto& byte : secret) byte = static_cast<uint8_t>(prng_.Below(256));
    return secret;
  };
  return with;
}

Status HubProcess::Resume() {
  parts_.sink(LifeBegan{Epoch(parts_.life), parts_.clock_ahead});
  TRY(store_->Begin());
  auto told = store_->ReplayPools([&](const provision::Record& record) {
    parts_.sink(PoolReplayed{&record});
    of_pools_.Apply(record);
  });
  if (!told) return told;
  parts_.sink(PoolReplayDone{});
  // The service reads the same records; that it keeps them is what check_replay compares.
  told = store_->Replay([&](const engine::Record& record) {
    parts_.sink(Replayed{&record});
    mirror_.Apply(record);
  });
  if (!told) return told;
  parts_.sink(ReplayDone{});
  auto service =
      hub::Service::Open({loop_, *store_, aside_, reader_, *commands_, *this}, ServiceOptions());
  if (!service) return std::unexpected(service.error());
  service_ = std::move(*service);
  service_->Begin({{.host = "hub", .port = 1}});
  return {};
}

// Digest of the jobs on the disk that have not finished.
uint64_t HubProcess::DigestOf(bool as_hub) const {
  engine::Engine engine(parts_.options.limits());
  auto apply = [&](const engine::Record& record) { engine.Apply(record); };
  if (as_hub) {
    auto scan = store::ScanJobs(parts_.disk->db());
    if (!scan || !store::ReplayHub(parts_.disk->db(), *scan, apply)) return 0;
  } else if (!parts_.disk->Visit(apply)) {
    return 0;
  }
  engine.CheckInvariants();
  for (const engine::JobInfo& job : engine.Jobs()) engine.Unload(job.job);
  return engine.Digest();
}

HubProcess::Digests HubProcess::Die(bool lose_nothing, Prng& prng) {
  faults_.Die();
  FollowHub();
  engine().CheckInvariants();
  Digests digests{engine().Digest(), mirror_.Digest()};
  service_->pools().CheckInvariants();
  if (images_differ_ || service_->pools().Digest() != of_pools_.Digest()) {
    parts_.sink(Remark{"what is kept of pools gives others than there were"});
    digests.replayed = ~digests.live;
  }
  size_t also_durable = 0;
  if (lose_nothing) also_durable = store_->writer().queued();
  if (!lose_nothing && prng.Chance(50)) also_durable = prng.Below(store_->writer().queued() + 1);
  store_->writer().End(also_durable, lose_nothing);
  // The records that a hub's replay leaves out must make no difference, but to the order of tasks
  // that waited for each of the left out ones.
  if (!parts_.options.after && DigestOf(/*as_hub=*/false) != DigestOf(/*as_hub=*/true)) {
    parts_.sink(Remark{"finished jobs make a difference to what is replayed"});
    digests.replayed = ~digests.live;
  }
  return digests;
}

// To unload a job, or to take it up again, leaves no record.
void HubProcess::FollowHub() {
  for (const engine::JobInfo& job : mirror_.Jobs()) {
    if (!engine().Counts(job.job)) mirror_.Unload(job.job);
  }
  for (const engine::JobInfo& job : engine().Jobs()) {
    if (mirror_.Counts(job.job)) continue;
    engine::Engine past;
    auto apply = [&](const engine::Record& record) { past.Apply(record); };
    CHECK(store_->ReplayJob(job.job, apply).has_value() && mirror_.Reload(job.job, past));
  }
}

// ---- Connections -------------------------------------------------------------------------------

// The caller as the system knows the user at the hub's socket.
hub::Caller HubProcess::CallerOf(const std::string& user) const {
  hub::Guest guest;
  guest.greeting.role = wire::Role::kClient;
  guest.local_user = user == kAdministrator ? 0u : 1000u;
  guest.user = user;
  if (parts_.sabotage == Sabotage::kEverybodyMay) guest.local_user = 0;
  auto caller = service_->Who(guest);
  CHECK(caller.has_value());
  return *caller;
}

HubClient::Parts HubProcess::ClientParts(size_t messages) {
  HubClient::Parts parts{loop_, faults_,
                         Duration::Millis(prng_.Chance(70)   ? 0
                                          : prng_.Chance(70) ? 5
                                                             : 1000)};
  if (clients_break_ && prng_.Chance(20)) parts.breaks_after = 1 + prng_.Below(messages + 1);
  parts.half_open = prng_.Chance(50);
  parts.seed = prng_.Next();
  return parts;
}

HubProcess::Client& HubProcess::Connect(const std::string& user, HubClient::Parts parts) {
  uint64_t id = ++last_client_;
  parts.ended = [this, id] { auto ended = clients_.extract(id); };
  Client& client = clients_[id];
  client.user = user;
  client.client = std::make_unique<HubClient>(std::move(parts));
  service_->ClientArrived(CallerOf(user), client.client->MakePort());
  return client;
}

// One of the connections that the user has, or another one.
HubClient& HubProcess::ClientOf(const std::string& user) {
  std::vector<HubClient*> theirs;
  for (auto& [id, client] : clients_) {
    bool takes = client.user == user && client.takes_all && !client.client->broken();
    if (takes) theirs.push_back(client.client.get());
  }
  if (theirs.size() > kConnections && prng_.Chance(50)) theirs.front()->LeaveIfIdle();
  if (!theirs.empty() && (theirs.size() >= kConnections || prng_.Chance(60))) {
    HubClient* any = theirs[prng_.Below(theirs.size())];
    if (!any->broken()) return *any;
  }
  constexpr size_t kSomeQuestions = 5;
  Client& client = Connect(user, ClientParts(kSomeQuestions));
  client.takes_all = true;
  return *client.client;
}

// ---- Questions ---------------------------------------------------------------------------------

namespace {

Result<HubProcess::Answers> AnswersOf(const Replies& replies) {
  HubProcess::Answers answers;
  for (const wire::Reply& reply : replies) {
    if (const auto* failed = std::get_if<wire::Failed>(&reply)) {
      return Fail(failed->kind, failed->text + present::TextOf(failed->why));
    }
    if (const auto* answer = std::get_if<wire::QueryAnswer>(&reply)) {
      answers.push_back(answer->bytes);
    }
  }
  return answers;
}

}  // namespace

void HubProcess::Query(const std::string& user, wire::Question question, Heard heard) {
  const uint64_t id = uint64_t{parts_.life} << 32 | ++last_question_;
  auto asked = std::make_shared<const wire::Question>(std::move(question));
  auto say = [this, id](const Replies& replies) {
    auto answers = AnswersOf(replies);
    parts_.sink(Answered{id, answers ? &*answers : nullptr, answers ? nullptr : &answers.error()});
  };
  Exchange exchange;
  exchange.requests = {wire::Query{BrokenQuestion(parts_.sabotage, *asked)}};
  exchange.begins = [this, id, user, asked, say] {
    parts_.sink(Asked{id, user, asked.get()});
    if (auto early = EarlyAnswer(parts_.sabotage, *asked)) say(*early);
  };
  exchange.said = [this, asked, say](Replies& replies) {
    if (EarlyAnswer(parts_.sabotage, *asked)) return;
    BreakAnswers(parts_.sabotage, *asked, replies);
    say(replies);
  };
  exchange.heard = [heard = std::move(heard)](const Result<Replies>& replies) {
    heard(replies ? AnswersOf(*replies) : std::unexpected(replies.error()));
  };
  const bool may = parts_.sabotage == Sabotage::kEverybodySteers && asked->Is<wire::Steer>();
  ClientOf(may ? kAdministrator : user).Enqueue(std::move(exchange));
}

void HubProcess::Follow(const SimJob& job, uint64_t after,
                        std::function<void(uint64_t, bool)> heard) {
  const uint64_t id = uint64_t{parts_.life} << 32 | ++last_question_;
  auto position = std::make_shared<uint64_t>(after);
  Exchange exchange;
  exchange.requests = {wire::ReadEnds{job.id, after}};
  exchange.says = [this, id, job = job.id, position](const wire::Reply& reply) {
    const auto* read = std::get_if<wire::EndsRead>(&reply);
    if (read == nullptr) return;
    parts_.sink(EndsTold{id, job, *position, read});
    *position = read->position;
  };
  exchange.heard = [position, heard = std::move(heard)](const Result<Replies>& replies) {
    heard(*position, replies && std::holds_alternative<wire::EndsRead>(replies->back()));
  };
  HubClient::Parts parts = ClientParts(2);
  parts.leaves = true;
  Connect(job.user, std::move(parts)).client->Enqueue(std::move(exchange));
}

// ---- Submissions -------------------------------------------------------------------------------

bool HubProcess::IsUploading(JobId job) const {
  return std::ranges::any_of(clients_, [&](const auto& each) {
    return each.second.uploads == job && each.second.client->under_way();
  });
}

HubClient& HubProcess::Upload(const SimJob& job, Requests requests, Accepted heard) {
  HubClient::Parts parts = ClientParts(requests.size());
  // A job that is submitted again while the first try is under way has another number, and must not
  // overtake it or come when that was refused.
  bool submits = std::get<wire::Submit>(requests.front()).add_to == JobId();
  const bool may_refuse = parts_.options.user_rules || parts_.options.deadlines;
  if (submits && may_refuse) parts.half_open = false;
  parts.hurries = submits;
  parts.leaves = true;
  const std::string user =
      parts_.sabotage == Sabotage::kForgetShares ? Workload::UserName(1) : job.user;
  Client& client = Connect(user, std::move(parts));
  client.uploads = job.id;
  Exchange exchange;
  exchange.requests = std::move(requests);
  if (submits) {
    exchange.submits = [this, id = job.id, number = last_client_] {
      return PrepareNumber(id, number);
    };
  }
  exchange.heard = [this, heard = std::move(heard)](const Result<Replies>& replies) {
    auto accepted = [&]() -> Result<JobId> {
      if (!replies) return std::unexpected(replies.error());
      TRY(AnswersOf(*replies));
      return std::get<wire::Accepted>(replies->back()).job;
    }();
    if (!accepted) parts_.sink(Remark{"refused: " + accepted.error().message});
    heard(accepted);
  };
  client.client->Enqueue(std::move(exchange));
  return *client.client;
}

// A hub gives each try a number of its own; here they have the same, so they keep apart. A number
// that no job of the world has is never accepted: another try is under way.
bool HubProcess::PrepareNumber(JobId job, uint64_t client) {
  if (service_->known().IsHidden(job)) return false;
  bool again = std::ranges::any_of(clients_, [&](const auto& each) {
    return each.second.uploads == job && each.first != client && each.second.client->under_way();
  });
  const JobId other(static_cast<uint32_t>(kOtherJobs + client));
  store_->SetNextJob(again ? other : job);
  return true;
}

void HubProcess::Submit(const SimJob& job, bool deadlines, Accepted heard) {
  Upload(job, uploads_.Submission(job, deadlines),
         [this, id = job.id, heard = std::move(heard)](const Result<JobId>& accepted) {
           if (accepted) {
             CHECK(*accepted == id);
             parts_.sink(Acknowledged{Acknowledged::What::kAccepted, id});
           }
           heard(accepted);
         });
}

void HubProcess::Grow(const SimJob& job, uint32_t total, Accepted heard) {
  auto counts = engine().Counts(job.id);
  if (!counts || counts->total >= total || Find(job.id)->finished) {
    return loop_.Post([heard = std::move(heard), id = job.id] { heard(id); });
  }
  Upload(job, uploads_.Addition(job, counts->total, total),
         [this, id = job.id, total, heard = std::move(heard)](const Result<JobId>& accepted) {
           if (accepted) parts_.sink(Acknowledged{Acknowledged::What::kGrown, id, total});
           heard(accepted);
         });
}

// ---- Mischief ----------------------------------------------------------------------------------

namespace {

constexpr Duration kBetween = Duration::Millis(3);
constexpr Duration kStays = Duration::Seconds(60);

// The hub's end of somebody who asks it the dearest questions and reads no answer. The hub gives
// the one answer that fills the connection, and no other. It asks `questions` times from when it is
// started on, and hangs up a minute later. Lasts as long as the hub keeps it; fails a CHECK when
// the hub says more than a window holds.
class DeafPort final : public hub::ClientPort {
 public:
  DeafPort(os::Loop& loop, Faults& faults, int questions)
      : loop_(loop), faults_(faults), left_(questions) {}
  ~DeafPort() override { *alive_ = false; }

  void Start(Events events) override {
    events_ = std::move(events);
    After(kBetween, [this] { AskNext(); });
    After(kStays, [this] {
      auto closed = events_.closed;
      closed();
    });
  }
  // An answer and its end, as one thing.
  bool Send(uint32_t id, std::string_view) override {
    if (heard_ == 0) heard_ = id;
    CHECK(id == heard_);
    return false;
  }
  void PauseReading(bool paused) override { paused_ = paused; }
  void Refuse(const wire::Refusal&) override {}
  void Close() override {}

 private:
  void AskNext() {
    if (left_-- == 0) return;
    if (!paused_) {
      std::string bytes;
      wire::Append(bytes, wire::Request(wire::Query{wire::LookAtAll{.most = 1'000}}));
      auto take = events_.request;
      take(++last_, bytes);
    }
    After(kBetween, [this] { AskNext(); });
  }
  template <typename Fn>
  void After(Duration wait, Fn fn) {
    loop_.At(loop_.Now() + wait, [this, alive = alive_, fn = std::move(fn)] {
      if (*alive && faults_.Alive()) fn();
    });
  }

  os::Loop& loop_;
  Faults& faults_;
  Events events_;
  int left_;
  uint32_t last_ = 0;
  uint32_t heard_ = 0;  // the question that was answered
  bool paused_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

void HubProcess::StayDeaf() {
  constexpr int kQuestions = 200;
  service_->ClientArrived(CallerOf("greedy"),
                          std::make_unique<DeafPort>(loop_, faults_, kQuestions));
}

void HubProcess::Pester() {
  const std::string user = "greedy";
  if (prng_.Chance(50)) return Query(user, MischievousQuestion(), [](const auto&) {});
  HubClient::Parts parts = ClientParts(2);
  parts.leaves = true;
  Client& client = Connect(user, std::move(parts));
  client.uploads = JobId(static_cast<uint32_t>(kOtherJobs + last_client_));
  Exchange exchange;
  exchange.requests = uploads_.Mischief();
  exchange.stubborn = true;
  exchange.submits = [this, number = client.uploads] {
    store_->SetNextJob(number);
    return true;
  };
  exchange.says = [this](const wire::Reply& reply) {
    if (std::holds_alternative<wire::Accepted>(reply)) {
      parts_.sink(Answered{0, nullptr, nullptr});
    }
  };
  client.client->Enqueue(std::move(exchange));
}

wire::Question HubProcess::MischievousQuestion() {
  const auto& jobs = parts_.workload.jobs();
  const JobId victim = jobs[prng_.Below(jobs.size())].id;
  const JobSelector job{.ranges = {{victim.value, victim.value}}};
  const TasksOfJob tasks{.job = victim.value, .all = true};
  switch (prng_.Below(16)) {
    case 12:
    case 13:
      return wire::Steer{.jobs = job, .what = static_cast<Steering>(prng_.Below(4)), .signal = 9};
    case 14:
      return wire::Steer{.tasks = {tasks}, .what = Steering::kSignal, .signal = 9, .pid = 1001};
    case 15:
      return wire::LookAtRun{.task = {.job = victim.value, .ranges = {{1, 1}}}};
    case 0:
      return wire::ChangeJobs{.jobs = job,
                              .change = static_cast<wire::ChangeJobs::Change>(prng_.Below(4)),
                              .ended_too = prng_.Chance(30)};
    case 1:
      return wire::Cancel{.jobs = job};
    case 2:
      return wire::Cancel{.tasks = {tasks}};
    case 3:
      return wire::Forget{.jobs = job};
    case 4:
      return wire::Retry{.tasks = tasks};
    case 5:
      return wire::Withdraw{victim};
    case 6:
      return wire::TrustNodes{victim};
    case 7:
      return wire::SetUser{"greedy", UserChange().With<&UserRule::weight>(100u)};
    case 8:
      return wire::ChangeNodes{.all = true, .change = wire::ChangeNodes::Change::kDrain};
    case 9:
      return wire::StopHub{};
    case 10:
      return wire::AddAccess{.role = 3, .user = kAdministrator};
    default:
      return wire::SetHub{.policy = GangPolicy::kFair};
  }
}

// ---- What the hub tells ------------------------------------------------------------------------

void HubProcess::OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) {
  if (!faults_.Alive()) return;
  parts_.sink(Told{&notice, output.get()});
  if (parts_.sabotage == Sabotage::kTellTwice) parts_.sink(Told{&notice, output.get()});
}

void HubProcess::OnHeld(const engine::NoticeHeld& notice) {
  if (!faults_.Alive()) return;
  parts_.sink(ToldHeld{notice});
  if (notice.reason != engine::HoldReason::kUser) parts_.events.OnHeldByRule(notice.job);
}

void HubProcess::OnFinished(const engine::NoticeFinished& notice) {
  if (!faults_.Alive() || !engine().Finished(notice.job)) return;
  parts_.sink(ToldFinished{notice});
  parts_.events.OnFinished(notice.job);
}

void HubProcess::OnHubNotice(const engine::Notice& notice) {
  if (!faults_.Alive()) return;
  if (std::holds_alternative<engine::NoticeNodeSick>(notice)) parts_.events.OnNodeSick();
}

void HubProcess::OnStoreFailed(const Error& error) {
  if (!faults_.Alive() || store_failed_) return;
  parts_.sink(Remark{"the store failed: " + error.message});
  store_failed_ = true;
}

}  // namespace spate::sim
