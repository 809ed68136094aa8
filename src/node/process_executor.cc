// ProcessExecutor: one Slot for each shepherd. Frames for a shepherd are gathered in Slot::out and
// sent together when the loop's turn is over; reports are read in bulk and become events. Orders
// that find no shepherd wait in Slot::waiting, or are lent to another slot.
#include "node/process_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "os/account.h"
#include "os/batch_job.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/own_dir.h"
#include "shepherd/process_tree.h"
#include "shepherd/rendezvous.h"

namespace spate::node {
namespace {

constexpr size_t kReadSize = 128 * 1024;
constexpr uint32_t kBornDeadMost = 10;
constexpr Duration kFirstLaunchDelay = Duration::Millis(50);
constexpr int64_t kEndPatience = 4'000'000'000;     // nanoseconds
constexpr int64_t kStraysPatience = 2'000'000'000;  // nanoseconds
// Limits on the jobs open in a shepherd, apart from those of its orders.
constexpr size_t kOpenedMost = 32;
constexpr size_t kOpenedBytesMost = 512 * 1024;
constexpr Duration kTakenDelay = Duration::Millis(20);

Result<os::FileLock> PrepareNodeFolder(ProcessExecutorOptions& options) {
  std::string folder = shepherd::RendezvousFolder(options.node_folder);
  options.spool_folder = os::JoinPath(options.node_folder, "spool");
  for (const std::string& made : {folder, options.spool_folder}) {
    if (Status done = os::MakeOwnDir(made); !done) return std::unexpected(done.error());
  }
  return shepherd::OwnNode(options.node_folder);
}

// A node's program may have taken the place of another, whose shepherds are our children then.
Result<shepherd::ForeignChildren> FindForeign(const ProcessExecutorOptions& options) {
  std::vector<pid_t> ours;
  if (options.node_folder.empty()) {
    std::string mark = options.job_folder.empty() ? "" : "SPATE_JOB_DIR=" + options.job_folder;
    return shepherd::ForeignChildren(ours, mark);
  }
  auto names = TRY(shepherd::ShepherdsIn(options.node_folder));
  for (const shepherd::ShepherdName& name : names) ours.push_back(name.pid);
  return shepherd::ForeignChildren(ours, "SPATE_NODE_ID=" + options.node_id);
}

// A child forked during the walk inherits its parent's binding or is visited later; one whose
// parent has died is visited in the next pass. False: there is no process.
bool BindBelow(pid_t root, const os::CpuMask& mask) {
  constexpr int kMostPasses = 16;
  shepherd::ProcessTree tree(root);
  std::set<pid_t> met;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    size_t before = met.size();
    tree.Each([&](pid_t pid) {
      if (met.insert(pid).second) (void)os::SetAllowedCpusOf(pid, mask);
    });
    if (met.size() == before) break;
  }
  return !met.empty();
}

std::string UnclaimedText(uint64_t bytes) {
  return fmt::format(
      "dropped {} of output: a --resident process wrote it while it had no task. Flush a task's "
      "output before its answer (docs/formats/resident.md)",
      FormatSize(bytes));
}

template <typename Orders>
bool HasOrders(const Orders& orders, JobId job) {
  return std::ranges::any_of(orders, [job](const auto& order) { return order.ref.job == job; });
}

}  // namespace

Result<std::unique_ptr<ProcessExecutor>> ProcessExecutor::Create(os::RealLoop& loop,
                                                                 ProcessExecutorOptions options) {
  CHECK(options.slots > 0);
  std::optional<os::FileLock> lock;
  if (!options.node_folder.empty()) {
    auto locked = TRY(PrepareNodeFolder(options));
    lock = std::move(locked);
    if (options.node_id.empty()) options.node_id = options.node_folder;
  }
  auto foreign = TRY(FindForeign(options));
  auto launcher = TRY(shepherd::Launcher::Create());
  std::unique_ptr<ProcessExecutor> executor(
      new ProcessExecutor(loop, std::move(options), std::move(launcher), std::move(foreign)));
  executor->lock_ = std::move(lock);
  if (!executor->is_node()) executor->MakeFirst();
  return executor;
}

