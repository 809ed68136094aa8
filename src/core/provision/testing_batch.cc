#include "core/provision/testing_batch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace spate::provision {
namespace {

constexpr Duration kSecond = Duration::Seconds(1);
constexpr Duration kBatchMinute = Duration::Seconds(60);
constexpr Duration kHour = Duration::Seconds(3600);
const char* const kUsers[] = {"ann", "bob"};

bool IsLive(JobStatus status) { return status != JobStatus::kEnded; }

}  // namespace

World::World(const WorldOptions& options) : options_(options), prng_(options.seed) {
  Start();
  AddPool();
  if (prng_.Chance(50)) AddPool();
  AddTasks();
}

void World::Start() {
  machine_ = std::make_unique<Provisioner>();
  shadow_ = std::make_unique<Provisioner>();
  for (const Record& record : journal_) {
    machine_->Apply(record);
    shadow_->Apply(record);
  }
  Output out;
  machine_->Resume(now_, out);
  for (const Record& record : out.records) CheckRecord(record);
  Take(out, out.records.size());
  for (auto& [key, tasks] : tasks_) tasks.told = false;
  if (finishing_ || prng_.Chance(20)) return;  // the demand comes later
  std::vector<Event> events;
  TellDemand(events, true);
  Give(std::move(events));
}

void World::AddPool() {
  PoolPolicy policy;
  policy.name = "pool";
  policy.user = prng_.Chance(30) ? kUsers[prng_.Below(2)] : "";
  policy.max_pilots = 1 + static_cast<uint32_t>(prng_.Below(6));
  policy.min_pilots = prng_.Chance(20) ? 1 : 0;
  policy.backlog = 1 + static_cast<uint32_t>(prng_.Below(4));
  policy.time_limit = kBatchMinute * static_cast<int64_t>(10 + prng_.Below(110));
  policy.idle_exit = kSecond * static_cast<int64_t>(10 + prng_.Below(300));
  policy.submit_interval = kSecond * static_cast<int64_t>(prng_.Below(3));
  policy.chain = prng_.Chance(40);
  policy.shape.milli_cpus = prng_.Chance(30) ? 0 : kMilliCpu;
  if (prng_.Chance(50)) policy.shape.labels = {"big"};
  PoolId id = machine_->NextPool();
  policies_[id] = policy;
  Give({SetPool{id, policy, false}});
}

void World::AddTasks() {
  Tasks tasks;
  tasks.demand.key = {JobId(next_class_++), 0};
  tasks.demand.user = kUsers[prng_.Below(2)];
  Needs& needs = tasks.demand.needs;
  if (prng_.Chance(20)) needs.milli_cpus = 2 * kMilliCpu;  // too large
  if (prng_.Chance(30)) needs.labels = {"big"};
  tasks.demand.takes = kSecond * static_cast<int64_t>(1 + prng_.Below(200));
  if (prng_.Chance(30)) needs.time = tasks.demand.takes;
  if (prng_.Chance(10)) needs.time = kHour * 3;  // too long
  if (prng_.Chance(10)) needs.on_node = "n";
  tasks.left = 1 + static_cast<uint32_t>(prng_.Below(prng_.Chance(30) ? 200 : 10));
  tasks.held = prng_.Chance(10);
  tasks_[tasks.demand.key] = tasks;
}

bool World::Startable(const Tasks& tasks, const PoolPolicy& policy) const {
  const ClassDemand& demand = tasks.demand;
  if (!policy.user.empty() && policy.user != demand.user) return false;
  bool big = !policy.shape.labels.empty();
  return demand.needs.milli_cpus <= kMilliCpu && demand.needs.on_node.empty() &&
         (demand.needs.labels.empty() || big) && demand.needs.time < policy.time_limit;
}

