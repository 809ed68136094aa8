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

const wire::QuestionRow* FindRow(uint32_t number) {
  const JournalQuestion* found = FindQuestion(number);
  return found == nullptr ? nullptr : &found->row;
}

Status Answer(const Source& source, const wire::Question& question, const Give& give) {
  const JournalQuestion* found = FindQuestion(question.number());
  if (found == nullptr) {
    return Fail(ErrorKind::kInvalid, source.on_hub()
                                         ? wire::kUnknownQuestion
                                         : "no journal contains this; only a hub can answer it");
  }
  if (found->row.who == kAdmin && source.on_hub() && !source.viewer.is_admin) {
    return Fail(ErrorKind::kPermission, "only the hub's administrators may ask that");
  }
  TRY(found->row.check(question));
  return found->answer(Asking{source, give}, question);
}

}  // namespace spate::history
