#include "command/spate/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "present/table/table.h"
#include "present/table/text_width.h"
#include "present/text/end_text.h"
#include "present/text/left_text.h"
#include "present/text/node_note.h"
#include "present/text/pool_words.h"

namespace spate::cli {
namespace {

constexpr const char* kKeysLine =
    "q quit  n nodes  j jobs  p processes  s stop  c cont  k kill  g signal  arrows";
constexpr uint32_t kBarColumns = 10;
// Pools on a screen; `spate pool list` has all.
constexpr size_t kPoolsShown = 6;

// "[####......]  45%"
std::string Bar(const JobCounts& counts) {
  uint64_t done = counts.succeeded, total = std::max<uint64_t>(counts.total, 1);
  uint64_t full = done * kBarColumns / total;
  return fmt::format("[{}{}] {:>3}%", std::string(full, '#'), std::string(kBarColumns - full, '.'),
                     done * 100 / total);
}

std::string EtaOf(const JobGlance& job, double rate) {
  if (job.state != "running") return job.state;
  uint64_t left = job.counts.total - std::min(job.counts.total, job.counts.finished());
  if (rate <= 0 || left == 0) return "-";
  return present::BriefDuration(
      Duration::SecondsF(std::min(static_cast<double>(left) / rate, 1e8)));
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// A table as lines, the first of them its titles.
class TableLines {
 public:
  TableLines(std::vector<present::Column> columns, const TopView::Size& size)
      : table_(std::move(columns), size.columns, size.colour,
               [this](std::string_view text) { text_ += text; }) {}
  void Add(std::vector<present::Cell> cells) { table_.Add(std::move(cells)); }
  std::vector<std::string> Take() {
    table_.Finish();
    return LinesOf(text_);
  }

 private:
  std::string text_;
  present::Table table_;
};

}  // namespace

void TopView::Set(TopFacts snapshot, Instant now) {
  const HubFacts& hub = snapshot.hub;
  if (!has_snapshot_ || hub.life != snapshot_.hub.life) {
    ends_.Start(now);
    ends_from_ = hub.ended;
  }
  ends_.Note(now, hub.ended - ends_from_);
  std::map<JobId, Meter> meters;
  for (const JobGlance& job : snapshot.jobs) {
    uint64_t done = job.counts.finished();
    auto known = meters_.find(job.job);
    bool is_new = known == meters_.end() || done < known->second.from;
    Meter& meter = meters[job.job];
    if (is_new) {
      meter.rate.Start(now);
      meter.from = done;
    } else {
      meter = std::move(known->second);
    }
    meter.rate.Note(now, done - meter.from);
  }
  meters_ = std::move(meters);
  snapshot_ = std::move(snapshot);
  has_snapshot_ = true;
}

void TopView::Press(TopKey key) {
  auto toggle = [this](Show one) {
    show_ = show_ == one ? Show::kBoth : one;
    offset_ = 0;
  };
  switch (key) {
    case TopKey::kQuit:
    case TopKey::kStop:
    case TopKey::kContinue:
    case TopKey::kKill:
    case TopKey::kSignal:
      return;
    case TopKey::kUp:
      offset_ -= std::min<size_t>(offset_, 1);
      return;
    case TopKey::kDown:
      ++offset_;
      return;
    case TopKey::kPageUp:
      offset_ -= std::min(offset_, page_);
      return;
    case TopKey::kPageDown:
      offset_ += page_;
      return;
    case TopKey::kNodes:
      return toggle(Show::kNodes);
    case TopKey::kJobs:
      return toggle(Show::kJobs);
    case TopKey::kProcesses:
      return toggle(Show::kProcesses);
  }
}

void TopView::SetProcesses(const std::vector<NodeProcesses>& answers, Instant now) {
  processes_.Set(answers, now);
  missing_ = MissingText(answers);
}

// The busiest first.
TopView::Lines TopView::Processes(const Size& size) const {
  std::string text;
  WriteProcesses(processes_.In(ProcessOrder::kCpu, /*tree=*/false), size.columns, size.colour,
                 /*users=*/false, /*tree=*/false, [&](std::string_view line) { text += line; });
  Lines lines = LinesOf(text);
  if (lines.empty()) lines = {"no task of yours runs a process", ""};
  for (const std::string& missing : missing_) {
    lines.push_back(present::CutToWidth(missing, size.columns));
  }
  return lines;
}

TopView::Lines TopView::Head(const Size& size, Instant now) const {
  Lines lines;
  const HubFacts& hub = snapshot_.hub;
  if (has_snapshot_) {
    std::string rate = present::BriefRate(ends_.PerSecond(now));
    lines.push_back(fmt::format("hub of spate, life {}, up {}   {}{} ended, {} failed", hub.life,
                                present::BriefDuration(std::max(now - hub.since, Duration())),
                                rate.empty() ? "" : rate + "   ", FormatCount(hub.ended),
                                FormatCount(hub.failed)));
    lines.push_back(
        fmt::format("nodes {} connected, {} away   tasks {} running, {} queued   jobs {}",
                    FormatCount(hub.nodes), FormatCount(hub.away), FormatCount(hub.running),
                    FormatCount(hub.queued), FormatCount(hub.jobs)));
  }
  if (has_snapshot_ && hub.stuck > Duration()) {
    lines.push_back(fmt::format("nothing could be stored for {}: slow disk or locked database",
                                present::BriefDuration(hub.stuck)));
  }
  if (!trouble_.empty()) lines.push_back("the hub is unreachable: " + EscapeForScreen(trouble_));
  for (std::string& line : lines) line = present::CutToWidth(line, size.columns);
  if (!trouble_.empty() && size.colour)
    lines.back() = present::Toned(lines.back(), present::Tone::kBad);
  return lines;
}

TopView::Lines TopView::Pools(const Size& size) const {
  TableLines table({{"POOL", present::Align::kLeft, 8},
                    {"STATE"},
                    {"QUEUED", present::Align::kRight},
                    {"JOINED", present::Align::kRight},
                    {"MAX", present::Align::kRight},
                    {"NODES", present::Align::kRight},
                    {"NOTE", present::Align::kLeft, 4}},
                   size);
  for (const PoolFacts& pool : present::ByGroup(snapshot_.pools)) {
    table.Add({{pool.policy.name},
               {pool.state, pool.state == "on" ? present::Tone::kGood : present::Tone::kDoubtful},
               {FormatCount(pool.queued)},
               {FormatCount(pool.joined)},
               {FormatCount(pool.policy.max_pilots)},
               {FormatCount(pool.nodes)},
               {present::WhyOf(pool)}});
  }
  return table.Take();
}

TopView::Lines TopView::Nodes(const Size& size) const {
  TableLines table({{"NODE", present::Align::kLeft, 8},
                    {"STATE"},
                    {"USED", present::Align::kRight},
                    {"SLOTS", present::Align::kRight},
                    {"TASKS", present::Align::kRight},
                    {"ENDED", present::Align::kRight},
                    {"FAILED", present::Align::kRight},
                    {"NOTE", present::Align::kLeft, 4}},
                   size);
  for (const NodeFacts& node : snapshot_.nodes) {
    present::Tone tone = node.state == "ready" ? present::Tone::kGood : present::Tone::kDoubtful;
    table.Add(
        {{node.name},
         {node.state, tone},
         {fmt::format("{:.0f}%", std::min(node.used, 1.0) * 100)},
         {fmt::format("{}", node.slots)},
         {fmt::format("{}", node.tasks)},
         {FormatCount(node.ended)},
         {FormatCount(node.failed), node.failed > 0 ? present::Tone::kBad : present::Tone::kPlain},
         {present::NodeNote(node)}});
  }
  return table.Take();
}

TopView::Lines TopView::Jobs(const Size& size, Instant now) const {
  TableLines table({{"JOB", present::Align::kRight},
                    {"USER", present::Align::kLeft, 6},
                    {"NAME", present::Align::kLeft, 8},
                    {"DONE"},
                    {"RUNNING", present::Align::kRight},
                    {"QUEUED", present::Align::kRight},
                    {"FAILED", present::Align::kRight},
                    {"RATE", present::Align::kRight},
                    {"ETA", present::Align::kRight}},
                   size);
  for (const JobGlance& job : snapshot_.jobs) {
    auto meter = meters_.find(job.job);
    double rate = meter == meters_.end() ? 0 : meter->second.rate.PerSecond(now);
    uint32_t failed = job.counts.failed + job.counts.unknown;
    table.Add({{fmt::format("{}", job.job.value)},
               {job.user},
               {job.name.value_or("-")},
               {Bar(job.counts)},
               {FormatCount(job.counts.leased)},
               {FormatCount(job.counts.queued)},
               {FormatCount(failed), failed > 0 ? present::Tone::kBad : present::Tone::kPlain},
               {present::BriefRate(rate)},
               {EtaOf(job, rate)}});
  }
  Lines lines = table.Take();
  for (const JobGlance& job : snapshot_.jobs) {
    if (job.left.empty()) continue;
    lines.push_back(EscapeForScreen(
        fmt::format("job {} {}", job.job.value,
                    present::WaitText("waits for processes that its commands left running: ",
                                      present::LeftTextOfAll(job.left)))));
  }
  return lines;
}

// The titles stay where they are.
void TopView::AddList(Lines& screen, Lines list, size_t room, bool scrolled) {
  if (list.empty() || room < 2) return;
  size_t shown = std::min(list.size() - 1, room - 1), first = 0;
  if (scrolled) {
    page_ = std::max<size_t>(shown, 1);
    first = offset_ = std::min(offset_, list.size() - 1 - shown);
  }
  screen.push_back(std::move(list[0]));
  for (size_t i = first; i < first + shown; ++i) screen.push_back(std::move(list[1 + i]));
}

std::vector<std::string> TopView::Draw(const Size& size, Instant now) {
  Lines screen = Head(size, now);
  const bool only_processes = shows_processes();
  Lines pools = show_ == Show::kBoth ? Pools(size) : Lines();
  Lines nodes = show_ == Show::kJobs || only_processes ? Lines() : Nodes(size);
  Lines jobs = only_processes ? Processes(size) : show_ == Show::kNodes ? Lines() : Jobs(size, now);
  bool bounded = size.rows > 0;
  size_t room = nodes.size() + jobs.size(), for_pools = pools.size();
  if (bounded) {
    size_t taken = screen.size() + 3;  // two blank lines, and the keys
    room = size.rows - std::min<size_t>(size.rows, taken);
    // Pools take a quarter at most, with their titles and a blank line.
    for_pools = std::min({for_pools, kPoolsShown + 1, room / 4});
    if (for_pools > 1) room -= for_pools + 1;
  }
  if (for_pools > 1) {
    screen.emplace_back();
    AddList(screen, std::move(pools), for_pools, false);
  }
  // Jobs leave the nodes a third, or what they do not need.
  size_t for_nodes = std::max(room / 3, room - std::min(room, jobs.size()));
  for_nodes = std::min(for_nodes, nodes.size());
  screen.emplace_back();
  AddList(screen, std::move(nodes), for_nodes, show_ == Show::kNodes);
  if (for_nodes > 0 && !jobs.empty()) screen.emplace_back();
  AddList(screen, std::move(jobs), room - for_nodes, show_ != Show::kNodes);
  if (!bounded) return screen;
  screen.resize(size.rows - 1);
  const std::string last = last_line_.empty() ? kKeysLine : last_line_;
  screen.push_back(present::CutToWidth(last, size.columns));
  return screen;
}

}  // namespace spate::cli
