#include "present/text/slowed_text.h"

#include <fmt/format.h>

#include "base/units.h"

namespace spate::present {

std::string SlowedText(const PartedFacts& parted, JobId self) {
  const std::string who = parted.slowed == self ? "it" : fmt::format("job {}", parted.slowed.value);
  const char* how = parted.kind == TrafficKind::kNetwork ? "over the network" : "of files";
  return fmt::format("{} moved {}/s {} while both were on node {}, and {}/s alone", who,
                     FormatSize(parted.with), how, parted.node, FormatSize(parted.alone));
}

}  // namespace spate::present