void World::TellDemand(std::vector<Event>& events, bool all) {
  DemandChanged event;
  for (auto& [key, tasks] : tasks_) {
    ClassDemand now = tasks.demand;
    now.ready = tasks.held ? 0 : tasks.left;
    now.running = tasks.running;
    if (now == tasks.demand && tasks.told && !all) continue;
    tasks.demand = now;
    tasks.told = true;
    if (now.running == 0 && key.job.value % 2 == 0) now.takes = {};  // nothing is measured
    event.classes.push_back(now);
  }
  if (all || !event.classes.empty()) events.emplace_back(std::move(event));
}

World::Batch* World::JobOf(PilotId pilot) {
  for (auto& [id, job] : batch_) {
    if (job.pilot == pilot && IsLive(job.status)) return &job;
  }
  return nullptr;
}

// ---- The shell ---------------------------------------------------------------------------------

void World::Give(std::vector<Event> events) {
  Output out;
  machine_->Step({now_, events}, out);
  machine_->CheckInvariants();
  for (const Record& record : out.records) CheckRecord(record);
  EXPECT_EQ(shadow_->Digest(), machine_->Digest()) << "a replay gives another state";
  bool killed = Fault(2);
  Take(out, killed ? prng_.Below(out.records.size() + 1) : out.records.size());
  if (killed) Kill();
}

// All records up to `records` are durable; asks are carried out when all are.
void World::Take(Output& out, size_t records) {
  for (size_t i = 0; i < records; ++i) journal_.push_back(out.records[i]);
  wake_at_ = out.wake_at;
  if (records < out.records.size()) return;
  if (prng_.Chance(2)) CutJournal();
  for (const Ask& ask : out.asks) {
    if (Fault(1)) return;  // whoever was to carry them out is gone; a kill, or a full disk
    std::visit([this](const auto& each) { Carry(each); }, ask);
  }
}

void World::CutJournal() {
  ++cuts_;
  journal_ = machine_->Images();
  Provisioner again;
  for (const Record& record : journal_) {
    EXPECT_TRUE(again.Admits(record));
    again.Apply(record);
  }
  EXPECT_EQ(again.Digest(), machine_->Digest()) << "an image gives another state";
}

void World::CheckRecord(const Record& record) {
  EXPECT_TRUE(shadow_->Admits(record));
  shadow_->Apply(record);
  if (const auto* ended = std::get_if<PilotEnded>(&record)) {
    const Batch* job = JobOf(ended->pilot);
    EXPECT_TRUE(job == nullptr || !job->was_here) << "a pilot that is connected has ended";
  }
}

void World::Kill() {
  ++kills_;
  late_.clear();
  for (auto& [id, job] : batch_) {
    if (job.node.value == 0) continue;
    job.node = NodeId(0);
    job.joins = now_ + kSecond * static_cast<int64_t>(prng_.Below(50));
  }
  Start();
}

void World::Later(Event event) {
  bool twice = Fault(10);
  auto delay = [&] {
    return options_.calm || finishing_ ? kSecond : kSecond * static_cast<int64_t>(prng_.Below(60));
  };
  if (twice) late_.push_back({now_ + delay(), event});
  late_.push_back({now_ + delay(), std::move(event)});
}

