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

void NodeCalls::Complete(uint64_t id, Result<wire::AnswerPiece> answer) {
  auto done = asked_.extract(id);
  if (done.empty()) return;
  const Asked& asked = done.mapped();
  kept_ -= asked.bytes.size();
  auto of_user = kept_of_.find(asked.by);
  if (of_user != kept_of_.end() && (of_user->second -= asked.bytes.size()) == 0) {
    kept_of_.erase(of_user);
  }
  asked.fn(std::move(answer));
}

void NodeCalls::Send(NodeId node, wire::ToNode message) {
  const auto& channel = nodes_.all().at(node).channel;
  if (channel) channel->Send(std::move(message));
}

void NodeCalls::Query(const std::string& node, const std::string& by, wire::Ask ask, Told fn) {
  const Nodes::Node* to = nodes_.FindByName(node);
  if (to == nullptr) return fn(NotConnected(node));
  Query(to->row.id, by, std::move(ask), kPatience, std::move(fn));
}

void NodeCalls::Query(NodeId id, const std::string& by, wire::Ask ask, Duration patience, Told fn) {
  const std::string name = nodes_.all().at(id).row.name;
  if (!nodes_.all().at(id).channel) return fn(NotConnected(name));
  const bool of_run = ask.ref.job.value != 0;
  const std::pair whose{id, by};
  if (!by.empty() && asks_of_[whose] >= kMostAsks) {
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
  const uint64_t call = ask.id = ++last_;
  asked_[call] = {.node = id, .of_run = of_run, .by = by, .fn = std::move(fn)};
  Send(id, std::move(ask));
  loop_.At(loop_.Now() + patience, [this, alive = alive_, call, name] {
    if (*alive) Complete(call, Unavailable(name, "does not answer"));
  });
}

// The answer that its last piece completes.
Result<wire::AnswerPiece> NodeCalls::AnswerOf(const Asked& asked,
                                              const wire::AnswerPiece& last) const {
  if (last.kind == wire::AnswerKind::kFailed) {
    const auto kind = std::min(last.error, static_cast<uint32_t>(ErrorKind::kIo));
    return Fail(static_cast<ErrorKind>(kind), asked.bytes);
  }
  const bool of_attempt =
      last.kind == wire::AnswerKind::kNotStarted || last.kind == wire::AnswerKind::kEnded;
  if (last.kind == wire::AnswerKind::kDone || (of_attempt && asked.of_run)) {
    return wire::AnswerPiece{0, last.kind, 0, asked.bytes};
  }
  const Nodes::Node& node = nodes_.all().at(asked.node);
  return Fail(ErrorKind::kUnavailable,
              fmt::format("node {} ({}) {}: it runs another release than the hub, or is not a "
                          "node of Spate; update the older one",
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
  const size_t of_user = kept_of_[asked.by] += piece.bytes.size();
  const bool too_long = asked.bytes.size() > wire::kMostAnswer;
  if (too_long || kept_ > kMostKept || of_user > kMostOfUser) {
    Send(node, wire::AnswerTaken{piece.id, 0});
    if (too_long) {
      return Complete(piece.id, Unavailable(nodes_.all().at(node).row.name, "answers too much"));
    }
    return Complete(piece.id, Fail(ErrorKind::kBusy,
                                   "the hub waits for too many long answers of "
                                   "nodes at once; try again"));
  }
  if (more) return Send(node, wire::AnswerTaken{piece.id, piece.bytes.size()});
  auto answer = AnswerOf(asked, piece);
  Complete(piece.id, std::move(answer));
}

void NodeCalls::Disconnected(NodeId node) {
  if (!nodes_.all().contains(node)) return;
  std::vector<uint64_t> calls;
  for (const auto& [call, each] : asked_) {
    if (each.node == node) calls.push_back(call);
  }
  const std::string name = nodes_.all().at(node).row.name;
  for (uint64_t call : calls) Complete(call, NotConnected(name));
}

}  // namespace spate::hub
