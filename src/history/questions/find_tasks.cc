// Tasks by their numbers, from their names.
#include "history/pick.h"
#include "history/question.h"

namespace spate::history {
namespace {

Status Answer(const Asking& call, const wire::FindTasks& asked) {
  auto picked = TRY(PickTasks(call.source, {{{}, asked.tasks}}));
  wire::TasksFound found;
  for (PickedTasks& tasks : picked) {
    found.tasks.push_back({tasks.job, tasks.all, std::move(tasks.ranges), {}});
  }
  return call.SendAnswer(found);
}

}  // namespace

extern const JournalQuestion kFindTasks = QuestionOf<wire::FindTasks, Answer>({.who = kOwner});

}  // namespace spate::history
