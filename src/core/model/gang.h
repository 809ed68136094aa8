// Gangs: tasks that run as several processes at once, on one node or on several. What a user asks
// for (GangShape), and what each of the nodes is given of it (GangPart).
//
// The needs of a gang's class are those of one process. A part is what one node runs of a gang: one
// slot, one shepherd, and as many processes as its host's `procs`.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_list.h"
#include "core/model/fields.h"
#include "core/model/needs.h"

namespace spate {

struct GangHost {
  std::string node;  // its name
  uint32_t procs = 0;
  std::string remote;  // where `spate remote` reaches it; empty: nowhere
  SPATE_FIELDS(1, node, 2, procs, 3, remote);
  friend bool operator==(const GangHost&, const GangHost&) = default;
};

// Labels of gangs whose processes find each other (GangPart::meets). Nodes that can serve them have
// these features (wire/greeting.h).
inline constexpr std::string_view kPmiLabel = "@pmi";
inline constexpr std::string_view kPmixLabel = "@pmix";
inline constexpr const char* kPmixFeature = "pmix";  // the feature: spate-pmix runs there

// One of `hosts`, which are the same for all parts of an attempt.
struct GangPart {
  // How the gang's processes find each other.
  SPATE_INNER_ENUM(Meets,
      kNot, "not",     // they do not, or by a launcher
      kPmi, "pmi",     // by PMI-1 (remote/pmi.h)
      kPmix, "pmix");  // by PMIx (remote/pmix)
  uint32_t index = 0;              // in `hosts`
  std::vector<GangHost> hosts;     // ranks are counted through them in this order
  GangShape::Start start = GangShape::Start::kEach;
  std::string secret;  // what members of the gang know, and nobody else
  bool whole = false;  // runs beside nothing else, whatever the other needs
  Meets meets = Meets::kNot;
  static constexpr uint64_t kTextBytes = kLimits.text_bytes;
  SPATE_FIELDS(1, index, 2, Columns(hosts, .count = kMostTexts),  // to 4
               5, start, 6, secret, 7, whole, 8, meets);
  friend bool operator==(const GangPart&, const GangPart&) = default;

  const GangHost& host() const { return hosts[index]; }
  // Processes of the parts before this one, and of all.
  uint32_t first_rank() const;
  uint32_t procs() const;
  // Processes that we start here ourselves: their numbers follow on the first rank's.
  uint32_t ranks() const { return start == GangShape::Start::kEach ? host().procs : 1; }
};

// Order of waiting gangs, and the rule for overtaking (core/engine/place/gangs.h).
SPATE_ENUM(GangPolicy, kFair, "fair", kFcfs, "fcfs", kEasy, "easy", kEasySjbf, "easy-sjbf",
    kConservative, "conservative");

// Needs of `procs` processes together, on one node.
Needs NeedsOfPart(const Needs& of_one, uint32_t procs);

}  // namespace spate
