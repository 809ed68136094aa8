#include "node/answers_out.h"

#include <string>

namespace spate::node {

void AnswersOut::Add(wire::AnswerPiece part) {
  const uint64_t id = part.id;
  Rest& rest = rests_[id];
  if (rest.unsent.kind != wire::AnswerKind::kMore) return;  // it is over already
  std::string bytes = std::move(rest.unsent.bytes) + part.bytes;
  rest.unsent = std::move(part);
  rest.unsent.bytes = std::move(bytes);
  if (rest.unsent.bytes.size() > wire::kMostAnswer) {
    rest.unsent = wire::AnswerPiece::Failed({ErrorKind::kUnavailable, "the answer is too long"});
    rest.unsent.id = id;
  }
  SendSome(id);
}

void AnswersOut::Taken(const wire::AnswerTaken& taken) {
  auto at = rests_.find(taken.id);
  if (at == rests_.end()) return;
  if (taken.bytes == 0) {
    rests_.erase(at);
    return;
  }
  at->second.ahead -= std::min<uint64_t>(at->second.ahead, taken.bytes);
  SendSome(taken.id);
}

// `send_` may lose the hub, and with it all that is left.
void AnswersOut::SendSome(uint64_t id) {
  for (auto at = rests_.find(id); at != rests_.end(); at = rests_.find(id)) {
    Rest& rest = at->second;
    if (rest.ahead >= wire::kAnswerWindow) return;
    if (rest.unsent.kind == wire::AnswerKind::kMore && rest.unsent.bytes.empty()) return;
    wire::AnswerPiece piece = wire::CutPiece(rest.unsent);
    rest.ahead += piece.bytes.size();
    if (piece.kind != wire::AnswerKind::kMore) rests_.erase(at);
    send_(std::move(piece));
  }
}

}  // namespace spate::node
