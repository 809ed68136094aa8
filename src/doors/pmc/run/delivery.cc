#include "doors/pmc/run/delivery.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "doors/pmc/formats/records.h"
#include "format/dag_line.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/signals.h"

namespace spate::pmc {
int StatusOf(const AttemptEnd& end) {
  switch (end.cause) {
    case Cause::kSuccess:
      return 0;
    case Cause::kExit:
      return end.status << 8;
    case Cause::kSignal:
      return end.status;
    case Cause::kMemory:
    case Cause::kExcess:
      return os::kSignalKill;
    default:
      return 1 << 8;
  }
}

bool IsTold(const AttemptEnd& end, Verdict verdict, bool counts) {
  const bool tried = counts && end.cause != Cause::kStopped && end.cause != Cause::kNode;
  return tried || verdict == Verdict::kFailed;
}

Delivery::Delivery(const Options& options, std::vector<Host> hosts, Prepared prepared)
    : hosts_(std::move(hosts)),
      prepared_(std::move(prepared)),
      forwards_(prepared_.forwards_log, "",
                options.max_fds > 0 ? forward::MostOpen(options.max_fds) : forward::MostOpen()) {}

Status Delivery::PutEnd(const engine::AttemptEnded& ended, const TaskOutputPtr& output) const {
  const AttemptEnd& end = ended.end;
  const bool tried = IsTold(end, ended.verdict, ended.counts);
  if (!tried && !output) return {};
  TaskOutput told = output ? *output : TaskOutput();
  // The reason why a task could not be started goes where its own messages would have gone.
  if (end.cause == Cause::kStart) told.err.bytes += end.note + "\n";
  return prepared_.files->Write(TaskOf(end.ref.index).name, told, tried ? RecordOf(ended) : "");
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
  record.slot = static_cast<uint32_t>(RankOf(host, end.slot));
  record.cpus = NeedsOf(end.ref.index).milli_cpus / kMilliCpu;
  record.memory_mb = NeedsOf(end.ref.index).memory >> 20;
  return ClusterTaskRecord(record);
}

Status Delivery::Forward(TaskIndex index, const OutputStream& pack) {
  const std::string_view task = TaskOf(index).name;
  auto done = forwards_.Deliver(task, pack);
  if (done) return done;
  return Fail(done.error().kind,
              fmt::format("{}: {}", ForwardFailedText(task), done.error().message));
}

}  // namespace spate::pmc
