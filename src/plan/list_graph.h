// Dependencies among the tasks of a job list: its {name} and {after} clauses.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/model/graph.h"
#include "format/list_line.h"
#include "format/name_table.h"
#include "plan/problems.h"

namespace spate::cli {

class ListGraph {
 public:
  // The task at this position of the list. `place` is "jobs.lst:12".
  void Add(TaskIndex position, const format::ListLine& line,
           const std::function<std::string()>& place, Problems& problems);
  // True if some task waits for others.
  bool has_edges() const { return !waiting_.empty(); }
  // Edges of a list of `tasks` tasks, once all were added; a parent's are neighbours. New tasks are
  // numbered after the `known` ones, which are found by their names.
  std::vector<Edge> DrainEdges(uint32_t tasks, const std::vector<std::string>& known,
                               Problems& problems);

 private:
  struct Waiting {
    TaskIndex position = 0;
    std::vector<std::string> parents;
    std::string place;
  };
  std::string NameOf(TaskIndex position) const;

  std::deque<std::string> texts_;  // that the table points to
  format::NameTable names_;        // by position
  std::vector<Waiting> waiting_;
};

}  // namespace spate::cli
