// Ends of attempts in their order, for programs that show them in their own forms.
#include <algorithm>

#include "history/job_rows.h"
#include "history/question.h"

namespace spate::history {
namespace {

class EndLister {
 public:
  EndLister(const Asking& call, JobRows job, std::unique_ptr<store::Tail> tail)
      : call_(call),
        index_(call.source.history->index()),
        job_(std::move(job)),
        tail_(std::move(tail)) {}
  Status Tell(const wire::ListEnds& asked);

 private:
  Result<EndFacts> FactsOf(const engine::AttemptEnded& ended);
  Result<std::string> NodeName(NodeId node);

  const Asking& call_;
  store::HistoryIndex& index_;
  const JobRows job_;
  const std::unique_ptr<store::Tail> tail_;
  std::map<NodeId, std::string> names_;
};

Result<std::string> EndLister::NodeName(NodeId node) {
  auto at = names_.find(node);
  if (at != names_.end()) return at->second;
  auto name = index_.NodeName(node);
  if (name) names_[node] = *name;
  return name;
}

Result<EndFacts> EndLister::FactsOf(const engine::AttemptEnded& ended) {
  auto node = TRY(NodeName(ended.node));
  auto what = TRY(job_.Facts(index_, ended.end.ref.index));
  return EndFacts{ended.end, ended.verdict, std::move(node), std::move(what)};
}

Status EndLister::Tell(const wire::ListEnds& asked) {
  wire::EndsListed answer{{}, asked.after, job_.row().created, job_.row().user};
  if (asked.created != answer.created) answer.position = 0;
  for (bool more = true; more;) {
    auto news = TRY(tail_->Read(answer.position, kRowsAtOnce));
    size_t bytes = 0;
    for (const store::Tail::End& end : news.ends) {
      auto facts = TRY(FactsOf(end.attempt.record));
      bytes += facts.what.row.size() + facts.what.command.size() + facts.end.note.size();
      answer.ends.push_back(std::move(facts));
      answer.position = end.seq;
      if (bytes < kRowTexts) continue;
      TRY(call_.SendAnswer(answer));
      answer.ends.clear();
      bytes = 0;
    }
    answer.position = std::max(answer.position, news.seq);
    more = news.more;
    TRY(call_.SendAnswer(answer));
    answer.ends.clear();
  }
  return {};
}

Status Answer(const Asking& call, const wire::ListEnds& asked) {
  TRY(NeedHub(call.source));
  TRY(call.source.Open(asked.job.value));  // whether the viewer may
  auto job = TRY(JobRows::Open(call.source, asked.job, asked.whole));
  auto tail = TRY(call.source.history->stream().Follow(asked.job.value));
  return EndLister(call, std::move(job), std::move(tail)).Tell(asked);
}

}  // namespace

extern const JournalQuestion kListEnds = QuestionOf<wire::ListEnds, Answer>({.who = kOwner});

}  // namespace spate::history
