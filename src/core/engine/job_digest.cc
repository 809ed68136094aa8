// Summary of a job's state: its digest, which replays are compared by, and its size.
#include <functional>
#include <map>
#include <string>

#include "core/engine/job_state.h"
#include "core/engine/place/place.h"

namespace spate::engine {
namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

uint64_t DigestOf(const JobCounts& counts) {
  const auto& [total, queued, leased, succeeded, failed, cancelled, unknown] = counts;
  uint64_t hash = 0;
  for (uint32_t each : {total, queued, leased, succeeded, failed, cancelled, unknown}) {
    hash = Mix(hash, each);
  }
  return hash;
}

uint64_t DigestOf(const JobPolicy& policy) {
  const auto& [retry, halt, max_failures, max_running, weight, pause_after, despite] = policy;
  uint64_t hash = Mix(uint64_t{retry.retries} << 32 | retry.retry_on, retry.delay.ns);
  for (const ExitRange& exits : retry.exits) {
    hash = Mix(hash, uint64_t{exits.first} << 32 | exits.last);
  }
  hash = Mix(hash, uint64_t{retry.elsewhere} << 32 | retry.memory_growth);
  hash = Mix(hash, retry.max_memory);
  hash = Mix(hash, static_cast<uint64_t>(halt.when) << 8 | static_cast<uint64_t>(halt.what));
  hash = Mix(hash, uint64_t{halt.count} << 32 | halt.percent);
  hash = Mix(hash, uint64_t{max_failures} << 32 | max_running);
  return Mix(hash, uint64_t{weight} << 32 | pause_after << 2 | despite << 1 | retry.once);
}

uint64_t DigestOf(const Trace& trace) {
  const auto& [attempt, tries, losses, no_starts, elsewhere, due, blamed, blamed_at] = trace;
  uint64_t hash =
      Mix(uint64_t{attempt.value} << 48 | uint64_t{tries} << 32 | losses << 16, no_starts);
  hash = Mix(hash, uint64_t{blamed[0].value} << 32 | blamed[1].value);
  hash = Mix(hash, elsewhere);
  return Mix(hash, static_cast<uint64_t>(due.ns) * 31 + static_cast<uint64_t>(blamed_at.ns));
}

// Without the times and what hangs on them: the journal has the end of an attempt exactly only
// where the task was queued again. After a replay they are about right, or of a node whose clock is
// not (pass.cc).
uint64_t DigestOf(const Trouble& trouble) {
  const auto& [failures, set_aside, no_start, cause, status, note, failed_at, pause, trial_at] =
      trouble;
  static_cast<void>(note);
  static_cast<void>(failed_at);
  static_cast<void>(pause);
  static_cast<void>(trial_at);
  uint64_t hash = uint64_t{failures} << 2 | set_aside << 1 | no_start;
  return Mix(hash, static_cast<uint64_t>(cause) << 32 | static_cast<uint32_t>(status));
}

uint64_t DigestOf(const GangRun& gang) {
  const auto& [parts, left, outcome] = gang;
  uint64_t hash = left;
  for (const GangLeased::Part& part : parts) {
    hash = Mix(hash, uint64_t{part.node.value} << 32 | part.procs);
  }
  if (!outcome) return hash;
  const auto& [cause, status, note, node, who] = *outcome;
  hash = Mix(hash, static_cast<uint64_t>(cause) << 32 | static_cast<uint32_t>(status));
  return Mix(hash, std::hash<std::string>()(note + who) + node.value);
}

uint64_t DigestOf(const TaskClass& of_tasks) {
  const auto& [needs, first, retries, gang, deadline, bound] = of_tasks;
  uint64_t hash = Mix(place::KindOf(needs), static_cast<uint32_t>(first));
  hash = Mix(hash, retries ? *retries + 1ull : 0);
  hash = Mix(hash, uint64_t{gang.procs} << 32 | gang.nodes);
  hash = Mix(hash, static_cast<uint64_t>(gang.start) << 1 | gang.whole);
  hash = Mix(hash, deadline ? static_cast<uint64_t>(deadline->ns) + 1 : 0);
  return Mix(hash, static_cast<uint64_t>(bound));
}

uint64_t DigestOf(const StopFact& stop) {
  const auto& [since, at, by, excess] = stop;
  const uint64_t hash = Mix(static_cast<uint64_t>(since.ns) * 31 + static_cast<uint64_t>(at.ns),
                            std::hash<std::string>()(by));
  return excess
             ? Mix(Mix(hash, excess->used), excess->limit * 4 + static_cast<uint64_t>(excess->what))
             : hash;
}

uint64_t DigestOf(const Steers& steers) {
  const auto& [all, stopped, killed, killed_tasks] = steers;
  uint64_t hash = all ? DigestOf(*all) : 0;
  for (const auto& [index, stop] : stopped) hash = Mix(Mix(hash, index), DigestOf(stop));
  for (TaskIndex index : killed_tasks) hash = Mix(hash, index);
  return hash * 2 + killed;
}

uint64_t DigestOf(const TaskSize& size) {
  const auto& [milli_cpus, memory, time_limit] = size;
  const uint64_t hash = Mix(milli_cpus ? *milli_cpus + uint64_t{1} : 0, memory ? *memory + 1 : 0);
  return Mix(hash, time_limit ? static_cast<uint64_t>(time_limit->ns) + 1 : 0);
}

uint64_t DigestOf(const Sizes& sizes) {
  const auto& [changes, limit, limits] = sizes;
  uint64_t hash = limit ? static_cast<uint64_t>(limit->ns) + 1 : 0;
  for (const auto& [index, each] : limits) {
    hash = Mix(Mix(hash, index), static_cast<uint64_t>(each.ns));
  }
  for (const auto& [index, change] : changes) {
    const auto& [stage, from, to, reason, by, since, at] = change.fact;
    hash = Mix(Mix(hash, index), uint64_t{change.before} << 8 | static_cast<uint64_t>(stage));
    hash = Mix(Mix(hash, DigestOf(from)), DigestOf(to));
    hash = Mix(hash, std::hash<std::string>()(reason) * 3 + std::hash<std::string>()(by));
    hash = Mix(Mix(hash, static_cast<uint64_t>(since.ns)), static_cast<uint64_t>(at.ns));
  }
  return hash;
}

}  // namespace