void World::Carry(const Submit& ask) {
  const PoolPolicy& policy = policies_.at(ask.pool);
  EXPECT_TRUE(asked_.insert(ask.pilot).second) << "pilot " << ask.pilot.value << " is doubled";
  ++submits_;
  auto last = last_submits_.find(ask.pool);
  if (last != last_submits_.end()) EXPECT_GE(now_, last->second + policy.submit_interval) << "rate";
  last_submits_[ask.pool] = now_;
  auto info = machine_->Info(ask.pool);
  bool probe = info->shape.milli_cpus == 0;  // how large its nodes are is not known yet
  bool of_use = std::any_of(tasks_.begin(), tasks_.end(), [&](const auto& each) {
    Tasks tasks = each.second;
    if (probe) tasks.demand.needs.milli_cpus = 0;
    return tasks.demand.ready > 0 && Startable(tasks, policy);
  });
  bool below_min = info->joined + info->queued <= policy.min_pilots;
  EXPECT_TRUE(of_use || below_min) << "nothing could start on pilot " << ask.pilot.value;
  EXPECT_FALSE(info->paused) << "requested while paused";
  const std::set<std::string> hosts(ask.avoid.begin(), ask.avoid.end());
  EXPECT_EQ(hosts.size(), ask.avoid.size()) << "a host is avoided twice";
  EXPECT_LE(hosts.size(), 16u);

  if (Fault(10) || refuses_) {
    Failure failure = prng_.Chance(50) ? Failure::kRefused : Failure::kLimit;
    return Later(SubmitFailed{ask.pool, ask.pilot, failure, "no"});
  }
  bool unavailable = Fault(10) || down_;
  if (unavailable && prng_.Chance(50)) {
    return Later(SubmitFailed{ask.pool, ask.pilot, Failure::kUnavailable, "timed out"});
  }
  Batch job{.pilot = ask.pilot, .pool = ask.pool};
  int64_t wait = prng_.Chance(30) ? static_cast<int64_t>(prng_.Below(4 * 3600)) : 20;
  job.starts = now_ + kSecond * wait;
  std::string id = std::to_string(next_id_++);
  if (Fault(5)) job.hidden_until = now_ + kSecond * 15;
  bool slow = Fault(5);  // the command hangs, and nobody hears of it when it is through
  if (slow) job.hidden_until = now_ + kSecond * 100;
  if (slow && prng_.Chance(30)) {
    job.late = true;
    job.hidden_until = now_ + kSecond * 400;
    job.starts = now_ + kHour * 5;
  }
  batch_[id] = job;
  if (slow) return;
  if (unavailable) {
    return Later(SubmitFailed{ask.pool, ask.pilot, Failure::kUnavailable, "timed out"});
  }
  Later(SubmitAnswered{ask.pool, ask.pilot, id});
}

void World::Carry(const Query& ask) {
  if (Fault(5)) return;  // it hangs
  if (Fault(15) || down_) return Later(QueryFailed{ask.pool, ask.query, "failed"});
  QueryAnswered answer{ask.pool, ask.query, {}};
  for (auto& [id, job] : batch_) {
    if (job.pool != ask.pool || job.hidden_until > now_) continue;
    if (!IsLive(job.status) && job.known_until < now_) continue;
    answer.jobs.push_back(
        {prng_.Chance(90) || options_.calm ? job.pilot : PilotId(0), id, job.status, "words", ""});
    if (!IsLive(job.status) && prng_.Chance(50)) {
      answer.jobs.back().host = fmt::format("h{}", prng_.Below(20));
    }
    // It may say of any that it has ended; while a node is connected, or on its way back, that is
    // not true.
    if (job.was_here && Fault(5)) answer.jobs.back().status = JobStatus::kEnded;
    // One without its tag is only found when its id is known, which is as good as hidden.
    if (answer.jobs.back().pilot.value == 0) {
      bool known = false;
      for (const PilotInfo& info : machine_->Pilots(ask.pool)) known |= info.id == id;
      if (!known) answer.jobs.back().pilot = job.pilot;
    }
    if (Fault(2)) job.hidden_until = now_ + kSecond * 15;
  }
  Later(std::move(answer));
}

void World::Carry(const Cancel& ask) {
  auto it = batch_.find(ask.id);
  if (Fault(20) || down_ || it == batch_.end()) {
    return Later(CancelAnswered{ask.pool, ask.pilot, false, "no such job"});
  }
  EXPECT_EQ(it->second.pilot, ask.pilot);
  EXPECT_EQ(it->second.node.value, 0u) << "a pilot that is connected is not to be cancelled";
  if (IsLive(it->second.status)) {
    it->second.starts = Instant::Never();
    it->second.ends = std::min(it->second.ends, now_ + kSecond * 5);
  }
  Later(CancelAnswered{ask.pool, ask.pilot, true, ""});
}

void World::Carry(const LetGo& ask) {
  if (Batch* job = JobOf(ask.pilot)) job->draining = true;
}

void World::Carry(const TurnAway& ask) {
  if (Batch* job = JobOf(ask.pilot)) job->ends = now_;
}

