#include "node/answers_out.h"

#include <string>

namespace spate::node {

void AnswersOut::Add(wire::AnswerPiece part) {
  Rest& rest = rests_[part.id];
  std::string bytes = std::move(rest.unsent.bytes) + part.bytes;
  rest.unsent = std::move(part);
  rest.unsent.bytes = std::move(bytes);
  SendSome(rest.unsent.id, rest);
}

void AnswersOut::Taken(const wire::AnswerTaken& taken) {
  auto at = rests_.find(taken.id);
  if (at == rests_.end()) return;
  if (taken.bytes == 0) {
    rests_.erase(at);
    return;
  }
  at->second.ahead -= std::min<uint64_t>(at->second.ahead, taken.bytes);
  SendSome(taken.id, at->second);
}

void AnswersOut::SendSome(uint64_t id, Rest& rest) {
  while (rest.ahead < wire::kAnswerWindow) {
    if (rest.unsent.kind == wire::AnswerKind::kMore && rest.unsent.bytes.empty()) return;
    wire::AnswerPiece piece = wire::CutPiece(rest.unsent);
    rest.ahead += piece.bytes.size();
    const bool last = piece.kind != wire::AnswerKind::kMore;
    if (last) rests_.erase(id);
    send_(std::move(piece));
    if (last) return;
  }
}

}  // namespace spate::node
