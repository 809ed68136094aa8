// The tree of GNU parallel's --results: DIR/1/VALUE/2/VALUE/{seq,stdout,stderr}. A line of a job
// list is its task's one value. With --header the names stand for the numbers, sorted.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "view/run_view.h"

namespace spate::cli {

// "1/a\_b/2/x": the folder of a task below DIR. `columns`: values of one record, 0 for all; each
// further record begins again at 1. Slash, backslash, tab and NUL are written as \_ \\ \t \0, and
// a name is cut at 255 bytes.
std::string ResultsFolder(const std::vector<std::string>& values,
                          const std::vector<std::string>& names, uint32_t columns);

class ResultsTree final : public RunView {
 public:
  struct Options {
    std::string dir;
    std::vector<std::string> value_names;
    uint32_t columns = 0;
    bool append = false;  // tasks with the same folder add to its files; `seq` has a line for each
  };
  // Makes `dir`, so that a wrong name is found before anything runs.
  static Result<std::unique_ptr<ResultsTree>> Open(
      Options options, std::function<std::vector<std::string>(TaskIndex)> values,
      std::function<void(const Error&)> on_broken);

  void OnStart(const RunStart&) override {}
  void OnEnded(const TaskEnded& ended) override;
  void OnLive(const AttemptRef&, int, std::string_view) override {}
  void OnNews(const News&, Instant) override {}
  void Tick(Instant, uint32_t) override {}
  void OnFinish(const RunFinish&) override {}

 private:
  ResultsTree() = default;
  Status WriteTask(const TaskEnded& ended);

  Options options_;
  std::function<std::vector<std::string>(TaskIndex)> values_;
  std::function<void(const Error&)> on_broken_;
  bool broken_ = false;
};

}  // namespace spate::cli
