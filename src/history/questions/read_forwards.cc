// Forwarded output of the tasks of a job, for whoever appends it to the files that they share.
#include <algorithm>

#include "history/pack_part.h"
#include "history/question.h"
#include "history/task_texts.h"

namespace spate::history {
namespace {

using ForwardWhat = ForwardFacts::What;

constexpr size_t kForwardEnds = 256;
constexpr size_t kForwardBlock = 256 << 10;

class ForwardTeller {
 public:
  ForwardTeller(const Asking& call, store::JobJournal& history, store::Tail& tail)
      : call_(call), texts_(call.source, history), tail_(tail) {}

  Status Tell(const wire::ReadForwards& asked, Instant created) {
    ForwardFacts last{
        .what = ForwardWhat::kEnd, .text = {}, .position = asked.after, .created = created};
    if (asked.created != created) last.position = 0;
    for (bool more = true; more && status_;) {
      auto news = TRY(tail_.Read(last.position, kForwardEnds));
      for (const store::Tail::End& end : news.ends) {
        const AttemptEnd& attempt = end.attempt.record.end;
        if (attempt.cause != Cause::kSuccess || end.attempt.kept.files_bytes == 0) continue;
        TellTask(end, created);
      }
      last.position = std::max(last.position, news.seq);
      more = news.more;
    }
    Put(last);
    return status_;
  }

 private:
  void Put(const ForwardFacts& facts) {
    if (status_) status_ = call_.SendAnswer(facts);
  }
  void TellTask(const store::Tail::End& end, Instant created) {
    ForwardFacts piece{.index = end.attempt.record.end.ref.index, .text = {}, .created = created};
    PackPart part(texts_, end.attempt, PackPart::Of::kForwards, [&](std::string_view bytes) {
      for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kForwardBlock))) {
        piece.text = bytes.substr(0, kForwardBlock);
        Put(piece);
      }
    });
    auto read = tail_.ReadOutput(end.attempt, store::Stream::kFiles,
                                 [&](std::string_view bytes, uint64_t) { part.Feed(bytes); });
    Status taken = read ? part.Finish() : std::unexpected(read.error());
    piece.what = taken ? ForwardWhat::kTask : ForwardWhat::kDamaged;
    piece.text = taken ? "" : taken.error().message;
    piece.position = end.seq;
    Put(piece);
  }

  const Asking& call_;
  TaskTexts texts_;
  store::Tail& tail_;
  Status status_;
};

Status Answer(const Asking& call, const wire::ReadForwards& asked) {
  TRY(NeedHub(call.source));
  auto history = TRY(call.source.Open(asked.job.value));
  auto tail = TRY(call.source.history->stream().Follow(asked.job.value));
  return ForwardTeller(call, *history, *tail).Tell(asked, history->summary().row.created);
}

}  // namespace

extern const JournalQuestion kReadForwards =
    QuestionOf<wire::ReadForwards, Answer>({.who = kOwner});

}  // namespace spate::history