void ProcessExecutor::MakeFirst() {
  for (uint16_t slot = 1; slot <= std::min(options_.slots, options_.made_at_start); ++slot) {
    SlotAt(slot);
  }
}

ProcessExecutor::ProcessExecutor(os::RealLoop& loop, ProcessExecutorOptions options,
                                 shepherd::Launcher launcher, shepherd::ForeignChildren foreign)
    : loop_(loop),
      options_(std::move(options)),
      folders_(loop, options_.task_folders, options_.spool_folder, options_.users.has_value(),
               options_.another_task_folder),
      launcher_(std::move(launcher)),
      foreign_(std::move(foreign)),
      slots_(options_.slots) {}

ProcessExecutor::~ProcessExecutor() {
  *exists_ = false;
  loop_.Cancel(taken_timer_);
  loop_.Cancel(watch_timer_);
  for (auto& slot : slots_) {
    if (!slot) continue;
    loop_.Cancel(slot->timer);
    if (!slot->alive) continue;
    loop_.Unwatch(slot->shepherd.socket());
    if (is_node()) SendLast(*slot);
    if (slot->had_resident && !leaving_) {
      slot->shepherd.EndOrders();
    } else {
      slot->shepherd.CloseSocket();
    }
  }
  if (leaving_) return;
  if (adopted_) adopted_->EndAll();
  int64_t until = os::MonotonicNanos() + kEndPatience;
  for (auto& slot : slots_) {
    if (slot && !slot->shepherd.Reaped(until - os::MonotonicNanos())) slot->shepherd.Kill();
    if (slot && slot->alive && slot->had_resident) ReadLast(*slot);
  }
  if (unclaimed_ > 0 && options_.on_trouble) options_.on_trouble(UnclaimedText(unclaimed_));
  for (int tries = 0; shepherd::EndOrphans(LivePids(), foreign_) > 0 && tries < 100; ++tries) {
    for (auto& slot : slots_) {
      if (slot) slot->shepherd.Reaped(1'000'000);
    }
  }
  if (options_.cgroup.empty()) return;
  for (auto& slot : slots_) {
    if (slot) (void)os::RemoveEmptyDir(SlotCgroup(*slot));
  }
}

// Reports that the shepherd sent after it had no more orders. All others are nobody's by now.
void ProcessExecutor::ReadLast(Slot& slot) {
  while (true) {
    char* room = slot.reports.Room(kReadSize);
    auto got = slot.shepherd.Receive(room, slot.reports.room());
    if (!got || *got == 0) return;
    slot.reports.Filled(*got);
    while (true) {
      auto frame = slot.reports.Next();
      if (!frame) return;
      if (frame->data() == nullptr) break;
      auto report = shepherd::DecodeReport(*frame);
      if (!report) return;
      if (const auto* output = std::get_if<shepherd::UnclaimedOutput>(&*report)) {
        OnUnclaimed(*output);
      }
    }
  }
}

// Sends as much as the socket takes. A shepherd that does not hear that it is to leave is killed;
// one that does not hear that its ends were taken has them told again.
void ProcessExecutor::SendLast(Slot& slot) {
  if (!leaving_) shepherd::Append(slot.out, shepherd::LeaveOrder{});
  (void)slot.shepherd.Send(std::string_view(slot.out).substr(slot.sent));
}

void ProcessExecutor::LeaveForAdoption() {
  CHECK(is_node());
  leaving_ = true;
  *keep_spools_ = true;
}

Result<Adopted> ProcessExecutor::Adopt(Duration patience) {
  CHECK(is_node());
  CHECK(events_ != nullptr);
  adopted_ = std::make_unique<AdoptedShepherds>(AdoptedShepherds::Parts{
      .loop = loop_,
      .node_folder = options_.node_folder,
      .own = [this](TaskOutput output) { return Own(std::move(output)); },
      .end_strays = [this] { EndStrays(); },
      .remove_folder = [this](const AttemptRef& ref) { folders_.Remove(ref); },
      .answered = [this](wire::AnswerPiece piece) { OnAnswer(std::move(piece)); },
      .lost = [this](const AttemptRef& ref) { EndAsks(ref); }});
  auto adopted = adopted_->Begin(*events_, patience);
  if (!adopted) return adopted;
  EndStrays();
  RemoveOldSpools(*adopted);
  std::set<AttemptRef> running;
  for (const agent::AttemptAdopted& one : adopted->running) running.insert(one.ref);
  folders_.RemoveOthers(running);
  MakeFirst();
  return adopted;
}

