#include "history/log_facts.h"

#include <algorithm>

#include <type_traits>
#include <utility>

namespace spate::history {
namespace {

template <typename T>
void Append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

void TakeNodes(const engine::Record& record, LogFacts& facts) {
  if (const auto* sick = std::get_if<engine::NodeSick>(&record)) {
    if (sick->job != JobId()) facts.set_aside[sick->node] = sick->text;
  } else if (const auto* cleared = std::get_if<engine::NodeCleared>(&record)) {
    std::erase_if(facts.set_aside, [&](const auto& each) {
      return cleared->node == NodeId() || cleared->node == each.first;
    });
  } else if (const auto* removed = std::get_if<engine::NodeRemoved>(&record)) {
    facts.set_aside.erase(removed->node);
  }
}

// As the engine does it: what comes to a job that had ended is not to blame for how that went.
void TakeHold(const engine::Record& record, LogFacts& facts, bool& finished) {
  if (const auto* held = std::get_if<engine::JobHeld>(&record)) {
    facts.held = held->reason;
    facts.held_at = held->at;
  } else if (std::holds_alternative<engine::JobReleased>(record) ||
             std::holds_alternative<engine::JobCancelled>(record)) {
    facts.held = engine::HoldReason::kNone;
  } else if (std::holds_alternative<engine::JobFinished>(record)) {
    finished = true;
  } else if (std::holds_alternative<engine::JobGrown>(record)) {
    bool blames = facts.held == engine::HoldReason::kAllFail;
    if (std::exchange(finished, false) && blames) facts.held = engine::HoldReason::kNone;
  } else if (std::holds_alternative<engine::TasksReopened>(record)) {
    finished = false;
  }
}

void TakeCancelled(const engine::Record& record, LogFacts& facts) {
  auto take = [&](std::vector<TaskRange> tasks, const std::string& reason) {
    facts.cancelled.push_back(
        {std::move(tasks), reason.empty() ? "a person cancelled it" : reason});
  };
  if (const auto* job = std::get_if<engine::JobCancelled>(&record)) {
    take({}, job->reason);
  } else if (const auto* some = std::get_if<engine::TasksCancelled>(&record)) {
    take(some->tasks, some->reason);
  } else if (const auto* gone = std::get_if<engine::TasksWithdrawn>(&record)) {
    if (!gone->reason.empty()) take(gone->tasks, gone->reason);
  }
}

void Take(const engine::Record& record, LogFacts& facts) {
  TakeCancelled(record, facts);
  if (const auto* r = std::get_if<engine::JobAccepted>(&record)) {
    facts.policy = r->plan.policy;
    facts.requests = r->plan.requests;
    facts.runs = r->plan.runs;
  } else if (const auto* grown = std::get_if<engine::JobGrown>(&record)) {
    Append(facts.requests, grown->new_requests);
    Append(facts.runs, grown->runs);
  } else if (const auto* other = std::get_if<engine::NeedsChanged>(&record)) {
    Append(facts.requests, other->new_requests);
    facts.runs.insert(facts.runs.begin(), other->runs.begin(), other->runs.end());
  } else if (const auto* changed = std::get_if<engine::PolicyChanged>(&record)) {
    facts.policy = changed->policy;
  } else {
    TakeNodes(record, facts);
  }
}

}  // namespace

const std::string* LogFacts::WhyCancelled(TaskIndex index) const {
  auto names = [&](const Cancelled& one) {
    return one.tasks.empty() ||
           std::any_of(one.tasks.begin(), one.tasks.end(), [&](TaskRange range) {
             return index >= range.first && index - range.first < range.count;
           });
  };
  auto found = std::find_if(cancelled.rbegin(), cancelled.rend(), names);
  return found == cancelled.rend() ? nullptr : &found->reason;
}

const Needs* LogFacts::NeedsOf(TaskIndex index) const {
  for (const RequestRun& run : runs) {
    if (index < run.first || index - run.first >= run.count) continue;
    return run.request < requests.size() ? &requests[run.request].needs : nullptr;
  }
  return nullptr;
}

Result<LogFacts> ReadLog(store::History& history) {
  LogFacts facts;
  bool finished = false;
  auto read = history.Log([&](const engine::Record& record) {
    Take(record, facts);
    TakeHold(record, facts, finished);
  });
  if (!read) return std::unexpected(std::move(read.error()));
  return facts;
}

}  // namespace spate::history
