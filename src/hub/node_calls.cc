#include "hub/node_calls.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/units.h"

namespace spate::hub {
namespace {

constexpr Duration kPatience = Duration::Seconds(10);

std::unexpected<Error> NotConnected(const std::string& node) {
  return Fail(ErrorKind::kUnavailable,
              fmt::format("the node {} is not connected", EscapeForScreen(node)));
}

}  // namespace

template <typename T>
void NodeCalls::Tell(AskedByCall<T>& asked, uint64_t call, Result<T> answer) {
  auto at = asked.find(call);
  if (at == asked.end()) return;
  Asked<T> done = std::move(at->second);
  asked.erase(at);
  done.fn(std::move(answer));
}

template <typename T, typename Message>
void NodeCalls::Send(AskedByCall<T>& asked, const Nodes::Node& node, Message ask, Told<T> fn,
                     Duration patience) {
  const uint64_t call = ask.call = ++last_;
  asked[call] = {node.row.id, std::move(fn)};
  node.channel->Send(std::move(ask));
  loop_.At(loop_.Now() + patience, [this, alive = alive_, &asked, call, name = node.row.name] {
    if (!*alive) return;
    Tell<T>(asked, call,
            Fail(ErrorKind::kUnavailable,
                 fmt::format("the node {} does not answer", EscapeForScreen(name))));
  });
}

template <typename T>
void NodeCalls::Drop(AskedByCall<T>& asked, NodeId node) {
  std::vector<uint64_t> calls;
  for (const auto& [call, each] : asked) {
    if (each.node == node) calls.push_back(call);
  }
  const std::string& name = nodes_.all().at(node).row.name;
  for (uint64_t call : calls) Tell<T>(asked, call, NotConnected(name));
}

void NodeCalls::Ask(const std::string& node, wire::WantStderr ask, Told<std::string> fn) {
  const Nodes::Node* to = nodes_.FindByName(node);
  if (to == nullptr || !to->channel) return fn(NotConnected(node));
  Send(stderrs_, *to, std::move(ask), std::move(fn), kPatience);
}

void NodeCalls::Ask(NodeId id, const std::string& user, wire::WantLook ask, Told<RunLook> fn) {
  const Nodes::Node& to = nodes_.all().at(id);
  const std::string name = EscapeForScreen(to.row.name);
  if (!to.channel) return fn(NotConnected(to.row.name));
  if (!to.looks) {
    return fn(Fail(ErrorKind::kUnavailable,
                   fmt::format("node {} ({}) cannot show what runs there: it is of an older "
                               "release, or no node of Spate; update it",
                               name, EscapeForScreen(to.product))));
  }
  const std::pair by{id, user};
  if (looks_of_[by] >= kMostLooks) {
    return fn(
        Fail(ErrorKind::kBusy,
             fmt::format(
                 "user {} looks at {} tasks of node {} at once, the limit for one user; try again",
                 user, kMostLooks, name)));
  }
  ++looks_of_[by];
  auto told = [this, by, fn = std::move(fn)](Result<RunLook> look) {
    auto of_user = looks_of_.find(by);
    if (--of_user->second == 0) looks_of_.erase(of_user);
    fn(std::move(look));
  };
  Send<RunLook>(looks_, to, std::move(ask), std::move(told), kLookPatience);
}

void NodeCalls::OnAnswer(NodeId node, wire::KeptStderr answer) {
  auto at = stderrs_.find(answer.call);
  if (at == stderrs_.end() || at->second.node != node) return;  // too late, or another's to say
  if (answer.found) return Tell<std::string>(stderrs_, answer.call, std::move(answer.bytes));
  Tell<std::string>(stderrs_, answer.call, Fail(ErrorKind::kNotFound, std::move(answer.bytes)));
}

void NodeCalls::OnAnswer(NodeId node, wire::RunLooked answer) {
  auto at = looks_.find(answer.call);
  if (at == looks_.end() || at->second.node != node) return;
  Tell<RunLook>(looks_, answer.call, std::move(answer.look));
}

void NodeCalls::Gone(NodeId node) {
  if (!nodes_.all().contains(node)) return;
  Drop(stderrs_, node);
  Drop(looks_, node);
}

}  // namespace spate::hub
