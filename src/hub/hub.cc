// Hub: see hub.h. The flow is one way: messages and orders become events, StepNow turns all that
// came in one turn of the loop into one step, Handle commits, Release lets go.
#include "hub/hub.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/model/memory.h"
#include "wire/limits.h"

namespace spate::hub {

namespace {

// True if somebody is idle until the records are durable: a node with free slots, or a person. In a
// stream of short tasks nobody is, and a commit serves many.
bool IsUrgent(const engine::Output& out) {
  auto tells = [](const engine::Notice& notice) {
    return !std::holds_alternative<engine::NoticeEnded>(notice);
  };
  auto feeds = [](const engine::Send& send) {
    const auto* lease = std::get_if<engine::SendLease>(&send);
    return lease != nullptr && lease->node_waits;
  };
  return std::ranges::any_of(out.notices, tells) || std::ranges::any_of(out.sends, feeds);
}

// True for errors that damage causes in rows that were durable once.
bool IsDamage(const Error& error) {
  return error.kind == ErrorKind::kCorrupt || error.kind == ErrorKind::kNotFound;
}

// See Hub::CompareClock.
constexpr Duration kEqual = Duration::Seconds(1);

bool HasPiece(const JobSettings& settings, uint32_t piece) {
  return std::ranges::any_of(settings.puts, [piece](const PutFile& file) {
    return piece >= file.first_piece && piece - file.first_piece < PutPieces(file.size);
  });
}

}  // namespace

Hub::Hub(os::Loop& loop, store::Store& store, Watcher& watcher, Epoch epoch, const Limits& limits)
    : loop_(loop), store_(store), watcher_(watcher), epoch_(epoch), engine_(limits) {}

Hub::~Hub() {
  *alive_ = false;
  loop_.Cancel(timer_);
}

Status Hub::Replay() {
  return store_.Replay([this](const engine::Record& record) { engine_.Apply(record); });
}

void Hub::Resume(engine::LastNodes nodes) {
  out_.Clear();
  engine_.Resume(nodes, loop_.Now(), out_);
  Handle(out_);
}

void Hub::Connect(NodeId node, NodeChannel& channel) {
  DropLink(node);
  links_[node] = {&channel, {}, {}, {}, loop_.Now(), {}};
  channel.OnMessage([this, node, &channel, alive = alive_](wire::ToHub message) {
    if (!*alive) return;
    // Messages that still come by an earlier connection are nobody's: the engine would believe a
    // node to be there that gets nothing, or reports to be taken that are another process' own.
    auto link = links_.find(node);
    if (link == links_.end() || link->second.channel != &channel) return;
    OnMessage(node, std::move(message));
  });
}

void Hub::Disconnect(NodeId node, engine::LastNodes what, Duration quiet) {
  if (!CutLink(node)) return;
  if (what == engine::LastNodes::kEnded) {
    Post(engine::NodeLost{node});
  } else {
    Post(engine::NodeSilent{node, loop_.Now() - quiet});
  }
}

bool Hub::DropLink(NodeId node) {
  auto link = links_.extract(node);
  if (link.empty()) return false;
  for (JobId job : link.mapped().opened) {
    auto nodes = opened_.find(job);
    nodes->second.erase(node);
    if (nodes->second.empty()) opened_.erase(nodes);
  }
  return true;
}

bool Hub::CutLink(NodeId node) {
  if (!DropLink(node)) return false;
  gangs_.Left(node);
  // Messages that still wait for their commit were meant for this connection: a node that came back
  // before would run leases that it does not hold for the engine, and forget reports of its next
  // life.
  reports_.erase(node);
  for (Unreleased& entry : unreleased_) {
    entry.taken.erase(node);
    std::erase_if(entry.sends, [&](const engine::Send& send) {
      if (!std::visit([node](const auto& each) { return each.node == node; }, send)) return false;
      // It never left: it is not lost with the node, and nothing of it may have run.
      if (const auto* lease = std::get_if<engine::SendLease>(&send)) {
        Post(engine::TasksReturned{node, lease->job, lease->attempt, lease->tasks});
      }
      return true;
    });
  }
  return true;
}

void Hub::SetSettings(JobId job, std::shared_ptr<const JobSettings> settings) {
  std::erase_if(read_settings_, [job](const auto& each) { return each.first == job; });
  settings_[job] = std::move(settings);
  CloseOnNodes(job);
}

void Hub::CloseOnNodes(JobId job) {
  auto nodes = opened_.extract(job);
  if (nodes.empty()) return;
  for (NodeId node : nodes.mapped()) {
    NodeLink& link = links_.at(node);
    link.opened.erase(job);
    link.channel->Send(wire::CloseJob{job});
  }
}

bool Hub::Unload(JobId job) {
  if (!events_.empty() || finishing_.contains(job) || !engine_.Unload(job)) return false;
  settings_.erase(job);
  std::erase_if(read_settings_, [job](const auto& each) { return each.first == job; });
  CloseOnNodes(job);
  return true;
}

bool Hub::ForgetNode(NodeId node) {
  if (links_.contains(node)) return false;
  if (engine_.ForgetNode(node)) return true;
  if (engine_.IsBlamed(node)) Post(engine::ForgetNode{node});
  return false;
}

void Hub::Post(engine::Event event) {
  if (failed_) return;
  events_.push_back(std::move(event));
  ScheduleStep();
}

void Hub::OnMessage(NodeId node, wire::ToHub message) {
  if (failed_) return;
  if (auto* hello = std::get_if<wire::Hello>(&message)) {
    CompareClock(node, hello->clock);
    hello->offer.end_of_life = EndOfLife(node, *hello);
    gangs_.Joined(node, hello->offer.node_name, std::move(hello->remote));
    Post(engine::NodeJoined{node, std::move(hello->offer), std::move(hello->holds),
                            std::move(hello->frozen)});
  } else if (auto* ends = std::get_if<wire::Ends>(&message)) {
    KeepOutputs(node, *ends);
    for (AttemptEnd& end : ends->ends) {
      end.start = ByOurClock(node, end.start, end.wall);
      end.not_kept = NotKept::kNone;  // the journal's own word
    }
    reports_[node] = ends->number;
    Post(engine::AttemptsEnded{node, std::move(ends->ends)});
  } else if (auto* returned = std::get_if<wire::Returned>(&message)) {
    reports_[node] = returned->number;
    Post(engine::TasksReturned{node, returned->job, returned->attempt, std::move(returned->tasks)});
  } else if (const auto* room = std::get_if<wire::RoomTaken>(&message)) {
    Post(engine::RoomTaken{node, room->ref});
  } else if (const auto* resized = std::get_if<wire::Resized>(&message)) {
    Post(engine::ResizeTold{node, resized->ref, resized->since, resized->refused});
  } else if (const auto* frozen = std::get_if<wire::Frozen>(&message)) {
    Post(engine::FreezeTold{node, frozen->ref, frozen->frozen, frozen->stop});
  } else if (const auto* slowed = std::get_if<wire::Slowed>(&message)) {
    Post(engine::SlowedTold{node, slowed->what});
  } else if (const auto* exceeded = std::get_if<wire::Exceeded>(&message)) {
    reports_[node] = exceeded->number;
    Post(engine::ExcessTold{node, exceeded->ref, exceeded->excess});
    watcher_.OnNews(message);
  } else if (std::holds_alternative<wire::Leaving>(message)) {
    if (CutLink(node)) Post(engine::NodeLost{node, /*left=*/true});
  } else if (const auto* want = std::get_if<wire::WantPiece>(&message)) {
    RequestPiece(node, *want);
  } else if (auto* state = std::get_if<wire::NodeState>(&message)) {
    CompareClock(node, state->clock);
    for (auto& run : state->runs) run.since = ByOurClock(node, run.since, Duration());
    watcher_.OnNodeState(node, std::move(*state));
  } else if (const auto* running = std::get_if<wire::Running>(&message)) {
    watcher_.OnRunning(node, *running);
  } else if (const auto* answer = std::get_if<wire::AnswerPiece>(&message)) {
    if (answer->id == 0) return Post(engine::RoomTaken{node, {}});
    watcher_.OnAnswer(node, *answer);
  } else {
    watcher_.OnNews(message);
  }
}

// Clocks that differ by less count as equal: a message is under way for a while.
void Hub::CompareClock(NodeId node, Instant theirs) {
  if (theirs.ns <= 0 || theirs > wire::kWireLimits.latest) return;
  const Duration behind{(loop_.Now() - theirs).micros() * 1000};
  const bool differs = behind > kEqual || Duration() - behind > kEqual;
  links_.at(node).clock_behind = differs ? behind : Duration();
}

// Corrects a time that a node with a wrong clock reports; never in the future.
Instant Hub::ByOurClock(NodeId node, Instant began, Duration took) const {
  const auto& behind = links_.at(node).clock_behind;
  if (!behind || began.ns <= 0 || began > wire::kWireLimits.latest) return began;
  const Instant latest{(loop_.Now() - took).ns / 1000 * 1000};
  return std::min(began + *behind, latest);
}

// The node read its clock between the beginning of this connection and now. Where the clocks may be
// equal, they count as equal; otherwise it ends as early as is possible: what it is given must end
// before.
Instant Hub::EndOfLife(NodeId node, const wire::Hello& hello) const {
  const Instant told = hello.offer.end_of_life, latest = wire::kWireLimits.latest;
  if (told > latest) return Instant::Never();
  const auto at = links_.find(node);
  if (at == links_.end() || hello.clock.ns <= 0 || hello.clock > latest) return told;
  const NodeLink& link = at->second;
  const Duration ahead = link.since - link.slept - hello.clock;  // at least
  const bool may_be_equal = ahead <= kEqual && loop_.Now() >= hello.clock;
  return may_be_equal && link.slept == Duration() ? told : std::max(told + ahead, Instant());
}

void Hub::Slept(Duration time) {
  for (auto& [node, link] : links_) link.slept = link.slept + time;
  Post(engine::HubSlept{time});
}

void Hub::ClockStepped(std::optional<engine::ClockStepped> told) {
  if (told) Post(*told);
  ScheduleStep();
}

// Keeps outputs of attempts that the node has: others are late, or not its own to report.
void Hub::KeepOutputs(NodeId node, wire::Ends& ends) {
  for (size_t i = 0; i < ends.outputs.size(); ++i) {
    if (!ends.outputs[i] || !engine_.Holds(node, ends.ends[i].ref)) continue;
    outputs_[{node, ends.ends[i].ref}] = std::move(ends.outputs[i]);
  }
}

void Hub::ScheduleStep() {
  if (step_scheduled_) return;
  step_scheduled_ = true;
  loop_.Post([this, alive = alive_] {
    if (*alive) StepNow();
  });
}

void Hub::StepNow() {
  step_scheduled_ = false;
  if (failed_) return;
  std::vector<engine::Event> events = std::exchange(events_, {});
  out_.Clear();
  engine_.Step({loop_.Now(), events, loop_.Wall() - loop_.Now()}, out_);
  Handle(out_);
  if (stepped_) stepped_();
}

void Hub::Handle(engine::Output& out) {
  if (out.wake_at != Instant::Never()) {
    loop_.Cancel(timer_);
    timer_ = loop_.At(out.wake_at, [this] { ScheduleStep(); });
  }
  Unreleased& entry = unreleased_.emplace_back();
  store::Bundle bundle;
  bundle.now = loop_.Wall();
  bundle.urgent = IsUrgent(out);
  for (engine::Notice& notice : out.notices) {
    auto* ended = std::get_if<engine::NoticeEnded>(&notice);
    if (ended != nullptr) ended->end.start = loop_.ToWall(ended->end.start);
  }
  for (engine::Record& record : out.records) {
    auto* ended = std::get_if<engine::AttemptEnded>(&record);
    if (ended == nullptr) continue;
    ended->end.start = loop_.ToWall(ended->end.start);  // for people; the engine does not use it
    TaskOutputPtr output;
    if (!outputs_.empty()) {
      auto it = outputs_.find({ended->node, ended->end.ref});
      if (it != outputs_.end()) output = std::move(it->second);
    }
    bundle.outputs.push_back(output);
    entry.outputs.push_back(std::move(output));
  }
  outputs_.clear();  // what is left belonged to late news
  entry.sends = std::exchange(out.sends, {});
  entry.taken = std::exchange(reports_, {});
  entry.notices = std::exchange(out.notices, {});
  for (const engine::Notice& notice : entry.notices) {
    const auto* finished = std::get_if<engine::NoticeFinished>(&notice);
    if (finished != nullptr) finishing_.insert(finished->job);
  }
  if (out.records.empty()) {
    entry.durable = true;
    Release();
    return;
  }
  bundle.records = std::exchange(out.records, {});
  store_.Append(std::move(bundle), [this, alive = alive_](Status status) {
    if (!*alive || failed_) return;
    if (!status) return Fail(status.error());
    // Commits are in order, so the oldest one that waits is the one that is durable now.
    auto it = std::find_if(unreleased_.begin(), unreleased_.end(),
                           [](const Unreleased& each) { return !each.durable; });
    CHECK(it != unreleased_.end());
    it->durable = true;
    Release();
  });
}

void Hub::Release() {
  // The watcher may post, never release: what it causes comes in a later step.
  CHECK(!releasing_);
  releasing_ = true;
  while (!unreleased_.empty() && unreleased_.front().durable && !failed_) {
    Unreleased entry = std::move(unreleased_.front());
    unreleased_.pop_front();
    for (const engine::Send& send : entry.sends) SendToNode(send);
    TellSent(entry.sends);
    for (const auto& [node, number] : entry.taken) {
      if (auto it = links_.find(node); it != links_.end()) {
        it->second.channel->Send(wire::ReportsTaken{number});
      }
    }
    for (const engine::Notice& notice : entry.notices) {
      if (const auto* ended = std::get_if<engine::NoticeEnded>(&notice)) {
        TaskOutputPtr output = std::move(entry.outputs.front());
        entry.outputs.pop_front();
        watcher_.OnEnded(*ended, output);
      } else if (const auto* held = std::get_if<engine::NoticeHeld>(&notice)) {
        watcher_.OnHeld(*held);
      } else if (const auto* finished = std::get_if<engine::NoticeFinished>(&notice)) {
        finishing_.erase(finishing_.find(finished->job));
        watcher_.OnFinished(*finished);
      } else {
        watcher_.OnHubNotice(notice);
      }
    }
  }
  releasing_ = false;
  TellSettled();
}

// The engine hears of gangs whose nodes know now what they are to have room for. Parts of one lie
// side by side.
void Hub::TellSent(const std::vector<engine::Send>& sends) {
  AttemptRef last;
  for (const engine::Send& send : sends) {
    const auto* lease = std::get_if<engine::SendLease>(&send);
    if (lease == nullptr || lease->part == nullptr) continue;
    const AttemptRef ref{lease->job, lease->tasks.front().first, lease->attempt};
    if (std::exchange(last, ref) != ref) Post(engine::GangSent{ref});
  }
}

void Hub::WhenSettled(std::function<void()> fn) {
  on_settled_ = std::move(fn);
  TellSettled();
}

void Hub::TellSettled() {
  if (on_settled_ && Settled()) loop_.Post(std::exchange(on_settled_, nullptr));
}

void Hub::SendToNode(const engine::Send& send) {
  if (const auto* lease = std::get_if<engine::SendLease>(&send)) {
    SendLease(*lease);
  } else if (const auto* recall = std::get_if<engine::SendRecall>(&send)) {
    if (auto it = links_.find(recall->node); it != links_.end()) {
      it->second.channel->Send(wire::Recall{epoch_, recall->job});
    }
  } else if (const auto* drop = std::get_if<engine::SendDrop>(&send)) {
    if (auto it = links_.find(drop->node); it != links_.end()) {
      it->second.channel->Send(wire::Drop{epoch_, drop->job, drop->attempt, drop->tasks});
    }
  } else if (const auto* ask = std::get_if<engine::SendAsk>(&send)) {
    // Any answer is enough. Questions of users have other ids.
    if (auto it = links_.find(ask->node); it != links_.end()) it->second.channel->Send(wire::Ask());
  } else if (const auto* go = std::get_if<engine::SendGo>(&send)) {
    if (auto it = links_.find(go->node); it != links_.end()) {
      it->second.channel->Send(wire::Go{epoch_, go->ref});
    }
  } else if (const auto* freeze = std::get_if<engine::SendFreeze>(&send)) {
    if (auto it = links_.find(freeze->node); it != links_.end()) {
      it->second.channel->Send(
          wire::Freeze{epoch_, freeze->job, freeze->tasks, freeze->frozen, freeze->stop});
    }
  } else if (const auto* resize = std::get_if<engine::SendResize>(&send)) {
    if (auto it = links_.find(resize->node); it != links_.end()) {
      it->second.channel->Send(wire::Resize{epoch_, resize->ref, resize->to, resize->since});
    }
  } else {
    const auto& stop = std::get<engine::SendStop>(send);
    if (auto it = links_.find(stop.node); it != links_.end()) {
      it->second.channel->Send(wire::Stop{epoch_, stop.job, stop.tasks, stop.kill});
    }
  }
}

void Hub::SendLease(const engine::SendLease& send) {
  auto it = links_.find(send.node);
  if (it == links_.end()) return;  // its loss is an event under way
  NodeLink& link = it->second;
  bool is_new = !link.opened.contains(send.job);
  std::shared_ptr<const JobSettings> settings;
  if (is_new) {
    auto found = SettingsOf(send.job);
    if (!found) return GiveBack(send, found.error());
    settings = std::move(*found);
  }
  wire::Lease lease{epoch_,
                    send.job,
                    send.attempt,
                    send.needs,
                    send.tasks,
                    {},
                    gangs_.Introduce({send.job, send.tasks.front().first, send.attempt}, send.part),
                    send.time_limit};
  for (TaskRange range : send.tasks) {
    auto rows = store_.Rows(send.job, range.first, range.count);
    if (!rows) return GiveBack(send, rows.error());
    std::move(rows->begin(), rows->end(), std::back_inserter(lease.rows));
  }
  if (is_new) {
    link.opened.insert(send.job);
    opened_[send.job].insert(send.node);
    link.channel->Send(wire::OpenJob{send.job, std::move(settings)});
  }
  link.channel->Send(std::move(lease));
}

Result<std::shared_ptr<const JobSettings>> Hub::SettingsOf(JobId job) {
  constexpr size_t kMost = 64;  // several nodes ask for a job's one after the other
  if (auto at = settings_.find(job); at != settings_.end()) return at->second;
  for (const auto& [id, settings] : read_settings_) {
    if (id == job) return settings;
  }
  CHECK(settings_source_);
  auto read = settings_source_(job);
  if (!read) return read;
  read_settings_.emplace_front(job, *read);
  if (read_settings_.size() > kMost) read_settings_.pop_back();
  size_t bytes = 0;
  auto is_much = [&](const auto& each) {
    bytes += spate::MemoryOf(*each.second);
    return bytes > kPeerLimits.settings_bytes && each.first != job;
  };
  read_settings_.erase(std::ranges::find_if(read_settings_, is_much), read_settings_.end());
  return read;
}

// The lease never left: its tasks are queued again, and the watcher holds the job.
void Hub::GiveBack(const engine::SendLease& send, const Error& error) {
  if (!IsDamage(error) || !watcher_.OnRowsDamaged(send.job, send.tasks, error)) return Fail(error);
  Post(engine::TasksReturned{send.node, send.job, send.attempt, send.tasks});
}

// One for each node and turn of the loop: to read pieces takes time, and a node that asks for many
// at once is not one of our nodes.
void Hub::RequestPiece(NodeId node, const wire::WantPiece& want) {
  bool is_first = !std::exchange(links_.at(node).wanted, want);
  if (!is_first) return;
  loop_.Post([this, node, alive = alive_] {
    if (*alive && !failed_) SendPiece(node);
  });
}

// Only of jobs whose tasks the node gets. Others are answered, too: the node must not wait for ever
// when the job was closed meanwhile.
void Hub::SendPiece(NodeId node) {
  auto link = links_.find(node);
  if (link == links_.end() || !link->second.wanted) return;
  const wire::WantPiece want = *std::exchange(link->second.wanted, std::nullopt);
  wire::PutPiece piece{want.job, want.piece, {}};
  auto settings = link->second.opened.contains(want.job)
                      ? SettingsOf(want.job)
                      : Result<std::shared_ptr<const JobSettings>>(nullptr);
  if (settings && *settings != nullptr && HasPiece(**settings, want.piece)) {
    auto rows = store_.Rows(want.job, kFirstPieceRow + want.piece, 1);
    const TaskRange all{0, kFirstPieceRow};
    bool told = !rows && IsDamage(rows.error()) &&
                watcher_.OnRowsDamaged(want.job, {&all, 1}, rows.error());
    if (!rows && !told) return Fail(rows.error());
    if (rows) piece.bytes = std::move(rows->front());
  }
  link->second.channel->Send(std::move(piece));
}

void Hub::WhenDurable(std::function<void()> fn) { store_.Append({}, Stored(std::move(fn))); }

std::function<void(const Status&)> Hub::Stored(std::function<void()> fn) {
  return [this, alive = alive_, fn = std::move(fn)](const Status& status) {
    if (!*alive) return;
    if (!status) return StoreFailed(status.error());
    if (fn) fn();
  };
}

void Hub::StoreFailed(const Error& error) {
  if (!failed_) Fail(error);
}

void Hub::Fail(const Error& error) {
  failed_ = true;
  events_.clear();
  unreleased_.clear();
  watcher_.OnStoreFailed(error);
  TellSettled();
}

}  // namespace spate::hub
