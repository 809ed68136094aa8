// The json form: one object a line on standard output (docs/formats/json.md). Fields are never
// renamed or removed within a version; new ones may come.
#pragma once

#include <string>
#include <string_view>

#include "present/json/json_line.h"
#include "view/run_view.h"
#include "view/summary.h"

namespace spate::cli {

// The use and output of an attempt: fields from `slot` to `not_kept`, with these names for its
// processor time.
void AddEndFields(present::JsonLine& line, const AttemptEnd& end, std::string_view user = "user",
                  std::string_view system = "system");

class JsonView final : public RunView {
 public:
  struct Options {
    bool show_output = true;   // false with --results
    bool tag = false;          // --tag or --tagstring
    std::string spill_folder;  // for the escaped form of long output
    HintContext hints;
  };
  JsonView(Screen& screen, ViewTexts texts, Options options)
      : screen_(screen), texts_(std::move(texts)), options_(std::move(options)) {}

  void OnStart(const RunStart& start) override;
  void OnEnded(const TaskEnded& ended) override;
  void OnLive(const AttemptRef&, int, std::string_view) override {}
  void OnNews(const News& news, Instant now) override;
  void Tick(Instant, uint32_t) override {}
  void OnFinish(const RunFinish& finish) override;

 private:
  void WriteLine(const present::JsonLine& line);
  // Adds the field NAME (text) or NAME_base64. A long one is not held in memory: what the line has
  // so far is written, then the field.
  void WriteStream(present::JsonLine& line, std::string_view name, const OutputStream& stream);

  Screen& screen_;
  const ViewTexts texts_;
  const Options options_;
  RunStart start_;
  RunTotals totals_;
  engine::HoldReason held_ = engine::HoldReason::kNone;
};

}  // namespace spate::cli
