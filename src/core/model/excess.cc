#include "core/model/excess.h"

#include <fmt/format.h>

#include "base/units.h"
#include "core/model/job.h"

namespace spate {

std::string AmountText(Resource what, uint64_t amount) {
  switch (what) {
    case Resource::kCpu:
      return fmt::format("{:g} {}", static_cast<double>(amount) / 1000,
                         amount == 1000 ? "cpu" : "cpus");
    case Resource::kMemory:
      return FormatSize(amount) + " of memory";
    case Resource::kProcesses:
      return fmt::format("{} {}", amount, amount == 1 ? "process" : "processes");
  }
  return "?";
}

std::string TextOf(const Excess& excess) {
  const char* verb = excess.what == Resource::kProcesses ? "had" : "used";
  return fmt::format("{} {}, but asked for {}", verb, AmountText(excess.what, excess.used),
                     AmountText(excess.what, excess.limit));
}

OnExcess ActionOf(const JobSettings& settings, Resource what) {
  switch (what) {
    case Resource::kCpu:
      return settings.on_excess_cpu;
    case Resource::kMemory:
      return settings.on_excess_memory == OnExcess::kUsual ? OnExcess::kKill
                                                           : settings.on_excess_memory;
    case Resource::kProcesses:
      return settings.on_excess_processes == OnExcess::kUsual ? OnExcess::kKill
                                                              : settings.on_excess_processes;
  }
  return OnExcess::kUsual;
}

}  // namespace spate
