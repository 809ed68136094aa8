#include "doors/parasol/hub/para_reader.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <span>

#include "base/number.h"
#include "doors/parasol/formats/results.h"
#include "doors/parasol/row/parasol_id.h"
#include "doors/parasol/row/parasol_row.h"
#include "doors/parasol/site/node_report.h"
#include "store/sqlite/history.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/row_reader.h"
#include "store/sqlite/tail.h"

namespace spate::parasol {
namespace {

constexpr size_t kEndsAtOnce = 4096;
constexpr size_t kTextAtOnce = 256 << 10;
constexpr const char* kTempDir = "/tmp";  // of a node that is not known any more

// Not that of a job which had none of its own: its node was lost, or it was removed.
bool HasStatus(Cause cause) { return cause != Cause::kNode && cause != Cause::kStopped; }

int64_t SecondsOf(Instant when) { return when.ns / 1'000'000'000; }
uint64_t TicksOf(Duration time) { return static_cast<uint64_t>(time.ns / 10'000'000); }

class Results {
 public:
  Results(store::Tail tail, store::History history, JobId job, std::string db_path,
          std::map<std::string, std::string> temp_dirs)
      : tail_(std::move(tail)),
        history_(std::move(history)),
        job_(job),
        rows_(std::move(db_path)),
        temp_dirs_(std::move(temp_dirs)) {}
  Status Print(uint64_t after, const PrintAnswer& print);

 private:
  Status Add(const engine::AttemptEnded& ended);
  Result<std::string> NodeName(NodeId node);

  store::Tail tail_;
  store::History history_;
  const JobId job_;
  store::RowReader rows_;
  const std::map<std::string, std::string> temp_dirs_;
  std::map<NodeId, std::string> names_;
  std::string text_;
};

Result<std::string> Results::NodeName(NodeId node) {
  auto at = names_.find(node);
  if (at != names_.end()) return at->second;
  auto name = history_.NodeName(node);
  if (name) names_[node] = *name;
  return name;
}

Status Results::Add(const engine::AttemptEnded& ended) {
  const AttemptEnd& end = ended.end;
  if (!HasStatus(end.cause) || ended.verdict == engine::Verdict::kRetry) return {};
  auto text = rows_.Row(job_, end.ref.index);
  if (!text) return std::unexpected(text.error());
  auto row = ReadParasolRow(*text);
  if (!row) return std::unexpected(row.error());
  auto host = NodeName(ended.node);
  if (!host) return std::unexpected(host.error());
  ParasolEnd line;
  line.status = WaitStatusOf(end.cause, end.status);
  line.host = *host;
  line.id = fmt::format("{}", ParasolId(job_, end.ref.index));
  line.command = ParasolCommand(row->text);
  line.program = ProgramOf(line.command);
  line.user_ticks = TicksOf(end.user);
  line.system_ticks = TicksOf(end.system);
  line.submitted = row->submitted;
  line.started = SecondsOf(end.start);
  line.ended = SecondsOf(end.start + end.wall);
  line.user = history_.summary().row.user;
  auto temp = temp_dirs_.find(*host);
  line.err_file =
      fmt::format("{}/para{}.err", temp == temp_dirs_.end() ? kTempDir : temp->second, line.id);
  text_ += ResultsLine(line);
  return {};
}

Status Results::Print(uint64_t after, const PrintAnswer& print) {
  for (bool more = true; more;) {
    auto news = tail_.Read(after, kEndsAtOnce);
    if (!news) return std::unexpected(news.error());
    for (const store::Tail::End& end : news->ends) {
      if (auto added = Add(end.attempt.record); !added) return added;
    }
    after = std::max(after, news->seq);
    more = news->more;
    if (text_.size() < kTextAtOnce && more) continue;
    print(1, std::exchange(text_, {}));
  }
  print(2, fmt::format("{} {}\n", after, history_.summary().row.created.ns));
  return {};
}

// TASK JOB SECONDS of each task from `first` up to `last`.
Status PrintRows(JobId job, const std::string& db_path, uint64_t first, uint64_t last,
                 const PrintAnswer& print) {
  store::RowReader rows(db_path);
  std::string text;
  for (uint64_t task = first; task < last; ++task) {
    auto bytes = rows.Row(job, static_cast<TaskIndex>(task));
    if (!bytes) return std::unexpected(bytes.error());
    auto row = ReadParasolRow(*bytes);
    if (!row) return std::unexpected(row.error());
    text += fmt::format("{} {} {}\n", task, row->job, row->submitted);
    if (text.size() >= kTextAtOnce) print(1, std::exchange(text, {}));
  }
  print(1, text);
  return {};
}

}  // namespace

Status AnswerPara(const std::string& hub_dir, const std::vector<std::string>& argv,
                  const PrintAnswer& print) {
  auto number = [&](size_t at) {
    return at < argv.size() ? ReadNumber<int64_t>(argv[at]) : std::nullopt;
  };
  auto job_number = number(2);
  auto from = number(3);
  auto to = number(4);
  bool rows = argv.size() > 1 && argv[1] == "rows";
  if (!job_number || !from || !to || (!rows && argv[1] != "results")) {
    return Fail(ErrorKind::kInvalid, "a wrong question of para");
  }
  JobId job(static_cast<uint32_t>(*job_number));
  std::string db_path = store::JournalPlace{hub_dir, true}.DbPath();
  auto after = static_cast<uint64_t>(*from);
  if (rows) return PrintRows(job, db_path, after, static_cast<uint64_t>(*to), print);
  auto history = store::History::Open(store::JobPlace::Hub(hub_dir), job.value);
  if (!history) return std::unexpected(history.error());
  auto tail = store::Tail::Open(hub_dir, job);
  if (!tail) return std::unexpected(tail.error());
  std::map<std::string, std::string> temp_dirs;
  for (const std::string& word : std::span(argv).subspan(5)) {
    size_t equals = word.find('=');
    if (equals != std::string::npos) temp_dirs[word.substr(0, equals)] = word.substr(equals + 1);
  }
  // The place is that of another job, or of none.
  if (history->summary().row.created.ns != *to) after = 0;
  Results results(std::move(*tail), std::move(*history), job, db_path, std::move(temp_dirs));
  return results.Print(after, print);
}

}  // namespace spate::parasol
