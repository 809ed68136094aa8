// Placement of gangs: what place::Gangs starts becomes a lease of all its parts here; and the
// head's reservation is remembered, so that it stays the head after a restart, and people can see
// why it is later than it was told.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/engine/engine_state.h"

namespace spate::engine {
namespace {

// While gangs wait, all that ends is a reason for a pass, and a pass looks at every node.
constexpr Duration kPassEvery = Duration::Millis(10);
constexpr Duration kPassEveryConservative = Duration::Millis(200);

GangPart::Meets MeetingOf(const std::vector<std::string>& labels) {
  auto has = [&](std::string_view label) {
    return std::ranges::find(labels, label) != labels.end();
  };
  if (has(kPmixLabel)) return GangPart::Meets::kPmix;
  return has(kPmiLabel) ? GangPart::Meets::kPmi : GangPart::Meets::kNot;
}

class GangGiver {
 public:
  explicit GangGiver(StepContext& step) : step_(step) {}

  bool Give(const place::GangStart& start) {
    const JobState& job = *step_.durable.FindJob(start.job.id);
    const Head head = job.Peek(start.request, step_.now, 1, place::kNoTurn);
    if (head.count == 0) return false;
    GangLeased record{job.id(), head.tasks.front().first, head.attempt, {}};
    for (const place::GangPlace& place : start.places) {
      record.parts.push_back({place.node, place.procs});
    }
    Send(job, start.request, record);
    const auto first = step_.durable.head_gang();
    const AttemptRef ref{record.job, record.index, record.attempt};
    step_.Record(std::move(record));
    NoteOvertaking(first, ref);
    step_.live.Settle();
    return true;
  }

 private:
  // One goes before the head that has a higher priority, and was the head meanwhile; and one of its
  // class that is tried again.
  void NoteOvertaking(const std::optional<HeadGang>& before, const AttemptRef& started) {
    const auto head = step_.durable.head_gang();
    if (!head) return;
    const JobState& job = *step_.durable.FindJob(head->job);
    const bool was_head = head != before;
    const bool again = !was_head && head->job == started.job &&
                       job.RequestOf(head->index) == job.RequestOf(started.index);
    if (was_head || again) step_.live.went_before_head = started;
  }
  void Send(const JobState& job, uint32_t request, const GangLeased& record) {
    const TaskClass& of_gang = job.requests()[request];
    GangPart part{.start = of_gang.gang.start,
                  .whole = of_gang.gang.whole,
                  .meets = MeetingOf(of_gang.needs.labels)};
    for (const GangLeased::Part& each : record.parts) {
      const Offer& offer = step_.board.nodes.at(each.node).offer;
      part.hosts.push_back({offer.node_name, each.procs, ""});
    }
    for (const GangLeased::Part& each : record.parts) {
      Needs needs = NeedsOfPart(of_gang.needs, each.procs);
      if (of_gang.gang.whole) needs.milli_cpus = step_.board.nodes.at(each.node).offer.milli_cpus;
      step_.out.sends.push_back(SendLease{.node = each.node,
                                          .job = job.id(),
                                          .attempt = record.attempt,
                                          .request = request,
                                          .needs = std::move(needs),
                                          .tasks = {{record.index, 1}},
                                          .node_waits = true,
                                          .part = std::make_shared<const GangPart>(part),
                                          .time_limit = job.TimeLimitOf(record.index)});
      ++part.index;
    }
  }

