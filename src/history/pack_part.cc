#include "history/pack_part.h"

#include <algorithm>
#include <utility>

#include "core/model/limits.h"

namespace spate::history {

namespace {

// With the ranks that the part had, and without any of a task that is no gang.
format::RowRun RunOf(const AttemptEnd& end) {
  format::RowRun run{.index = end.ref.index, .slot = end.slot};
  if (!IsOfGang(end)) return run;
  run.first_rank = end.processes.front().rank;
  for (const ProcessEnd& process : end.processes) {
    // A node's word, and each rank has names of files.
    const uint32_t nth = process.rank - run.first_rank;
    if (process.rank < run.first_rank || nth >= kLimits.gang_procs) continue;
    run.ranks = std::max(run.ranks, nth + 1);
  }
  return run;
}

}  // namespace

PackPart::PackPart(TaskTexts& texts, const store::AttemptEntry& attempt, Of part,
                   std::function<void(std::string_view)> put)
    : part_(part),
      put_(std::move(put)),
      pack_({.begin = [this](const PackedFile& file) { return Begin(file); },
             .bytes = [this](std::string_view bytes) -> Status {
               if (passes_) put_(bytes);
               return {};
             },
             .end = []() -> Status { return {}; }}) {
  const AttemptEnd& end = attempt.record.end;
  auto body = texts.Body(RunOf(end));
  if (!body) return;
  names_.insert(body->gets.begin(), body->gets.end());
  if (end.cause != Cause::kSuccess) return;
  for (const TaskForward& forward : body->forwards) names_.insert("/" + forward.to);
}

Status PackPart::Begin(const PackedFile& file) {
  if (!names_.contains(file.name)) {
    return Fail(ErrorKind::kCorrupt, "a file that was not requested is not written");
  }
  passes_ = IsForward(file) == (part_ == Of::kForwards);
  if (!passes_) return {};
  std::string head;
  AppendPackedFile(head, file);
  put_(head);
  return {};
}

void PackPart::Feed(std::string_view bytes) {
  if (status_) status_ = pack_.Feed(bytes);
}

Status PackPart::Finish() const {
  if (!status_ || pack_.whole()) return status_;
  return Fail(ErrorKind::kCorrupt, "its files are not whole");
}

}  // namespace spate::history