void ProcessExecutor::EndStrays() {
  std::vector<pid_t> keep = LivePids();
  os::SweepNodeCgroups(options_.cgroup, keep, Duration{kStraysPatience});
  shepherd::Leftovers left = shepherd::EndStrays(options_.node_id, keep, kStraysPatience);
  if (left.ended == 0 || !options_.on_trouble) return;
  options_.on_trouble(
      fmt::format("ended what a killed shepherd left: {}", fmt::join(left.notes, ", ")));
}

// Spool files of attempts that neither run nor ended lately.
void ProcessExecutor::RemoveOldSpools(const Adopted& adopted) {
  std::set<std::string> names;
  auto keep = [&](const AttemptRef& ref) {
    names.insert(fmt::format("{}-{}-{}", ref.job.value, ref.index, ref.attempt.value));
  };
  for (const agent::AttemptAdopted& one : adopted.running) keep(one.ref);
  for (const AdoptedEnd& one : adopted.ended) keep(one.end.ref);
  auto entries = os::ListDir(options_.spool_folder);
  if (!entries) return;
  for (const os::DirEntry& entry : *entries) {
    if (names.contains(entry.name.substr(0, entry.name.find('.')))) continue;
    (void)os::RemoveFile(os::JoinPath(options_.spool_folder, entry.name));
  }
}

// The last owner removes the spool files.
TaskOutputPtr ProcessExecutor::Own(TaskOutput output) {
  if (output.bytes() == 0) return no_output_;
  auto drop = [keep = keep_spools_](const TaskOutput* one) {
    for (const OutputStream* stream : one->streams()) {
      if (!stream->spool.empty() && !*keep) (void)os::RemoveFile(stream->spool);
    }
    delete one;
  };
  return TaskOutputPtr(new TaskOutput(std::move(output)), drop);
}

void ProcessExecutor::Taken(const AttemptRef& ref) {
  if (!is_node() || (adopted_ && adopted_->Taken(ref))) return;
  auto end = untaken_.find(ref);
  if (end == untaken_.end()) return;
  Slot& slot = *end->second;
  untaken_.erase(end);
  if (!slot.alive) return;
  // It goes with the next order, or a little later: to wake up a shepherd for it costs more.
  shepherd::Append(slot.out, shepherd::Taken{ref});
  if (taken_timer_ != 0) return;
  taken_timer_ = loop_.At(loop_.Now() + kTakenDelay, [this] {
    taken_timer_ = 0;
    for (auto& each : slots_) {
      if (each && !each->out.empty()) Flush(*each);
    }
  });
}

std::vector<pid_t> ProcessExecutor::ShepherdPids() const {
  std::vector<pid_t> pids;
  for (const auto& slot : slots_) {
    if (slot && slot->shepherd.pid() > 0) pids.push_back(slot->shepherd.pid());
  }
  return pids;
}

// An adopted shepherd may be our child: a new program may have taken the place of the old one.
std::vector<pid_t> ProcessExecutor::LivePids() const {
  std::vector<pid_t> pids = ShepherdPids();
  for (const shepherd::ShepherdProcess& one : undying_) pids.push_back(one.pid());
  if (!adopted_) return pids;
  for (pid_t pid : adopted_->Pids()) pids.push_back(pid);
  return pids;
}

std::string ProcessExecutor::SlotCgroup(const Slot& slot) {
  return os::JoinPath(options_.cgroup, fmt::format("slot-{}", slot.number));
}

ProcessExecutor::Slot& ProcessExecutor::SlotAt(uint16_t number) {
  CHECK(number >= 1);
  CHECK(number <= slots_.size());
  auto& slot = slots_[number - 1u];
  if (!slot) {
    slot = std::make_unique<Slot>();
    slot->number = number;
    Launch(*slot);
  }
  return *slot;
}