  StepContext& step_;
};

std::string NameOf(const StepContext& step, NodeId id) {
  auto node = step.board.nodes.find(id);
  return node == step.board.nodes.end() ? fmt::format("{}", id.value)
                                        : node->second.offer.node_name;
}

std::string WhyNodeGone(const StepContext& step, const place::GangPlace& place) {
  auto node = step.board.nodes.find(place.node);
  if (node == step.board.nodes.end() || !node->second.present) {
    return fmt::format("node {} disconnected", NameOf(step, place.node));
  }
  if (node->second.drained) return fmt::format("node {} was drained", NameOf(step, place.node));
  if (!node->second.no_room.empty())
    return fmt::format("node {} is full", NameOf(step, place.node));
  if (!node->second.sick.empty()) {
    return fmt::format("node {} was excluded", NameOf(step, place.node));
  }
  return "";
}

// Work on its places is past its estimate, or is expected to end after the gang's start.
std::string WhyBusyLonger(const StepContext& step, const place::GangPromise& before) {
  std::string later;
  for (const place::GangPlace& place : before.places) {
    const place::Node& node = step.board.nodes.at(place.node);
    if (auto overdue = place::FindOverdue(node, step.board, step.now)) {
      const auto& [job, task, end] = overdue->first;
      if (!task) {
        return fmt::format("tasks of job {} run longer on {} than expected", job.value,
                           NameOf(step, place.node));
      }
      return fmt::format("task {}.{} takes longer on {} than its --time", job.value, *task + 1,
                         NameOf(step, place.node));
    }
    if (!later.empty()) continue;
    const auto last = place::LastAfter(node, step.board, step.now, before.start);
    if (!last) continue;
    later = last->task ? fmt::format("task {}.{} runs on {} until after that", last->job.value,
                                     *last->task + 1, NameOf(step, place.node))
                       : fmt::format("tasks of job {} run longer on {} than expected",
                                     last->job.value, NameOf(step, place.node));
  }
  return later;
}

// The reason why the gang does not get its promised room in time.
std::string WhyLater(const StepContext& step, const place::GangPromise& before) {
  for (const place::GangPlace& place : before.places) {
    if (std::string why = WhyNodeGone(step, place); !why.empty()) return why;
  }
  const place::Job* waiting = step.board.FindJob(before.job);
  for (const place::GangPlace& place : before.places) {
    if (waiting == nullptr || !waiting->Avoids(place.node)) continue;
    const JobState* job = step.durable.FindJob(before.job);
    const bool failed = job != nullptr && job->troubles().contains(place.node);
    return fmt::format("{} node {}",
                       failed ? "a gang of its job failed on" : "a job that slows it runs on",
                       NameOf(step, place.node));
  }
  if (std::string why = WhyBusyLonger(step, before); !why.empty()) return why;
  return "other nodes were to have room sooner";
}

bool IsLater(Instant start, Instant said, Instant now) {
  if (said == Instant::Never()) return false;
  if (start == Instant::Never()) return true;
  return start > said + place::LittleOf(said - now);
}

bool IsOf(const place::GangPromise& promise, const StepContext& step, const HeadGang& head) {
  return promise.job == head.job &&
         promise.request == step.durable.FindJob(head.job)->RequestOf(head.index);
}

// Another one was the head after it, and waits still; when that starts is not known now. Each time
// that changes would be a record.
bool WasHeadBefore(const StepContext& step, const place::GangPromise& promise) {
  const auto heads = step.durable.head_gangs();
  auto of = [&](const place::GangPromise& each) {
    return std::ranges::find_if(heads,
                                [&](const HeadGang& head) { return IsOf(each, step, head); });
  };
  const auto& promises = step.live.gangs.promises();
  return of(promise) != heads.end() && std::ranges::any_of(promises, [&](const auto& each) {
           return &each != &promise && of(each) < of(promise);
         });
}

// Records news of the head for others: its identity and its start.
void TellHead(StepContext& step, const std::vector<place::GangPromise>& before) {
  if (step.live.gangs.head() == nullptr) return;
  const place::GangPromise& promise = *step.live.gangs.head();
  const JobState& job = *step.durable.FindJob(promise.job);
  const Head first = job.Peek(promise.request, step.now, 1, place::kNoTurn);
  if (first.count == 0) return;
  const TaskIndex index = first.tasks.front().first;
  const auto head = step.durable.head_gang();
  GangReserved record{promise.job,
                      index,
                      promise.told(),
                      "",
                      step.now,
                      promise.late ? Instant::Never() : promise.start,
                      step.live.clock_ahead};
  auto& went_before = step.live.went_before_head;
  if (head && head->job == promise.job && head->index == index) {
    if (!IsLater(record.start, head->start, step.now) &&
        !IsLater(record.expected, head->expected, step.now)) {
      return;
    }
    auto same = std::ranges::find_if(before, [&](const place::GangPromise& each) {
      return each.job == promise.job && each.request == promise.request;
    });
    record.reason = went_before
                        ? fmt::format("task {}.{}{} went before it", went_before->job.value,
                                      went_before->index + 1,
                                      went_before->attempt.value > 1 ? " was tried again, and" : "")
                        : WhyLater(step, same == before.end() ? promise : *same);
    if (!step.live.head_news.IsDue(record.reason, step.now)) return;
  } else if (head && head->job == promise.job && job.RequestOf(head->index) == promise.request) {
    // It stays the first, and goes on when those of its class that are tried again have started.
    return;
  } else if (WasHeadBefore(step, promise)) {
    return;
  } else if (head && head->job != promise.job) {
    const JobState& other = *step.durable.FindJob(head->job);
    if (other.user() == job.user() && other.priority() < job.priority()) {
      record.reason = fmt::format("it goes before task {}.{}, whose priority is lower",
                                  head->job.value, head->index + 1);
    }
  }
  went_before.reset();
  step.Record(std::move(record));
}

}  // namespace

bool PlaceGangs(StepContext& step) {
  Live& live = step.live;
  place::Board& board = live.board;
  if (board.asking_for_gangs.empty()) {
    live.gangs.DropHolds();
    return false;
  }
  const bool due = step.now >= live.gangs.next_look();
  if (!board.look_at_gangs && !board.look_at_all && !due) {
    step.out.wake_at = std::min(step.out.wake_at, live.gangs.next_look());
    return false;
  }
  if (step.now < live.next_gangs) {
    step.out.wake_at = std::min(step.out.wake_at, live.next_gangs);
    return false;
  }
  const bool conservative = live.gangs.policy() == GangPolicy::kConservative;
  live.next_gangs = step.now + (conservative ? kPassEveryConservative : kPassEvery);
  board.look_at_gangs = false;
  auto heads = [&] {
    std::vector<ClassKey> classes;
    for (const HeadGang& each : step.durable.head_gangs()) {
      classes.push_back({each.job, step.durable.FindJob(each.job)->RequestOf(each.index)});
    }
    return classes;
  };
  const std::vector<place::GangPromise> before = live.gangs.promises();
  GangGiver giver(step);
  live.gangs.Decide(step.now, heads,
                    [&](const place::GangStart& start) { return giver.Give(start); });
  TellHead(step, before);
  step.out.wake_at = std::min(step.out.wake_at, live.gangs.next_look());
  return true;
}

bool PlaceNextGangs(StepContext& step) {
  GangGiver giver(step);
  return step.live.gangs.DecideNext(
      step.now, [&](const place::GangStart& start) { return giver.Give(start); });
}

void PlaceOtherGangs(StepContext& step) {
  GangGiver giver(step);
  step.live.gangs.DecideRest(step.now,
                             [&](const place::GangStart& start) { return giver.Give(start); });
}

}  // namespace spate::engine
