#include "hub/node_calls.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"

namespace spate::hub {

void NodeCalls::Ask(const std::string& node, wire::WantStderr ask, Told fn) {
  constexpr Duration kPatience = Duration::Seconds(10);
  const Nodes::Node* to = nodes_.FindByName(node);
  if (to == nullptr || !to->channel) {
    return fn(Fail(ErrorKind::kUnavailable,
                   fmt::format("the node {} is not connected", EscapeForScreen(node))));
  }
  uint64_t call = ask.call = ++last_;
  asked_[call] = {to->row.id, std::move(fn)};
  to->channel->Send(std::move(ask));
  loop_.At(loop_.Now() + kPatience, [this, call, node] {
    auto at = asked_.find(call);
    if (at == asked_.end()) return;
    Told tell = std::move(at->second.fn);
    asked_.erase(at);
    tell(Fail(ErrorKind::kUnavailable,
              fmt::format("the node {} does not answer", EscapeForScreen(node))));
  });
}

void NodeCalls::OnAnswer(NodeId node, wire::KeptStderr answer) {
  auto at = asked_.find(answer.call);
  if (at == asked_.end() || at->second.node != node) return;  // too late, or another's to say
  Told tell = std::move(at->second.fn);
  asked_.erase(at);
  if (answer.found) return tell(std::move(answer.bytes));
  tell(Fail(ErrorKind::kNotFound, std::move(answer.bytes)));
}

}  // namespace spate::hub
