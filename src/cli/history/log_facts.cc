#include "cli/history/log_facts.h"

#include <fmt/format.h>

#include <type_traits>

#include "base/units.h"

namespace spate::cli {
namespace {

template <typename T>
void Append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

const Needs* LogFacts::NeedsOf(TaskIndex index) const {
  for (const RequestRun& run : runs) {
    if (index < run.first || index - run.first >= run.count) continue;
    return run.request < requests.size() ? &requests[run.request] : nullptr;
  }
  return nullptr;
}

Result<LogFacts> ReadLog(store::History& history) {
  LogFacts facts;
  auto read = history.Log([&](const engine::Record& record) {
    if (const auto* r = std::get_if<engine::JobAccepted>(&record)) {
      facts.policy = r->plan.policy;
      facts.requests = r->plan.requests;
      facts.runs = r->plan.runs;
    } else if (const auto* grown = std::get_if<engine::JobGrown>(&record)) {
      Append(facts.requests, grown->new_requests);
      Append(facts.runs, grown->runs);
    } else if (const auto* changed = std::get_if<engine::PolicyChanged>(&record)) {
      facts.policy = changed->policy;
    } else if (const auto* held = std::get_if<engine::JobHeld>(&record)) {
      facts.held = held->reason;
    } else if (std::holds_alternative<engine::JobReleased>(record)) {
      facts.held = engine::HoldReason::kNone;
    }
  });
  if (!read) return std::unexpected(std::move(read.error()));
  return facts;
}

const char* HoldName(engine::HoldReason reason) {
  switch (reason) {
    case engine::HoldReason::kUser:
      return "user";
    case engine::HoldReason::kHaltRule:
      return "halt";
    case engine::HoldReason::kMaxFailures:
      return "max-failures";
    case engine::HoldReason::kAllFail:
      return "all-fail";
    case engine::HoldReason::kNone:
      break;
  }
  return "none";
}

std::string NeedsText(const Needs& needs) {
  std::string text = fmt::format("{:g} cpu{}", needs.milli_cpus / 1000.0,
                                 needs.milli_cpus == kMilliCpu ? "" : "s");
  if (needs.memory > 0) text += fmt::format(", {} of memory", FormatSize(needs.memory));
  for (const NamedNeed& named : needs.named) {
    text += fmt::format(", {} of '{}'", named.count, named.name);
  }
  return text;
}

}  // namespace spate::cli
