#include "hub/node_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"

namespace spate::hub {
namespace {

std::unexpected<Error> Unavailable(const std::string& node, const char* what) {
  return Fail(ErrorKind::kUnavailable, fmt::format("the node {} {}", EscapeForScreen(node), what));
}
std::unexpected<Error> NotConnected(const std::string& node) {
  return Unavailable(node, "is not connected");
}

}  // namespace

void NodeCalls::Tell(uint64_t id, Result<wire::AnswerPiece> answer) {
  auto done = asked_.extract(id);
  if (done.empty()) return;
  kept_ -= done.mapped().bytes.size();
  done.mapped().fn(std::move(answer));
}

void NodeCalls::Send(NodeId node, wire::ToNode message) {
  const auto& channel = nodes_.all().at(node).channel;
  if (channel) channel->Send(std::move(message));
}

void NodeCalls::Ask(const std::string& node, const std::string& by, wire::Ask ask, Told fn) {
  const Nodes::Node* to = nodes_.FindByName(node);
  if (to == nullptr) return fn(NotConnected(node));
  Ask(to->row.id, by, std::move(ask), kPatience, std::move(fn));
}

void NodeCalls::Ask(NodeId id, const std::string& by, wire::Ask ask, Duration patience, Told fn) {
  const std::string name = nodes_.all().at(id).row.name;
  if (!nodes_.all().at(id).channel) return fn(NotConnected(name));
  const bool of_run = ask.ref.job.value != 0;
  if (!by.empty()) {
    const std::pair whose{id, by};
    if (asks_of_[whose] >= kMostAsks) {
      return fn(Fail(ErrorKind::kBusy,
                     fmt::format("user {} {} {} {} of node {} at once, the limit for one user; try "
                                 "again",
                                 by, of_run ? "looks at" : "asks", kMostAsks,
                                 of_run ? "tasks" : "questions", EscapeForScreen(name))));
    }
    ++asks_of_[whose];
    fn = [this, whose, fn = std::move(fn)](Result<wire::AnswerPiece> answer) {
      auto of_user = asks_of_.find(whose);
      if (--of_user->second == 0) asks_of_.erase(of_user);
      fn(std::move(answer));
    };
  }
  const uint64_t call = ask.id = ++last_;
  asked_[call] = {.node = id, .of_run = of_run, .fn = std::move(fn)};
  Send(id, std::move(ask));
  loop_.At(loop_.Now() + patience, [this, alive = alive_, call, name] {
    if (*alive) Tell(call, Unavailable(name, "does not answer"));
  });
}

// The answer that its last piece completes.
Result<wire::AnswerPiece> NodeCalls::AnswerOf(const Asked& asked,
                                              const wire::AnswerPiece& last) const {
  if (last.kind == wire::AnswerKind::kFailed) {
    const auto kind = std::min(last.error, static_cast<uint32_t>(ErrorKind::kIo));
    return Fail(static_cast<ErrorKind>(kind), asked.bytes);
  }
  if (last.kind != wire::AnswerKind::kUnknown)
    return wire::AnswerPiece{0, last.kind, 0, asked.bytes};
  const Nodes::Node& node = nodes_.all().at(asked.node);
  return Fail(ErrorKind::kUnavailable,
              fmt::format("node {} ({}) {}: it is of an older release, or no node of Spate; "
                          "update it",
                          EscapeForScreen(node.row.name), EscapeForScreen(node.product),
                          asked.of_run ? "cannot show what runs there" : "cannot tell that"));
}

void NodeCalls::OnAnswer(NodeId node, const wire::AnswerPiece& piece) {
  auto at = asked_.find(piece.id);
  const bool more = piece.kind == wire::AnswerKind::kMore;
  if (at == asked_.end() || at->second.node != node) {  // too late, or another's to say
    if (more) Send(node, wire::AnswerTaken{piece.id, 0});
    return;
  }
  Asked& asked = at->second;
  asked.bytes += piece.bytes;
  kept_ += piece.bytes.size();
  if (asked.bytes.size() > wire::kMostAnswer || kept_ > kMostKept) {
    Send(node, wire::AnswerTaken{piece.id, 0});
    return Tell(piece.id, Unavailable(nodes_.all().at(node).row.name, "answers too much"));
  }
  if (more) return Send(node, wire::AnswerTaken{piece.id, piece.bytes.size()});
  auto answer = AnswerOf(asked, piece);
  Tell(piece.id, std::move(answer));
}

void NodeCalls::Gone(NodeId node) {
  if (!nodes_.all().contains(node)) return;
  std::vector<uint64_t> calls;
  for (const auto& [call, each] : asked_) {
    if (each.node == node) calls.push_back(call);
  }
  const std::string name = nodes_.all().at(node).row.name;
  for (uint64_t call : calls) Tell(call, NotConnected(name));
}

}  // namespace spate::hub
