// Output stays with the attempt that wrote it: in the journal and before the watcher.
#include "sim/check.h"

namespace spate::sim {
namespace {

class OutputCheck final : public Checker {
 public:
  const char* name() const override { return "output"; }

  void See(const Scene&, const Fact& fact, Findings& findings) override {
    if (const auto* over = std::get_if<Over>(&fact)) {
      if (over->output != nullptr) written_[over->ref] = *over->output;
    } else if (const auto* committed = std::get_if<Committed>(&fact)) {
      const auto* ended = std::get_if<engine::AttemptEnded>(committed->record);
      // An end that the engine decided has none, whatever the attempt wrote.
      if (ended == nullptr || (ended->end.slot == 0 && committed->output == nullptr)) return;
      Compare(ended->end.ref, committed->output, "the journal's", findings);
    } else if (const auto* told = std::get_if<Told>(&fact)) {
      if (told->notice->end.slot == 0 && told->output == nullptr) return;
      Compare(told->notice->end.ref, told->output, "the watcher's", findings);
    }
  }

 private:
  void Compare(const AttemptRef& ref, const TaskOutput* output, const char* whose,
               Findings& findings) {
    auto it = written_.find(ref);
    if (Same(it == written_.end() ? nullptr : &it->second, output)) return;
    findings.Add(name(),
                 std::string(whose) + " output of " + NameOf(ref) + " is not what it wrote");
  }

  std::map<AttemptRef, TaskOutput> written_;
};

}  // namespace

std::unique_ptr<Checker> MakeOutputCheck() { return std::make_unique<OutputCheck>(); }

}  // namespace spate::sim