// ---- The batch system and its nodes ------------------------------------------------------------

void World::EndJob(Batch& job, std::vector<Event>& events) {
  if (job.busy) {
    Tasks& tasks = tasks_.at(job.task);
    --tasks.running;
    ++tasks.left;
  }
  job.busy = job.was_here = false;
  job.status = JobStatus::kEnded;
  job.ends = job.starts = job.joins = Instant::Never();
  job.known_until = now_ + kSecond * static_cast<int64_t>(prng_.Below(600));
  if (job.node.value > 0) {
    NodeLeft left{job.pilot, job.node, prng_.Chance(50)};
    if (prng_.Chance(50)) {
      events.emplace_back(left);
    } else {
      Later(left);
    }
  }
  job.node = NodeId(0);
}

void World::RunNode(Batch& job, std::vector<Event>& events) {
  if (job.busy && job.busy_until <= now_) {
    job.busy = false;
    --tasks_.at(job.task).running;
    ++tasks_done_;
    if (job.node.value > 0) events.emplace_back(NodeIdle{job.pilot, job.node, now_});
  }
  if (job.busy || job.node.value == 0) return;
  if (job.draining) return EndJob(job, events);
  const PoolPolicy& policy = policies_.at(job.pool);
  for (auto& [key, tasks] : tasks_) {
    if (tasks.held || tasks.left == 0 || !Startable(tasks, policy)) continue;
    if (now_ + tasks.demand.needs.time > job.ends) continue;
    --tasks.left;
    ++tasks.running;
    job.busy = true;
    job.task = key;
    job.busy_until = now_ + tasks.demand.takes;
    events.emplace_back(NodeBusy{job.pilot, job.node});
    return;
  }
}

void World::RunBatch() {
  std::vector<Event> events;
  for (auto& [id, job] : batch_) {
    if (job.status == JobStatus::kQueued && job.starts <= now_) {
      job.status = JobStatus::kRunning;
      Duration limit = policies_.at(job.pool).time_limit;
      job.ends = now_ + limit;
      job.joins = now_ + kSecond * static_cast<int64_t>(1 + prng_.Below(20));
      if (Fault(10)) job.joins = Instant::Never();  // its node never comes
      if (Fault(10)) job.ends = now_ + limit / 3;   // killed early
      if (Fault(10)) job.ends = now_;
    }
    if (IsLive(job.status) && job.ends <= now_) EndJob(job, events);
    if (job.status == JobStatus::kRunning && job.joins <= now_) {
      job.joins = Instant::Never();
      job.node = NodeId(next_node_++);
      job.was_here = true;
      NodeShape shape = policies_.at(job.pool).shape;
      shape.milli_cpus = kMilliCpu;
      events.emplace_back(provision::NodeJoined{job.pilot, job.node, shape, job.ends});
      if (job.busy) events.emplace_back(NodeBusy{job.pilot, job.node});
    }
    if (job.status == JobStatus::kRunning) RunNode(job, events);
  }
  std::erase_if(batch_, [&](const auto& each) {
    return each.second.status == JobStatus::kEnded && each.second.known_until < now_;
  });
  std::stable_sort(late_.begin(), late_.end(),
                   [](const Late& a, const Late& b) { return a.at < b.at; });
  size_t due = 0;
  for (; due < late_.size() && late_[due].at <= now_; ++due) events.push_back(late_[due].event);
  late_.erase(late_.begin(), late_.begin() + static_cast<ptrdiff_t>(due));
  TellDemand(events, false);
  if (!events.empty() || wake_at_ <= now_) Give(std::move(events));
}

void World::Check() {
  std::map<PoolId, uint32_t> live;
  std::map<PoolId, uint32_t> queued;
  std::set<PilotId> pilots;
  for (const auto& [id, job] : batch_) {
    if (!IsLive(job.status) || job.late) continue;
    ++live[job.pool];
    queued[job.pool] += job.status == JobStatus::kQueued ? 1 : 0;
    EXPECT_TRUE(pilots.insert(job.pilot).second) << "two batch jobs for one tag";
  }
  for (const auto& [id, policy] : policies_) {
    uint32_t most = policy.max_pilots * (policy.chain ? 2 : 1);
    EXPECT_LE(live[id], most) << "more pilots than allowed";
    EXPECT_LE(queued[id], policy.backlog) << "more pilots queue than allowed";
  }
}

