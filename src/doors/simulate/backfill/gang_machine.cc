#include "doors/simulate/backfill/gang_machine.h"

#include <utility>

#include "base/check.h"

namespace spate::engine::place {

GangMachine::GangMachine(GangPolicy policy, const std::vector<uint32_t>& cpus)
    : board_(kLimits), gangs_(board_) {
  gangs_.SetPolicy(policy);
  uint32_t number = 0;
  for (uint32_t count : cpus) {
    Node& node = board_.nodes[NodeId(++number)];
    node.offer = {.node_name = "n", .slots = count, .milli_cpus = count * kMilliCpu};
    node.present = true;
    CHECK(count > 0 && count <= kMostCpus);
  }
}

void GangMachine::AddJob(JobId id, const std::string& user, std::vector<TaskClass> classes) {
  Kept& kept = jobs_[id];
  kept.classes = std::move(classes);
  kept.waiting.resize(kept.classes.size());
  board_.AddJob(id, user, 0, kept.classes);
}

void GangMachine::DropJob(JobId id) {
  auto at = jobs_.find(id);
  CHECK(at != jobs_.end() && at->second.queued + at->second.leased == 0);
  board_.DropJob(id);
  jobs_.erase(at);
}

uint64_t GangMachine::Arrive(JobId job, uint32_t request) {
  Kept& kept = jobs_.at(job);
  // Behind one of its own class it waits for that one.
  changed_ = changed_ || kept.waiting[request].empty();
  kept.waiting[request].push_back(++last_);
  ++kept.queued;
  waiting_.insert(last_);
  UpdateBoard(*board_.FindJob(job), kept, request);
  return last_;
}

void GangMachine::End(uint64_t task) {
  auto at = running_.find(task);
  CHECK(at != running_.end());
  const Task& ended = at->second;
  Job& job = *board_.FindJob(ended.job);
  for (const GangPlace& place : ended.places) {
    board_.DropPart(job, place.node, board_.nodes.at(place.node), KeyOf(ended.job, task));
  }
  board_.ReturnGangs(job, 1);
  Kept& kept = jobs_.at(ended.job);
  --kept.leased;
  UpdateBoard(job, kept, ended.request);
  running_.erase(at);
  changed_ = true;
}

void GangMachine::UpdateBoard(Job& job, Kept& kept, uint32_t request) {
  const auto& waiting = kept.waiting[request];
  Ready::Queued queued{.waiting = static_cast<uint32_t>(waiting.size())};
  if (!waiting.empty()) queued.turn = ClassTurn{.sequence = waiting.front()};
  job.gangs.Set(request, queued);
  board_.SetFacts(job, {.runnable = true,
                        .finished = kept.queued + kept.leased == 0,
                        .queued = kept.queued,
                        .leased = kept.leased,
                        .waiting = kept.queued,
                        .gangs_waiting = kept.queued});
  board_.Settle(job);
}

bool GangMachine::Start(const GangStart& start, Instant now) {
  const JobId id = start.job.id;
  Kept& kept = jobs_.at(id);
  Job& job = *board_.FindJob(id);
  const uint64_t task = kept.waiting[start.request].front();
  kept.waiting[start.request].pop_front();
  --kept.queued;
  ++kept.leased;
  waiting_.erase(task);
  for (const GangPlace& place : start.places) {
    board_.AddPart(job, board_.nodes.at(place.node), KeyOf(id, task), start.request, place.procs,
                   now);
  }
  board_.GiveGangs(job, 1);
  UpdateBoard(job, kept, start.request);
  running_[task] = {id, start.request, start.places};
  started_.push_back({task, !waiting_.empty() && *waiting_.begin() < task, start.places});
  return true;
}

const std::vector<GangMachine::Started>& GangMachine::Pass(Instant now) {
  started_.clear();
  if (!std::exchange(changed_, false)) return started_;
  auto heads = [this] { return head_ ? std::vector{*head_} : std::vector<ClassKey>(); };
  gangs_.Decide(now, heads, [&](const GangStart& start) { return Start(start, now); });
  head_.reset();
  if (const GangPromise* head = gangs_.head(); head != nullptr) head_ = {head->job, head->request};
  return started_;
}

}  // namespace spate::engine::place
