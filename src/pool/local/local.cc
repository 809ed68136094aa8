#include "pool/local/local.h"

#include "pool/parts.h"
#include "pool/process.h"

namespace spate::pool {
namespace {

constexpr std::string_view kPerhaps[] = {"is being started"};

CommandLine ShellCall(std::string script) {
  CommandLine call;
  call.argv = {"sh", "-s"};
  call.input = std::move(script);
  return call;
}

class Local : public PoolDriver {
 public:
  Result<CommandLine> Submit(const PilotSpec& spec) const override {
    PilotSpec here = spec;
    here.shared_files = true;  // with this machine
    TRY(CheckProcessSpec("local", here));
    return ShellCall(StartScript("local", here));
  }
  Submitted ReadSubmit(const Outcome& outcome) const override {
    return ReadId("sh", outcome, ReadStarted(outcome.out), {{}, {}, kPerhaps});
  }
  CommandLine Query(const PilotQuery& query) const override { return ShellCall(ListScript(query)); }
  Result<std::vector<ListedPilot>> ReadQuery(const PilotQuery& query,
                                             const Outcome& outcome) const override {
    return ReadListed("sh", query, outcome);
  }
  CommandLine Cancel(std::span<const std::string> ids) const override {
    return ShellCall(StopScript(ids));
  }
  std::optional<CommandLine> Test(const PilotSpec&) const override { return std::nullopt; }
};

}  // namespace

std::unique_ptr<PoolDriver> MakeLocal(Tools) { return std::make_unique<Local>(); }

}  // namespace spate::pool
