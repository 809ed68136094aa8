// The state of a node's machine now: load, memory, pressure, processes, and its folders' disks.
#include "core/model/node_measures.h"

#include "node/questions.h"
#include "os/file.h"
#include "shepherd/process_tree.h"

namespace spate::node {
namespace {

Result<NodeMeasures> Measure(const AskedNode& node, const MeasureNode&) {
  const Node::Parts& parts = node.parts;
  NodeMeasures now{.node = node.offer.node_name,
                   .measured = parts.loop.Wall(),
                   .memory = node.offer.memory,
                   .processes = shepherd::AllProcesses().size()};
  if (parts.sample_load) now.machine = parts.sample_load();
  for (const std::string& folder : parts.folders) {
    auto space = os::SpaceOf(folder);
    if (space) now.disks.push_back({folder, space->free, space->total});
  }
  return now;
}

}  // namespace

extern const NodeQuestion kMeasures = {.number = MeasureNode::kNumber,
                                       .answer = AnswerBytes<MeasureNode, Measure>};

}  // namespace spate::node
