// The human and the quiet form: the tasks' output on the screen, and a line for each failed task at
// the end; human also has a bar, remarks, what failed tasks wrote to stderr once more, one summary
// line, and what to type next.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "view/bar.h"
#include "view/bar_screen.h"
#include "view/output_writer.h"
#include "view/run_view.h"
#include "view/summary.h"

namespace spate::cli {

// EscapeForScreen, line by line.
std::string EscapeLines(std::string_view text);

class HumanView final : public RunView {
 public:
  struct Options {
    bool quiet = false;       // the tasks' output, their failures, errors of ours
    bool bar = true;          // where standard error is a terminal; elsewhere lines in its place
    bool show_output = true;  // false with --results
    OutputWriter::Options output;
    HintContext hints;
  };
  HumanView(Screen& screen, ViewTexts texts, Options options);

  void OnStart(const RunStart& start) override;
  void OnEnded(const TaskEnded& ended) override;
  void OnLive(const AttemptRef& ref, int stream, std::string_view bytes) override;
  void OnNews(const News& news, Instant now) override;
  void Tick(Instant now, uint32_t running) override;
  void OnFinish(const RunFinish& finish) override;

 private:
  static constexpr Duration kFirstProgress = Duration::Seconds(10);
  struct Failure {
    TaskIndex index = 0;
    std::string verdict;  // "exit code 3"
    std::string rest;     // " after 1.2 s, attempt 2: CMD"
    std::vector<std::string> error_lines;
  };

  void PrintLine(std::string_view line);
  std::string Fit(std::string text) const;  // on a terminal, in lines that fit
  void NoteFailure(const TaskEnded& ended);
  // Reports processes that tasks left behind, and that were ended.
  void SayLeftBehind();
  void NoteLeftRunning(const TaskLeftRunning& left);
  void ShowLeftRunning();
  // Reports the first task of left_running_, and counts the others.
  void SayLeftRunning();
  void SayFailures(const RunFinish& finish);
  std::string Bad(std::string_view text) const;  // in the colour of failures, where there is one
  void SayNews(const News& news);
  void DrawNow(Instant now);
  // In a log: a line after ten seconds, then each time that the run has lasted twice as long.
  void SayProgress(Instant now);
  std::string BarNow(Instant now);
  // "task 12", or of one that has a name "task NAME".
  std::string TaskText(TaskIndex index) const;

  BarScreen screen_;
  const ViewTexts texts_;
  const Options options_;
  OutputWriter writer_;
  RunStart start_;
  RunTotals totals_;
  std::vector<Failure> failures_;  // the first kFailuresShown
  struct LeftBehind {
    TaskIndex index = 0;
    std::string processes;  // "sleep (pid 12)"
  };
  std::vector<LeftBehind> left_behind_;  // the first few
  uint32_t left_behind_count_ = 0;
  std::map<AttemptRef, std::string> left_running_;  // what is waited for
  bool left_running_said_ = false;
  BarState bar_;
  engine::HoldReason held_ = engine::HoldReason::kNone;
  RateMeter rate_;
  Instant drawn_;                      // when the bar was drawn last
  Instant made_;                       // when its text was made last
  Duration said_at_ = kFirstProgress;  // of the run; SayProgress then speaks next
  bool bar_on_ = false;
  bool started_ = false;
};

}  // namespace spate::cli