// The first orders of a new shepherd.
void ProcessExecutor::SetUp(Slot& slot) {
  slot.out.clear();
  slot.sent = 0;
  ClearOpened(slot);
  shepherd::Setup setup;
  setup.slot = slot.number;
  setup.spool_folder = options_.spool_folder;
  setup.job_folder = options_.job_folder;
  setup.open_files = options_.task_open_files;
  setup.home_cpu = HomeCpu(slot.number);
  setup.node_folder = options_.node_folder;
  setup.adopt_patience = options_.adopt_patience;
  setup.node_id = options_.node_id;
  setup.can_visit = options_.can_visit;
  if (!options_.cgroup.empty()) {
    std::string folder = SlotCgroup(slot);
    Status made = os::MakeDir(folder);
    bool there = made || made.error().kind == ErrorKind::kExists;
    // A shepherd that was killed may have left it frozen, and what is born there would be, too.
    if (there && !made) (void)os::WriteFile(os::JoinPath(folder, "cgroup.freeze"), "0");
    slot.cgroup = there ? std::move(folder) : std::string();
  }
  setup.cgroup = slot.cgroup;
  shepherd::Append(slot.out, setup);
  if (paused_) shepherd::Append(slot.out, shepherd::Pause{true});
}

// With a slot for each processor, each shepherd has one of its own and starts its tasks there: left
// to the system, two of them often meet on one while another idles
// (docs/design/005-quiet-pipeline.md). With fewer slots the system knows better which processors
// are free.
int ProcessExecutor::HomeCpu(uint16_t slot) const {
  if (cpus_.empty() || options_.slots < cpus_.size()) return -1;
  return cpus_[(slot - 1u) % cpus_.size()];
}

void ProcessExecutor::Launch(Slot& slot) {
  SetUp(slot);
  auto made = launcher_.Launch(slot.cgroup);
  if (!made) {
    Trouble(fmt::format("slot {} cannot be used for now, tasks run in the others meanwhile: {}",
                        slot.number, made.error().message));
    Lend(slot);
    return LaunchLater(slot);
  }
  slot.shepherd = std::move(*made);
  slot.alive = true;
  slot.proven = false;
  slot.hung = false;
  slot.still = 0;
  slot.beats = 0;
  slot.news_at.reset();
  slot.reports = shepherd::FrameBuffer();
  if (!options_.job_folder.empty()) {
    Status noted = shepherd::RecordShepherd(options_.job_folder, slot.shepherd.pid());
    if (!noted && options_.on_trouble) options_.on_trouble(noted.error().message);
  }
  loop_.WatchRead(slot.shepherd.socket(), [this, &slot] { OnReadable(slot); });
  for (StartOrder& order : std::exchange(slot.waiting, {})) SendOrder(slot, std::move(order));
  MarkDirty(slot);
}

void ProcessExecutor::Trouble(std::string text) {
  if (options_.on_trouble && !std::exchange(trouble_told_, true)) {
    options_.on_trouble(std::move(text));
  }
}

void ProcessExecutor::LaunchLater(Slot& slot) {
  slot.launch_delay = std::clamp(slot.launch_delay * 2, kFirstLaunchDelay, kLongestLaunchDelay);
  slot.timer = loop_.At(loop_.Now() + slot.launch_delay, [this, &slot] {
    slot.timer = 0;
    Launch(slot);
  });
}

// Orders that wait for this slot's shepherd go to slots that have one.
void ProcessExecutor::Lend(Slot& slot) {
  while (!slot.waiting.empty()) {
    Slot* best = nullptr;
    for (auto& other : slots_) {
      if (!other || !other->alive) continue;
      if (best == nullptr || other->orders.size() < best->orders.size()) best = other.get();
    }
    if (best == nullptr) return;
    StartOrder order = std::move(slot.waiting.front());
    slot.waiting.pop_front();
    SendOrder(*best, std::move(order));
  }
}

