// Rows of tasks, ends of attempts in their order, and totals of jobs: for programs that show them
// in their own forms.
#include <algorithm>
#include <map>
#include <utility>

#include "history/call.h"

namespace spate::history {
namespace {

// One answer is a message: its rows, and the bytes of their texts.
constexpr size_t kRowsAtOnce = 1024;
constexpr size_t kRowTexts = 1 << 20;
constexpr size_t kMostRowCommand = 4 << 20;

bool IsNotThere(const Error& error) { return error.kind == ErrorKind::kNotFound; }

// Rows of one job, as far as the viewer may see them.
class JobRows {
 public:
  static Result<JobRows> Open(const Source& source, JobId job, std::optional<RowKind> whole);
  Result<RowFacts> Facts(store::HistoryIndex& rows, TaskIndex index) const;

  const store::JobRow& row() const { return row_; }
  RowKind kind() const { return settings_.row_kind; }
  bool hidden() const { return hidden_; }
  std::optional<std::string> Name() const {
    return hidden_ ? std::nullopt : std::optional(store::NameOf(row_));
  }

 private:
  JobId job_;
  store::JobRow row_;
  JobSettings settings_;
  bool hidden_ = false;
  bool whole_ = false;
  std::optional<format::CompiledJob> compiled_;
};

Result<JobRows> JobRows::Open(const Source& source, JobId job, std::optional<RowKind> whole) {
  auto summary = TRY(source.history->Summarize(job.value));
  JobRows rows;
  rows.job_ = job;
  rows.row_ = std::move(summary.row);
  auto settings = TRY(source.settings(rows.row_));
  rows.settings_ = std::move(settings);
  const format::RowDialect* dialect = source.dialects.Find(rows.kind());
  bool is_public = dialect != nullptr && dialect->ArePublic();
  rows.hidden_ = !is_public && !source.MaySee(rows.row_);
  rows.whole_ = whole == rows.kind();
  if (auto compiled = source.dialects.Compile(rows.settings_, job)) {
    rows.compiled_ = std::move(*compiled);
  }
  return rows;
}

Result<RowFacts> JobRows::Facts(store::HistoryIndex& rows, TaskIndex index) const {
  auto row = TRY(rows.Row(job_, index));
  RowFacts facts{index, "", ""};
  if (hidden_) return facts;
  if (whole_) {
    facts.row = row;
  } else if (compiled_) {
    facts.command = (*compiled_)->CommandText(row, {.index = index});
    if (facts.command.size() > kMostRowCommand) facts.command.resize(kMostRowCommand);
  }
  return facts;
}

// ---- Rows --------------------------------------------------------------------------------------

// Tells rows, in as many answers as it takes.
class RowTeller {
 public:
  RowTeller(const Asking& call, const wire::ReadRows& asked)
      : call_(call), asked_(asked), index_(call.source.history->index()) {}
  Status Tell(const wire::RangesOfJob& tasks);

 private:
  Result<const JobRows*> Find(JobId job);
  Status Add(wire::RowsRead& answer, RowFacts facts);
  Status Flush(wire::RowsRead& answer);

  const Asking& call_;
  const wire::ReadRows& asked_;
  store::HistoryIndex& index_;
  std::map<JobId, JobRows> jobs_;
  size_t bytes_ = 0;
};

// Null: it is not there.
Result<const JobRows*> RowTeller::Find(JobId id) {
  auto at = jobs_.find(id);
  if (at != jobs_.end()) return &at->second;
  auto job = JobRows::Open(call_.source, id, asked_.whole);
  if (job) return &jobs_.emplace(id, std::move(*job)).first->second;
  if (IsNotThere(job.error())) return nullptr;
  return std::unexpected(std::move(job.error()));
}

Status RowTeller::Flush(wire::RowsRead& answer) {
  bytes_ = 0;
  if (answer.rows.empty()) return {};
  auto put = call_.Put(answer);
  answer.rows.clear();
  return put;
}

Status RowTeller::Add(wire::RowsRead& answer, RowFacts facts) {
  size_t bytes = facts.row.size() + facts.command.size();
  if (answer.rows.size() == kRowsAtOnce || bytes_ + bytes > kRowTexts) {
    TRY(Flush(answer));
  }
  bytes_ += bytes;
  answer.rows.push_back(std::move(facts));
  return {};
}

Status RowTeller::Tell(const wire::RangesOfJob& tasks) {
  auto job = TRY(Find(tasks.job));
  if (job == nullptr) return {};
  wire::RowsRead answer{tasks.job, job->row().user, job->Name(), job->row().created, {}};
  for (const TaskRange& range : tasks.tasks) {
    for (uint32_t i = 0; i < range.count; ++i) {
      auto facts = job->Facts(index_, range.first + i);
      if (!facts && IsNotThere(facts.error())) break;  // nor are those behind it
      if (!facts) return std::unexpected(std::move(facts.error()));
      TRY(Add(answer, std::move(*facts)));
    }
  }
  return Flush(answer);
}

// ---- Ends --------------------------------------------------------------------------------------

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
      TRY(call_.Put(answer));
      answer.ends.clear();
      bytes = 0;
    }
    answer.position = std::max(answer.position, news.seq);
    more = news.more;
    TRY(call_.Put(answer));
    answer.ends.clear();
  }
  return {};
}

// ---- Sums --------------------------------------------------------------------------------------

Result<JobSums> SumsOf(const Source& source, JobId id) {
  auto job = TRY(JobRows::Open(source, id, std::nullopt));
  auto journal = TRY(source.history->Open(id.value));
  auto pace = TRY(journal->Pace());
  JobSums sums;
  sums.job = id;
  sums.user = job.row().user;
  sums.name = job.Name();
  if (!job.hidden()) sums.cwd = job.row().cwd;
  sums.row_kind = job.kind();
  sums.counts = job.row().counts;
  sums.weight = pace.policy.weight;
  sums.max_running = pace.policy.max_running;
  sums.mean_wall = pace.mean_wall;
  return sums;
}

}  // namespace

Status NeedHub(const Source& source) {
  if (source.on_hub()) return {};
  return Fail(ErrorKind::kInvalid, "only a hub can answer this");
}

Status Answer(const Asking& call, const wire::ReadRows& asked) {
  TRY(NeedHub(call.source));
  RowTeller teller(call, asked);
  for (const wire::RangesOfJob& tasks : asked.tasks) {
    TRY(teller.Tell(tasks));
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

Status Answer(const Asking& call, const wire::SumJobs& asked) {
  TRY(NeedHub(call.source));
  for (JobId job : asked.jobs) {
    auto sums = SumsOf(call.source, job);
    if (!sums && IsNotThere(sums.error())) continue;
    if (!sums) return std::unexpected(std::move(sums.error()));
    TRY(call.Put(*sums));
  }
  return {};
}

}  // namespace spate::history
