// Readers look for "[cluster-task" anywhere in a line, go to the next ']', and take key=value and
// key="value" in between. A name, a program or a host must hold none of the bytes by which they
// find their way, so these are written as %XX, newlines among them. All other names are byte for
// byte what they are.

#include "doors/pmc/formats/records.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/utc.h"
#include "doors/pmc/formats/escape.h"

namespace spate::pmc {
namespace {

std::string Bare(std::string_view value) { return Escape(value, "\"[]=,"); }
std::string Quoted(std::string_view value) { return fmt::format("\"{}\"", Escape(value, "\"[]=")); }

}  // namespace

std::string LocalIsoTime(Instant when, UtcOffset offset) {
  Instant local = when + Duration::Seconds(int64_t{offset} * 60);
  std::string date = FormatUtc(local);
  date.pop_back();  // Z
  int64_t ms = (local.ns % 1000000000 + 1000000000) % 1000000000 / 1000000;
  int minutes = std::abs(offset);
  return fmt::format("{}.{:03}{}{:02}:{:02}", date, ms, offset < 0 ? '-' : '+', minutes / 60,
                     minutes % 60);
}

std::string ClusterTaskRecord(const ClusterTask& task) {
  std::string id = task.id.empty() ? "" : fmt::format("id={}, ", Bare(task.id));
  return fmt::format(
      "[cluster-task {}name={}, start={}, duration={:.3f}, status={}, app={}, hostname={}, "
      "slot={}, cpus={}, memory={}]\n",
      id, Bare(task.name), Quoted(LocalIsoTime(task.start, task.offset)), task.duration.seconds(),
      task.status, Quoted(task.app), Quoted(task.host), task.slot, task.cpus, task.memory_mb);
}

std::string ClusterSummaryRecord(const ClusterSummary& summary) {
  return fmt::format(
      "[cluster-summary stat=\"{}\", tasks={}, submitted={}, succeeded={}, failed={}, extra=0, "
      "start={}, duration={:.3f}, pid={}, app={}, runtime={:.3f}, slots={}, cpus={}]\n",
      summary.ok ? "ok" : "failed", summary.tasks, summary.submitted, summary.succeeded,
      summary.failed, Quoted(LocalIsoTime(summary.start, summary.offset)),
      summary.duration.seconds(), summary.pid, Quoted(summary.app), summary.runtime.seconds(),
      summary.slots, summary.cpus);
}

}  // namespace spate::pmc
