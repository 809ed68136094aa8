// A graph as Graphviz text, for `dot`.
#pragma once

#include "present/graph/critical_path.h"
#include "present/graph/graph.h"

namespace spate::present {

// Writes a graph of any size: `sink` gets it line by line, edges in the order of their parents.
void WriteDot(const TaskGraph& graph, const Shape& shape, const CriticalPath& critical,
              std::string_view title, const TextSink& sink);

}  // namespace spate::present
