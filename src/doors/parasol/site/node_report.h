// Report of a site's node at its port (node_port.h), as text for the other side:
//
//   cpus N
//   running ID WHAT                      WHAT: as SiteStatus tells it
//   recent STATUS USER SYSTEM ID WHAT    as wait(2) gives it; hundredths of a second
//
// The newest `recent` comes last. Lines that begin otherwise are from a newer node.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/model/attempt.h"
#include "doors/parasol/formats/hub_report.h"
#include "node/executor.h"

namespace spate::parasol {

std::string FormatNodeReport(const NodeStatus& status);
// kCorrupt.
Result<NodeStatus> ParseNodeReport(std::string_view text);

// Remembers the last ends on their way from the executor to the node.
class RecentEnds final : public node::ExecutorEvents {
 public:
  struct End {
    AttemptRef ref;
    Cause cause = Cause::kSuccess;
    int32_t status = 0;
    Duration user, system;
    std::string what;
  };
  // `what` describes an attempt that still runs.
  RecentEnds(node::ExecutorEvents& next, size_t most,
             std::function<std::string(const AttemptRef&)> what)
      : next_(next), most_(most), what_(std::move(what)) {}

  const std::deque<End>& ends() const { return ends_; }

  void OnStarted(const AttemptRef& ref, Instant when) override { next_.OnStarted(ref, when); }
  void OnEnded(AttemptEnd end, TaskOutputPtr output) override;
  void OnTakenBack(const AttemptRef& ref) override { next_.OnTakenBack(ref); }
  void OnOutput(const AttemptRef& ref, int stream, std::string_view bytes) override {
    next_.OnOutput(ref, stream, bytes);
  }
  void OnMemory(const AttemptRef& ref, uint64_t bytes) override { next_.OnMemory(ref, bytes); }

 private:
  node::ExecutorEvents& next_;
  const size_t most_;
  const std::function<std::string(const AttemptRef&)> what_;
  std::deque<End> ends_;
};

}  // namespace spate::parasol