void World::PassTime(Duration step) {
  Instant target = now_ + step;
  for (int rounds = 0; now_ < target; ++rounds) {
    ASSERT_LT(rounds, 1'000'000) << "no end of steps";
    Instant next = std::min(target, wake_at_);
    for (const Late& late : late_) next = std::min(next, late.at);
    for (const auto& [id, job] : batch_) {
      if (!IsLive(job.status)) continue;
      next = std::min(next, job.ends);
      if (job.status == JobStatus::kQueued) next = std::min(next, job.starts);
      next = std::min(next, job.joins);
      if (job.busy) next = std::min(next, job.busy_until);
    }
    now_ = std::max(next, now_ + Duration{1});
    RunBatch();
    Check();
    if (testing::Test::HasFailure()) return;
  }
}

void World::Act() {
  switch (prng_.Below(12)) {
    case 0:
      AddTasks();
      break;
    case 1:
      for (auto& [key, tasks] : tasks_) {
        if (prng_.Chance(20)) tasks.held = !tasks.held;
      }
      break;
    case 2:
      refuses_ = Fault(20);
      down_ = Fault(20);
      break;
    case 3: {
      auto it = std::next(policies_.begin(), static_cast<ptrdiff_t>(prng_.Below(policies_.size())));
      Give({prng_.Chance(20) ? Event(PausePool{it->first, "a wish"}) : ResumePool{it->first}});
      break;
    }
    case 4:
      if (Fault(50)) Kill();
      break;
    default:
      PassTime(kSecond * static_cast<int64_t>(1 + prng_.Below(prng_.Chance(20) ? 7200 : 120)));
  }
}

void World::Finish() {
  finishing_ = true;
  refuses_ = down_ = false;
  for (auto& [key, tasks] : tasks_) {
    tasks.held = false;
    // To find out that tasks are too large may take a pilot for each pool; that is no work left.
    if (tasks.demand.needs.milli_cpus > kMilliCpu) tasks.left = 0;
  }
  for (auto& [id, policy] : policies_) {
    policy.min_pilots = 0;
    Give({SetPool{id, policy, false}, ResumePool{id}});
  }
  auto open = [this] {
    uint32_t left = 0;
    for (const auto& [key, tasks] : tasks_) {
      for (const auto& [id, policy] : policies_) {
        if (!Startable(tasks, policy)) continue;
        left += tasks.left + tasks.running;
        break;
      }
    }
    return left;
  };
  auto pass_until = [&](auto&& reached) {
    for (int times = 0; times < 12 * 24 * 20 && !reached(); ++times) {
      PassTime(kBatchMinute * 5);
      if (testing::Test::HasFailure()) return;
      for (const auto& [id, policy] : policies_) {
        if (machine_->Info(id)->paused) Give({ResumePool{id}});
      }
    }
  };
  pass_until([&] { return open() == 0; });
  EXPECT_EQ(open(), 0u) << "pilots do not come";
  PassTime(kBatchMinute * 20);
  for (const auto& [id, job] : batch_) {
    EXPECT_NE(job.status, JobStatus::kQueued) << "one still queues when the work is done";
    EXPECT_FALSE(job.was_here) << "an idle one is still there";
  }
  PassTime(kBatchMinute * 40);
  for (const auto& [id, job] : batch_) {
    EXPECT_FALSE(IsLive(job.status)) << "a pilot is left when the work is done";
  }
  for (const auto& [id, policy] : policies_) EXPECT_TRUE(machine_->Pilots(id).empty());
  Kill();
  for (const auto& [id, policy] : policies_) Give({RemovePool{id}});
  PassTime(kBatchMinute);
  EXPECT_TRUE(machine_->Pools().empty());
}

}  // namespace spate::provision
