// Asking the batch system, and what its answers say. An answer that does not name a pilot is a
// miss. One miss ends a pilot whose last node took leave, several good ones in a row any other
// pilot, and only while no node of it is connected.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "core/provision/state.h"

namespace spate::provision {

void Provisioner::State::On(const QueryAnswered& event) {
  LivePool* live = FindLive(event.pool);
  if (live == nullptr || !live->asked || live->query != event.query) return;
  Instant asked = *live->asked;
  QueryEnded(*live);
  if (live->query_failures > 0 && live->unavailable > 0) {
    live->retry_at = {0};  // the batch system is back, and takes submits again
    live->unavailable = 0;
  }
  live->query_failures = 0;
  live->trouble.clear();
  live->query_now = false;
  std::vector<PilotId> seen;
  seen.reserve(event.jobs.size());
  // Only where a job comes without its tag. Copies: pilots end, and their texts go, on the way.
  std::map<std::string, PilotId> ids;
  for (const BatchJob& job : event.jobs) {
    if (job.pilot.value > 0) {
      OnJob(event.pool, job, asked, seen);
      continue;
    }
    if (ids.empty()) {
      for (PilotId id : durable_.FindPool(event.pool)->pilots) {
        const std::string& known = durable_.FindPilot(id)->id;
        if (!known.empty()) ids[known] = id;
      }
    }
    auto it = ids.find(job.id);
    if (it == ids.end()) continue;
    BatchJob named = job;
    named.pilot = it->second;
    OnJob(event.pool, named, asked, seen);
  }
  std::sort(seen.begin(), seen.end());
  const std::set<PilotId>& pilots = durable_.FindPool(event.pool)->pilots;
  std::vector<PilotId> missed;
  std::set_difference(pilots.begin(), pilots.end(), seen.begin(), seen.end(),
                      std::back_inserter(missed));
  for (PilotId id : missed) Miss(id, asked);
  touched_.insert(event.pool);
}

void Provisioner::State::OnJob(PoolId pool, const BatchJob& job, Instant asked,
                               std::vector<PilotId>& seen) {
  const Pilot* pilot = durable_.FindPilot(job.pilot);
  bool ended = job.status == JobStatus::kEnded;
  if (pilot == nullptr || pilot->pool != pool || (!pilot->id.empty() && pilot->id != job.id)) {
    // Several pools may share a batch system: what is another one's is not ours to end.
    bool others = pilot != nullptr && pilot->pool != pool;
    if (!others && !ended) CancelStray(pool, job.pilot, job.id);
    return;
  }
  seen.push_back(job.pilot);
  LivePilot& live = live_pilots_.at(job.pilot);
  if (live.misses > 0) Relist(job.pilot, [](LivePilot& each) { each.misses = 0; });
  if (ended) {
    // In a new life of the hub its nodes may be on their way back, also where nobody wrote down
    // that they had come.
    bool settled = asked >= live.expected;
    const bool heard = live.connected() && !live.silent();
    if (!heard && settled) EndPilot(job.pilot, End::kEnded, job.words, job.host);
    return;
  }
  if (live.words != job.words) live.words = Cut(job.words);
  bool same = live.watch.status() == job.status;
  live.watch.SetStatus(job.status, now_);
  if (pilot->id.empty() && !job.id.empty()) LearnId(job.pilot, job.id);
  if (pilot->unwanted) return Drive(job.pilot);
  // Held ones, too: they do not run, and their silent nodes will not come back.
  bool waits = job.status == JobStatus::kQueued || job.status == JobStatus::kError;
  bool again = waits && pilot->joined && (!live.connected() || live.silent());
  if (again && asked >= live.expected) QueuedAgain(job.pilot);
  if (!same) ResetTimer(job.pilot);
}

void Provisioner::State::Miss(PilotId id, Instant asked) {
  const Pilot& pilot = *durable_.FindPilot(id);
  LivePilot& live = live_pilots_.at(id);
  if (live.connected() || asked <= live.expected) return;
  if (live.misses == 0) live.first_miss = now_;
  Relist(id, [](LivePilot& each) { ++each.misses; });
  const bool over = live.took_leave && pilot.joined && !pilot.id.empty();
  const bool often = live.misses >= kMissesMost && now_ - live.first_miss >= kMissesSpan;
  if (!over && !often) return;
  std::string words = live.words.empty() ? "the batch system does not know it" : "";
  if (over) words = "its node has ended, and the batch system no longer lists it";
  if (over && pilot.unwanted) words.clear();  // why it was to go says more
  EndPilot(id, pilot.id.empty() ? End::kNeverWas : End::kForgotten, std::move(words));
}

void Provisioner::State::On(const QueryFailed& event) {
  LivePool* live = FindLive(event.pool);
  if (live == nullptr || !live->asked || live->query != event.query) return;
  QueryEnded(*live);
  live->query_failures = std::min(live->query_failures + 1, 10u);
  live->trouble = Cut(event.words);
  live->query_now = true;
  touched_.insert(event.pool);
}

void Provisioner::State::QueryEnded(LivePool& pool) {
  pool.asked.reset();
  pool.last_query = now_;
}

Instant Provisioner::State::QueryDue(const LivePool& pool) const {
  if (pool.asked) return *pool.asked + kQueryTimeout;
  Duration between = Duration::Max();
  const bool fresh = now_ - pool.stirred < kFresh;
  if (pool.query_now) {
    between = {};
  } else if (!pool.uneasy.empty()) {
    between = fresh ? kQueryUneasyFresh : kQueryUneasy;
  } else if (!pool.coming.empty()) {
    between = fresh ? kQueryQueuedFresh : kQueryQueued;
  } else if (!pool.here.empty() || !pool.leaving.empty() || pool.look_until > now_) {
    between = kQueryCalm;
  }
  if (pool.query_failures > 0) {
    const Duration most = pool.leaving.empty() ? kQueryRetry : kQueryUneasy;
    Duration wait = std::min(most, kQueryUneasy * (int64_t{1} << (pool.query_failures - 1)));
    between = std::max(between, wait);
  }
  return between == Duration::Max() ? Instant::Never() : pool.last_query + between;
}

void Provisioner::State::MaybeQuery(PoolId id, LivePool& pool) {
  if (QueryDue(pool) > now_) return;
  if (pool.asked) On(QueryFailed{id, pool.query, "the query was not answered"});
  if (QueryDue(pool) > now_) return;
  pool.asked = now_;
  Query query{id, ++pool.query, {}, {}};
  for (PilotId each : durable_.FindPool(id)->pilots) {
    const std::string& known = durable_.FindPilot(each)->id;
    const LivePilot& live = live_pilots_.at(each);
    if (known.empty() || (live.connected() && !live.silent())) continue;
    query.ids.push_back(known);
    query.pilots.push_back(each);
  }
  out_->asks.emplace_back(std::move(query));
}

}  // namespace spate::provision
