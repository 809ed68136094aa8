#include "doors/pmc/run/delivery.h"

#include <algorithm>
#include <utility>

#include "doors/pmc/formats/records.h"
#include "format/dag_line.h"
#include "node/forwarder.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/signals.h"

namespace spate::pmc {
namespace {

// Files for forwarding that are open at once: as many as the original has, or fewer.
size_t MostOpen(const Options& options) {
  constexpr size_t kMost = 256;
  constexpr uint64_t kOthers = 64;  // descriptors for all else
  if (options.max_fds > 0) return options.max_fds;
  const uint64_t limit = os::GetOpenFileLimit().now;
  return limit > kMost + kOthers ? kMost : limit > kOthers ? limit - kOthers : 1;
}

}  // namespace

int StatusOf(const AttemptEnd& end) {
  switch (end.cause) {
    case Cause::kSuccess:
      return 0;
    case Cause::kExit:
      return end.status << 8;
    case Cause::kSignal:
      return end.status;
    case Cause::kMemory:
      return os::kSignalKill;
    default:
      return 1 << 8;
  }
}

Delivery::Delivery(const Options& options, std::vector<Host> hosts, Prepared prepared)
    : hosts_(std::move(hosts)),
      prepared_(std::move(prepared)),
      forwards_(options.rescue, MostOpen(options)) {}

Status Delivery::PutEnd(const engine::AttemptEnded& ended, const TaskOutputPtr& output) const {
  const AttemptEnd& end = ended.end;
  const bool tried = end.cause != Cause::kStopped && end.cause != Cause::kNode;
  if (!tried && !output) return {};
  TaskOutput told = output ? *output : TaskOutput();
  // What could not be started says so where it would have spoken itself.
  if (end.cause == Cause::kStart) told.err.bytes += end.note + "\n";
  return prepared_.files->Put(TaskOf(end.ref.index).name, told, tried ? RecordOf(ended) : "");
}

std::string Delivery::RecordOf(const engine::AttemptEnded& ended) const {
  const AttemptEnd& end = ended.end;
  const WorkflowTask& task = TaskOf(end.ref.index);
  const Host& host = hosts_[ended.node.value - 1];
  auto parsed = format::ParseDagTask(task.row);
  ClusterTask record;
  record.id = task.id;
  record.name = task.name;
  record.start = end.start;
  record.offset = os::UtcOffsetMinutes(end.start);
  record.duration = end.wall;
  record.status = StatusOf(end);
  if (parsed) record.app = parsed->argv.front();
  record.host = host.facts.name;
  const size_t slot = end.slot > 0 ? end.slot - 1u : 0u;
  record.slot = static_cast<uint32_t>(host.ranks.at(std::min(slot, host.ranks.size() - 1)));
  record.cpus = NeedsOf(end.ref.index).milli_cpus / kMilliCpu;
  record.memory_mb = NeedsOf(end.ref.index).memory >> 20;
  return ClusterTaskRecord(record);
}

Delivery::Troubles Delivery::Forward(const wire::Ends& ends) {
  Troubles troubles(ends.ends.size());
  for (size_t i = 0; i < ends.ends.size(); ++i) {
    const TaskOutputPtr& output = ends.outputs[i];
    if (ends.ends[i].cause != Cause::kSuccess || !output || output->files.total == 0) continue;
    auto done = ForwardOf(ends.ends[i].ref.index, output->files);
    if (!done) troubles[i] = done.error().message;
  }
  return troubles;
}

Status Delivery::ForwardOf(TaskIndex index, const OutputStream& came) {
  auto task = format::ParseDagTask(TaskOf(index).row);
  if (!task) return std::unexpected(std::move(task.error()));
  std::vector<ForwardFiles::Piece> pieces;
  for (const auto* forwards : {&task->pipe_forwards, &task->file_forwards}) {
    for (const format::Forward& forward : *forwards) pieces.push_back({forward.to, {}});
  }
  auto data = node::ReadForwards(came, pieces.size());
  if (!data) return std::unexpected(std::move(data.error()));
  for (size_t i = 0; i < pieces.size(); ++i) pieces[i].bytes = std::move((*data)[i]);
  return forwards_.Deliver(task->name, pieces);
}

}  // namespace spate::pmc
