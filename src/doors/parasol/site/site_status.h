// SiteStatus: what a node of a site tells at its port (node_report.h): what runs, and what ended
// last. It stands between the executor and the node.
#pragma once

#include <string>

#include "doors/parasol/site/node_report.h"
#include "node/kept_streams.h"
#include "node/node.h"

namespace spate::parasol {

class SiteStatus {
 public:
  // `node` outlives it.
  SiteStatus(node::Node& node, node::KeptStreams kept, uint32_t cpus);

  node::ExecutorEvents& events() { return recent_; }
  std::string Text() const;

 private:
  std::string WhatIs(const AttemptRef& ref) const;

  const node::Node& node_;
  const node::KeptStreams kept_;
  const uint32_t cpus_;
  RecentEnds recent_;
};

}  // namespace spate::parasol
