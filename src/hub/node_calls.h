// NodeCalls: questions that a node alone can answer (wire/ask.h), on their way there and back.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "hub/nodes.h"
#include "os/loop.h"
#include "wire/ask.h"

namespace spate::hub {

class NodeCalls {
 public:
  // Both outlive it.
  NodeCalls(os::Loop& loop, Nodes& nodes) : loop_(loop), nodes_(nodes) {}
  ~NodeCalls() { *alive_ = false; }
  NodeCalls(const NodeCalls&) = delete;
  NodeCalls& operator=(const NodeCalls&) = delete;

  // The whole answer as one piece: kDone, or kNotStarted or kEnded of an attempt. Else an error.
  using Told = std::function<void(Result<wire::AnswerPiece>)>;
  // `id` is set here. kUnavailable: the node is away, or goes, or is silent for `patience`, or does
  // not know the question, or its answer does not fit it. kBusy: kMostAsks questions of the user
  // `by` to the node are under way, or the user's answers are longer than kMostOfUser together;
  // an empty `by` is the hub itself, which bounds its questions otherwise.
  void Query(NodeId node, const std::string& by, wire::Ask ask, Duration patience, Told fn);
  // The same of the node with this name.
  void Query(const std::string& node, const std::string& by, wire::Ask ask, Told fn);
  void OnAnswer(NodeId node, const wire::AnswerPiece& piece);
  // Its connection has ended, so it answers nothing more.
  void Disconnected(NodeId node);

  // Questions that are not answered, and the bytes of their answers so far.
  size_t under_way() const { return asked_.size(); }
  size_t kept_bytes() const { return kept_; }

  static constexpr Duration kPatience = Duration::Seconds(10);
  static constexpr Duration kLookPatience = Duration::Seconds(3);
  static constexpr size_t kMostAsks = 16;
  // Bytes of answers that are not whole yet: all, and those of one user.
  static constexpr size_t kMostKept = 64 << 20;
  static constexpr size_t kMostOfUser = kMostKept / 4;

 private:
  struct Asked {
    NodeId node;  // nobody else may answer
    bool of_run;  // it is about an attempt
    std::string by;
    std::string bytes = {};
    Told fn;
  };
  void Complete(uint64_t id, Result<wire::AnswerPiece> answer);
  Result<wire::AnswerPiece> AnswerOf(const Asked& asked, const wire::AnswerPiece& last) const;
  void Send(NodeId node, wire::ToNode message);

  os::Loop& loop_;
  Nodes& nodes_;
  std::map<uint64_t, Asked> asked_;
  std::map<std::pair<NodeId, std::string>, size_t> asks_of_;  // under way, by user
  std::map<std::string, size_t> kept_of_;                     // bytes, by user
  size_t kept_ = 0;
  uint64_t last_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::hub