void ProcessExecutor::OpenJob(JobId job, std::shared_ptr<const JobSettings> settings,
                              bool inherits) {
  Job& entry = jobs_[job];
  CloseWhereUnused(job);  // what shepherds know of it is what it was before
  entry = {.at = std::move(entry.at)};
  shepherd::JobOpening& opening = entry.opening;
  opening.job = job;
  opening.settings = *settings;
  auto drop = [](auto& list) { std::remove_reference_t<decltype(list)>().swap(list); };
  drop(opening.settings.environment);  // jobs share theirs
  drop(opening.settings.command);      // bodies are made here
  drop(opening.settings.puts);
  std::vector<std::string> changes;
  if (options_.drops_foreign) changes = os::ForeignVariables(settings->environment);
  changes.insert(changes.end(), options_.variables.begin(), options_.variables.end());
  entry.environment = changes.empty()
                          ? environments_.Share(settings->environment)
                          : environments_.Share(os::WithChanges(settings->environment, changes));
  for (const std::string& variable : *entry.environment) entry.bytes += variable.size() + 1;
  opening.live_until_spooled = options_.live_until_spooled;
  if (options_.ends != Instant::Never()) {
    opening.node_ends =
        static_cast<uint64_t>(std::max<int64_t>(loop_.clock().ToMonotonic(options_.ends), 1));
  }
  opening.inherit = inherits;
  if (settings->has_own_folder()) {
    opening.task_folders = folders_.folder();
    if (opening.task_folders.empty()) entry.refused = "tasks have no folders of their own here";
  }
  if (!options_.users) return;
  auto user = TaskUserFor(settings->user, *options_.users);
  if (user) {
    opening.user = std::move(*user);
  } else {
    entry.refused = user.error().message;
  }
}

void ProcessExecutor::CloseJob(JobId job) {
  auto entry = jobs_.find(job);
  if (entry == jobs_.end()) return;
  CloseWhereUnused(job);
  CHECK(entry->second.at.empty());
  jobs_.erase(entry);
}

// A new connection to the hub opens jobs again whose attempts run.
void ProcessExecutor::CloseWhereUnused(JobId job) {
  for (Slot* slot : std::set<Slot*>(jobs_.at(job).at)) {
    if (!HasOrders(slot->orders, job)) CloseJobAt(*slot, job);
  }
}

// Many jobs may be open here: a shepherd knows those that it had last.
void ProcessExecutor::OpenJobAt(Slot& slot, JobId id) {
  if (!slot.opened.empty() && slot.opened.back().job == id) return;
  auto known = std::ranges::find(slot.opened, id, &Opened::job);
  if (known != slot.opened.end()) {
    std::rotate(known, known + 1, slot.opened.end());
    return;
  }
  Job& job = jobs_.at(id);
  auto is_used = [&](const Opened& one) { return HasOrders(slot.orders, one.job); };
  while (slot.opened.size() >= kOpenedMost ||
         (slot.opened_bytes + job.bytes > kOpenedBytesMost && !slot.opened.empty())) {
    auto oldest = std::ranges::find_if_not(slot.opened, is_used);
    if (oldest == slot.opened.end()) break;
    CloseJobAt(slot, oldest->job);
  }
  shepherd::AppendOpenJob(slot.out, job.opening, *job.environment);
  slot.opened.push_back({.job = id, .bytes = job.bytes});
  slot.opened_bytes += job.bytes;
  job.at.insert(&slot);
}

// The order goes with the next one: to wake up a shepherd for it costs more than it frees, unless a
// process waits there for tasks of the job.
void ProcessExecutor::CloseJobAt(Slot& slot, JobId id) {
  auto known = std::ranges::find(slot.opened, id, &Opened::job);
  if (known->has_process) MarkDirty(slot);
  slot.opened_bytes -= known->bytes;
  slot.opened.erase(known);
  jobs_.at(id).at.erase(&slot);
  if (slot.alive) shepherd::Append(slot.out, shepherd::CloseJob{id});
}

// Its shepherd is gone.
void ProcessExecutor::ClearOpened(Slot& slot) {
  for (const Opened& one : std::exchange(slot.opened, {})) jobs_.at(one.job).at.erase(&slot);
  slot.opened_bytes = 0;
}

void ProcessExecutor::Start(StartOrder order) {
  CHECK(events_ != nullptr);
  CHECK(!is_node() || adopted_ != nullptr);
  if (!options_.limits_memory) {
    order.needs.memory = 0;
    order.sample_memory = false;
  }
  if (!ever_proven_ && born_dead_ >= kBornDeadMost) {
    // No shepherd has ever lived here: waiting for one would be for ever.
    return Refuse(
        order, "no task can be started here: each shepherd ended at once (is there a /dev/null?)");
  }
  Slot& slot = SlotAt(order.slot);
  if (slot.alive) return SendOrder(slot, std::move(order));
  slot.waiting.push_back(std::move(order));
  if (slot.launch_delay.ns != 0) Lend(slot);
}

