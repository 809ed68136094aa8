// Processes of the node's running attempts, for its hub, which states of which jobs: it has checked
// who may see them.
#include <algorithm>
#include <set>
#include <utility>

#include "core/model/processes.h"
#include "node/questions.h"
#include "os/process.h"

namespace spate::node {
namespace {

constexpr uint64_t kBytesOfFields = 96;  // of one process at most, without its command

bool Wants(const ReadProcesses& asked, const AttemptRef& ref) {
  auto job = std::ranges::find(asked.jobs, ref.job, &ReadProcesses::Wanted::job);
  if (job == asked.jobs.end()) return false;
  auto has_it = [&](const NumberRange& range) { return range.Contains(ref.index + 1); };
  return job->tasks.empty() || std::ranges::any_of(job->tasks, has_it);
}

NodeProcesses Pick(const ReadProcesses& asked, const std::set<AttemptRef>& frozen,
                   const ListedProcesses& all) {
  NodeProcesses answer{.boot = os::BootId()};
  uint64_t bytes = 0;
  for (const auto& [ref, processes] : all) {
    if (!Wants(asked, ref)) continue;
    AttemptProcesses of{.job = ref.job, .task = ref.index + 1, .attempt = ref.attempt.value};
    for (const ProcessFacts& process : processes) {
      if (asked.pid != 0 && process.pid != asked.pid) continue;
      bytes += kBytesOfFields + process.command.size();
      if (bytes > asked.most_bytes) {
        ++answer.left_out;
        continue;
      }
      of.processes.push_back(process);
      ProcessState& state = of.processes.back().state;
      if (frozen.contains(ref) && state != ProcessState::kZombie) state = ProcessState::kFrozen;
    }
    if (!of.processes.empty()) answer.attempts.push_back(std::move(of));
  }
  return answer;
}

void List(const AskedNode& node, std::function<void(Result<std::string>)> tell) {
  auto asked = wire::FromBytes<ReadProcesses>("the question", node.ask.body);
  if (!asked) return tell(std::unexpected(asked.error()));
  if (!node.parts.list_processes) {
    return tell(Fail(ErrorKind::kUnavailable, "this node cannot list processes"));
  }
  std::set<AttemptRef> frozen;
  for (const agent::Run& run : node.agent.Runs()) {
    if (run.frozen) frozen.insert(run.ref);
  }
  node.parts.list_processes([asked = std::move(*asked), frozen = std::move(frozen),
                             tell = std::move(tell)](const ListedProcesses& all) {
    tell(wire::BytesOf(Pick(asked, frozen, all)));
  });
}

}  // namespace

// Only the hub asks, which has the rights of an administrator.
extern const NodeQuestion kProcesses = {
    .number = ReadProcesses::kNumber, .for_admins = true, .answer_later = List};

}  // namespace spate::node
