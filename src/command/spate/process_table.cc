#include "command/spate/process_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "present/json/json_fields.h"
#include "present/text/end_text.h"

namespace spate::cli {
namespace {

constexpr uint32_t kDeepest = 60;  // levels of a tree that are shown by blanks

auto PlaceOf(const ProcessRow& row) {
  return std::tuple(row.job, row.task, row.facts.rank.value_or(0), std::string_view(row.node),
                    row.facts.pid);
}

bool Before(ProcessOrder order, const ProcessRow& a, const ProcessRow& b) {
  auto most = [&](auto of_a, auto of_b) {
    return of_a != of_b ? of_a > of_b : PlaceOf(a) < PlaceOf(b);
  };
  switch (order) {
    case ProcessOrder::kTask:
      return PlaceOf(a) < PlaceOf(b);
    case ProcessOrder::kCpu:
      return most(a.load, b.load);
    case ProcessOrder::kMemory:
      return most(a.facts.memory, b.facts.memory);
    case ProcessOrder::kTime:
      return most(a.facts.cpu, b.facts.cpu);
    case ProcessOrder::kElapsed:
      return most(a.facts.elapsed, b.facts.elapsed);
    case ProcessOrder::kThreads:
      return most(a.facts.threads, b.facts.threads);
  }
  return false;
}

present::Tone ToneOf(ProcessState state) {
  switch (state) {
    case ProcessState::kRunning:
      return present::Tone::kGood;
    case ProcessState::kDisk:
    case ProcessState::kStopped:
    case ProcessState::kZombie:
    case ProcessState::kFrozen:
      return present::Tone::kDoubtful;
    default:
      return present::Tone::kPlain;
  }
}

// Processes in order, each followed by those below it. A parent that is missing, such as the
// attempt's shepherd, has its children on top. Nodes may say anything of parents: of a loop some
// process is on top, and each process comes once.
class Tree {
 public:
  explicit Tree(std::vector<ProcessRow> rows) : rows_(std::move(rows)), taken_(rows_.size()) {
    for (size_t i = 0; i < rows_.size(); ++i) at_[KeyOf(rows_[i], rows_[i].facts.pid)] = i;
    for (size_t i = 0; i < rows_.size(); ++i) {
      auto parent = at_.find(KeyOf(rows_[i], rows_[i].facts.parent));
      (parent == at_.end() ? tops_ : below_[parent->second]).push_back(i);
    }
  }
  std::vector<ProcessRow> Take() {
    for (size_t i : tops_) Walk(i);
    for (size_t i = 0; i < rows_.size(); ++i) Walk(i);
    return std::move(sorted_);
  }

 private:
  void Walk(size_t top) {
    std::vector<std::pair<size_t, uint32_t>> next = {{top, 0}};  // with depths; the last is next
    while (!next.empty()) {
      auto [i, depth] = next.back();
      next.pop_back();
      if (taken_[i]) continue;
      taken_[i] = true;
      rows_[i].depth = depth;
      sorted_.push_back(std::move(rows_[i]));
      const std::vector<size_t>& below = below_[i];
      for (size_t at = below.size(); at-- > 0;) next.emplace_back(below[at], depth + 1);
    }
  }