void ProcessExecutor::Refuse(const StartOrder& order, std::string why) {
  AttemptEnd end;
  end.cause = Cause::kStart;
  end.status = 126;
  end.note = std::move(why);
  Answer(order, std::move(end));
}

// A folder or a program that is missing here may be there elsewhere.
void ProcessExecutor::NameNode(AttemptEnd& end) const {
  if (end.cause != Cause::kStart || options_.node_name.empty()) return;
  end.note = fmt::format("on node {}: {}", options_.node_name, end.note);
}

void ProcessExecutor::SendOrder(Slot& slot, StartOrder order) {
  auto job = jobs_.find(order.ref.job);
  CHECK(job != jobs_.end());
  if (!job->second.refused.empty()) return Refuse(order, job->second.refused);
  if (std::string& folder = job->second.opening.task_folders; !folder.empty()) {
    if (auto made = folders_.Make(); !made) return Refuse(order, made.error().message);
    if (folder != folders_.folder()) CloseWhereUnused(order.ref.job);
    folder = folders_.folder();
  }
  OpenJobAt(slot, order.ref.job);
  shepherd::Start start;
  start.sequence = ++sequence_;
  start.ref = order.ref;
  start.slot = order.slot;
  start.tell_start = order.tell_start;
  start.sample_memory = order.sample_memory;
  start.needs = std::move(order.needs);
  start.given = std::move(order.given);
  start.is_part = order.part != nullptr;
  start.time_limit = order.time_limit;
  Status sent;
  if (order.part) {
    const auto& user = job->second.opening.user;
    sent = folders_.TellHosts(order.ref, *order.part, user ? user->user : os::EffectiveUser(),
                              *job->second.environment, order.body);
  }
  if (sent) sent = shepherd::AppendStart(slot.out, start, order.body);
  if (!sent) {
    if (order.part) folders_.RemoveHosts(order.ref);
    return Refuse(order, sent.error().message);
  }
  slot.opened.back().has_process |= order.body.resident;
  slot.had_resident |= order.body.resident;
  slot.orders.push_back({order.ref, start.sequence, order.slot, start.is_part});
  if (order.freeze) shepherd::Append(slot.out, shepherd::Freeze{order.ref, true, *order.freeze});
  MarkDirty(slot);
  WatchShepherds();
}

// Tells, a little later, the end of an attempt that no shepherd has seen.
void ProcessExecutor::Answer(const StartOrder& order, AttemptEnd end) {
  end.ref = order.ref;
  end.slot = order.slot;
  end.start = loop_.Now();
  NameNode(end);
  loop_.Post([this, exists = exists_, end = std::move(end)] {
    if (*exists) events_->OnEnded(end, no_output_);
  });
}

bool ProcessExecutor::DrainWaiting(const AttemptRef& ref, StartOrder& order) {
  for (auto& slot : slots_) {
    if (!slot) continue;
    auto found = std::find_if(slot->waiting.begin(), slot->waiting.end(),
                              [&](const StartOrder& one) { return one.ref == ref; });
    if (found == slot->waiting.end()) continue;
    order = std::move(*found);
    slot->waiting.erase(found);
    return true;
  }
  return false;
}

ProcessExecutor::Slot* ProcessExecutor::SlotOf(const AttemptRef& ref) const {
  for (const auto& slot : slots_) {
    if (!slot) continue;
    for (const Order& order : slot->orders) {
      if (order.ref == ref) return slot.get();
    }
  }
  return nullptr;
}

void ProcessExecutor::Withdraw(const AttemptRef& ref) {
  StartOrder waiting;
  if (Slot* slot = SlotOf(ref)) {
    shepherd::Append(slot->out, shepherd::Withdraw{ref});
    MarkDirty(*slot);
  } else if (DrainWaiting(ref, waiting)) {
    loop_.Post([this, exists = exists_, ref] {
      if (*exists) events_->OnTakenBack(ref);
    });
  }  // else its end is on its way
}

