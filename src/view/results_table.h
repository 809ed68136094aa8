// The table of GNU parallel's --results FILE.csv, .tsv or .json: a row for each task that has
// ended, with what it wrote.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/fd.h"
#include "view/run_view.h"

namespace spate::cli {

enum class TableForm : uint8_t { kCsv, kTsv, kJson };
// By the end of the name; nothing for a folder.
std::optional<TableForm> TableFormOf(std::string_view name);

// The tasks of `ended` that have no row in the file; cuts off an unfinished last row. A missing
// file has none.
Result<std::vector<TaskRange>> MissingInTable(const std::string& path,
                                              const std::vector<TaskRange>& ended);

class ResultsTable final : public RunView {
 public:
  // Appending writes a header into an empty file only.
  static Result<std::unique_ptr<ResultsTable>> Open(std::string path, bool append, ViewTexts texts,
                                                    std::function<void(const Error&)> on_broken);

  void OnStart(const RunStart&) override {}
  void OnEnded(const TaskEnded& ended) override;
  void OnLive(const AttemptRef&, int, std::string_view) override {}
  void OnNews(const News&, Instant) override {}
  void Tick(Instant, uint32_t) override {}
  void OnFinish(const RunFinish&) override {}

 private:
  ResultsTable() = default;
  Status WriteRow(const TaskEnded& ended);
  Status WriteCells(const TaskEnded& ended);
  Status WriteObject(const TaskEnded& ended);
  Status WriteField(std::string_view key, const OutputStream* stream);
  Status WriteStream(const OutputStream* stream);
  Status Flush(size_t most);

  std::string path_;
  TableForm form_ = TableForm::kCsv;
  os::Fd file_;
  std::string row_;     // what is not written yet
  bool fresh_ = false;  // no header yet
  ViewTexts texts_;
  std::function<void(const Error&)> on_broken_;
  bool broken_ = false;
};

}  // namespace spate::cli
