// HubPeople: see hub_people.h. A wish is under way until a hub has taken it; all of them go through
// Do, which asks again while there is no hub. The administrator is in hub_admin.cc.
#include "sim/hub_people.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "present/why.h"
#include "wire/field_bytes.h"

namespace spate::sim {
namespace {

using Change = wire::ChangeJobs::Change;

constexpr Duration kAskAgain = Duration::Millis(300);
constexpr Duration kLongest = Duration::Seconds(600);
// A pilot's life that is lost until its node is there, or because the hub's clock may be ahead.
constexpr Duration kPilotLoses = Duration::Seconds(330);
constexpr Duration kGangsWait = Duration::Seconds(12 * 3600);
constexpr uint32_t kHopeless = 40;   // refusals
constexpr size_t kExplained = 1000;  // tasks in one question

Duration AboutTheWork(const Options& o) {
  int64_t mean = o.short_task.ns / 2 + o.long_task.ns / 200 * o.long_percent;
  return Duration::Millis(20) + Duration{mean} * (o.tasks + 1) / (o.slots * o.nodes);
}

// No node has room for it, and no pool will bring one.
bool SaysHopeless(const Why& why) {
  auto has = [&](std::initializer_list<ReasonKind> kinds) {
    return std::ranges::find_first_of(why, kinds, {}, &Reason::kind) != why.end();
  };
  return has({ReasonKind::kNoNodeJoined, ReasonKind::kNoNodeFits, ReasonKind::kNoSetOfNodes,
              ReasonKind::kNodesAway, ReasonKind::kPoolGone}) &&
         !has({ReasonKind::kPoolPaused, ReasonKind::kPoolState});
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

void HubPeople::Query(const std::string& user, Duration wait, Make make, Heard heard) {
  struct State {
    uint32_t asked_in = 0;  // the life of the hub that was asked; 0: none
    bool done = false;
  };
  auto state = std::make_shared<State>();
  Do(wait, [user, make = std::move(make), heard = std::move(heard), state](HubProcess& hub) {
    if (state->done) return true;
    if (state->asked_in == hub.life()) return false;  // no answer yet
    Wish wish = make(hub);
    if (wish.when != Wish::When::kNow) return wish.when == Wish::When::kNever;
    state->asked_in = hub.life();
    hub.Query(user, std::move(wish.question), [state, heard](const auto& answers) {
      state->asked_in = 0;
      const bool unknown = !answers && answers.error().kind == ErrorKind::kUnavailable;
      if (!unknown) state->done = heard == nullptr || heard(answers);
    });
    return false;
  });
}

bool HubPeople::Content() const {
  return wishes_ == 0 && finished_.size() == parts_.workload.jobs().size();
}

void HubPeople::Begin() {
  began_ = parts_.loop.Now();
  for (const SimJob& job : parts_.workload.jobs()) {
    bool at_once = parts_.options.fair || prng_.Chance(50);
    Submit(job, at_once ? Duration{} : Wait(span_));
    PlanMischief(job);
    PlanSteering(job);
    PlanLooks(job);
  }
  PlanAdministration();
  if (parts_.options.steer) TendStopped();
  if (parts_.options.greedy && Prng(Derive(parts_.options.seed, 42)).Chance(50)) {
    Do(Duration::Seconds(1), [](HubProcess& hub) {
      hub.StayDeaf();
      return true;
    });
  }
  constexpr int kLooks = 30;  // of somebody who watches (check_running.cc, check_displays.cc)
  for (int i = 0; parts_.options.watched() && i < kLooks; ++i) {
    Query("root", Duration::Seconds(2) * i,
          [](HubProcess&) { return Wish::Now(wire::LookAtAll()); });
  }
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
    Query("root", Wait(span_), [](HubProcess&) {
      return Wish::Now(
          wire::ChangeNodes{.all = true, .change = wire::ChangeNodes::Change::kResume});
    });
  }
  // Perhaps nobody has heard what it told just before its end.
  OnNodeSick();
  for (JobId id : hub->service().known().AllJobs()) {
    OnAccepted(id);
    if (hub->Find(id)->finished) {
      if (!finished_.contains(id)) OnFinished(id);
    } else {
      finished_.erase(id);
      if (hub->engine().Held(id) != engine::HoldReason::kNone) Release(id);
    }
  }
}

// ---- Jobs --------------------------------------------------------------------------------------

void HubPeople::Submit(const SimJob& job, Duration wait) {
  Do(wait, [this, &job](HubProcess& hub) {
    if (accepted_.contains(job.id)) return true;
    // It was accepted though its connection had broken: a key would say so.
    const auto* known = hub.Find(job.id);
    if (known != nullptr && known->accepted) return OnAccepted(job.id), true;
    bool ready = std::all_of(job.after.begin(), job.after.end(),
                             [&](const After& after) { return hub.Find(after.job) != nullptr; });
    if (!ready) return false;
    if (submitted_in_[job.id] == hub.life()) return false;  // no answer yet
    submitted_in_[job.id] = hub.life();
    Note(fmt::format("{} submits {}", job.user, job.id.value));
    // After many refusals of its deadlines, a job is submitted without them.
    hub.Submit(job, refusals_[job.id] < kHopeless, [this, id = job.id](const auto& accepted) {
      if (accepted) return OnAccepted(id);
      Note(fmt::format("{} is refused", id.value));
      submitted_in_[id] = 0;
      ++refusals_[id];
    });
    return false;
  });
}

void HubPeople::OnAccepted(JobId id) {
  const SimJob& job = parts_.workload.job(id);
  if (!accepted_.insert(id).second) return;
  if (job.open) GrowOn(job);
}

HubPeople::Make HubPeople::OfUnended(JobId job, std::function<wire::Question()> question) {
  return [job, question = std::move(question)](HubProcess& hub) {
    const auto* known = hub.Find(job);
    const bool goes_on = known != nullptr && !known->finished;
    return goes_on ? Wish::Now(question()) : Wish::Never();
  };
}

// The next addition to an open job, or its seal when there is none. Tasks that wait for it may be
// all that its user may have; then the administrator helps.
void HubPeople::GrowOn(const SimJob& job) {
  auto heard = [this, user = job.user, refusals = uint32_t{0}](const auto& accepted) mutable {
    if (accepted || ++refusals != kHopeless) return;
    Query("root", Duration{}, [user](HubProcess&) {
      return Wish::Now(wire::SetUser{user, UserChange().With<&UserRule::max_queued>(0u)});
    });
  };
  Do(Wait(span_ / 4), [this, &job, asked_in = std::make_shared<uint32_t>(0),
                       heard = std::make_shared<decltype(heard)>(heard)](HubProcess& hub) {
    auto counts = hub.engine().Counts(job.id);
    const auto* known = hub.Find(job.id);
    if (!counts || known == nullptr || known->finished) return true;
    if (*asked_in == hub.life()) return false;
    *asked_in = hub.life();
    auto next = std::upper_bound(job.totals.begin(), job.totals.end(), counts->total);
    if (next != job.totals.end()) {
      Note(fmt::format("grows {} to {}", job.id.value, *next));
      hub.Grow(job, *next, [asked_in, heard](const auto& accepted) {
        *asked_in = 0;
        (*heard)(accepted);
      });
      return false;
    }
    // Until it has finished, since nobody says that it is closed.
    hub.Query(job.user, wire::ChangeJobs{.jobs = Only(job.id), .change = Change::kClose},
              [asked_in](const auto&) { *asked_in = 0; });
    return false;
  });
}

void HubPeople::OnHeldByRule(JobId job) { Release(job); }

void HubPeople::Release(JobId job) {
  if (!releasing_.insert(job).second) return;
  bool cancel = halts_ == 0;
  if (halts_ > 0) --halts_;
  Query(
      parts_.workload.job(job).user, Wait(span_),
      [this, job, cancel](HubProcess& hub) {
        const auto* known = hub.Find(job);
        if (known == nullptr) return releasing_.erase(job), Wish::Never();
        if (cancel) return Wish::Now(wire::Cancel{.jobs = Only(job)});
        return Wish::Now(wire::ChangeJobs{.jobs = Only(job), .change = Change::kRelease});
      },
      [this, job](const auto&) {
        releasing_.erase(job);
        // It may have been held again meanwhile.
        HubProcess* hub = parts_.hub();
        if (hub != nullptr && hub->engine().Held(job) != engine::HoldReason::kNone) Release(job);
        return true;
      });
}

void HubPeople::OnFinished(JobId id) {
  OnAccepted(id);
  finished_.insert(id);
  const SimJob& job = parts_.workload.job(id);
  if (parts_.options.redo_failed && retries_[id] < 3 && prng_.Chance(40)) RetryFailed(job);
  if (parts_.options.forget && prng_.Chance(30)) Forget(job);
}

void HubPeople::RetryFailed(const SimJob& job) {
  ++retries_[job.id];
  TasksOfJob tasks{.job = job.id.value, .all = prng_.Chance(70)};
  if (!tasks.all) {
    const auto first = static_cast<uint32_t>(1 + prng_.Below(job.totals.back()));
    tasks.ranges = {{first, first + static_cast<uint32_t>(prng_.Below(5))}};
  }
  Query(
      job.user, prng_.Chance(40) ? Duration{} : Wait(span_),
      [this, id = job.id, tasks, dry = prng_.Chance(10)](HubProcess& hub) {
        const auto* known = hub.Find(id);
        // Perhaps it goes on since this was asked, and nobody has heard the answer.
        if (known != nullptr && !known->finished) finished_.erase(id);
        if (known == nullptr || !known->finished) return Wish::Never();
        return Wish::Now(wire::Retry{.tasks = tasks, .dry_run = dry});
      },
      [this, id = job.id](const auto& answers) {
        if (!answers) return answers.error().kind != ErrorKind::kBusy;
        HubProcess* hub = parts_.hub();
        const auto* known = hub == nullptr ? nullptr : hub->Find(id);
        if (known != nullptr && !known->finished) finished_.erase(id);
        return true;
      });
}

// Only what nobody waits for any more, and nobody submits.
void HubPeople::Forget(const SimJob& job) {
  Query(
      job.user, Wait(span_),
      [this, &job](HubProcess& hub) {
        const auto* known = hub.Find(job.id);
        if (known == nullptr || !known->finished) return Wish::Never();
        const auto& jobs = parts_.workload.jobs();
        bool waited_for = std::ranges::any_of(jobs, [&](const SimJob& other) {
          return !accepted_.contains(other.id) &&
                 std::ranges::find(other.after, job.id, &After::job) != other.after.end();
        });
        if (waited_for || hub.IsUploading(job.id)) return Wish::Later();
        return Wish::Now(wire::Forget{.jobs = Only(job.id)});
      },
      nullptr);
}

void HubPeople::PlanMischief(const SimJob& job) {
  const Options& o = parts_.options;
  while (o.hold_release && prng_.Chance(30)) {
    Query(job.user, Wait(span_),
          OfUnended(job.id,
                    [id = job.id] {
                      return wire::ChangeJobs{.jobs = Only(id), .change = Change::kHold};
                    }),
          [this, id = job.id](const auto&) {
            Release(id);
            return true;
          });
  }
  while (o.cancel && prng_.Chance(30)) CancelSome(job);
  if (o.set && prng_.Chance(50)) SetSome(job);
  if (o.withdraw && prng_.Chance(20)) WithdrawRest(job);
  if (o.resize) ResizeSome(job);
  if (o.sick_percent > 0 && prng_.Chance(30)) {
    Query(job.user, Wait(span_), OfUnended(job.id, [id = job.id] { return wire::TrustNodes{id}; }));
  }
  if (!o.cancel || !prng_.Chance(30)) return;
  Query(job.user, Wait(span_ * 2),
        OfUnended(job.id, [id = job.id] { return wire::Cancel{.jobs = Only(id)}; }));
}

// Some of its tasks, whatever they do by then.
void HubPeople::CancelSome(const SimJob& job) {
  auto first = static_cast<uint32_t>(1 + prng_.Below(job.totals.back()));
  auto last = first + static_cast<uint32_t>(prng_.Below(4));
  Query(job.user, Wait(span_ * 2), OfUnended(job.id, [id = job.id, first, last] {
          return wire::Cancel{.tasks = {{.job = id.value, .ranges = {{first, last}}}}};
        }));
}

// Two of them may come at the same time.
void HubPeople::SetSome(const SimJob& job) {
  const Duration wait = Wait(span_);
  auto set = [&](const JobChange& change) {
    Query(job.user, prng_.Chance(50) ? wait : Wait(span_), OfUnended(job.id, [=, id = job.id] {
            return wire::ChangeJobs{.jobs = Only(id), .change = Change::kSet, .set = change};
          }));
  };
  const auto weight = static_cast<uint32_t>(1 + prng_.Below(5));
  set(JobChange().With<&JobTerms::weight>(weight));
  const auto most = static_cast<uint32_t>(1 + prng_.Below(2 * parts_.options.slots));
  set(JobChange().With<&JobTerms::max_running>(most));
}

void HubPeople::WithdrawRest(const SimJob& job) {
  Query(job.user, Wait(span_), OfUnended(job.id, [id = job.id] { return wire::Withdraw{id}; }),
        [this, id = job.id](const auto&) {
          // A hub that died meanwhile has left it held.
          Release(id);
          return true;
        });
}

// ---- What they give up --------------------------------------------------------------------------

void HubPeople::GiveUpHopeless() {
  for (const SimJob& job : parts_.workload.jobs()) {
    if (HubProcess* hub = parts_.hub(); hub != nullptr) GiveUpHopeless(*hub, job);
  }
}

void HubPeople::GiveUpHopeless(HubProcess& hub, const SimJob& job) {
  const engine::Engine& engine = hub.engine();
  const auto counts = engine.Counts(job.id);
  wire::ExplainTasks asked;
  for (TaskIndex i = 0; counts && i < counts->total && asked.tasks.size() < kExplained; ++i) {
    if (engine.StateOf(job.id, i) != TaskState::kQueued) continue;
    const TaskClass of_task = *engine.ClassOf(job.id, i);
    const bool fits = parts_.workload.FitsSomewhere(job.user, of_task, kPilotLoses);
    if (fits && !WaitedTooLong(of_task)) continue;
    asked.tasks.push_back({.job = job.id.value, .ranges = {{i + 1, i + 1}}});
  }
  if (asked.tasks.empty()) return;
  hub.Query(job.user, std::move(asked), [this, &job](const Result<HubProcess::Answers>& whys) {
    if (whys) GiveUp(job, *whys);
  });
}

// Pilots that queue for hours, and live for less, may never be there at the same time.
bool HubPeople::WaitedTooLong(const TaskClass& of_task) const {
  return !of_task.gang.empty() && !of_task.needs.labels.empty() &&
         parts_.loop.Now() - began_ > kGangsWait;
}

void HubPeople::GiveUp(const SimJob& job, const HubProcess::Answers& whys) {
  HubProcess* hub = parts_.hub();
  if (hub == nullptr) return;
  TasksOfJob hopeless{.job = job.id.value};
  for (const std::string& bytes : whys) {
    const auto said = wire::FromBytes<TaskWhy>("an explanation", bytes);
    CHECK(said.has_value());
    const auto of_task = hub->engine().ClassOf(job.id, said->task - 1);
    const bool waited = of_task && WaitedTooLong(*of_task);
    if (!waited && !SaysHopeless(said->why)) continue;
    Note(fmt::format("gives up {}.{}: {}", job.id.value, said->task, present::TextOf(said->why)));
    hopeless.ranges.push_back({said->task, said->task});
    ++parts_.report.hopeless;
    if (waited) ++parts_.report.gangs_given_up;
  }
  if (hopeless.ranges.empty()) return;
  hub->Query(job.user, wire::Cancel{.tasks = {hopeless}}, [](const auto&) {});
}

// ---- What they look at -------------------------------------------------------------------------

wire::Question HubPeople::AnyLook(const SimJob& job) {
  const auto task = static_cast<uint32_t>(1 + prng_.Below(job.totals.back()));
  switch (prng_.Below(8)) {
    case 0:
      return wire::LookAtHub();
    case 1:
      return wire::LookAtAll();
    case 2:
      return wire::ListNodes();
    case 3:
      return wire::ListUsers();
    case 4:
      return wire::LookAtPools();
    case 5:
      return wire::ExplainTasks{{{.job = job.id.value, .ranges = {{task, task}}}}};
    case 6:
      return wire::LookAtJobs{.jobs = Only(job.id)};
    default:
      return wire::LookAtWork{.submission = fmt::format("job {}", job.id.value), .tasks = true};
  }
}

void HubPeople::PlanLooks(const SimJob& job) {
  while (prng_.Chance(70)) {
    Query(job.user, Wait(span_), [this, &job](HubProcess&) { return Wish::Now(AnyLook(job)); });
  }
  if (prng_.Chance(30)) FollowOn(job, Wait(span_));
}

// Until all ends were read that there are when the job has finished.
void HubPeople::FollowOn(const SimJob& job, Duration wait) {
  Do(wait, [this, &job, asked_in = std::make_shared<uint32_t>(0),
            done = std::make_shared<bool>(false)](HubProcess& hub) {
    if (*done) return true;
    if (hub.Find(job.id) == nullptr) return accepted_.contains(job.id);
    if (*asked_in == hub.life()) return false;
    *asked_in = hub.life();
    hub.Follow(job, read_[job.id], [this, &job, asked_in, done](uint64_t position, bool finished) {
      *asked_in = 0;
      read_[job.id] = position;
      *done = finished;
    });
    return false;
  });
}

}  // namespace spate::sim
