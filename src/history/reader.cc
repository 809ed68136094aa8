#include "history/reader.h"

#include <algorithm>

#include "history/question.h"

namespace spate::history {

const JournalQuestion* FindQuestion(uint32_t number) {
  const auto all = JournalQuestions();
  auto found = std::ranges::find(all, number, [](const auto* one) { return one->row.number; });
  return found == all.end() ? nullptr : *found;
}

Status NeedHub(const Source& source) {
  if (source.on_hub()) return {};
  return Fail(ErrorKind::kInvalid, "only a hub can answer this");
}

Status Answer(const Source& source, const wire::Question& question, const Give& give) {
  const uint32_t number = std::visit([]<typename Q>(const Q&) { return Q::kNumber; }, question);
  if (const JournalQuestion* found = FindQuestion(number)) {
    return found->answer(Asking{source, give}, question);
  }
  return Fail(ErrorKind::kInvalid, "no journal contains this; only a hub can answer it");
}

}  // namespace spate::history