// The bindings name every member, so that one more does not compile before it is here.
uint64_t JobState::Digest() const {
  const auto& [id, counts, at_release, policy, held, open, finished, cancelled, user, priority,
               planned_after, after, troubles, good_nodes, in_row, row, starts_nowhere, lossy,
               last_success, requests, lowest, runs, order, graph, tasks, traces, cut_offs, gangs,
               additions, queues, waiting, gangs_waiting, requeued, readied, steers, parted,
               sizes] = *this;
  uint64_t hash = Mix(Mix(id.value, DigestOf(counts)), DigestOf(at_release));
  hash = Mix(hash, DigestOf(policy));
  hash = Mix(hash, static_cast<uint64_t>(held) * 32 + cancelled * 16 + open * 8 + finished * 4 +
                       starts_nowhere * 2 + lossy);
  hash = Mix(hash, std::hash<std::string>()(user) + static_cast<uint32_t>(priority));
  for (const After& each : after) {
    hash = Mix(hash, uint64_t{each.job.value} << 2 | static_cast<uint64_t>(each.kind));
  }
  for (NodeId node : good_nodes) hash = Mix(hash, node.value);
  hash = Mix(hash, uint64_t{in_row} << 16 | last_success.value);
  for (const auto& [node, failures] : *row) hash = Mix(hash, uint64_t{node.value} << 32 | failures);
  for (const auto& [node, trouble] : *troubles) {
    hash = Mix(Mix(hash, node.value), DigestOf(trouble));
  }
  for (const TaskClass& each : requests) hash = Mix(hash, DigestOf(each));
  hash = Mix(hash, static_cast<uint32_t>(lowest));
  for (const Run& run : runs) hash = Mix(hash, uint64_t{run.first} << 32 | run.request);
  for (TaskIndex index : order) hash = Mix(hash, index);
  hash = Mix(hash, graph.Digest());
  for (uint8_t task : tasks) hash = Mix(hash, task);
  for (const std::string& key : additions->keys) {
    hash = Mix(Mix(hash, std::hash<std::string>()(key)), additions->first.at(key));
  }
  uint64_t traced = 0;  // in no order
  for (const auto& [index, trace] : *traces) traced += Mix(index, DigestOf(trace));
  for (const auto& [index, each] : *cut_offs) {
    const auto& [count, longest] = each;
    traced += Mix(Mix(index, count), static_cast<uint64_t>(longest.ns));
  }
  hash = Mix(hash, traced);
  for (const auto& [index, gang] : *gangs) hash = Mix(Mix(hash, index), DigestOf(gang));
  // Tasks that were queued again, in that order, and that were readied. The number of earlier ones
  // (`requeued`) does not matter: it is less in a replay without the job that another waited for.
  std::map<uint64_t, TaskIndex> listed[2];
  for (const Queue& queue : queues) {
    for (const Rare<Requeued>* part : {&queue.requeued, &queue.readied}) {
      auto& all = listed[part == &queue.readied ? 1 : 0];
      for (const auto& [place, range] : **part) {
        for (uint32_t i = 0; i < range.count; ++i) all[place + i] = range.first + i;
      }
    }
    for (const auto& [due, index] : *queue.delayed) {
      hash = Mix(hash, static_cast<uint64_t>(due.ns) ^ index);
    }
    hash = Mix(hash, uint64_t{queue.cursor} << 32 | queue.waiting);
  }
  for (const auto& all : listed) {
    for (const auto& [place, index] : all) hash = Mix(hash, index);
  }
  hash = Mix(hash, DigestOf(*steers));
  for (const PartedFrom& from : *parted) {
    hash = Mix(Mix(hash, uint64_t{from.job.value} << 32 | from.node.value), from.alone ^ from.with);
  }
  hash = Mix(hash, DigestOf(*sizes));
  static_cast<void>(planned_after);  // as its acceptance has it
  static_cast<void>(requeued);
  static_cast<void>(readied);
  return Mix(Mix(hash, waiting), gangs_waiting);
}

uint64_t JobState::StateBytes() const {
  uint64_t bytes = sizeof(*this) + tasks_.capacity() + order_.capacity() * sizeof(TaskIndex) +
                   runs_.capacity() * sizeof(Run) + traces_->size() * 80 + cut_offs_->size() * 48 +
                   graph_.StateBytes() + additions_->keys.size() * 160 +
                   steers_->stopped.size() * 96 + steers_->killed_tasks.size() * 40 +
                   parted_->capacity() * sizeof(PartedFrom) + sizes_->changes.size() * 256 +
                   sizes_->limits.size() * 48;
  for (const Queue& queue : queues_) {
    bytes += sizeof(Queue) + queue.delayed->size() * 48 + queue.runs.capacity() * sizeof(uint32_t);
    bytes += (queue.requeued->size() + queue.readied->size()) * 112;
  }
  return bytes;
}

}  // namespace spate::engine
