#include "wire/message_check.h"

#include <fmt/format.h>

#include "core/model/limits.h"

namespace spate::wire {

void MessageCheck::Defect(std::string_view field, std::string_view what, std::string_view of) {
  if (!ok()) return;
  error_ = fmt::format("a damaged message: {}{}{} {}{}", path_, field.empty() ? "" : ".", field,
                       what, of);
}

void MessageCheck::Text(std::string_view field, std::string_view text, const Bounds& bounds,
                        bool in_list) {
  if (bounds.must && text.empty()) Defect(field, in_list ? "has an empty name" : "is missing");
  if (text.size() > bounds.most) {
    Defect(field, in_list ? "has a text that is too long" : "is too long");
  }
}

void MessageCheck::Texts(std::string_view field, const std::vector<std::string>& texts,
                         const Bounds& bounds) {
  if (texts.size() > bounds.count) Defect(field, "has too many ", bounds.of);
  for (const std::string& text : texts) Text(field, text, bounds, true);
  if (bounds.sorted) Sorted(field, texts, [](std::string_view text) { return text; });
}

void MessageCheck::Ranges(std::string_view field, const std::vector<TaskRange>& ranges,
                          const Bounds& bounds) {
  if (bounds.must && ranges.empty()) Defect(field, "is missing");
  if (ranges.size() > kWireLimits.ranges) Defect(field, "has too many ranges");
  uint64_t tasks = 0;
  for (TaskRange range : ranges) {
    if (range.count == 0) Defect(field, "has an empty range");
    if (uint64_t{range.first} + range.count > kLimits.tasks_per_job) {
      Defect(field, "has a range beyond the largest job");
    }
    tasks += range.count;
  }
  if (tasks > bounds.most) Defect(field, "has too many tasks");
}

void CheckMore(MessageCheck& in, const Greeting& greeting) {
  if (greeting.oldest_protocol > greeting.protocol) in.Defect("oldest_protocol", "is out of range");
  const bool is_node = greeting.role == Role::kNode;
  const bool proves = greeting.serial != 0;
  for (const auto& [must, text, name] : {std::tuple{proves, &greeting.nonce, "nonce"},
                                         {proves, &greeting.proof, "proof"},
                                         {is_node, &greeting.node_name, "node_name"},
                                         {is_node, &greeting.instance, "instance"}}) {
    if (must && text->empty()) in.Defect(name, "is missing");
  }
  if (is_node && greeting.instance.size() < kInstanceBytes) in.Defect("instance", "is too short");
}

void CheckMore(MessageCheck& in, const Lease& lease) {
  uint64_t tasks = 0;
  for (TaskRange range : lease.tasks) tasks += range.count;
  if (lease.rows.size() != tasks) in.Defect("rows", "is not one for each task");
  if (lease.part && tasks != 1) in.Defect("tasks", "is not the one of a gang");
}

void CheckMore(MessageCheck& in, const TaskClass& of_tasks) {
  const GangShape& gang = of_tasks.gang;
  if (gang.nodes > gang.procs) in.Defect("gang.nodes", "is out of range");
  if (gang.nodes > 0 && gang.procs % gang.nodes != 0) {
    in.Defect("gang.procs", "is not the same on each node");
  }
  const Instant deadline = of_tasks.deadline.value_or(Instant{1});
  if (deadline <= Instant{} || deadline == Instant::Never()) {
    in.Defect("deadline", "is out of range");
  }
}

void CheckMore(MessageCheck& in, const GangPart& part) {
  if (part.index >= part.hosts.size()) in.Defect("index", "names no host");
  uint64_t procs = 0;
  for (const GangHost& host : part.hosts) {
    if (host.node.empty() || host.procs == 0) in.Defect("hosts", "has an empty one");
    procs += host.procs;
  }
  if (procs > kLimits.gang_procs) in.Defect("hosts", "has too many processes");
}

void CheckMore(MessageCheck& in, const JobSettings& settings) {
  for (const PutFile& file : settings.puts) {
    if (!CheckTaskFileName(file.name)) in.Defect("puts", "leads out of the folder");
    if (file.first_piece > kMostPieces) in.Defect("puts", "is out of range");
  }
}

void CheckMore(MessageCheck& in, const JobPolicy& policy) {
  constexpr uint32_t kMostExit = 255;
  for (const ExitRange& range : policy.retry.exits) {
    if (range.first > range.last || range.last > kMostExit) {
      in.Defect("retry_exits", "is out of range");
    }
  }
}

}  // namespace spate::wire
