// HubPeople: see hub_people.h. A wish is under way until a hub has taken it; all of them go through
// Do, which asks again while there is no hub.
#include "sim/hub_people.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace spate::sim {
namespace {

constexpr Duration kAskAgain = Duration::Millis(300);
constexpr Duration kLongest = Duration::Seconds(600);
constexpr uint32_t kAnswered = UINT32_MAX;

Duration AboutTheWork(const Options& o) {
  int64_t mean = o.short_task.ns / 2 + o.long_task.ns / 200 * o.long_percent;
  return Duration::Millis(20) + Duration{mean} * (o.tasks + 1) / (o.slots * o.nodes);
}

}  // namespace

HubPeople::HubPeople(Parts parts)
    : parts_(std::move(parts)),
      prng_(parts_.seed),
      span_(AboutTheWork(parts_.options)),
      ask_again_(parts_.options.pools > 0 ? kAskAgain * 10 : kAskAgain) {
  // Pilots make people wait, and change their minds meanwhile.
  if (parts_.options.pools > 0 && prng_.Chance(50)) span_ = kLongest;
}

Duration HubPeople::Wait(Duration most) {
  most = std::min(most, kLongest);
  return Duration{static_cast<int64_t>(prng_.Below(static_cast<uint64_t>(most.ns) + 1))};
}

void HubPeople::Do(Duration wait, std::function<bool(HubProcess&)> fn) {
  ++wishes_;
  parts_.loop.At(parts_.loop.Now() + wait, [this, fn = std::move(fn)] {
    --wishes_;
    HubProcess* hub = parts_.hub();
    if (hub == nullptr || !fn(*hub)) Do(ask_again_, fn);
  });
}

bool HubPeople::Content() const {
  return wishes_ == 0 && finished_.size() == parts_.workload.jobs().size();
}

void HubPeople::Begin() {
  for (const SimJob& job : parts_.workload.jobs()) {
    bool at_once = parts_.options.fair || prng_.Chance(50);
    Submit(job, at_once ? Duration{} : Wait(span_));
    PlanMischief(job);
  }
  PlanAdministration();
  if (parts_.options.pools > 0) PlanPools();
  constexpr int kTimes = 20;
  for (int i = 0; parts_.options.greedy && i < kTimes; ++i) {
    Do(Wait(span_), [](HubProcess& hub) {
      hub.Pester();
      return true;
    });
  }
}

void HubPeople::SeeHub() {
  HubProcess* hub = parts_.hub();
  if (hub == nullptr) return;
  // Requests to the last one may be lost.
  if (parts_.options.drain) {
    Do(Wait(span_), [this](HubProcess& later) {
      for (uint32_t node = 1; node <= parts_.options.nodes; ++node) {
        later.Ask(engine::UndrainNode{NodeId(node)});
      }
      return true;
    });
  }
  // Perhaps nobody has heard what it told just before its end.
  OnNodeSick();
  for (JobId id : hub->AllJobs()) {
    OnAccepted(id);
    if (hub->Find(id)->finished) {
      if (!finished_.contains(id)) OnFinished(id);
    } else {
      finished_.erase(id);
      if (hub->hub().engine().Held(id) != engine::HoldReason::kNone) Release(id);
    }
  }
}

// ---- Jobs --------------------------------------------------------------------------------------

void HubPeople::Submit(const SimJob& job, Duration wait) {
  Do(wait, [this, &job](HubProcess& hub) {
    if (accepted_.contains(job.id)) return true;
    bool ready = std::all_of(job.after.begin(), job.after.end(),
                             [&](const After& after) { return hub.Find(after.job) != nullptr; });
    if (!ready) return false;
    if (submitted_in_[job.id] == hub.epoch().value) return false;  // no answer yet
    submitted_in_[job.id] = hub.epoch().value;
    Say(fmt::format("{} submits {}", job.user, job.id.value));
    // Whoever is told again and again that it cannot be done in time takes it as it can be had.
    constexpr uint32_t kHopeless = 40;
    hub.Submit(job, refusals_[job.id] < kHopeless);
    return false;
  });
}

void HubPeople::OnRefused(JobId job) {
  Say(fmt::format("{} is refused", job.value));
  submitted_in_[job] = 0;
  ++refusals_[job];
}

void HubPeople::OnAccepted(JobId id) {
  const SimJob& job = parts_.workload.job(id);
  if (!accepted_.insert(id).second) return;
  if (job.open) GrowOn(job);
}

