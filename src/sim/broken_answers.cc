#include "sim/broken_answers.h"

#include <utility>

#include "base/check.h"
#include "wire/field_bytes.h"

namespace spate::sim {
namespace {

using Change = wire::ChangeJobs::Change;

constexpr Duration kHour = Duration::Seconds(3600);

// Changes no job, and is answered as other changes are.
wire::Question NoChange(const wire::ChangeJobs& asked) {
  return wire::ChangeJobs{.jobs = asked.jobs, .change = Change::kSet};
}

wire::Question Broken(Sabotage sabotage, const wire::ChangeJobs& asked) {
  wire::ChangeJobs broken = asked;
  if (sabotage == Sabotage::kForgetHold && asked.change == Change::kHold) return NoChange(asked);
  if (sabotage == Sabotage::kForgetClose && asked.change == Change::kClose) return NoChange(asked);
  if (sabotage == Sabotage::kForgetRelease && asked.change == Change::kRelease) {
    return NoChange(asked);
  }
  if (sabotage == Sabotage::kForgetSet && asked.set.Sets(asked.set.values.max_running)) {
    broken.set = {};  // nothing else is set with it
  }
  return broken;
}

wire::Question Broken(Sabotage sabotage, const wire::Cancel& asked) {
  wire::Cancel broken = asked;
  if (sabotage == Sabotage::kCancelLess) {
    for (TasksOfJob& tasks : broken.tasks) {
      for (NumberRange& range : tasks.ranges) range.last = range.first;
    }
  }
  return broken;
}

wire::Question Broken(Sabotage sabotage, const wire::Steer& asked) {
  wire::Steer broken = asked;
  if (sabotage == Sabotage::kStopLess && asked.what == Steering::kStop) {
    for (TasksOfJob& tasks : broken.tasks) {
      for (NumberRange& range : tasks.ranges) range.last = range.first;
    }
  }
  const bool continues = asked.what == Steering::kContinue;
  if (sabotage == Sabotage::kForgetCont && continues) broken.what = Steering::kStop;
  return broken;
}

wire::Question Broken(Sabotage sabotage, const wire::Retry& asked) {
  wire::Retry broken = asked;
  if (sabotage == Sabotage::kRetryLess) {
    broken.tasks.all = false;
    broken.tasks.ranges = {{1, 2}};
  }
  return broken;
}

wire::Question Broken(Sabotage sabotage, const wire::Forget& asked) {
  wire::Forget broken = asked;
  if (sabotage == Sabotage::kForgetNothing) broken.dry_run = true;
  return broken;
}

wire::Question Broken(Sabotage sabotage, const wire::SetUser& asked) {
  wire::SetUser broken = asked;
  if (sabotage == Sabotage::kSetAllOfUser) {
    const UserRule rule = broken.change.values;  // what is not set: as usual
    broken.change.Set(broken.change.values.weight, rule.weight);
    broken.change.Set(broken.change.values.max_running, rule.max_running);
    broken.change.Set(broken.change.values.max_queued, rule.max_queued);
  }
  return broken;
}

wire::Question Broken(Sabotage sabotage, const wire::ChangeNodes& asked) {
  wire::ChangeNodes broken = asked;
  const bool drains = asked.change == wire::ChangeNodes::Change::kDrain;
  if (sabotage == Sabotage::kForgetDrain && drains) {
    broken.change = wire::ChangeNodes::Change::kResume;
  }
  return broken;
}

wire::Question Broken(Sabotage sabotage, const wire::AddPool& asked) {
  wire::AddPool broken = asked;
  PoolPolicy& wish = broken.wish.values;  // all of these are set
  if (sabotage == Sabotage::kForgetServed) wish.user = "*";
  if (sabotage == Sabotage::kForgetMost) {
    wish.max_pilots = wish.max_pilots * 2 + 3;
    wish.backlog += 3;
  }
  if (sabotage == Sabotage::kKeepMost) wish.min_pilots = wish.max_pilots;
  return broken;
}

template <typename Answer, typename Change>
void ChangeEach(Replies& replies, const Change& change) {
  for (wire::Reply& reply : replies) {
    auto* answer = std::get_if<wire::QueryAnswer>(&reply);
    if (answer == nullptr) continue;
    auto facts = wire::FromBytes<Answer>("answer", answer->bytes);
    CHECK(facts.has_value());
    change(*facts);
    answer->bytes = wire::BytesOf(*facts);
  }
}

}  // namespace

wire::Question BrokenQuestion(Sabotage sabotage, const wire::Question& asked) {
  wire::Question broken = asked;
  asked.Visit<wire::ChangeJobs, wire::Cancel, wire::Retry, wire::Forget, wire::SetUser,
              wire::ChangeNodes, wire::AddPool, wire::Steer>(
      [&](const auto& each) { broken = Broken(sabotage, each); });
  return broken;
}

void BreakAnswers(Sabotage sabotage, const wire::Question& asked, Replies& replies) {
  if (sabotage == Sabotage::kTellLess && asked.Is<wire::LookAtWork>()) {
    ChangeEach<JobWork>(replies, [](JobWork& work) {
      if (!work.unended.empty()) work.unended.erase(work.unended.begin());
    });
  }
  if (sabotage == Sabotage::kRunLonger && asked.Is<wire::ListNodes>()) {
    ChangeEach<NodeFacts>(replies, [](NodeFacts& node) {
      for (RunFacts& run : node.runs) run.since = run.since - kHour;
    });
  }
  if (sabotage == Sabotage::kWaitLonger && asked.Is<wire::LookAtHub>()) {
    ChangeEach<HubFacts>(replies, [](HubFacts& hub) {
      if (hub.oldest_queued > Duration()) hub.oldest_queued = hub.oldest_queued + kHour;
    });
  }
  if (sabotage == Sabotage::kHideHolds && asked.Is<wire::LookAtJobs>()) {
    ChangeEach<wire::JobNow>(replies, [](wire::JobNow& now) { now.held = HoldReason::kNone; });
  }
}

std::optional<Replies> EarlyAnswer(Sabotage sabotage, const wire::Question& asked) {
  const auto cancel = asked.As<wire::Cancel>();
  if (sabotage != Sabotage::kAckEarly || !cancel || !cancel->tasks.empty()) return {};
  wire::Cancel::Answer answer;
  for (const NumberRange& range : cancel->jobs.ranges) {
    answer.jobs.changed.push_back(JobId(range.first));
  }
  return Replies{wire::QueryAnswer{wire::BytesOf(answer)}, wire::QueryDone()};
}

}  // namespace spate::sim
