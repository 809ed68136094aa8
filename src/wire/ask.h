// The one way of questions downwards, from a hub to a node and on to the shepherd of an attempt. A
// question has one number wherever it is asked, and its own bytes (wire/field_bytes.h), which only
// those know that answer it: a new question needs no message of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/enum_list.h"
#include "base/result.h"
#include "core/model/attempt.h"
#include "core/model/fields.h"
#include "core/model/limits.h"

namespace spate::wire {

inline constexpr size_t kAskBytes = 64 * 1024;
inline constexpr size_t kAnswerPiece = 32 * 1024;

// To a node, about itself or an attempt that it has. AnswerPieces with its id come back, the last
// one of which is not kMore. Nothing depends on it.
struct Ask {
  static constexpr uint32_t kNumber = 12;
  uint64_t id = 0;
  AttemptRef ref;         // job 0: the node itself is meant
  uint32_t rank = 0;      // of a gang
  uint32_t question = 0;  // its number. Nobody knows 0, which asks for a sign of life
  std::string user;       // for whom; of a task's file its owner
  bool admin = false;     // who asks is an administrator of the hub
  std::string body;       // of the question's type, at most kAskBytes
  SPATE_MESSAGE(1, id, 2, ref, 3, rank, 4, question, 5, Bound(user, .most = kLimits.name_bytes),
                6, admin, 7, Bound(body, .most = kAskBytes));
  friend bool operator==(const Ask&, const Ask&) = default;
};

SPATE_ENUM(AnswerKind,
    kMore, "more",      // further pieces follow
    kDone, "done",      // the answer is whole
    kFailed, "failed",  // there is none: `bytes` is a text for people, of `error`
    kUnknown, "unknown",  // who was asked does not know the question, or answers in a newer way
    kNotStarted, "not-started",  // the attempt waits on the node
    kEnded, "ended");  // or is ending: its end is on its way, or it was never there
constexpr AnswerKind UnknownOf(AnswerKind) { return AnswerKind::kUnknown; }

// The next part of an answer.
struct AnswerPiece {
  static constexpr uint32_t kNumber = 14;
  uint64_t id = 0;
  AnswerKind kind = AnswerKind::kMore;
  uint32_t error = 0;  // an ErrorKind
  std::string bytes;   // at most kAnswerPiece
  SPATE_MESSAGE(1, id, 2, kind, 3, error, 4, Bound(bytes, .most = kAnswerPiece));
  friend bool operator==(const AnswerPiece&, const AnswerPiece&) = default;

  static AnswerPiece Failed(const Error& why) {
    return {0, AnswerKind::kFailed, static_cast<uint32_t>(why.kind), why.message};
  }
};
// The whole answer: who asked takes no more.
inline constexpr size_t kMostAnswer = 2 << 20;

// So many more bytes of an answer were taken; 0: no more of it is wanted. A node sends at most
// kAnswerWindow ahead of that.
struct AnswerTaken {
  static constexpr uint32_t kNumber = 13;
  uint64_t id = 0;
  uint64_t bytes = 0;
  SPATE_MESSAGE(1, id, 2, bytes);
  friend bool operator==(const AnswerTaken&, const AnswerTaken&) = default;
};
inline constexpr size_t kAnswerWindow = 256 * 1024;

// Cuts the front off `rest`, a part of an answer with a kind of its own, as the next piece. It is
// the last one of the part when `rest` has no more bytes.
inline AnswerPiece CutPiece(AnswerPiece& rest) {
  const bool more = rest.bytes.size() > kAnswerPiece;
  AnswerPiece piece{rest.id, more ? AnswerKind::kMore : rest.kind, rest.error,
                    rest.bytes.substr(0, kAnswerPiece)};
  rest.bytes.erase(0, piece.bytes.size());
  return piece;
}

}  // namespace spate::wire
