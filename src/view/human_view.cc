#include "view/human_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "present/table/text_width.h"
#include "present/text/end_text.h"
#include "present/text/left_text.h"

namespace spate::cli {
namespace {

constexpr size_t kLeftBehindShown = 5;
constexpr Duration kTickStep = Duration::Millis(100);   // between two bars
constexpr Duration kRedrawStep = Duration::Millis(20);  // while it is away; between two texts
// A run that is over at once needs no bar.
constexpr Duration kBarDelay = Duration::Millis(300);

}  // namespace

std::string EscapeLines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    out += (out.empty() ? "" : "\n") + EscapeForScreen(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

HumanView::HumanView(Screen& screen, ViewTexts texts, Options options)
    : screen_(screen),
      texts_(std::move(texts)),
      options_(std::move(options)),
      writer_(screen_, options_.output, texts_.values),
      bar_on_(options_.bar && !options_.quiet && screen.IsTerminal(Stream::kErr)) {}

void HumanView::OnStart(const RunStart& start) {
  start_ = start;
  started_ = true;
  bar_.done = start.counts.succeeded;
  bar_.ended = start.counts.finished();
  bar_.total = start.counts.total;
  bar_.open = start.open;
  bar_.colour = screen_.Inspect().colour;
  rate_.Start(start.now);
  drawn_ = start.now;
  if (options_.show_output) writer_.OnStart(start.ended);
  if (start.resumed && !options_.quiet) {
    PrintLine(fmt::format("resuming job {}: {} of {} done", start.job.value,
                          FormatCount(start.counts.succeeded),
                          present::CountOf(start.counts.total, "task")));
  }
}

void HumanView::OnLive(const AttemptRef& ref, int stream, std::string_view bytes) {
  if (options_.show_output) writer_.OnLive(ref, stream, bytes);
}

void HumanView::OnEnded(const TaskEnded& ended) {
  totals_.Add(ended.end, ended.verdict);
  const bool final = EndsTask(ended.verdict);
  // After cancelling a task, one need not be told why it did not succeed.
  bool good =
      ended.verdict == engine::Verdict::kSucceeded || ended.verdict == engine::Verdict::kCancelled;
  if (ended.verdict == engine::Verdict::kSucceeded) ++bar_.done;
  if (final) ++bar_.ended;
  if (final && !good) ++bar_.failed;
  if (left_running_.erase(ended.end.ref) > 0) ShowLeftRunning();
  std::string behind = present::LeftBehindText(ended.end);
  if (!behind.empty() && ++left_behind_count_ <= kLeftBehindShown) {
    left_behind_.push_back({ended.end.ref.index, std::move(behind)});
  }
  rate_.Note(ended.now, totals_.ended());
  // The bar goes along with the output.
  if (screen_.bar_visible() && ended.now - made_ >= kRedrawStep) {
    screen_.SetNextBar(BarNow(ended.now));
  }
  if (options_.show_output) writer_.OnEnded(ended);
  if (final && !good) NoteFailure(ended);
}

void HumanView::NoteFailure(const TaskEnded& ended) {
  if (failures_.size() >= kFailuresShown) return;
  TaskIndex index = ended.end.ref.index;
  Failure failure{.index = index};
  failure.verdict = present::FailureVerdict(ended.end, ended.verdict == engine::Verdict::kUnknown);
  failure.rest = present::FailureRest(ended.end, texts_.command(index));
  if (ended.output) {
    failure.error_lines = LastLines(ended.output->err, kErrorLines, kErrorColumns);
  }
  failures_.push_back(std::move(failure));
}

void HumanView::PrintLine(std::string_view line) {
  screen_.WriteLines(Fit(fmt::format("spate: {}\n", line)));
}

std::string HumanView::Fit(std::string text) const {
  if (!screen_.IsTerminal(Stream::kErr)) return text;
  return present::WrapMessage(text, static_cast<size_t>(screen_.Inspect().width));
}

std::string HumanView::TaskText(TaskIndex index) const {
  const std::string name = texts_.name ? texts_.name(index) : "";
  if (name.empty()) return fmt::format("task {}", uint64_t{index} + 1);
  // Selectors of tasks spell it so.
  const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
  return fmt::format("task {}{}", is_number ? "name=" : "", EscapeForScreen(name));
}

void HumanView::SayNews(const News& news) {
  if (const auto* slow = std::get_if<TaskSlow>(&news)) {
    TaskIndex index = slow->ref.index;
    PrintLine(fmt::format(
        "{} runs longer than --warn-time: {}", TaskText(index),
        present::CutTo(EscapeForScreen(texts_.command(index)), present::kCommandColumns)));
  } else if (const auto* exceeded = std::get_if<TaskExceeded>(&news)) {
    const bool stopped = exceeded->excess.done == OnExcess::kStop;
    PrintLine(fmt::format(
        "{} {}{}", TaskText(exceeded->ref.index), TextOf(exceeded->excess),
        stopped ? fmt::format("; it is stopped; to continue: spate job cont {}.{}",
                              exceeded->ref.job.value, uint64_t{exceeded->ref.index} + 1)
                : ""));
  } else if (const auto* held = std::get_if<HoldNews>(&news)) {
    std::string tasks = present::CountOf(held->running, "task");
    std::string waits = held->running == 0 ? ""
                        : held->ending     ? fmt::format("; terminating {}", tasks)
                                           : fmt::format("; {} still running", tasks);
    bool may_end = held->running > 0 && !held->ending;
    switch (held->reason) {
      case engine::HoldReason::kUser:
        if (held->parked) {
          HintContext hints = options_.hints;
          hints.job = start_.job;
          PrintLine(fmt::format("held from another terminal: no tasks start until {}{}",
                                ReleaseCommand(hints), waits));
          break;
        }
        PrintLine(fmt::format("no more tasks start{}{}", waits,
                              may_end ? " (press Ctrl-C again to terminate them)" : ""));
        if (may_end) SayLeftRunning();
        break;
      case engine::HoldReason::kHaltRule:
        PrintLine(fmt::format("--halt: no more tasks start{}", waits));
        break;
      case engine::HoldReason::kMaxFailures:
        PrintLine(fmt::format("--max-failures reached: no more tasks start{}", waits));
        break;
      case engine::HoldReason::kAllFail:
        PrintLine(fmt::format("too many failures in a row without a success: no more tasks start{}",
                              waits));
        break;
      case engine::HoldReason::kDamaged:
        PrintLine(fmt::format("the journal is damaged: no more tasks start{}", waits));
        break;
      case engine::HoldReason::kResults:
        PrintLine(fmt::format("results wait to be taken: no more tasks start{}", waits));
        break;
      case engine::HoldReason::kNone:
        break;
    }
  } else if (const auto* remark = std::get_if<Remark>(&news)) {
    PrintLine(EscapeLines(remark->text));
  }
}

void HumanView::NoteLeftRunning(const TaskLeftRunning& left) {
  if (left.processes.empty()) {
    left_running_.erase(left.ref);
  } else {
    left_running_[left.ref] = left.processes;
  }
  ShowLeftRunning();
  if (left.processes.empty()) return;
  if (bar_on_ || options_.quiet || std::exchange(left_running_said_, true)) return;
  SayLeftRunning();
}

void HumanView::SayLeftRunning() {
  if (left_running_.empty()) return;
  const auto& [ref, what] = *left_running_.begin();
  const std::string text = present::WaitText("has ended but left processes running: ", what,
                                             "; waiting for them (see --leftovers)");
  const size_t others = left_running_.size() - 1;
  PrintLine(fmt::format(
      "{} {}{}", TaskText(ref.index), EscapeForScreen(text),
      others > 0 ? fmt::format(" (and {})", present::CountOf(others, "other task")) : ""));
}

void HumanView::ShowLeftRunning() {
  bar_.left = left_running_.empty() ? "" : left_running_.begin()->second;
  if (left_running_.size() > 1) {
    bar_.left += fmt::format(" and {}", present::CountOf(left_running_.size() - 1, "other task"));
  }
}

void HumanView::OnNews(const News& news, Instant now) {
  if (std::holds_alternative<PaceBegins>(news)) return rate_.Start(now, totals_.ended());
  if (const auto* left = std::get_if<TaskLeftRunning>(&news)) return NoteLeftRunning(*left);
  if (const auto* total = std::get_if<TotalChanged>(&news)) {
    bar_.total = total->total;
    bar_.open = total->open;
  } else if (const auto* paused = std::get_if<StartsPaused>(&news)) {
    // On a terminal the bar shows it; elsewhere it is said once.
    if (!bar_on_ && !options_.quiet && !paused->reason.empty() && bar_.pause.empty()) {
      PrintLine(fmt::format("no tasks start for now: {}", EscapeForScreen(paused->reason)));
    }
    bar_.pause = paused->reason;
  } else if (const auto* held = std::get_if<HoldNews>(&news); held != nullptr && held->parked) {
    bar_.pause = "held";
  }
  if (const auto* held = std::get_if<HoldNews>(&news)) held_ = held->reason;
  const auto* remark = std::get_if<Remark>(&news);
  if (options_.quiet && !(remark && remark->is_error)) return;
  SayNews(news);
}

void HumanView::Tick(Instant now, uint32_t running) {
  bar_.running = running;
  if (!bar_on_) return SayProgress(now);
  if (!started_ || now - start_.now < kBarDelay) return;
  if (now - drawn_ < (screen_.bar_visible() ? kTickStep : kRedrawStep)) return;
  DrawNow(now);
}

void HumanView::SayProgress(Instant now) {
  if (!options_.bar || options_.quiet || !started_ || now - start_.now < said_at_) return;
  while (said_at_ <= now - start_.now) said_at_ = said_at_ * 2;
  // A single task says for itself how far it is.
  if (bar_.total <= 1 || (!bar_.open && bar_.ended >= bar_.total)) return;
  bar_.rate = rate_.PerSecond(now);
  PrintLine(ProgressLine(bar_));
}

std::string HumanView::BarNow(Instant now) {
  made_ = now;
  bar_.rate = rate_.PerSecond(now);
  return DrawBar(bar_, screen_.Inspect().width);
}

void HumanView::DrawNow(Instant now) {
  screen_.ShowBar(BarNow(now));
  drawn_ = now;
}

std::string HumanView::Bad(std::string_view text) const {
  return screen_.Inspect().colour ? fmt::format("\x1b[31m{}\x1b[0m", text) : std::string(text);
}

void HumanView::SayFailures(const RunFinish& finish) {
  if (failures_.empty()) return;
  std::sort(failures_.begin(), failures_.end(),
            [](const Failure& a, const Failure& b) { return a.index < b.index; });
  uint32_t count = totals_.failed + totals_.unknown;
  std::vector<std::string> places(failures_.size());
  if (texts_.places) {
    std::vector<TaskIndex> indices;
    for (const Failure& failure : failures_) indices.push_back(failure.index);
    places = texts_.places(indices);
  }
  // With --quiet each is a line by itself.
  const std::string_view begin = options_.quiet ? "spate: " : "  ";
  std::string text;
  if (!options_.quiet) {
    text = fmt::format("spate: {}:\n", Bad(present::CountOf(count, "task") + " failed"));
  }
  for (size_t i = 0; i < failures_.size(); ++i) {
    const Failure& failure = failures_[i];
    std::string place = places[i].empty() ? "" : fmt::format(" ({})", places[i]);
    text += fmt::format("{}{}{}: {}{}\n", begin, TaskText(failure.index), place,
                        Bad(failure.verdict), failure.rest);
    // The only task of a run has said it just now.
    if (finish.counts.total <= 1 || options_.quiet) continue;
    for (const std::string& line : failure.error_lines) text += fmt::format("      {}\n", line);
  }
  if (count > failures_.size()) {
    HintContext hints = options_.hints;
    hints.job = start_.job;
    text += fmt::format("{}and {} more: {}\n", begin, FormatCount(count - failures_.size()),
                        FailedTasksCommand(hints));
  }
  screen_.Write(Stream::kErr, text);
}

void HumanView::SayLeftBehind() {
  if (left_behind_.empty()) return;
  std::string text = fmt::format("spate: {} left processes running, which were terminated:\n",
                                 present::CountOf(left_behind_count_, "task"));
  for (const LeftBehind& one : left_behind_) {
    text += fmt::format("  {}: {}\n", TaskText(one.index), EscapeForScreen(one.processes));
  }
  if (left_behind_count_ > left_behind_.size()) {
    text += fmt::format("  and {} more\n", FormatCount(left_behind_count_ - left_behind_.size()));
  }
  screen_.Write(Stream::kErr, text);
}

void HumanView::OnFinish(const RunFinish& finish) {
  screen_.EraseBar();
  if (finish.how == RunEnd::kOutputClosed) return;
  if (options_.show_output) writer_.OnFinish();
  SayFailures(finish);
  if (options_.quiet) return;
  SayLeftBehind();
  // A hub's job goes on: it has no sum yet, and who goes away says so.
  if (options_.hints.on_hub && finish.how == RunEnd::kInterrupted) return;
  std::string text =
      fmt::format("spate: {}\n", SummaryLine(totals_, finish.counts, start_.counts,
                                             finish.now - start_.now, screen_.Inspect().colour));
  HintContext hints = options_.hints;
  hints.job = start_.job;
  hints.held = held_;
  text += BlameText(hints, finish.counts, finish.blamed);
  text += Hints(hints, finish.counts, finish.how);
  screen_.Write(Stream::kErr, Fit(std::move(text)));
}

}  // namespace spate::cli
