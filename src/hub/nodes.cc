#include "hub/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "access/access_file.h"
#include "base/units.h"
#include "core/model/memory.h"
#include "core/model/name.h"
#include "core/provision/pool.h"
#include "wire/codec.h"
#include "wire/limits.h"

namespace spate::hub {
namespace {

// Writes over what a node says of itself, where the hub knows better, and lets others hear it.
class NamedPort final : public NodePort {
 public:
  struct Heard {
    std::function<Status(const wire::Hello&)> hello;  // an error: the node is refused
    std::function<void()> leaving;
  };
  NamedPort(std::unique_ptr<NodePort> inner, NodeId node, std::string name, std::string user,
            std::vector<std::string> features, Heard heard)
      : inner_(std::move(inner)),
        node_(node),
        name_(std::move(name)),
        user_(std::move(user)),
        features_(std::move(features)),
        heard_(std::move(heard)) {}

  void Send(wire::ToNode message) override { inner_->Send(std::move(message)); }
  void OnMessage(std::function<void(wire::ToHub)> receiver) override {
    inner_->OnMessage([this, receiver = std::move(receiver)](wire::ToHub message) {
      if (auto* hello = std::get_if<wire::Hello>(&message)) {
        hello->node = node_;
        hello->offer.node_name = name_;
        hello->offer.user = user_;
        hello->offer.features = features_;
        if (Status may = heard_.hello(*hello); !may) {
          return inner_->Refuse({wire::RefusalCode::kOther, may.error().message});
        }
      }
      // This may be gone when the receiver returns.
      auto leaving = std::holds_alternative<wire::Leaving>(message) ? heard_.leaving : nullptr;
      receiver(std::move(message));
      if (leaving) leaving();
    });
  }
  void Refuse(const wire::Refusal& why) override { inner_->Refuse(why); }
  void Close() override { inner_->Close(); }