  using Key = std::tuple<JobId, uint32_t, std::string, uint32_t>;
  static Key KeyOf(const ProcessRow& row, uint32_t pid) {
    return {row.job, row.task, row.node, pid};
  }
  std::vector<ProcessRow> rows_;
  std::map<Key, size_t> at_;
  std::vector<size_t> tops_;
  std::map<size_t, std::vector<size_t>> below_;
  std::vector<bool> taken_;
  std::vector<ProcessRow> sorted_;
};

}  // namespace

std::string ProcessRow::TaskText() const { return fmt::format("{}.{}", job.value, task); }

std::string ProcessRow::Id() const {
  const std::string rank = facts.rank ? fmt::format(".{}", *facts.rank) : "";
  return fmt::format("{}{}@{}:{}", TaskText(), rank, node, facts.pid);
}

void ProcessRows::Set(const std::vector<NodeProcesses>& answers, Instant now) {
  std::map<Key, Duration> cpu;
  rows_.clear();
  for (const NodeProcesses& node : answers) {
    for (const AttemptProcesses& attempt : node.attempts) {
      std::map<uint32_t, std::optional<uint32_t>> ranks;  // by pid
      for (const ProcessFacts& facts : attempt.processes) {
        ProcessRow row{.job = attempt.job,
                       .task = attempt.task,
                       .attempt = attempt.attempt,
                       .user = attempt.user,
                       .node = node.node,
                       .facts = facts};
        const Key key{node.node, facts.pid, facts.start};
        auto before = cpu_.find(key);
        const bool again = before != cpu_.end() && now > looked_;
        const Duration used = again ? facts.cpu - before->second : facts.cpu;
        const Duration time = again ? now - looked_ : facts.elapsed;
        if (time > Duration()) row.load = std::max(used.seconds(), 0.0) / time.seconds();
        cpu[key] = facts.cpu;
        ranks[facts.pid] = facts.rank;
        auto parent = ranks.find(facts.parent);
        row.is_rank = facts.rank && (parent == ranks.end() || parent->second != facts.rank);
        rows_.push_back(std::move(row));
      }
    }
  }
  cpu_ = std::move(cpu);
  looked_ = now;
}

std::vector<ProcessRow> ProcessRows::In(ProcessOrder order, bool tree) const {
  std::vector<ProcessRow> rows = rows_;
  std::ranges::sort(rows, [&](const auto& a, const auto& b) { return Before(order, a, b); });
  return tree ? Tree(std::move(rows)).Take() : rows;
}

std::vector<ProcessRow> ProcessRows::Ranks() const {
  std::vector<ProcessRow> rows = In(ProcessOrder::kTask, false);
  std::erase_if(rows, [](const ProcessRow& row) { return !row.is_rank; });
  return rows;
}

void WriteProcesses(std::span<const ProcessRow> rows, uint32_t width, bool colour, bool users,
                    bool tree, const present::Table::Sink& sink) {
  const bool gpus =
      std::ranges::any_of(rows, [](const auto& row) { return row.facts.gpu_memory.has_value(); });
  std::vector<present::Column> columns = {{"PROCESS", present::Align::kLeft, 12}};
  if (users) columns.push_back({"USER", present::Align::kLeft, 8});
  columns.push_back({"STATE"});
  for (const char* title : {"CPU", "TIME", "MEMORY", "THREADS", "ELAPSED"}) {
    columns.push_back({title, present::Align::kRight});
  }
  if (gpus) columns.push_back({"GPU", present::Align::kRight});
  columns.push_back({"COMMAND", present::Align::kLeft, 10});
  present::Table table(std::move(columns), width, colour, sink);
  for (const ProcessRow& row : rows) {
    const ProcessFacts& facts = row.facts;
    std::vector<present::Cell> cells = {{row.Id()}};
    if (users) cells.push_back({row.user});
    cells.push_back({WordOf(facts.state), ToneOf(facts.state)});
    cells.push_back({fmt::format("{:.0f}%", row.load * 100)});
    cells.push_back({present::BriefDuration(facts.cpu)});
    cells.push_back({FormatSize(facts.memory)});
    cells.push_back({fmt::format("{}", facts.threads)});
    cells.push_back({present::BriefDuration(facts.elapsed)});
    if (gpus) cells.push_back({facts.gpu_memory ? FormatSize(*facts.gpu_memory) : "-"});
    const uint32_t depth = tree ? std::min(row.depth, kDeepest) : 0;
    cells.push_back({std::string(size_t{2} * depth, ' ') + facts.command});
    table.Add(std::move(cells));
  }
  table.Finish();
}

std::string JsonOfProcess(const ProcessRow& row) {
  present::JsonLine line = present::TypedLine("process");
  present::AddFields(line, "id", row.Id(), "job", row.job, "task", row.task, "attempt", row.attempt,
                     "node", row.node, "user", row.user, "load", row.load);
  present::AddFields(line, row.facts);
  return line.Finish();
}

std::string RankLine(const ProcessRow& row) {
  return fmt::format("{}\t{}\t{}\t{}\n", row.TaskText(), row.facts.rank.value_or(0),
                     EscapeForScreen(row.node), row.facts.pid);
}

std::vector<std::string> MissingText(const std::vector<NodeProcesses>& answers) {
  std::vector<std::string> texts;
  for (const NodeProcesses& node : answers) {
    const std::string name = EscapeForScreen(node.node);
    if (!node.why.empty()) {
      texts.push_back(
          fmt::format("processes on node {} are missing: {}", name, EscapeForScreen(node.why)));
    } else if (node.left_out > 0) {
      texts.push_back(fmt::format("node {} has more processes ({}); name fewer jobs to see them",
                                  name, FormatCount(node.left_out)));
    }
  }
  std::ranges::sort(texts);
  return texts;
}

}  // namespace spate::cli