void ProcessExecutor::End(const AttemptRef& ref, EndHow how, Cause cause) {
  if (adopted_ && adopted_->End(ref, how, cause)) return;
  StartOrder waiting;
  if (Slot* slot = SlotOf(ref)) {
    auto order = std::ranges::find(slot->orders, ref, &Order::ref);
    if (!order->to_end) order->to_end = cause;
    shepherd::Append(slot->out, shepherd::EndOrder{ref, how == EndHow::kKill, cause});
    MarkDirty(*slot);
  } else if (DrainWaiting(ref, waiting)) {
    AttemptEnd end;
    end.cause = cause;
    Answer(waiting, std::move(end));
  }
}

void ProcessExecutor::Pause(bool paused) {
  paused_ = paused;
  if (adopted_) adopted_->Pause(paused);
  for (auto& slot : slots_) {
    if (!slot || !slot->alive) continue;  // others hear it when they are set up
    shepherd::Append(slot->out, shepherd::Pause{paused});
    Flush(*slot);  // this process may be about to stop itself
  }
}

void ProcessExecutor::Freeze(const AttemptRef& ref, bool frozen, Instant stop) {
  if (adopted_ && adopted_->Freeze(ref, frozen, stop)) return;
  if (Slot* slot = SlotOf(ref)) {
    shepherd::Append(slot->out, shepherd::Freeze{ref, frozen, stop});
    return MarkDirty(*slot);
  }
  for (auto& slot : slots_) {
    if (!slot) continue;
    auto order = std::ranges::find(slot->waiting, ref, &StartOrder::ref);
    if (order != slot->waiting.end()) order->freeze = frozen ? std::optional(stop) : std::nullopt;
  }
}

std::vector<AttemptRoot> ProcessExecutor::Roots() const {
  std::vector<AttemptRoot> roots;
  if (adopted_) roots = adopted_->Roots();
  for (const auto& slot : slots_) {
    if (!slot || !slot->alive) continue;
    const uint64_t begun = slot->shepherd.started_sequence();
    auto order = std::ranges::find(slot->orders, begun, &Order::sequence);
    if (order == slot->orders.end()) continue;
    roots.push_back({order->ref, slot->shepherd.pid(), false, order->is_part});
  }
  return roots;
}

// 0: none. A slot's shepherd has gone on to the next order before we hear of an end; that is one of
// the same kind, unless it was lent here.
pid_t ProcessExecutor::ShepherdRunning(const AttemptRef& ref) const {
  if (pid_t adopted = adopted_ ? adopted_->PidOf(ref) : 0; adopted != 0) return adopted;
  const Slot* slot = SlotOf(ref);
  if (slot == nullptr || !slot->alive) return 0;
  const Order& first = slot->orders.front();
  bool runs = first.ref == ref && slot->shepherd.started_sequence() == first.sequence;
  bool alone = std::ranges::all_of(slot->orders,
                                   [&](const Order& order) { return order.slot == first.slot; });
  return runs && alone ? slot->shepherd.pid() : 0;
}

bool ProcessExecutor::BindTo(const AttemptRef& ref, const std::vector<int>& cpus) const {
  pid_t root = ShepherdRunning(ref);
  return root != 0 && BindBelow(root, os::CpuMask::Of(cpus));
}

void ProcessExecutor::MarkDirty(Slot& slot) {
  if (slot.dirty) return;
  slot.dirty = true;
  dirty_.push_back(&slot);
  if (flush_posted_) return;
  flush_posted_ = true;
  loop_.Post([this, exists = exists_] {
    if (*exists) FlushDirty();
  });
}

void ProcessExecutor::FlushDirty() {
  flush_posted_ = false;
  for (Slot* slot : std::exchange(dirty_, {})) {
    if (slot->dirty) Flush(*slot);
  }
}

void ProcessExecutor::Flush(Slot& slot) {
  slot.dirty = false;
  if (!slot.alive || slot.watches_write) return;
  slot.news_at = slot.shepherd.beats();
  while (slot.sent < slot.out.size()) {
    auto put = slot.shepherd.Send(std::string_view(slot.out).substr(slot.sent));
    if (!put) return;  // OnReadable sees its death
    slot.sent += *put;
    if (*put > 0) continue;
    slot.watches_write = true;
    loop_.WatchWrite(slot.shepherd.socket(), [this, &slot] {
      loop_.UnwatchWrite(slot.shepherd.socket());
      slot.watches_write = false;
      Flush(slot);
    });
    return;
  }
  slot.out.clear();
  slot.sent = 0;
}

