// Node: see node.h.
#include "node/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "core/model/job_facts.h"
#include "core/model/late_ends.h"
#include "node/part_body.h"
#include "node/questions.h"
#include "wire/greeting.h"

namespace spate::node {
namespace {

constexpr Duration kLoadEvery = Duration::Seconds(1);
// The hub hears at least so often how the machine is, and sooner of tasks that wait this long.
constexpr Duration kStateEvery = Duration::Seconds(10);
constexpr Duration kWorthTelling = Duration::Millis(500);
constexpr Duration kLineWorthTelling = Duration::Seconds(1);
constexpr size_t kLeftTold = 800;  // bytes of a text in a reason

// A hub at the other end of a network knows them by the greeting.
Offer WithFeatures(Offer offer, const Doubt& doubt) {
  offer.features = wire::OwnFeatures();
  if (doubt.other.ns > 0) offer.features.emplace_back(kEndsLate);
  return offer;
}

// A part's needs are those of its processes together.
Needs OfOneProcess(const agent::StartAttempt& order) {
  Needs needs{.milli_cpus = order.needs.milli_cpus, .memory = order.needs.memory};
  if (!order.part) return needs;
  const uint32_t procs = std::max(order.part->host().procs, 1u);
  needs.milli_cpus /= procs;
  needs.memory /= procs;
  return needs;
}

}  // namespace

Node::Node(NodeId id, Offer offer, Parts parts, const Limits& limits)
    : id_(id),
      offer_(WithFeatures(std::move(offer), parts.doubt)),
      parts_(std::move(parts)),
      agent_(offer_, limits),
      held_(parts_.doubt) {
  if (parts_.tell_every.ns > 0) TellState();
}

Node::~Node() {
  *alive_ = false;
  parts_.loop.Cancel(timer_);
  parts_.loop.Cancel(held_timer_);
}

void Node::Connect(HubChannel& channel) {
  channel_ = &channel;
  ++connections_;
  channel.OnMessage([this, alive = alive_](wire::ToNode message) {
    if (*alive) OnMessage(std::move(message));
  });
  channel.Send(wire::Hello{id_, offer_, Holds(), remote_, parts_.loop.Now(), agent_.Frozen()});
  for (const auto& [number, report] : untaken_) channel.Send(report);
  for (const AttemptRef& ref : agent_.PartsWithRoom()) channel.Send(wire::RoomTaken{ref});
  told_at_ = Instant();
  if (parts_.tell_every.ns > 0) TellChanged();
}

void Node::Adopt(Adopted adopted) {
  CHECK(channel_ == nullptr);
  wire::Ends ends;
  for (AdoptedEnd& each : adopted.ended) {
    ends.ends.push_back(std::move(each.end));
    ends.outputs.push_back(std::move(each.output));
  }
  if (!ends.ends.empty()) SendReport(std::move(ends));
  for (agent::AttemptAdopted& running : adopted.running) events_.push_back(std::move(running));
  StepNow();
}

void Node::Disconnect() {
  channel_ = nullptr;
  answers_.Clear();
  fetches_.clear();
  strangers_.clear();
  fetching_.reset();
  // The next connection opens anew what it has work of.
  for (const auto& [id, job] : jobs_) Post(agent::JobClosed{id});
}

wire::Ends Node::CutOff(const std::string& why) {
  wire::Ends ends;
  for (AttemptEnd& held : held_.DrainCutOff(why)) {
    ends.ends.push_back(std::move(held));
    ends.outputs.push_back(nullptr);
  }
  // An attempt that has certainly ended was not cut off. The agent would start others in its place.
  std::set<AttemptRef> ended;
  for (agent::Event& event : events_) {
    auto* each = std::get_if<agent::AttemptOver>(&event);
    if (each == nullptr || !held_.IsCertain(each->end)) continue;
    if (!ended.insert(each->end.ref).second) continue;
    auto output = outputs_.extract(each->end.ref);
    ends.outputs.push_back(output ? std::move(output.mapped()) : nullptr);
    ends.ends.push_back(each->end);
  }
  const Instant now = parts_.loop.Now();
  for (const agent::Run& run : agent_.Runs()) {
    if (ended.contains(run.ref)) continue;
    const Duration wall = std::max(now - run.since, Duration());
    ends.ends.push_back(CutOffEnd(run.ref, run.slot, run.since, wall, why));
  }
  ends.outputs.resize(ends.ends.size());
  ends.number = ++reports_;
  return ends;
}

void Node::Send(wire::ToHub message) {
  if (channel_ != nullptr) channel_->Send(std::move(message));
}

template <typename Report>
void Node::SendReport(Report report) {
  report.number = ++reports_;
  untaken_.emplace_back(report.number, report);
  Send(std::move(report));
}

// Tasks that the agent has, and ended ones whose report the hub may not have.
std::vector<HeldTasks> Node::Holds() const {
  std::vector<HeldTasks> holds = agent_.Holds();
  for (const AttemptEnd* end : held_.ends()) {
    holds.push_back({end->ref.job, end->ref.attempt, {{end->ref.index, 1}}});
  }
  for (const auto& [number, report] : untaken_) {
    if (const auto* ends = std::get_if<wire::Ends>(&report)) {
      for (const AttemptEnd& end : ends->ends) {
        holds.push_back({end.ref.job, end.ref.attempt, {{end.ref.index, 1}}});
      }
    } else {
      const auto* returned = std::get_if<wire::Returned>(&report);
      if (returned == nullptr) continue;
      holds.push_back({returned->job, returned->attempt, returned->tasks});
    }
  }
  return holds;
}

const PutFile* Node::FindPut(const OpenJob& job, const std::string& name) const {
  const std::vector<PutFile>& puts = job.settings->puts;
  auto at = std::ranges::lower_bound(puts, name, {}, &PutFile::name);
  return at != puts.end() && at->name == name ? &*at : nullptr;
}

// Contents that tasks of the lease need, and that are not here. A wrong row is told of
// when its task starts.
std::vector<PutFile> Node::MissingFor(const wire::Lease& lease) const {
  std::vector<PutFile> missing;
  auto job = jobs_.find(lease.job);
  if (parts_.files == nullptr || job == jobs_.end() || !job->second.compiled) return missing;
  if (job->second.settings->puts.empty()) return missing;
  size_t row = 0;
  for (TaskRange range : lease.tasks) {
    for (uint32_t k = 0; k < range.count; ++k) {
      auto body = job->second.compiled->Body(lease.rows[row++], {.index = range.first + k});
      if (!body) continue;
      for (const TaskPut& put : body->puts) {
        const PutFile* file = FindPut(job->second, put.name);
        auto same = [&](const PutFile& one) { return one.first_piece == file->first_piece; };
        if (file == nullptr || parts_.files->Has(lease.job, *file)) continue;
        if (std::ranges::none_of(missing, same)) missing.push_back(*file);
      }
    }
  }
  return missing;
}

void Node::AskFor(JobId job, Fetch& fetch) {
  fetching_ = job;
  fetch.piece = fetch.missing.back().first_piece;
  Send(wire::WantPiece{job, fetch.piece});
}

void Node::On(wire::PutPiece piece) {
  auto at = fetches_.find(piece.job);
  if (fetching_ != piece.job || at->second.piece != piece.piece) return;  // it was asked for before
  Fetch& fetch = at->second;
  const PutFile file = fetch.missing.back();
  Status kept = parts_.files->Store(piece.job, file, piece.piece, piece.bytes);
  if (kept && !parts_.files->Has(piece.job, file)) {
    return Send(wire::WantPiece{piece.job, ++fetch.piece});
  }
  fetch.missing.pop_back();
  if (kept && !fetch.missing.empty()) return AskFor(piece.job, fetch);
  if (!kept) {
    OpenJob& job = jobs_.at(piece.job);
    job.compiled.reset();
    job.problem = fmt::format("on node {}: the job's files cannot be kept: {}", offer_.node_name,
                              kept.error().message);
  }
  std::deque<wire::ToNode> held = std::move(fetch.held);
  fetches_.erase(at);
  fetching_.reset();
  if (!fetches_.empty()) AskFor(fetches_.begin()->first, fetches_.begin()->second);
  for (wire::ToNode& message : held) OnMessage(std::move(message));
}

// Nothing waits for it, so it overtakes what waits for files or a user. The executor knows nothing
// of what waits here.
void Node::OnAsk(wire::Ask ask) {
  // A restarted hub counts ids from 1 again, so an old id may now be another user's question.
  auto add = [this, id = ask.id, asked_by = connections_](wire::AnswerPiece piece) {
    piece.id = id;
    if (channel_ != nullptr && asked_by == connections_) answers_.Add(std::move(piece));
  };
  const NodeQuestion* question = FindQuestion(ask.question);
  if (question != nullptr && question->for_admins && !ask.admin) {
    return add(wire::AnswerPiece::Failed(
        {ErrorKind::kPermission, "only the hub's administrators may ask the node that"}));
  }
  if (question != nullptr) {
    auto give = [add, alive = alive_](Result<std::string> answer) {
      if (!*alive) return;
      if (!answer) return add(wire::AnswerPiece::Failed(answer.error()));
      add({.kind = wire::AnswerKind::kDone, .bytes = std::move(*answer)});
    };
    const AskedNode asked{offer_, parts_, ask, agent_};
    if (question->answer_later != nullptr) return question->answer_later(asked, give);
    return give(question->answer(asked));
  }
  if (ask.ref.job.value == 0) return add({.kind = wire::AnswerKind::kUnknown});
  if (parts_.ask_run == nullptr) {
    return add(wire::AnswerPiece::Failed(
        {ErrorKind::kUnavailable,
         fmt::format("tasks on node {} run inside its program, such as a master-worker slave, and "
                     "what they write is in that program's own output",
                     offer_.node_name)}));
  }
  const AttemptRef ref = ask.ref;
  parts_.ask_run(std::move(ask), [this, alive = alive_, ref, add](wire::AnswerPiece told) {
    if (!*alive) return;
    // Tasks of the job may run while others of it wait for their files.
    const bool waits =
        rows_.contains(ref) || strangers_.contains(ref.job) || fetches_.contains(ref.job);
    if (told.kind == wire::AnswerKind::kEnded && waits) told.kind = wire::AnswerKind::kNotStarted;
    add(std::move(told));
  });
}

// Messages of the hub about the job wait behind it meanwhile, in order.
void Node::AskForUser(const wire::OpenJob& open) {
  parts_.users->LookUp(AccountOf(open.settings->user), [this, job = open.job, alive = alive_] {
    if (!*alive) return;
    auto held = strangers_.extract(job);  // gone, when the connection has
    if (held.empty()) return;
    for (wire::ToNode& message : held.mapped().held) OnMessage(std::move(message));
  });
}

void Node::OnMessage(wire::ToNode message) {
  if (parts_.first && parts_.first(message)) return;
  if (auto* piece = std::get_if<wire::PutPiece>(&message)) return On(std::move(*piece));
  if (auto* ask = std::get_if<wire::Ask>(&message)) return OnAsk(std::move(*ask));
  if (const auto* taken = std::get_if<wire::AnswerTaken>(&message)) return answers_.Taken(*taken);
  JobId job = std::visit(
      [](const auto& each) {
        if constexpr (requires { each.job; }) return each.job;
        if constexpr (requires { each.ref; }) return each.ref.job;
        return JobId();
      },
      message);
  if (auto held = strangers_.find(job); held != strangers_.end()) {
    held->second.held.push_back(std::move(message));
    return;
  }
  if (auto fetch = fetches_.find(job); fetch != fetches_.end()) {
    fetch->second.held.push_back(std::move(message));
    return;
  }
  const auto* open = std::get_if<wire::OpenJob>(&message);
  if (open != nullptr && parts_.users != nullptr &&
      !parts_.users->Knows(AccountOf(open->settings->user))) {
    AskForUser(*open);
    Stranger& stranger = strangers_[job];
    stranger.since = parts_.loop.Now();
    stranger.user = AccountOf(open->settings->user);
    stranger.held.push_back(std::move(message));
    return;
  }
  if (const auto* lease = std::get_if<wire::Lease>(&message)) {
    auto missing = MissingFor(*lease);
    if (!missing.empty()) {
      Fetch& fetch = fetches_[job];
      fetch.since = parts_.loop.Now();
      fetch.missing = std::move(missing);
      fetch.held.push_back(std::move(message));
      if (!fetching_) AskFor(job, fetch);
      return;
    }
  }
  Obey(std::move(message));
}

void Node::Obey(wire::ToNode message) {
  if (auto* open = std::get_if<wire::OpenJob>(&message)) {
    auto settings = std::make_shared<JobSettings>(*open->settings);
    const format::RowDialect* dialect = parts_.dialects.Find(settings->row_kind);
    format::JobAdditions added;
    if (dialect != nullptr) added = dialect->Additions(*settings);
    std::ranges::move(added.environment, std::back_inserter(settings->environment));
    if (added.umask >= 0) settings->umask = added.umask;
    if (settings->umask < 0) settings->umask = parts_.umask;
    OpenJob& job = jobs_[open->job] = {};
    auto compiled = parts_.dialects.Compile(*settings, open->job);
    if (compiled) {
      job.compiled = std::move(*compiled);
    } else {
      job.problem = compiled.error().message;
    }
    job.keeps_stderr = added.keeps_stderr && parts_.kept.name != nullptr;
    if (job.keeps_stderr) {
      if (auto made = MakeKeptDir(parts_.kept); !made) {
        job.compiled.reset();
        job.problem = fmt::format("on node {}: {}", offer_.node_name, made.error().message);
      }
    }
    // Only the executor needs the environment, and shares it among jobs.
    auto kept = std::make_shared<JobSettings>(*settings);
    kept->environment = {};
    parts_.executor.OpenJob(open->job, std::move(settings), added.inherits);
    job.settings = kept;
    Post(agent::JobOpened{open->job, std::move(kept)});
  } else if (auto* lease = std::get_if<wire::Lease>(&message)) {
    size_t row = 0;
    for (TaskRange range : lease->tasks) {
      for (uint32_t k = 0; k < range.count; ++k) {
        CHECK(row < lease->rows.size());
        rows_[{lease->job, range.first + k, lease->attempt}] = std::move(lease->rows[row++]);
      }
    }
    Post(agent::LeaseArrived{lease->epoch, lease->job, lease->attempt, std::move(lease->needs),
                             std::move(lease->tasks), std::move(lease->part), lease->time_limit});
  } else if (auto* go = std::get_if<wire::Go>(&message)) {
    Post(agent::GoArrived{go->epoch, go->ref});
  } else if (auto* recall = std::get_if<wire::Recall>(&message)) {
    Post(agent::RecallArrived{recall->job});
  } else if (auto* drop = std::get_if<wire::Drop>(&message)) {
    Post(agent::DropArrived{drop->job, drop->attempt, std::move(drop->tasks)});
  } else if (auto* taken = std::get_if<wire::ReportsTaken>(&message)) {
    DropReports(taken->number);
  } else if (auto* close = std::get_if<wire::CloseJob>(&message)) {
    Post(agent::JobClosed{close->job});
  } else if (auto* freeze = std::get_if<wire::Freeze>(&message)) {
    Post(agent::FreezeArrived{freeze->job, std::move(freeze->tasks), freeze->frozen, freeze->stop});
  } else if (auto* resize = std::get_if<wire::Resize>(&message)) {
    Post(agent::ResizeArrived{resize->ref, resize->to, resize->since});
  } else {
    auto& stop = std::get<wire::Stop>(message);
    if (parts_.doubt.stop_is_signal && stop.tasks.empty()) CutOffHeld("it was told to stop");
    Post(agent::StopArrived{stop.job, std::move(stop.tasks), stop.kill});
  }
}

void Node::DropReports(uint64_t up_to) {
  for (; !untaken_.empty() && untaken_.front().first <= up_to; untaken_.pop_front()) {
    const auto* ends = std::get_if<wire::Ends>(&untaken_.front().second);
    if (ends == nullptr) continue;
    for (const AttemptEnd& end : ends->ends) parts_.executor.Taken(end.ref);
  }
}

void Node::SetPaused(bool paused) {
  Post(agent::AllPaused{paused, parts_.loop.Now()});
  StepNow();
}

void Node::OnFrozen(const AttemptRef& ref, bool frozen, Instant stop) {
  Send(wire::Frozen{ref, frozen, stop});
}

void Node::OnExceeded(const AttemptRef& ref, const Excess& excess) {
  Post(agent::AttemptExceeded{ref, excess});
}

void Node::OnResized(const AttemptRef& ref, const std::string& refused) {
  Post(agent::AttemptResized{ref, refused});
}

void Node::SetOutputBlocked(bool blocked) { Post(agent::OutputBlocked{blocked}); }

void Node::OnStarted(const AttemptRef& ref, Instant when) {
  Post(agent::AttemptStarted{ref, when});
}

// The slot is free in any case, and the next task may start.
void Node::OnEnded(AttemptEnd end, TaskOutputPtr output) {
  if (output) outputs_[end.ref] = std::move(output);
  left_running_.erase(end.ref);
  if (IsDiskFull(end)) LookAtRoom(true);
  Post(agent::AttemptOver{std::move(end)});
}

void Node::CutOffHeld(const std::string& why) {
  cut_off_by_ = why;
  wire::Ends ends;
  ends.ends = held_.DrainCutOff(why);
  ends.outputs.resize(ends.ends.size());
  WatchHeld();
  if (!ends.ends.empty()) SendReport(std::move(ends));
}

void Node::ReportBelieved() {
  held_timer_ = 0;
  wire::Ends ends = held_.DrainBelieved(parts_.loop.Now());
  WatchHeld();
  if (!ends.ends.empty()) SendReport(std::move(ends));
}

void Node::WatchHeld() {
  if (held_timer_ != 0 && held_at_ <= held_.next()) return;
  parts_.loop.Cancel(std::exchange(held_timer_, 0));
  held_at_ = held_.next();
  if (!held_.empty()) held_timer_ = parts_.loop.At(held_at_, [this] { ReportBelieved(); });
}

void Node::OnTakenBack(const AttemptRef& ref) { Post(agent::OrderTakenBack{ref}); }

void Node::OnOutput(const AttemptRef& ref, int stream, std::string_view bytes) {
  Send(wire::Live{ref, static_cast<uint8_t>(stream), std::string(bytes)});
}

void Node::OnMemory(const AttemptRef& ref, uint64_t bytes) {
  Post(agent::MemorySampled{ref, bytes});
}

void Node::OnLeftRunning(const AttemptRef& ref, const std::string& processes) {
  left_running_[ref] = processes;
  if (parts_.left_running) parts_.left_running(ref, processes);
}

void Node::Post(agent::Event event) {
  events_.push_back(std::move(event));
  if (step_scheduled_) return;
  step_scheduled_ = true;
  parts_.loop.Post([this, alive = alive_] {
    if (*alive) StepNow();
  });
}

void Node::StepNow() {
  step_scheduled_ = false;
  agent::Output out;
  agent_.Step({parts_.loop.Now(), std::exchange(events_, {})}, out);
  CarryOut(out);
  parts_.loop.Cancel(timer_);
  timer_ = 0;
  if (out.wake_at != Instant::Never()) {
    timer_ = parts_.loop.At(out.wake_at, [this] { StepNow(); });
  }
  if (!load_scheduled_ && parts_.sample_load && agent_.WantsLoad() && agent_.waiting() > 0) {
    load_scheduled_ = true;
    SampleLoad();
  }
}

void Node::SampleLoad() {
  MachineLoad load = parts_.sample_load();
  Post(agent::LoadSampled{load.free_memory, load.load});
  parts_.loop.At(parts_.loop.Now() + kLoadEvery, [this, alive = alive_] {
    if (!*alive) return;
    load_scheduled_ = agent_.waiting() > 0 || agent_.busy() > 0;
    if (load_scheduled_) SampleLoad();
  });
}

std::vector<wire::NodeState::Wait> Node::Waits(Instant now) const {
  std::vector<wire::NodeState::Wait> waits;
  auto add = [&](const auto& some, const std::string& user) {
    wire::NodeState::Wait wait{{}, 0, user};
    for (const wire::ToNode& message : some.held) {
      const auto* lease = std::get_if<wire::Lease>(&message);
      if (lease == nullptr || lease->tasks.empty()) continue;
      wait.first = {lease->job, lease->tasks.front().first, lease->attempt};
      for (TaskRange range : lease->tasks) wait.tasks += range.count;
    }
    const bool long_enough = now - some.since >= kWorthTelling;
    const bool told = wait.tasks > 0 && long_enough && waits.size() < wire::kNodeWaits;
    if (told) waits.push_back(std::move(wait));
  };
  for (const auto& [job, stranger] : strangers_) add(stranger, stranger.user);
  for (const auto& [job, fetch] : fetches_) add(fetch, "");
  std::vector<agent::Line> lines = agent_.Lines(now - kLineWorthTelling);
  if (lines.size() > wire::kNodeWaits) lines.resize(wire::kNodeWaits);
  for (agent::Line& line : lines) {
    const bool all_left = left_running_.size() >= offer_.slots && !left_running_.empty();
    if (line.why.kind == ReasonKind::kSlotsTaken && all_left) {
      const auto& [ref, processes] = *left_running_.begin();
      line.why = {ReasonKind::kSlotKept, {ref.job.value, int64_t{ref.index} + 1}, {}, {processes}};
    }
    for (std::string& name : line.why.names) name = CutText(std::move(name), kLeftTold);
    waits.push_back({line.first, line.tasks, "", std::move(line.why)});
  }
  return waits;
}

void Node::LookAtRoom(bool in_doubt) {
  if (!parts_.no_room || !(in_doubt || parts_.watches_room || !no_room_.empty())) return;
  std::string now = parts_.no_room();
  if (now.empty() == no_room_.empty()) return;
  no_room_ = std::move(now);
  Post(agent::RoomLooked{no_room_});
}

void Node::TellState() {
  parts_.loop.At(parts_.loop.Now() + parts_.tell_every, [this, alive = alive_] {
    if (*alive) TellState();
  });
  LookAtRoom(false);
  if (channel_ != nullptr) TellChanged();
}

void Node::TellChanged() {
  Instant now = parts_.loop.Now();
  wire::NodeState state;
  for (const agent::Run& run : agent_.Runs()) {
    auto left = left_running_.find(run.ref);
    state.runs.push_back({run.ref, run.since, left == left_running_.end() ? "" : left->second});
  }
  // For the hub they run until it hears of their ends.
  for (const AttemptEnd* end : held_.ends()) {
    const bool fits = state.runs.size() < kLimits.slots;
    if (fits && end->wall >= kEndsLateBy) state.runs.push_back({end->ref, end->start});
  }
  state.waits = Waits(now);
  if (parts_.watches_room) state.no_room = no_room_;
  const bool same =
      state.runs == told_.runs && state.waits == told_.waits && state.no_room == told_.no_room;
  if (now - told_at_ < kStateEvery && same && !told_early_) return;
  if (parts_.sample_load) state.machine = parts_.sample_load();
  told_ = state;
  told_at_ = now;
  told_early_ = false;
  state.clock = now;
  Send(std::move(state));
}

void Node::CarryOut(agent::Output& out) {
  wire::Ends ends;
  // Ends go in one message; what is returned after them must not overtake them.
  auto flush = [&] {
    if (!ends.ends.empty()) SendReport(std::exchange(ends, {}));
  };
  for (agent::Order& order : out.orders) {
    if (auto* start = std::get_if<agent::StartAttempt>(&order)) {
      Start(*start);
    } else if (auto* back = std::get_if<agent::Withdraw>(&order)) {
      parts_.executor.Withdraw(back->ref);
    } else if (auto* end = std::get_if<agent::EndAttempt>(&order)) {
      parts_.executor.End(end->ref, end->kill ? EndHow::kKill : EndHow::kTerm, end->cause);
    } else if (auto* freeze = std::get_if<agent::FreezeAttempt>(&order)) {
      parts_.executor.Freeze(freeze->ref, freeze->frozen, freeze->stop);
    } else if (auto* resize = std::get_if<agent::ResizeAttempt>(&order)) {
      parts_.executor.Resize({resize->ref, resize->slot, std::move(resize->needs),
                              std::move(resize->given), resize->time_limit});
    } else if (auto* resized = std::get_if<agent::ReportResized>(&order)) {
      Send(wire::Resized{resized->ref, resized->since, std::move(resized->refused)});
    } else if (auto* report = std::get_if<agent::ReportEnd>(&order)) {
      TaskOutputPtr output;
      if (!outputs_.empty()) {
        if (auto it = outputs_.find(report->end.ref); it != outputs_.end()) {
          output = std::move(it->second);
          outputs_.erase(it);
        }
      }
      rows_.erase(report->end.ref);
      if (!held_.IsCertain(report->end)) {
        // After shorter tasks the slot has the next one: the hub gives them ahead (kEndsLate).
        const bool frees_slot = report->end.wall >= kEndsLateBy && !report->is_part;
        if (frees_slot && cut_off_by_.empty()) Send(wire::RoomTaken{report->end.ref});
        held_.Hold(parts_.loop.Now(), std::move(report->end), std::move(output));
        if (!cut_off_by_.empty()) CutOffHeld(cut_off_by_);
        continue;
      }
      ends.ends.push_back(std::move(report->end));
      ends.outputs.push_back(std::move(output));
    } else if (auto* returned = std::get_if<agent::ReportReturned>(&order)) {
      for (TaskRange range : returned->tasks) {
        for (uint32_t k = 0; k < range.count; ++k) {
          rows_.erase({returned->job, range.first + k, returned->attempt});
        }
      }
      flush();
      SendReport(wire::Returned{0, returned->job, returned->attempt, std::move(returned->tasks)});
    } else if (auto* room = std::get_if<agent::ReportRoom>(&order)) {
      Send(wire::RoomTaken{room->ref});
    } else if (auto* slow = std::get_if<agent::ReportSlow>(&order)) {
      Send(wire::Slow{slow->ref});
    } else if (const auto* excess = std::get_if<agent::ReportExcess>(&order)) {
      SendReport(wire::Exceeded{0, excess->ref, excess->excess});
    } else if (auto* close = std::get_if<agent::CloseJob>(&order)) {
      jobs_.erase(close->job);
      parts_.executor.CloseJob(close->job);
      if (parts_.files != nullptr) parts_.files->Forget(close->job);
    } else {
      Send(wire::Paused{std::move(std::get<agent::ReportPaused>(order).reason)});
    }
  }
  flush();
  WatchHeld();
}

void Node::Start(const agent::StartAttempt& order) {
  const AttemptRef& ref = order.ref;
  OpenJob& job = jobs_.at(ref.job);
  std::string problem = job.problem;
  if (job.compiled) {
    const GangPart* part = order.part ? &*order.part : nullptr;
    // The row stays until the attempt has ended: an order may be taken back and started again.
    auto body = job.compiled->Body(rows_.at(ref), {.index = ref.index,
                                                   .slot = order.slot,
                                                   .node = offer_.node_name,
                                                   .milli_cpus = OfOneProcess(order).milli_cpus,
                                                   .first_rank = part ? part->first_rank() : 0,
                                                   .ranks = part ? part->ranks() : 0});
    if (body) {
      for (TaskPut& put : body->puts) {
        const PutFile* file = FindPut(job, put.name);
        if (file == nullptr || parts_.files == nullptr) {
          body = Fail(ErrorKind::kNotFound,
                      fmt::format("--put: '{}' did not come with the job", put.name));
          break;
        }
        put.mode = file->mode;
        put.from = parts_.files->PathOf(ref.job, *file);
      }
    }
    if (body && order.part) {
      if (Status made = MakePart(*body, *order.part, order.given, parts_.gpu_variable); !made) {
        body = std::unexpected(made.error());
      }
    }
    if (body) {
      if (job.keeps_stderr) {
        body->stderr_file = KeptPath(parts_.kept, ref.job, ref.index);
        MakeRoomForKept(parts_.kept, job.settings->user, ref.job, ref.index);
        body->late_stderr = true;
      }
      Environment(order, *body);
      parts_.executor.Start({ref, order.slot, std::move(*body), order.needs, order.given,
                             order.tell_start, order.sample_memory, order.part, std::nullopt,
                             order.time_limit});
      Send(wire::Running{ref, order.slot});
      told_early_ |= order.ahead;
      return;
    }
    problem = body.error().message;
  }
  AttemptEnd end;
  end.ref = ref;
  end.slot = order.slot;
  end.cause = Cause::kStart;
  end.status = 126;
  end.start = parts_.loop.Now();
  end.note = std::move(problem);
  Post(agent::AttemptOver{std::move(end)});
}

std::optional<Node::Held> Node::Find(const AttemptRef& ref) const {
  auto row = rows_.find(ref);
  auto job = jobs_.find(ref.job);
  if (row == rows_.end() || job == jobs_.end()) return std::nullopt;
  return Held{*job->second.settings, row->second};
}

// Sets the task's own variables. A process that takes task after task is told with each.
void Node::TaskEnvironment(const AttemptRef& ref, TaskBody& body) {
  std::vector<std::string>& environment = body.environment;
  if (body.resident) {
    environment.push_back(fmt::format("SPATE_RESIDENT_IN={}", kResidentIn));
    environment.push_back(fmt::format("SPATE_RESIDENT_OUT={}", kResidentOut));
    return;
  }
  uint32_t number = ref.index + 1;
  environment.push_back(fmt::format("SPATE_TASK_ID={}.{}", ref.job.value, number));
  environment.push_back(fmt::format("SPATE_TASK_INDEX={}", number));
  environment.push_back(fmt::format("SPATE_ATTEMPT={}", ref.attempt.value));
}

void Node::Environment(const agent::StartAttempt& order, TaskBody& body) const {
  const AttemptRef& ref = order.ref;
  std::vector<std::string>& environment = body.environment;
  // Here and not in the job's settings, so that the environments of jobs are equal.
  environment.push_back(fmt::format("SPATE_JOB_ID={}", ref.job.value));
  environment.push_back("SPATE_NODE=" + offer_.node_name);
  TaskEnvironment(ref, body);
  environment.push_back(fmt::format("SPATE_SLOT={}", order.slot));
  const Needs needs = OfOneProcess(order);
  environment.push_back(fmt::format("SPATE_CPUS={:g}", needs.milli_cpus / 1000.0));
  if (needs.memory > 0) environment.push_back(fmt::format("SPATE_MEMORY={}", needs.memory));
  if (order.part) return;  // each process has its share
  for (std::string& variable : GivenVariables(order.given, parts_.gpu_variable)) {
    environment.push_back(std::move(variable));
  }
}

}  // namespace spate::node
