#include "present/text/node_note.h"

#include <fmt/format.h>

namespace spate::present {

std::string NodeNote(const NodeFacts& node) {
  if (!node.speaks) return node.why;
  return fmt::format(
      "refused: spate {} speaks protocol {}, which this hub does not; its tasks are "
      "kept while it calls; use the hub's release there",
      node.program, *node.speaks);
}

}  // namespace spate::present
