// The log of GNU parallel's --joblog: one line for each task that has ended, in nine columns
// (Seq Host Starttime JobRuntime Send Receive Exitval Signal Command), one write each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/fd.h"
#include "view/run_view.h"

namespace spate::cli {

// The line, with its newline. Newlines in the command become NUL bytes, as in parallel.
std::string JoblogLine(const AttemptEnd& end, std::string_view command);
// Exitval and Signal as parallel would have them; never 0 and 0 for a task that failed.
std::pair<int, int> JoblogStatus(const AttemptEnd& end);

// The file that --joblog names: FILE, or +FILE; empty: none.
std::string JoblogPath(const std::string& cwd, std::string_view option);
// Checks the file of a --resume that found no run to resume. kInvalid: it has tasks, of GNU
// parallel or of a run whose state is gone, and would be emptied.
Status CheckNoRows(const std::string& path);

// The tasks of `ended` that have no line in the file: a kill can come between an end and its line.
// A missing file has none; an unfinished last line does not count.
Result<std::vector<TaskRange>> MissingInJoblog(const std::string& path,
                                               const std::vector<TaskRange>& ended);

class Joblog final : public RunView {
 public:
  // Appending cuts off an unfinished last line, and writes the header into an empty file only.
  static Result<std::unique_ptr<Joblog>> Open(std::string path, bool append,
                                              std::function<std::string(TaskIndex)> command,
                                              std::function<void(const Error&)> on_broken);

  void OnStart(const RunStart&) override {}
  void OnEnded(const TaskEnded& ended) override;
  void OnLive(const AttemptRef&, int, std::string_view) override {}
  void OnNews(const News&, Instant) override {}
  void Tick(Instant, uint32_t) override {}
  void OnFinish(const RunFinish&) override {}

 private:
  Joblog() = default;
  std::string path_;
  os::Fd file_;
  std::function<std::string(TaskIndex)> command_;
  std::function<void(const Error&)> on_broken_;
  bool broken_ = false;
};

}  // namespace spate::cli
