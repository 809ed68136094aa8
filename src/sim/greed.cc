#include "sim/greed.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/model/pool_facts.h"

namespace spate::sim {
namespace {

constexpr Duration kClocks = Duration::Seconds(300);  // the most that a hub's is ahead
constexpr Duration kHoarded = Duration::Seconds(1800);

SimJob JobOf(const Options& options, TaskClass of_tasks, uint32_t tasks, Duration takes) {
  SimJob job;
  job.user = GreedyUser();
  job.requests = {std::move(of_tasks)};
  job.totals = {tasks};
  job.list_total = tasks;
  job.takes = takes;
  auto settings = std::make_shared<JobSettings>();
  settings->name = "greedy";
  settings->cwd = "/";
  settings->kill_grace = Duration::Seconds(1);
  if (options.value_rows) {
    settings->row_kind = RowKind::kValues;
    settings->command = {"run", "{}"};
  }
  job.settings = std::move(settings);
  return job;
}

SimPool PoolOf(const char* name, const char* user, Prng& prng) {
  auto below = [&](uint64_t bound) { return static_cast<uint32_t>(prng.Below(bound)); };
  SimPool pool;
  pool.name = name;
  pool.user = user;
  pool.offer.slots = 1 + below(4);
  pool.offer.milli_cpus = pool.offer.slots * kMilliCpu;
  if (prng.Chance(50)) pool.offer.memory = (1 + prng.Below(16)) << 30;
  pool.offer.labels = {std::string(kPoolLabel) + pool.name};
  pool.offer.user = pool.user;
  pool.described = prng.Chance(50);
  pool.max_pilots = 2 + below(3);
  pool.backlog = 1 + below(pool.max_pilots);
  return pool;
}

}  // namespace

const char* GreedyUser() { return "u0"; }

// If one node is good for nothing, or a job's tasks could not be started there, the hoarder's task
// might hold the only slot of the other one.
bool HasHoarder(const Options& o) {
  const bool may_need_one = o.black_holes || (o.nodes == 2 && o.odd_percent > 0);
  return o.hub && o.gangs && o.nodes > 1 && o.pools == 0 && !o.mixed_needs && !o.node_crashes &&
         !may_need_one && !o.stream && Prng(Derive(o.seed, 24)).Chance(40);
}

std::vector<SimJob> JobsOfHoarder(const Options& options) {
  TaskClass all(Needs{.milli_cpus = 100, .time = Duration::Seconds(60)});
  all.gang = {.procs = options.nodes, .nodes = options.nodes, .whole = true};
  return {JobOf(options, Needs{.milli_cpus = 100}, 1, kHoarded),
          JobOf(options, std::move(all), 1, {})};
}

std::optional<Offer> SilentNodeOf(const Options& options) {
  if (!options.cheat || options.seed % 2 == 0) return std::nullopt;
  return Offer{.node_name = "own", .slots = 1, .milli_cpus = kMilliCpu, .user = GreedyUser()};
}

std::vector<SimJob> JobsOfCheat(const Options& options) {
  const bool silent = SilentNodeOf(options).has_value();
  TaskClass all(Needs{.milli_cpus = 100, .time = Duration::Seconds(1)});
  const uint32_t nodes = options.nodes + (silent ? 1 : 0);
  all.gang = {.procs = nodes, .nodes = nodes, .whole = true};
  std::vector<SimJob> jobs = {JobOf(options, std::move(all), 1, Duration::Seconds(1))};
  const Needs brief{.milli_cpus = 100, .time = Duration::Seconds(3)};
  if (!silent) jobs.push_back(JobOf(options, brief, 1, kHoarded));
  return jobs;
}

std::vector<SimPool> PoolsOfGlutton(const Options& options) {
  Prng prng(Derive(options.seed, 27));
  SimPool shared = PoolOf("all", "*", prng);
  shared.time_limit = Duration::Seconds(60 * static_cast<int64_t>(15 + prng.Below(60)));
  shared.idle_exit = Duration::Seconds(static_cast<int64_t>(20 + prng.Below(200)));
  shared.min_pilots = prng.Chance(20) ? 1 : 0;
  SimPool own = PoolOf("own", GreedyUser(), prng);
  own.time_limit = Duration::Seconds(60 * static_cast<int64_t>(2 + prng.Below(3)));
  // A hub whose clock is ahead must not take it for over.
  if (options.node_clocks) own.time_limit = own.time_limit + kClocks * 2;
  own.idle_exit = Duration::Seconds(static_cast<int64_t>(5 + prng.Below(60)));
  own.chain = prng.Chance(30);
  std::vector<SimPool> pools = {std::move(shared), std::move(own)};
  if (!prng.Chance(50)) return pools;
  SimPool& brief = pools.emplace_back(PoolOf("brief", GreedyUser(), prng));
  brief.time_limit = pools[1].time_limit;
  brief.idle_exit = pools[1].idle_exit;
  brief.min_pilots = brief.max_pilots = brief.backlog = 1;
  brief.brief = true;
  return pools;
}

std::vector<SimJob> JobsOfGlutton(const Options& options, const std::vector<SimPool>& pools) {
  Prng prng(Derive(options.seed, 28));
  const SimPool& shared = pools[0];
  const SimPool& own = pools[1];
  const Needs all_of_shared{.milli_cpus = shared.offer.milli_cpus,
                            .memory = shared.offer.memory,
                            .labels = shared.offer.labels};
  const Needs of_own{.milli_cpus = kMilliCpu, .labels = own.offer.labels};
  auto seconds = [&](uint64_t most) {
    return Duration::Seconds(static_cast<int64_t>(1 + prng.Below(most)));
  };
  auto gang = [&](uint32_t nodes) {
    TaskClass of_gang(of_own);
    of_gang.needs.time = prng.Chance(50) ? Duration::Seconds(20) : Duration{};
    of_gang.gang = {.procs = nodes, .nodes = nodes, .whole = true};
    return of_gang;
  };
  std::vector<SimJob> jobs;
  auto want = [&](TaskClass of_tasks, uint32_t most, Duration takes) {
    const auto tasks = static_cast<uint32_t>(1 + prng.Below(most));
    if (!prng.Chance(60)) return;
    jobs.push_back(JobOf(options, std::move(of_tasks), tasks, takes));
    jobs.back().priority = 100;  // among jobs of its user alone
  };
  want(all_of_shared, 30, seconds(100));
  Needs too_large = of_own;
  too_large.milli_cpus = own.offer.milli_cpus * 2;
  want(too_large, 3, seconds(20));
  want(gang(own.max_pilots), 2, seconds(20));
  want(gang(own.max_pilots + 1), 1, seconds(20));
  want(of_own, 2, own.time_limit * 3);
  // The most that a pool gives to a task; pilots whose nodes come late do not have so much left.
  Needs tight = of_own;
  tight.time = own.time_limit - Duration::Seconds(10);
  want(tight, 3, seconds(20));
  return jobs;
}

}  // namespace spate::sim
