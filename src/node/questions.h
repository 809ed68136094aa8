// Questions that a node itself answers (wire/ask.h). A file questions/NAME.cc defines `extern const
// NodeQuestion kName`; the build makes the list of them (CMakeLists.txt).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "node/node.h"
#include "wire/ask.h"
#include "wire/field_bytes.h"

namespace spate::node {

// The node that is asked, and the message.
struct AskedNode {
  const Offer& offer;
  const Node::Parts& parts;
  const wire::Ask& ask;
  const agent::Agent& agent;
};

struct NodeQuestion {
  uint32_t number = 0;  // also with its hub (wire/questions.h)
  bool for_admins = false;
  Result<std::string> (*answer)(const AskedNode& node) = nullptr;  // the bytes of the answer
  // In its place: `tell` is called with them now or later. `node` is there only until this returns.
  void (*answer_later)(const AskedNode& node,
                       std::function<void(Result<std::string>)> tell) = nullptr;
};

// The function that gives these bytes, from one that takes a Q and gives a Result<Q::Answer>.
template <typename Q, auto kAnswer>
Result<std::string> AnswerBytes(const AskedNode& node) {
  return wire::BytesOf(TRY(kAnswer(node, TRY(wire::FromBytes<Q>("the question", node.ask.body)))));
}

// nullptr: nobody here knows it.
const NodeQuestion* FindQuestion(uint32_t number);

}  // namespace spate::node
