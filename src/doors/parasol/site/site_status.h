// SiteStatus: what a node of a site tells at its port: what runs, and what ended last, each with
// what started it. It stands between the executor and the node.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "core/model/attempt.h"
#include "core/model/facts.h"
#include "node/executor.h"
#include "node/kept_streams.h"
#include "node/node.h"

namespace spate::parasol {

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
  void OnLeftRunning(const AttemptRef& ref, const std::string& processes) override {
    next_.OnLeftRunning(ref, processes);
  }
  void OnFrozen(const AttemptRef& ref, bool frozen, Instant stop) override {
    next_.OnFrozen(ref, frozen, stop);
  }
  void OnResized(const AttemptRef& ref, const std::string& refused) override {
    next_.OnResized(ref, refused);
  }

 private:
  node::ExecutorEvents& next_;
  const size_t most_;
  const std::function<std::string(const AttemptRef&)> what_;
  std::deque<End> ends_;
};

class SiteStatus {
 public:
  // `node` outlives it.
  SiteStatus(node::Node& node, node::KeptStreams kept, uint32_t cpus);

  node::ExecutorEvents& events() { return recent_; }
  NodeReport Report() const;

 private:
  std::string WhatIs(const AttemptRef& ref) const;

  const node::Node& node_;
  const node::KeptStreams kept_;
  const uint32_t cpus_;
  RecentEnds recent_;
};

}  // namespace spate::parasol
