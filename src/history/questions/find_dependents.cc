// Jobs that were to start after another one and were cancelled.
#include "history/question.h"

namespace spate::history {
namespace {

Status Check(const wire::FindDependents& asked) {
  return asked.most > 1000 ? wire::Defect("most", "is out of range") : Status();
}

Status Answer(const Asking& call, const wire::FindDependents& asked) {
  const Viewer& viewer = call.source.viewer;
  auto found = TRY(call.source.history->index().CancelledDependents(
      asked.job, viewer.is_admin ? "" : viewer.user, asked.most));
  return call.SendAnswer(wire::FindDependents::Answer{std::move(found.first), found.count});
}

}  // namespace

extern const JournalQuestion kFindDependents =
    QuestionOf<wire::FindDependents, Answer, Check>({.who = kOwner});

}  // namespace spate::history
