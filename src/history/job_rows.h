// Rows of one job, as far as the viewer may see them.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "format/expand.h"
#include "history/question.h"
#include "history/source.h"
#include "store/history.h"

namespace spate::history {

// One answer is a message: its rows, and the bytes of their texts.
inline constexpr size_t kRowsAtOnce = 1024;
inline constexpr size_t kRowTexts = 1 << 20;

inline bool IsNotThere(const Error& error) { return error.kind == ErrorKind::kNotFound; }

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

}  // namespace spate::history
