// Shared parts of the commands about the nodes of a hub.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "command/hub_screen.h"
#include "core/model/facts.h"
#include "wire/questions.h"

namespace spate::cli {

// Those that the words name ("all": every one; none: every one, too).
Result<std::vector<NodeFacts>> AskNodes(const HubScreen& screen);
// The user whose tasks the node runs; `everybody` stands for all users.
const char* UserText(const NodeFacts& node, const char* everybody);
// Changes the nodes that the words name, and says that they are `done`. The exit code.
Result<int> ChangeNodes(const HubScreen& screen, wire::ChangeNodes::Change change,
                        std::string_view done);

}  // namespace spate::cli
