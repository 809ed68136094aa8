// Processes of running tasks, as `spate ps` and `spate top` show them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/enum_list.h"
#include "base/time.h"
#include "core/model/processes.h"
#include "present/table/table.h"

namespace spate::cli {

struct ProcessRow {
  JobId job;
  uint32_t task = 0;  // from 1
  uint32_t attempt = 0;
  std::string user;
  std::string node;
  ProcessFacts facts;
  double load =
      0;  // processors that it used: since the last look, at the first one since its start
  uint32_t depth = 0;    // in the tree, below the first process of its task
  bool is_rank = false;  // the topmost process of its rank

  std::string TaskText() const;  // "12.3"
  std::string Id() const;        // "12.3@n1:4711", of a rank "12.3.0@n1:4711"
};

SPATE_ENUM(ProcessOrder,
    kTask, "task",  // by task, rank, node and pid
    kCpu, "cpu",    // most first, as by the others
    kMemory, "memory", kTime, "time", kElapsed, "elapsed", kThreads, "threads");

// Results of successive looks.
class ProcessRows {
 public:
  // The answers of all nodes, when the look began by the clock of who looks.
  void Set(const std::vector<NodeProcesses>& answers, Instant now);
  // By `order`; as a tree, each process comes below its parent, and siblings are in that order.
  std::vector<ProcessRow> In(ProcessOrder order, bool tree) const;
  // The topmost process of each rank, by task and rank.
  std::vector<ProcessRow> Ranks() const;
  bool empty() const { return rows_.empty(); }

 private:
  using Key = std::tuple<std::string, uint32_t, uint64_t>;  // node, pid, start
  void AddTree(std::vector<ProcessRow> of_attempt);

  std::vector<ProcessRow> rows_;
  std::map<Key, Duration> cpu_;  // of the last look
  Instant looked_;
};

// For people, in the order given; `tree` indents commands.
void WriteProcesses(std::span<const ProcessRow> rows, uint32_t width, bool colour, bool users,
                    bool tree, const present::Table::Sink& sink);
std::string JsonOfProcess(const ProcessRow& row);
// "12.3<tab>0<tab>n1<tab>4711": task, rank, node, pid. The node is escaped.
std::string RankLine(const ProcessRow& row);
// Nodes whose processes are missing or incomplete, a sentence each.
std::vector<std::string> MissingText(const std::vector<NodeProcesses>& answers);

}  // namespace spate::cli
