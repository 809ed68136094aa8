// AnswersOut: a node's answers (wire/ask.h) on their way to the hub, in pieces, of each only so
// many bytes ahead of what the hub has taken.
//
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "wire/ask.h"

namespace spate::node {

class AnswersOut {
 public:
  explicit AnswersOut(std::function<void(wire::AnswerPiece)> send) : send_(std::move(send)) {}

  // The next part of an answer, of any length. One of which more than kMostAnswer waits has failed.
  void Add(wire::AnswerPiece part);
  void Taken(const wire::AnswerTaken& taken);
  // The hub that asked is gone.
  void Clear() { rests_.clear(); }

 private:
  struct Rest {
    wire::AnswerPiece unsent;
    size_t ahead = 0;  // bytes that were sent and not taken
  };
  void SendSome(uint64_t id);

  const std::function<void(wire::AnswerPiece)> send_;
  std::map<uint64_t, Rest> rests_;  // by id, until the last piece is sent
};

}  // namespace spate::node