void ProcessExecutor::OnReadable(Slot& slot) {
  std::shared_ptr<bool> exists = exists_;
  while (true) {
    char* room = slot.reports.Room(kReadSize);
    size_t size = slot.reports.room();
    auto got = slot.shepherd.Receive(room, size);
    if (!got) return OnDeath(slot);
    if (*got == 0) break;
    slot.reports.Filled(*got);
    while (true) {
      auto frame = slot.reports.Next();
      if (frame && frame->data() == nullptr) break;
      auto report = frame ? shepherd::DecodeReport(*frame) : std::unexpected(frame.error());
      if (!report) return OnDeath(slot);
      OnReport(slot, std::move(*report));
      if (!*exists) return;
    }
    if (*got < size) break;
  }
  if (slot.dirty) Flush(slot);
}

void ProcessExecutor::OnReport(Slot& slot, shepherd::Report report) {
  slot.proven = true;
  ever_proven_ = true;
  if (slot.launch_delay.ns != 0) trouble_told_ = false;  // this slot's is over
  slot.launch_delay = Duration();
  if (auto* ended = std::get_if<shepherd::Ended>(&report)) {
    OnEnd(slot, std::move(*ended));
  } else if (auto* started = std::get_if<shepherd::Started>(&report)) {
    events_->OnStarted(started->ref, loop_.clock().FromMonotonic(started->when));
  } else if (auto* back = std::get_if<shepherd::TakenBack>(&report)) {
    Forget(slot, back->ref);
    events_->OnTakenBack(back->ref);
  } else if (auto* live = std::get_if<shepherd::LiveOutput>(&report)) {
    events_->OnOutput(live->ref, live->stream, live->bytes);
  } else if (auto* sample = std::get_if<shepherd::MemorySample>(&report)) {
    events_->OnMemory(sample->ref, sample->bytes);
  } else if (auto* left = std::get_if<shepherd::LeftRunning>(&report)) {
    events_->OnLeftRunning(left->ref, left->processes);
  } else if (auto* froze = std::get_if<shepherd::Froze>(&report)) {
    events_->OnFrozen(froze->ref, froze->frozen, froze->stop);
  } else if (const auto* exceeded = std::get_if<shepherd::Exceeded>(&report)) {
    events_->OnExceeded(exceeded->ref, exceeded->excess);
  } else if (auto* output = std::get_if<shepherd::UnclaimedOutput>(&report)) {
    OnUnclaimed(*output);
  } else if (auto* answer = std::get_if<shepherd::Answer>(&report)) {
    OnAnswer(std::move(*answer));
  }
}

void ProcessExecutor::OnEnd(Slot& slot, shepherd::Ended ended) {
  AttemptEnd& end = ended.end;
  Forget(slot, end.ref);
  NameNode(end);
  if (is_node()) untaken_[end.ref] = &slot;
  // The shepherd has removed it, unless there is too much in it.
  auto job = jobs_.find(end.ref.job);
  if (job != jobs_.end() && !job->second.opening.task_folders.empty()) folders_.Remove(end.ref);
  end.start = loop_.clock().FromMonotonic(end.start.ns);
  events_->OnEnded(std::move(end), Own(std::move(ended.output)));
}

// A run has one job, and one line for all of its processes is enough.
void ProcessExecutor::OnUnclaimed(const shepherd::UnclaimedOutput& output) {
  if (!is_node()) {
    unclaimed_ += output.bytes;
  } else if (options_.on_trouble) {
    options_.on_trouble(fmt::format("job {}: {}", output.job.value, UnclaimedText(output.bytes)));
  }
}

void ProcessExecutor::Forget(Slot& slot, const AttemptRef& ref) {
  auto order = std::find_if(slot.orders.begin(), slot.orders.end(),
                            [&](const Order& one) { return one.ref == ref; });
  if (order == slot.orders.end()) return;
  if (order->is_part) folders_.RemoveHosts(ref);
  slot.orders.erase(order);
}

}  // namespace spate::node