 private:
  const std::unique_ptr<NodePort> inner_;
  const NodeId node_;
  const std::string name_;
  const std::string user_;
  const std::vector<std::string> features_;
  const Heard heard_;
};

// Memory of a node apart from its messages: its name, its credential and the engine's data.
constexpr size_t kMemoryOfNode = 4096;
// Memory of the entry by which a running or waiting task is found by its job.
constexpr size_t kMemoryOfRun = 128;

size_t MemoryOfState(const wire::NodeState& state) {
  size_t bytes = spate::MemoryOf(state.runs, state.waits, state.no_room);
  for (const wire::NodeState::Run& run : state.runs)
    bytes += kMemoryOfRun + spate::MemoryOf(run.left);
  for (const wire::NodeState::Wait& wait : state.waits)
    bytes += kMemoryOfRun + spate::MemoryOf(wait.user, wait.why);
  return bytes;
}

// Processes that commands left running and their tasks wait for.
std::map<AttemptRef, std::string> LeftOf(const std::optional<wire::NodeState>& state) {
  std::map<AttemptRef, std::string> left;
  if (!state) return left;
  for (const wire::NodeState::Run& run : state->runs) {
    if (!run.left.empty()) left.emplace(run.ref, run.left);
  }
  return left;
}

std::vector<AttemptRef> RunsIn(const std::optional<wire::NodeState>& state) {
  std::vector<AttemptRef> refs;
  if (!state) return refs;
  for (const wire::NodeState::Run& run : state->runs) refs.push_back(run.ref);
  std::ranges::sort(refs);
  return refs;
}

void Leave(std::map<JobId, std::set<NodeId>>& of, JobId job, NodeId node) {
  auto at = of.find(job);
  if (at == of.end()) return;
  at->second.erase(node);
  if (at->second.empty()) of.erase(at);
}

std::unexpected<wire::Refusal> RefuseName(std::string reason, Remedy remedy = {}) {
  return std::unexpected(
      wire::Refusal{wire::RefusalCode::kName, std::move(reason), std::move(remedy)});
}

}  // namespace

Nodes::Nodes(os::Loop& loop, store::NodeRows& store, Hub& hub, WriteLog log, PilotEvents pilots)
    : loop_(loop), store_(store), hub_(hub), log_(std::move(log)), pilots_(std::move(pilots)) {}

Status Nodes::Load() {
  auto rows = TRY(store_.ReadNodes());
  for (store::NodeRow& row : rows) {
    last_ = row.id;
    if (row.damaged) {
      row.forgotten.reset();
      // Its name may be another node's, and it may have been removed.
      row.removed = true;
      log_({fmt::format("what is known of node {} is damaged: it is not let in until somebody says "
                        "so",
                        row.id.value),
            Remedy(" ({})", Advice("node resume", row.name))});
      if (by_name_.contains(row.name)) continue;
    }
    if (row.forgotten) continue;
    by_name_[row.name] = row.id;
    Node& node = nodes_[row.id];
    node.row = std::move(row);
    node.since = loop_.Now();
    if (hub_.engine().Leased(node.row.id) > 0) untold_.insert(node.row.id);
  }
  return {};
}

const Nodes::Node* Nodes::FindByName(const std::string& name) const {
  auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &nodes_.at(at->second);
}

std::vector<NodeId> Nodes::FindByPrefix(const std::string& prefix) const {
  std::vector<NodeId> found;
  auto at = by_name_.lower_bound(prefix);
  for (; at != by_name_.end() && at->first.starts_with(prefix); ++at) found.push_back(at->second);
  return found;
}

// Checks one user who is not an administrator or the hub's own, whose nodes may be there or away.
std::expected<void, wire::Refusal> Nodes::CheckNames(const Caller& caller) const {
  constexpr ptrdiff_t kMost = 1000;
  if (caller.is_admin || caller.is_owner || caller.user == access::kEveryUser) return {};
  auto is_theirs = [&](const auto& each) { return each.second.row.user == caller.user; };
  if (std::ranges::count_if(nodes_, is_theirs) < kMost) return {};
  return RefuseName(
      fmt::format(
          "the hub knows {} nodes of user {} and accepts no more; reuse a name with --name, or "
          "remove some nodes",
          FormatCount(kMost), caller.user),
      Remedy(" ({})", Advice("node remove")));
}

// Rows as the journal will have them, though perhaps not yet.
Result<store::NodeRow> Nodes::ReadRow(const std::string& name) {
  auto leaving = leaving_.extract(name);
  return leaving.empty() ? store_.ReadNode(name) : std::move(leaving.mapped());
}

// New, or one that was forgotten.
Nodes::Node& Nodes::Make(const std::string& name) {
  Node node;
  if (auto row = ReadRow(name)) {
    node.row = std::move(*row);
    node.row.forgotten.reset();
    store_.PutNode(node.row, hub_.Stored());
  } else {
    last_ = NodeId(last_.value + 1);
    node.row.id = last_;
    node.row.name = name;
    node.row.created = loop_.Wall();
  }
  by_name_[name] = node.row.id;
  return nodes_.insert_or_assign(node.row.id, std::move(node)).first->second;
}

bool Nodes::Forget(NodeId id) {
  auto at = nodes_.find(id);
  if (at == nodes_.end() || at->second.channel || at->second.row.removed) return false;
  if (!hub_.ForgetNode(id)) return false;
  ForgetState(id);
  untold_.erase(id);
  Node node = std::move(at->second);
  nodes_.erase(at);
  by_name_.erase(node.row.name);
  Unweigh(node);
  node.row.forgotten = loop_.Wall();
  leaving_[node.row.name] = node.row;
  store_.PutNode(node.row, hub_.Stored([this, name = node.row.name, when = node.row.forgotten] {
    auto row = leaving_.find(name);
    if (row != leaving_.end() && row->second.forgotten == when) leaving_.erase(row);
  }));
  return true;
}

void Nodes::ForgetAway(Instant when, Instant rows) {
  bool any = !std::exchange(looked_at_rows_, true);
  for (auto at = nodes_.begin(); at != nodes_.end();) {
    auto& [id, node] = *at++;
    // Its runs have been given up.
    if (node.state && !node.channel && hub_.engine().Leased(id) == 0) {
      ForgetState(id);
      node.state.reset();
    }
    if (node.since >= when && !node.is_pilot) continue;
    const bool is_pilot = node.is_pilot;
    const std::string name = node.row.name;
    if (!Forget(id)) continue;
    if (!is_pilot) {
      log_(fmt::format("node {} was forgotten because it was disconnected for too long", name));
    }
    any = true;
  }
  // A write of its own, only where there may be something to remove.
  if (any) store_.RemoveNodes(rows);
}

std::expected<NodeId, wire::Refusal> Nodes::Admit(const std::string& name,
                                                  const std::string& instance,
                                                  const Caller& caller) {
  auto at = by_name_.find(name);
  if (at == by_name_.end()) {
    // A node that an earlier release accepted keeps its name and its tasks.
    if (auto read = ReadName(name, "node name"); !read) {
      return RefuseName(read.error().message + "; name the node with --name");
    }
    TRY(CheckNames(caller));
    // A pool of this name may come, and its pilots would be refused.
    const bool trusted = caller.is_admin || caller.user == access::kEveryUser;
    if (!trusted && caller.pilot == provision::PilotId() &&
        provision::PilotNumberIn(name).has_value()) {
      return RefuseName(fmt::format(
          "'{}' is a name that a pilot of a pool would have; give this node another one with "
          "--name",
          name));
    }
  }
  Node& node = at == by_name_.end() ? Make(name) : nodes_.at(at->second);
  if (!node.channel) node.since = loop_.Now();  // it is on its way in
  bool same = node.row.instance == instance;
  // It hears that it is to end what it has.
  if (node.row.removed && same && hub_.engine().Leased(node.row.id) > 0) return node.row.id;
  if (node.row.removed) {
    return std::unexpected(wire::Refusal{
        CodeFor(node.row.id), fmt::format("the node '{}' was removed from the hub", name),
        Remedy("; {} lets it come back", Advice("node resume", name))});
  }
  if (node.channel && !same) {
    return RefuseName(
        fmt::format("a node '{}' is already connected, from {}; give this node another name with "
                    "--name, or stop the other one",
                    name, node.peer));
  }
  if (!same || node.row.user != caller.user) {
    if (!node.row.user.empty() && node.row.user != caller.user) {
      return RefuseName(
          fmt::format("the name '{}' belongs to a node of {}; give this one another with --name",
                      name, node.row.user == access::kEveryUser ? "all users" : node.row.user),
          Remedy(" (or an administrator frees it: {}, {})", Advice("node remove", name),
                 Advice("node resume", name)));
    }
    node.row.instance = instance;
    node.row.user = caller.user;
    store_.PutNode(node.row, hub_.Stored());
  }
  return node.row.id;
}

void Nodes::Knocked(const wire::Greeting& greeting, const Caller& caller) {
  auto at = by_name_.find(greeting.node_name);
  if (at == by_name_.end()) return;
  Node& node = nodes_.at(at->second);
  const bool same = node.row.instance == greeting.instance && node.row.user == caller.user;
  if (!same || node.channel || node.row.removed) return;
  node.product = greeting.product;
  node.speaks = greeting.protocol;
  node.refused_at = loop_.Now();
  hub_.Post(engine::NodeKnocked{at->second});
}

void Nodes::Arrived(NodeId id, Arrival arrival, const Caller& caller) {
  Node& node = nodes_.at(id);
  if (node.channel) Disconnected(id, "it came again");
  if (!node.state) untold_.insert(id);
  node.speaks = 0;
  node.peer = std::move(arrival.peer);
  node.serial = caller.serial;
  node.product = std::move(arrival.product);
  node.since = loop_.Now();
  node.is_pilot = caller.pilot.value != 0;
  NamedPort::Heard heard;
  heard.hello = [this, id, pilot = caller.pilot](const wire::Hello& hello) -> Status {
    TRY(KeepOffer(nodes_.at(id), hello.offer));
    if (pilot.value == 0) return {};
    Offer offer = hello.offer;
    offer.end_of_life = hub_.EndOfLife(id, hello);
    pilots_.joined(id, pilot, offer);
    return {};
  };
  if (node.is_pilot) heard.leaving = [this, id] { pilots_.left(id); };
  node.channel =
      std::make_unique<NamedPort>(std::move(arrival.port), id, node.row.name, node.row.user,
                                  std::move(arrival.features), std::move(heard));
  ++connected_;
  ++came_;
  TellOf(node, fmt::format("node {} has come from {}", node.row.name, node.peer));
  hub_.Connect(id, *node.channel);
  if (node.row.removed) hub_.Post(engine::RemoveNode{id, true});
}

Status Nodes::KeepOffer(Node& node, const Offer& offer) {
  const size_t bytes = spate::MemoryOf(offer.named, offer.labels, offer.temp_dir, offer.features);
  if (bytes > wire::kWireLimits.offer_bytes) {
    return Fail(ErrorKind::kInvalid, wire::OfferTooLarge(bytes));
  }
  const size_t before = node.offer;
  hub_.peer_memory().Set(node.row.user, node.offer, kMemoryOfNode + bytes);
  auto room = hub_.peer_memory().Check(node.row.user);
  if (!room) hub_.peer_memory().Set(node.row.user, node.offer, before);
  return room;
}

// It may speak of its own tasks only.
std::set<JobId> Nodes::StoreState(NodeId node, wire::NodeState state) {
  std::erase_if(state.runs, [&](const wire::NodeState::Run& run) {
    return !hub_.engine().Holds(node, run.ref);
  });
  std::erase_if(state.waits, [&](const wire::NodeState::Wait& wait) {
    return !hub_.engine().Holds(node, wait.first);
  });
  untold_.erase(node);
  Node& told = nodes_.at(node);
  const std::string full = told.state ? told.state->no_room : "";
  if (full != state.no_room) {
    hub_.Post(engine::NodeFull{node, state.no_room});
    const std::string none = "gets no tasks: " + EscapeForScreen(state.no_room);
    TellOf(told, fmt::format("node {} {}", told.row.name,
                             state.no_room.empty() ? "has room on its disk again" : none));
  }
  auto before = LeftOf(told.state);
  const std::vector<AttemptRef> ran = RunsIn(told.state);
  ForgetState(node);
  told.state = std::move(state);
  runs_ += told.state->runs.size();
  told.state->runs.shrink_to_fit();
  told.state->waits.shrink_to_fit();
  hub_.peer_memory().Set(told.row.user, told.news, MemoryOfState(*told.state));
  if (auto may = hub_.peer_memory().Check(told.row.user); !may) {
    told.channel->Refuse({wire::RefusalCode::kOther, may.error().message});
  }
  auto now = LeftOf(told.state);
  for (const auto& each : now) left_running_[each.first.job].insert(node);
  for (const wire::NodeState::Run& run : told.state->runs) {
    running_[run.ref.job].insert(node);
    ++started_[run.ref.job][run.ref];
  }
  for (const wire::NodeState::Wait& wait : told.state->waits) held_up_[wait.first.job].insert(node);
  std::set<JobId> changed;
  std::vector<AttemptRef> differ;
  std::ranges::set_symmetric_difference(ran, RunsIn(told.state), std::back_inserter(differ));
  for (const AttemptRef& ref : differ) changed.insert(ref.job);
  for (const auto* some : {&before, &now}) {
    for (const auto& [ref, processes] : *some) {
      auto then = before.find(ref), still = now.find(ref);
      bool same = then != before.end() && still != now.end() && then->second == still->second;
      if (!same) changed.insert(ref.job);
    }
  }
  return changed;
}

void Nodes::SetWaits(NodeId id, bool waits) {
  auto at = nodes_.find(id);
  if (at == nodes_.end()) return;
  Node& node = at->second;
  node.waits = waits;
  waits ? (void)keeping_.insert(id) : (void)keeping_.erase(id);
  TellOf(node, fmt::format("node {} {}", node.row.name,
                           waits ? "keeps its tasks' output until the hub's disk has room"
                                 : "continues: the hub's disk has room for its tasks' output"));
}

bool Nodes::Started(NodeId id, const AttemptRef& ref) {
  constexpr uint32_t kStartsTold = 50;
  auto at = nodes_.find(id);
  if (at == nodes_.end() || !at->second.state) return false;
  Node& node = at->second;
  const Instant now = loop_.Now();
  if (now - node.starts_since >= Duration::Seconds(1)) {
    node.starts = 0;
    node.starts_since = now;
  }
  std::vector<wire::NodeState::Run>& runs = node.state->runs;
  if (++node.starts > kStartsTold || runs.size() >= kLimits.slots) return false;
  const bool known = std::ranges::find(runs, ref, &wire::NodeState::Run::ref) != runs.end();
  if (known || !hub_.engine().Holds(id, ref)) return false;
  runs.push_back({ref, now});
  ++runs_;
  auto waits = [&](const wire::NodeState::Wait& wait) { return wait.first == ref; };
  if (std::erase_if(node.state->waits, waits) > 0) Leave(held_up_, ref.job, id);
  running_[ref.job].insert(id);
  ++started_[ref.job][ref];
  hub_.peer_memory().Set(node.row.user, node.news, MemoryOfState(*node.state));
  return true;
}

void Nodes::Ended(const AttemptRef& ref) {
  auto job = started_.find(ref.job);
  if (job == started_.end()) return;
  job->second.erase(ref);
  if (job->second.empty()) started_.erase(job);
}

bool Nodes::AllTold(JobId job) const {
  return std::ranges::none_of(untold_,
                              [&](NodeId id) { return hub_.engine().Leased(id, job) > 0; });
}

std::optional<uint32_t> Nodes::Running(JobId job, uint32_t leased) const {
  if (leased == 0) return 0;
  if (!AllTold(job)) return std::nullopt;
  auto started = started_.find(job);
  const size_t count = started == started_.end() ? 0 : started->second.size();
  return static_cast<uint32_t>(std::min<size_t>(count, leased));
}

std::optional<std::vector<TaskRange>> Nodes::RunningTasks(JobId job) const {
  if (!AllTold(job)) return std::nullopt;
  std::vector<TaskRange> tasks;
  auto started = started_.find(job);
  if (started == started_.end()) return tasks;
  for (const auto& [ref, nodes] : started->second) AppendIndex(tasks, ref.index);
  return tasks;
}

bool Nodes::TakeLine(LogShare& share, uint32_t most, const std::string& whose, std::string& line) {
  constexpr Duration kEvery = Duration::Seconds(600);
  const Instant now = loop_.Now();
  if (now - share.since >= kEvery) {
    if (share.untold > 0) {
      log_(fmt::format("{} came or went {} more times", whose, FormatCount(share.untold)));
    }
    share = {.since = now};
  }
  if (share.told == most) {
    ++share.untold;
    return false;
  }
  if (++share.told == most) {
    line += fmt::format("; for ten minutes it is only counted how often {} came or went", whose);
  }
  return true;
}

void Nodes::TellOf(Node& node, std::string line) {
  constexpr uint32_t kOfNode = 6;
  constexpr uint32_t kOfUser = 1'000;
  const std::string& user = node.row.user;
  const bool open = user == access::kEveryUser;
  const std::string whose = open ? "nodes of all users" : "nodes of user " + user;
  if (!TakeLine(node.told, kOfNode, "node " + node.row.name, line)) return;
  if (TakeLine(told_[user], kOfUser, whose, line)) log_(std::move(line));
}

void Nodes::Unweigh(Node& node) {
  hub_.peer_memory().Set(node.row.user, node.offer, 0);
  hub_.peer_memory().Set(node.row.user, node.news, 0);
}

// Before its state is another one.
void Nodes::ForgetState(NodeId node) {
  const std::optional<wire::NodeState>& state = nodes_.at(node).state;
  if (!state) return;
  runs_ -= state->runs.size();
  hub_.peer_memory().Set(nodes_.at(node).row.user, nodes_.at(node).news, 0);
  for (const wire::NodeState::Run& run : state->runs) {
    Leave(running_, run.ref.job, node);
    auto job = started_.find(run.ref.job);
    if (job == started_.end()) continue;
    auto task = job->second.find(run.ref);
    if (task != job->second.end() && --task->second == 0) job->second.erase(task);
    if (job->second.empty()) started_.erase(job);
  }
  for (const auto& each : LeftOf(state)) Leave(left_running_, each.first.job, node);
  for (const wire::NodeState::Wait& wait : state->waits) Leave(held_up_, wait.first.job, node);
}

Why Nodes::WhyHeldUp(const Node& node, JobId job) {
  if (node.waits) return {{ReasonKind::kOutputWaits, {}, {}, {node.row.name}}};
  if (!node.state) return {};
  auto wait = std::ranges::find(node.state->waits, job,
                                [](const wire::NodeState::Wait& each) { return each.first.job; });
  if (wait == node.state->waits.end()) return {};
  if (wait->why.kind != ReasonKind::kUnknown) {
    Reason why = wait->why;
    why.names.insert(why.names.begin(), node.row.name);
    return {std::move(why)};
  }
  if (wait->user.empty()) return {{ReasonKind::kFilesOnWay, {}, {}, {node.row.name}}};
  return {{ReasonKind::kUserLookedUp, {}, {}, {node.row.name, wait->user}}};
}

Why Nodes::WhyOutputWaits(JobId job) const {
  for (NodeId id : keeping_) {
    if (hub_.engine().Leased(id, job) > 0) return WhyHeldUp(nodes_.at(id), job);
  }
  return {};
}

Why Nodes::WhyHeldUp(JobId job) const {
  if (Why output = WhyOutputWaits(job); !output.empty()) return output;
  auto of_job = held_up_.find(job);
  if (of_job == held_up_.end()) return {};
  return WhyHeldUp(nodes_.at(*of_job->second.begin()), job);
}

const std::set<NodeId>& Nodes::WithRunsOf(JobId job) const {
  static const std::set<NodeId> none;
  auto at = running_.find(job);
  return at == running_.end() ? none : at->second;
}

std::vector<LeftRunningFacts> Nodes::LeftRunning(JobId job, size_t most) const {
  std::vector<LeftRunningFacts> facts;
  auto of_job = left_running_.find(job);
  if (of_job == left_running_.end()) return facts;
  for (NodeId id : of_job->second) {
    auto node = nodes_.find(id);
    if (node == nodes_.end() || !node->second.state) continue;
    for (const wire::NodeState::Run& run : node->second.state->runs) {
      // Its end may be known here before the node's next word.
      if (run.ref.job != job || run.left.empty() || !hub_.engine().Holds(id, run.ref)) continue;
      if (facts.size() == most) return facts;
      facts.push_back({run.ref.index + 1, run.ref.attempt.value, node->second.row.name, run.left});
    }
  }
  return facts;
}

void Nodes::Disconnected(NodeId id, const std::string& why, Duration quiet,
                         engine::LastNodes what) {
  Node& node = nodes_.at(id);
  if (!node.channel) return;
  TellOf(node, fmt::format("node {} is disconnected: {}", node.row.name, why));
  hub_.Disconnect(id, what, quiet);
  // Its tasks count until it is given up (Ended), or the node tells again.
  if (node.state) {
    for (const auto& wait : node.state->waits) Leave(held_up_, wait.first.job, id);
    node.state->waits.clear();
    node.state->no_room.clear();
  }
  // We may be called by the channel.
  node.waits = false;
  keeping_.erase(id);
  loop_.Post([gone = std::shared_ptr<NodePort>(std::move(node.channel))] {});
  node.since = loop_.Now();
  --connected_;
  ++went_;
  if (node.is_pilot) pilots_.away(id);
  // It gets no tasks while it is away.
  if (hub_.engine().Leased(id) == 0) untold_.erase(id);
  if (what != engine::LastNodes::kEnded) return;
  ForgetState(id);
  untold_.erase(id);
  by_name_.erase(node.row.name);
  Unweigh(node);
  nodes_.erase(id);
}

bool Nodes::ExpectsAny(Instant when) const {
  return std::ranges::any_of(nodes_, [when](const auto& each) {
    const Node& node = each.second;
    return !node.channel && !node.row.removed && !node.is_pilot && node.since >= when;
  });
}

Reason Nodes::TroublesOf(ReasonKind kind, const std::vector<std::string>* names) const {
  constexpr size_t kNamed = 5;
  Reason to{kind};
  std::vector<std::string> notes;
  for (const auto& [id, node] : nodes_) {
    const bool wanted = names == nullptr ? !node.row.removed && !node.is_pilot
                                         : std::ranges::count(*names, node.row.name) > 0;
    if (!wanted) continue;
    auto drained = hub_.engine().WhyDrained(id);
    const bool is_full = node.state && !node.state->no_room.empty();
    if (node.channel && !drained && !is_full) continue;
    NodeTrouble trouble = !node.channel ? NodeTrouble::kAway
                          : drained     ? NodeTrouble::kDrained
                                        : NodeTrouble::kFull;
    if (node.IsRefused(loop_.Now())) trouble = NodeTrouble::kRefused;
    if (to.names.size() == kNamed) trouble = NodeTrouble::kMore;
    to.numbers.push_back(static_cast<int64_t>(trouble));
    to.times.push_back(node.channel ? Duration() : loop_.Now() - node.since);
    to.names.push_back(node.row.name);
    notes.push_back(trouble == NodeTrouble::kRefused ? node.product : drained.value_or(""));
    if (trouble == NodeTrouble::kMore) break;
  }
  std::ranges::move(notes, std::back_inserter(to.names));
  return to;
}

Why Nodes::Complete(Why why) const {
  if (why.empty()) return why;
  Reason& first = why.front();
  const ReasonKind kind = first.kind;
  const bool unjoined = kind == ReasonKind::kNoNodeJoined && connected_ == 0;
  // A lost node's offer is forgotten, even if a task may run on that node only.
  const bool of_one =
      kind == ReasonKind::kNoNodeFits && why.back().kind == ReasonKind::kOnOtherNode;
  if (kind == ReasonKind::kSomeCannotRun || kind == ReasonKind::kAfterStuck) {
    Why rest = Complete(Why(why.begin() + 1, why.end()));
    why.resize(1);
    Append(why, std::move(rest));
  } else if (kind == ReasonKind::kSilentNodes) {
    NameSilent(first);
  } else if (of_one || kind == ReasonKind::kNodesTakeNone) {
    std::vector<std::string> names = of_one ? why.back().names : first.names;
    if (of_one) names.resize(1);
    Reason none = TroublesOf(ReasonKind::kNodesTakeNone, &names);
    if (of_one && !none.names.empty()) why.resize(1);
    if (!none.names.empty()) why.front() = std::move(none);
  } else if (unjoined || kind == ReasonKind::kNoNodeFits || kind == ReasonKind::kNoSetOfNodes ||
             kind == ReasonKind::kTooFewNodes || kind == ReasonKind::kTooFewPlaces) {
    Reason all = TroublesOf(unjoined ? ReasonKind::kNodesAway : ReasonKind::kNodesMissing, nullptr);
    if (!all.names.empty() && unjoined) why.clear();
    if (!all.names.empty()) why.push_back(std::move(all));
  }
  return why;
}

// Also those that have not joined in this life of the hub.
void Nodes::NameSilent(Reason& silent) const {
  constexpr size_t kFirst = 3;  // the nodes' numbers
  silent.names.clear();
  bool refused = silent.numbers.size() > kFirst;
  for (size_t i = kFirst; i < silent.numbers.size(); ++i) {
    auto node = nodes_.find(NodeId(static_cast<uint32_t>(silent.numbers[i])));
    if (node == nodes_.end()) continue;
    silent.names.push_back(node->second.row.name);
    refused &= node->second.IsRefused(loop_.Now());
  }
  if (refused) silent.numbers[kFirst - 1] = static_cast<int64_t>(SilentFate::kKept);
}

void Nodes::Drop(uint64_t serial, const std::string& why) {
  for (auto& [id, node] : nodes_) {
    if (!node.channel || node.serial != serial) continue;
    node.channel->Refuse({wire::RefusalCode::kCredential, why});
  }
}

void Nodes::DropAll() {
  for (auto& [id, node] : nodes_) {
    if (node.channel) node.channel->Close();
  }
}

void Nodes::Dismiss(NodeId id, const std::string& why) {
  auto at = nodes_.find(id);
  if (at == nodes_.end()) return;
  hub_.Post(engine::RemoveNode{id});
  if (!at->second.channel) return;
  hub_.Disconnect(id, engine::LastNodes::kEnded);
  at->second.channel->Refuse({wire::RefusalCode::kRemoved, why});
}

wire::RefusalCode Nodes::CodeFor(NodeId removed) const {
  return waiting_.contains(removed) ? wire::RefusalCode::kName : wire::RefusalCode::kRemoved;
}

void Nodes::Remove(NodeId id, Removal how) {
  Node& node = nodes_.at(id);
  node.row.removed = how != Removal::kNone;
  Unweigh(node);
  if (how == Removal::kEnds) node.row.user.clear();  // the name is anybody's
  store_.PutNode(node.row, hub_.Stored());
  waiting_.erase(id);
  if (how == Removal::kNone) return;
  if (how == Removal::kWaits) waiting_.insert(id);
  const bool ends_first = hub_.engine().Leased(id) > 0 && (node.channel || how == Removal::kWaits);
  hub_.Post(engine::RemoveNode{id, ends_first});
  if (!ends_first) Removed(id);
}

void Nodes::Removed(NodeId id) {
  auto at = nodes_.find(id);
  if (at == nodes_.end()) return;
  const Node& node = at->second;
  if (node.is_pilot) pilots_.left(id);
  if (!node.channel) return;
  hub_.Disconnect(id, engine::LastNodes::kEnded);
  if (!node.row.removed) return node.channel->Close();  // it may come again, as somebody said
  node.channel->Refuse(
      {CodeFor(id), "the node was removed from the hub", Remedy(" ({})", Advice("node remove"))});
}

}  // namespace spate::hub
