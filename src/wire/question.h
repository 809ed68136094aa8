// Question: what a client asks of a hub, as it is carried: a number, and the bytes of the fields of
// the type that has it (wire/questions.h). Only those look into the bytes that answer the question.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "wire/field_bytes.h"
#include "wire/questions.h"

namespace spate::wire {

// The answer to a question of a newer program.
inline constexpr const char* kUnknownQuestion =
    "this hub is older than your program, and does not know what was asked";

template <typename Q>
concept IsQuestion = HasFields<Q> && requires {
  typename Q::Answer;
  Q::kNumber;
};

class Question {
 public:
  Question() = default;  // number 0, which nobody knows
  Question(uint32_t number, std::string body) : number_(number), body_(std::move(body)) {}
  template <IsQuestion Q>
  Question(const Q& asked) : number_(Q::kNumber), body_(BytesOf(asked)), is_own_(true) {
    changes_ = IsChange(number_);
    if constexpr (requires { asked.dry_run; }) changes_ &= !asked.dry_run;
  }

  uint32_t number() const { return number_; }
  const std::string& body() const { return body_; }
  // One that was made here changes something.
  bool changes() const { return changes_; }
  template <IsQuestion... Q>
  bool Is() const {
    return ((number_ == Q::kNumber) || ...);
  }
  // For a question that Is it. kCorrupt: the bytes are none of its type, or more than a stranger
  // may send.
  template <IsQuestion Q>
  Result<Q> Read() const {
    const uint32_t most = is_own_ ? UINT32_MAX : kMostElements;
    return wire::FromBytes<Q>("the question", body_, most,
                              is_own_ ? Duration::Max() : kWireLimits.longest);
  }
  // nullopt: it is another one, or damaged.
  template <IsQuestion Q>
  std::optional<Q> As() const {
    auto read = Is<Q>() ? Read<Q>() : Fail(ErrorKind::kCorrupt, "");
    return read ? std::optional<Q>(std::move(*read)) : std::nullopt;
  }
  // Calls `fn` with it as that one of these types which it is. False: it is none of them, or
  // damaged.
  template <IsQuestion... Q, typename Fn>
  bool Visit(Fn fn) const {
    auto visit = [&]<typename T>(std::optional<T> asked) {
      if (asked) fn(std::move(*asked));
      return asked.has_value();
    };
    return ((Is<Q>() && visit(As<Q>())) || ...);
  }

 private:
  uint32_t number_ = 0;
  std::string body_;
  bool is_own_ = false;
  bool changes_ = false;
};

}  // namespace spate::wire
