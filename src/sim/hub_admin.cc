// HubPeople: the administrator of a simulated hub: users' rules, nodes, pools.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/hub_people.h"
#include "wire/field_bytes.h"

namespace spate::sim {
namespace {

constexpr Duration kLongestAdmin = Duration::Seconds(600);
constexpr Duration kDurableByThen = Duration::Seconds(300);  // whatever was posted

using NodeChange = wire::ChangeNodes::Change;

wire::AddPool WishOf(const SimPool& pool, bool test) {
  wire::AddPool asked{.name = pool.name, .system = "slurm", .wish = {}, .test = test};
  PoolChange& wish = asked.wish;
  PoolPolicy& values = wish.values;
  wish.Set(values.max_pilots, pool.max_pilots);
  wish.Set(values.min_pilots, pool.min_pilots);
  wish.Set(values.backlog, pool.backlog);
  wish.Set(values.time_limit, pool.time_limit);
  wish.Set(values.idle_exit, pool.idle_exit);
  wish.Set(values.chain, pool.chain);
  wish.Set(values.user, pool.user);
  if (!pool.described) return asked;
  NodeShape& shape = values.shape;
  wish.Set(shape.slots, pool.offer.slots);
  wish.Set(shape.milli_cpus, pool.offer.milli_cpus);
  wish.Set(shape.memory, pool.offer.memory);
  std::vector<NamedNeed> named;
  for (const NamedOffer& each : pool.offer.named) {
    named.push_back({each.name, static_cast<uint32_t>(each.indices.size())});
  }
  wish.Set(shape.named, std::move(named));
  return asked;
}

wire::ChangePools RemovalOf(const SimPool& pool) {
  return {.names = {pool.name}, .change = wire::ChangePools::Change::kRemove};
}

}  // namespace

std::string HubPeople::AnyNode() {
  const auto& offers = parts_.workload.offers();
  return offers[prng_.Below(offers.size())].node_name;
}

void HubPeople::PlanAdministration() {
  const Options& o = parts_.options;
  PlanUsers();
  if (o.gangs) {
    Query(kAdmin, Duration{}, [policy = o.gang_policy](HubProcess&) {
      return Wish::Now(wire::SetHub{.policy = policy});
    });
  }
  while (o.drain && prng_.Chance(60)) DrainSome();
  while (o.remove && prng_.Chance(50)) RemoveSome();
  while (o.sick_percent > 0 && prng_.Chance(40)) {
    ChangeNode(Wait(span_), prng_.Chance(50) ? "" : AnyNode(), NodeChange::kResume);
  }
  if (o.hub_stops) StopSome();
  if (o.pools > 0) PlanPools();
}

// The settings of a user come in two questions, now and then at the same time.
void HubPeople::PlanUsers() {
  const Options& o = parts_.options;
  for (uint32_t user = 1; (o.user_rules || o.fair) && user <= o.users; ++user) {
    const std::string name = Workload::UserName(user);
    const Duration wait = o.fair ? Duration{} : Wait(span_);
    wire::SetUser weight{.user = name};
    weight.change.Set(weight.change.values.weight,
                      static_cast<uint32_t>(1 + prng_.Below(o.fair ? 3 : 8)));
    wire::SetUser bounds{.user = name};
    UserChange& change = bounds.change;
    if (o.user_rules && prng_.Chance(50)) {
      change.Set(change.values.max_running, static_cast<uint32_t>(1 + prng_.Below(2 * o.slots)));
    }
    // Each job alone is allowed.
    if (o.user_rules && prng_.Chance(30)) change.Set(change.values.max_queued, 1 + o.tasks * 4);
    Query(kAdmin, wait, [weight](HubProcess&) { return Wish::Now(weight); });
    if (change.empty()) continue;
    Query(kAdmin, prng_.Chance(50) ? wait : Wait(span_),
          [bounds](HubProcess&) { return Wish::Now(bounds); });
  }
}

// ---- Nodes -------------------------------------------------------------------------------------

// Without a name: of all.
void HubPeople::ChangeNode(Duration wait, std::string node, NodeChange change, Heard heard) {
  wire::ChangeNodes asked{.all = node.empty(), .change = change};
  if (!node.empty()) asked.names = {std::move(node)};
  Query(kAdmin, wait, [asked](HubProcess&) { return Wish::Now(asked); }, std::move(heard));
}

// Somebody looks after the nodes: what fits only one that was set aside would wait for ever.
void HubPeople::OnNodeSick() {
  if (std::exchange(clearing_, true)) return;
  ChangeNode(Wait(span_) + Duration::Seconds(10), "", NodeChange::kResume, [this](const auto&) {
    clearing_ = false;
    return true;
  });
}

void HubPeople::DrainSome() {
  const std::string node = AnyNode();
  ChangeNode(Wait(span_), node, NodeChange::kDrain, [this, node](const auto&) {
    ChangeNode(Wait(span_), node, NodeChange::kResume);
    return true;
  });
}

void HubPeople::RemoveSome() {
  const std::string node = AnyNode();
  const auto change = prng_.Chance(50) ? NodeChange::kRemove : NodeChange::kTurnAway;
  ChangeNode(Wait(span_), node, change, [this, node](const auto& answers) {
    if (answers) ChangeNode(Wait(span_), node, NodeChange::kResume);
    return true;
  });
}

void HubPeople::StopSome() {
  if (!prng_.Chance(30)) return;
  Query(kAdmin, Wait(Duration::Seconds(30)),
        [](HubProcess&) { return Wish::Now(wire::StopHub()); });
}

// ---- Pools -------------------------------------------------------------------------------------

void HubPeople::AddPool(const SimPool& pool, Duration wait, bool test) {
  struct LastAsked {
    uint32_t life = 0;
    Instant at;
  };
  auto asked = std::make_shared<LastAsked>();
  Query(
      kAdmin, wait,
      [this, asked, &pool, test](HubProcess& hub) {
        // One that is there and was asked for just now may not be durable yet.
        const Instant now = parts_.loop.Now();
        const bool durable = asked->life != hub.life() || now - asked->at > kDurableByThen;
        if (HasPool(hub, pool)) return durable ? Wish::Never() : Wish::Later();
        *asked = {hub.life(), now};
        return Wish::Now(WishOf(pool, test));
      },
      [](const auto& answers) { return answers.has_value(); });
}

bool HubPeople::HasPool(HubProcess& hub, const SimPool& pool) {
  const hub::Caller admin{.user = kAdmin, .is_admin = true};
  return hub.service().pools().Describe(admin, {pool.name}, false).has_value();
}

void HubPeople::TendBrief(const SimPool& pool, uint32_t times) {
  constexpr Duration kOften = Duration::Seconds(120);
  constexpr uint32_t kLooks = 5;  // at the end, as what was asked for may come late
  Do(Wait(kOften), [this, &pool, times](HubProcess& hub) {
    const bool is_there = HasPool(hub, pool);
    if (is_there) {
      hub.Query(kAdmin, RemovalOf(pool), [](const auto&) {});
    } else if (times > kLooks) {
      hub.Query(kAdmin, WishOf(pool, false), [](const auto&) {});
    }
    if (is_there || times > 0) TendBrief(pool, times - std::min(times, 1u));
    return true;
  });
}

void HubPeople::PlanPools() {
  constexpr uint32_t kBriefTimes = 80;
  for (const SimPool& pool : parts_.workload.pools()) {
    if (pool.brief) {
      TendBrief(pool, kBriefTimes);
    } else {
      const Duration wait = prng_.Chance(50) ? Duration{} : Wait(span_);
      AddPool(pool, wait, prng_.Chance(50));
    }
  }
  if (parts_.options.hold_release && prng_.Chance(30)) {
    Do(Wait(kLongestAdmin), [this](HubProcess&) {
      ChangePools(wire::ChangePools::Change::kPause, "on");
      return true;
    });
  }
  TendPools();
}

void HubPeople::TendPools() {
  constexpr Duration kOften = Duration::Seconds(900);
  parts_.loop.At(parts_.loop.Now() + kOften, [this] {
    ChangePools(wire::ChangePools::Change::kResume, "paused");
    GiveUpHopeless();
    TendPools();
  });
}

// Those of a state, in one question for each.
void HubPeople::ChangePools(wire::ChangePools::Change change, const std::string& state) {
  HubProcess* hub = parts_.hub();
  if (hub == nullptr) return;
  auto take = [this, change, state](const Result<HubProcess::Answers>& answers) {
    HubProcess* later = parts_.hub();
    for (size_t i = 0; answers && later != nullptr && i < answers->size(); ++i) {
      auto pool = wire::FromBytes<PoolFacts>("a pool", (*answers)[i]);
      if (!pool || pool->state != state) continue;
      later->Query(kAdmin, wire::ChangePools{.names = {pool->policy.name}, .change = change},
                   [](const auto&) {});
    }
  };
  hub->Query(kAdmin, wire::LookAtPools(), take);
}

}  // namespace spate::sim
