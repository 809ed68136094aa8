// Puts together the views that the options ask for: one for the screen, one for --joblog, one for
// --results. The files come first, so that a task which is on the screen is in them as well.
#include <utility>

#include "os/file.h"
#include "view/human_view.h"
#include "view/joblog.h"
#include "view/json_view.h"
#include "view/results_table.h"
#include "view/results_tree.h"
#include "view/run_view.h"

namespace spate::cli {
namespace {

class SeveralViews final : public RunView {
 public:
  explicit SeveralViews(std::vector<std::unique_ptr<RunView>> views) : views_(std::move(views)) {}
  void OnStart(const RunStart& start) override {
    for (auto& view : views_) view->OnStart(start);
  }
  void OnEnded(const TaskEnded& ended) override {
    for (auto& view : views_) view->OnEnded(ended);
  }
  void OnLive(const AttemptRef& ref, int stream, std::string_view bytes) override {
    for (auto& view : views_) view->OnLive(ref, stream, bytes);
  }
  void OnNews(const News& news, Instant now) override {
    for (auto& view : views_) view->OnNews(news, now);
  }
  void Tick(Instant now, uint32_t running) override {
    for (auto& view : views_) view->Tick(now, running);
  }
  void OnFinish(const RunFinish& finish) override {
    for (auto& view : views_) view->OnFinish(finish);
  }

 private:
  std::vector<std::unique_ptr<RunView>> views_;
};

std::unique_ptr<RunView> ScreenView(ViewParts& parts) {
  HintContext hints{.job = {},
                    .state_dir = parts.state_dir,
                    .beside_hub = parts.beside_hub,
                    .on_hub = parts.on_hub,
                    .reach = parts.reach,
                    .files = parts.files};
  bool show_output = parts.show.results_dir.empty();
  if (parts.show.form == OutputForm::kJson) {
    return std::make_unique<JsonView>(parts.screen, parts.texts,
                                      JsonView::Options{.show_output = show_output,
                                                        .tag = parts.show.tag,
                                                        .spill_folder = parts.spill_folder,
                                                        .hints = hints});
  }
  HumanView::Options options{
      .quiet = parts.show.form == OutputForm::kQuiet,
      .bar = parts.show.bar,
      .show_output = show_output,
      .output = {.keep_order = parts.show.keep_order,
                 .tag = parts.show.tag,
                 .tag_text = parts.texts.tag,
                 .line_buffer = parts.show.line_buffer,
                 .spill_folder = parts.spill_folder},
      .hints = hints,
  };
  return std::make_unique<HumanView>(parts.screen, parts.texts, std::move(options));
}

}  // namespace

Result<std::unique_ptr<RunView>> MakeRunView(ViewParts parts,
                                             std::function<void(const Error&)> on_broken) {
  std::vector<std::unique_ptr<RunView>> views;
  std::string table = os::JoinPath(parts.cwd, parts.show.results_dir);
  if (TableFormOf(parts.show.results_dir)) {
    auto results = TRY(ResultsTable::Open(table, parts.append_joblog, parts.texts, on_broken));
    views.push_back(std::move(results));
  } else if (!parts.show.results_dir.empty()) {
    auto tree = TRY(ResultsTree::Open({.dir = os::JoinPath(parts.cwd, parts.show.results_dir),
                                       .value_names = parts.value_names,
                                       .columns = parts.columns,
                                       .append = parts.show.append_results},
                                      parts.texts.values, on_broken));
    views.push_back(std::move(tree));
  }
  if (!parts.show.joblog.empty()) {
    bool plus = parts.show.joblog.starts_with('+');
    std::string path = JoblogPath(parts.cwd, parts.show.joblog);
    auto log = TRY(Joblog::Open(path, parts.append_joblog || plus, parts.texts.command, on_broken));
    views.push_back(std::move(log));
  }
  auto screen = ScreenView(parts);
  if (views.empty()) return screen;
  views.push_back(std::move(screen));
  return std::make_unique<SeveralViews>(std::move(views));
}

}  // namespace spate::cli