// The next addition to an open job, or its seal when there is none.
void HubPeople::GrowOn(const SimJob& job) {
  Do(Wait(span_ / 4), [this, &job](HubProcess& hub) {
    auto counts = hub.hub().engine().Counts(job.id);
    if (!counts || hub.Find(job.id)->finished) return true;
    auto next = std::upper_bound(job.totals.begin(), job.totals.end(), counts->total);
    if (next == job.totals.end()) {
      Say(fmt::format("seals {}", job.id.value));
      hub.Ask(engine::SealJob{job.id});
      return false;  // until it has finished, since nobody says that it is sealed
    }
    Say(fmt::format("grows {} to {}", job.id.value, *next));
    hub.Grow(job, *next);
    return false;
  });
}

void HubPeople::OnHeldByRule(JobId job) { Release(job); }

void HubPeople::Release(JobId job) {
  if (!releasing_.insert(job).second) return;
  bool cancel = halts_ == 0;
  if (halts_ > 0) --halts_;
  Do(Wait(span_), [this, job, cancel](HubProcess& hub) {
    releasing_.erase(job);
    Say(fmt::format("{} {}", cancel ? "cancels the held" : "releases", job.value));
    if (cancel) {
      hub.Ask(engine::CancelJob{job}, Acknowledged{Acknowledged::What::kCancelled, job, 0});
    } else {
      hub.Ask(engine::ReleaseJob{job});
    }
    return true;
  });
}

void HubPeople::OnFinished(JobId id) {
  finished_.insert(id);
  const SimJob& job = parts_.workload.job(id);
  if (!parts_.options.redo_failed || retries_[id] >= 3 || !prng_.Chance(40)) return;
  ++retries_[id];
  Duration wait = prng_.Chance(40) ? Duration{} : Wait(span_);
  Do(wait, [this, &job](HubProcess& hub) {
    uint32_t& asked_in = retrying_in_[job.id];
    if (asked_in == kAnswered || !hub.Find(job.id)->finished) {
      asked_in = 0;
      return true;
    }
    if (std::exchange(asked_in, hub.epoch().value) == hub.epoch().value) return false;
    hub.Retry(job, [this, &job](bool again) {
      retrying_in_[job.id] = kAnswered;
      if (!again) return;
      Say(fmt::format("has what failed of {} done again", job.id.value));
      finished_.erase(job.id);
    });
    return false;
  });
}

void HubPeople::PlanMischief(const SimJob& job) {
  const Options& o = parts_.options;
  while (o.hold_release && prng_.Chance(30)) {
    bool end_running = prng_.Chance(30);
    Do(Wait(span_), [this, &job, end_running](HubProcess& hub) {
      const auto* known = hub.Find(job.id);
      if (known == nullptr || known->finished) return true;
      Say(fmt::format("holds {}", job.id.value));
      hub.Ask(engine::HoldJob{job.id, end_running});
      Release(job.id);
      return true;
    });
  }
  while (o.cancel && prng_.Chance(30)) CancelSome(job);
  if (!o.cancel || !prng_.Chance(30)) return;
  Do(Wait(span_ * 2), [this, &job](HubProcess& hub) {
    const auto* known = hub.Find(job.id);
    if (known == nullptr || known->finished) return true;
    Say(fmt::format("cancels {}", job.id.value));
    hub.Ask(engine::CancelJob{job.id}, Acknowledged{Acknowledged::What::kCancelled, job.id, 0});
    return true;
  });
}

// Some of its tasks, whatever they do by then.
void HubPeople::CancelSome(const SimJob& job) {
  auto first = static_cast<TaskIndex>(prng_.Below(job.totals.back()));
  auto count = static_cast<uint32_t>(1 + prng_.Below(4));
  Do(Wait(span_ * 2), [this, &job, first, count](HubProcess& hub) {
    const auto* known = hub.Find(job.id);
    if (known == nullptr || known->finished) return true;
    Say(fmt::format("cancels {} tasks of {}", count, job.id.value));
    hub.Ask(engine::CancelTasks{job.id, {{first, count}}, ""});
    return true;
  });
}

// ---- The administrator -------------------------------------------------------------------------

NodeId HubPeople::AnyNode() {
  return NodeId(static_cast<uint32_t>(1 + prng_.Below(parts_.options.nodes)));
}

