#include "history/reader.h"

#include <variant>

#include "history/call.h"

namespace spate::history {
namespace {

template <typename Q>
Status AnswerAny(const Asking& call, const Q& asked) {
  if constexpr (wire::OfJournal<Q>) {
    return Answer(call, asked);
  } else {
    return Fail(ErrorKind::kInvalid, "no journal contains this; only a hub can answer it");
  }
}

}  // namespace

Status Answer(const Source& source, const wire::Question& question, const Give& give) {
  Asking call{source, give};
  return std::visit([&](const auto& asked) { return AnswerAny(call, asked); }, question);
}

}  // namespace spate::history
