// A journal that nobody has damaged is sound, as `spate state check` sees it, after each life; so
// no job is excluded at the next start.
#include "sim/check.h"

namespace spate::sim {
namespace {

class JournalCheck final : public Checker {
 public:
  const char* name() const override { return "journal"; }

  void Observe(const Scene&, const Fact& fact, Findings& findings) override {
    const auto* checked = std::get_if<JournalChecked>(&fact);
    if (checked == nullptr) return;
    for (const std::string& problem : checked->check->all.problems) findings.Add(name(), problem);
    for (const std::string& problem : checked->check->pools) findings.Add(name(), problem);
    for (const auto& [job, problems] : checked->check->jobs) findings.Add(name(), problems.front());
  }
};

}  // namespace

std::unique_ptr<Checker> MakeJournalCheck() { return std::make_unique<JournalCheck>(); }

}  // namespace spate::sim