void HubPeople::PlanAdministration() {
  const Options& o = parts_.options;
  for (uint32_t user = 1; (o.user_rules || o.fair) && user <= o.users; ++user) {
    UserRule rule;
    rule.weight = static_cast<uint32_t>(1 + prng_.Below(o.fair ? 3 : 8));
    if (o.user_rules && prng_.Chance(50)) {
      rule.max_running = static_cast<uint32_t>(1 + prng_.Below(2 * o.slots));
    }
    // Each job alone is allowed.
    if (o.user_rules && prng_.Chance(30)) rule.max_queued = 1 + o.tasks * 4;
    Do(o.fair ? Duration{} : Wait(span_), [user, rule](HubProcess& hub) {
      hub.Ask(engine::SetUser{Workload::UserName(user), rule});
      return true;
    });
  }
  if (o.gangs) {
    Do(Duration{}, [policy = o.gang_policy](HubProcess& hub) {
      hub.Ask(engine::ChangeGangPolicy{policy});
      return true;
    });
  }
  while (o.drain && prng_.Chance(60)) DrainSome();
  while (o.remove && prng_.Chance(50)) RemoveSome();
  while (o.sick_percent > 0 && prng_.Chance(40)) {
    Do(Wait(span_), [this](HubProcess& hub) {
      hub.Ask(engine::ClearSick{prng_.Chance(50) ? NodeId() : AnyNode(), JobId()});
      return true;
    });
  }
}

void HubPeople::PlanPools() {
  for (const SimPool& pool : parts_.workload.pools()) {
    Do(prng_.Chance(50) ? Duration{} : Wait(span_), [this, &pool](HubProcess& hub) {
      uint32_t& asked_in = pool_added_in_[pool.name];
      if (asked_in == kAnswered) return true;
      // One that an earlier life has made durable; in this one only its answer says so.
      if (asked_in != hub.epoch().value && hub.HasPool(pool)) return true;
      if (std::exchange(asked_in, hub.epoch().value) == hub.epoch().value) return false;
      Say(fmt::format("adds pool {}", pool.name));
      hub.AddPool(pool,
                  [this, &pool](bool added) { pool_added_in_[pool.name] = added ? kAnswered : 0; });
      return false;
    });
  }
  if (parts_.options.hold_release && prng_.Chance(30)) {
    Do(Wait(kLongest), [this](HubProcess& hub) {
      Say("pauses the pools");
      hub.PausePools();
      return true;
    });
  }
  TendPools();
}

void HubPeople::TendPools() {
  constexpr Duration kOften = Duration::Seconds(900);
  parts_.loop.At(parts_.loop.Now() + kOften, [this] {
    if (HubProcess* hub = parts_.hub(); hub != nullptr) hub->ResumePools();
    TendPools();
  });
}

// Somebody looks after the nodes: what fits only one that was set aside would wait for ever.
void HubPeople::OnNodeSick() {
  if (std::exchange(clearing_, true)) return;
  Do(Wait(span_) + Duration::Seconds(10), [this](HubProcess& hub) {
    clearing_ = false;
    hub.Ask(engine::ClearSick{NodeId(), JobId()});
    return true;
  });
}

void HubPeople::DrainSome() {
  NodeId node = AnyNode();
  Do(Wait(span_), [this, node](HubProcess& hub) {
    Say(fmt::format("drains n{}", node.value));
    hub.Ask(engine::DrainNode{node});
    Do(Wait(span_), [this, node](HubProcess& later) {
      Say(fmt::format("resumes n{}", node.value));
      later.Ask(engine::UndrainNode{node});
      later.Ask(engine::ClearSick{node, JobId()});
      return true;
    });
    return true;
  });
}

void HubPeople::RemoveSome() {
  NodeId node = AnyNode();
  Do(Wait(span_), [this, node](HubProcess& hub) {
    if (!hub.nodes().all().contains(node)) return true;
    Say(fmt::format("removes n{}", node.value));
    hub.nodes().Remove(node, hub::Nodes::Removal::kEnds);
    // Asked of each hub once, until it is durable: a slow disk would fall ever further behind one
    // who asks again while he waits.
    Do(Wait(span_),
       [node, done = std::make_shared<bool>(false), asked = Epoch()](HubProcess& later) mutable {
         if (*done || !later.nodes().all().contains(node)) return true;
         if (std::exchange(asked, later.epoch()) == later.epoch()) return false;
         later.nodes().Remove(node, hub::Nodes::Removal::kNone);
         later.WhenSettled([done] { *done = true; });
         return false;
       });
    return true;
  });
}

}  // namespace spate::sim
