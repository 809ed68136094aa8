#include "doors/parasol/row/parasol_dialect.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/number.h"
#include "doors/parasol/row/parasol_id.h"
#include "doors/parasol/row/parasol_row.h"
#include "os/environment.h"
#include "os/file.h"

namespace spate::parasol {
namespace {

// The value that the last release of Parasol sets, whatever its version.
constexpr const char* kVersion = "7";
constexpr std::string_view kKeptBefore = "para", kKeptAfter = ".err";

class Reader final : public format::RowReader {
 public:
  explicit Reader(JobId job) : job_(job) {}
  Result<TaskBody> Body(std::string_view row, const format::RowRun& run) const override {
    return ParasolBody(row, job_, run.index);
  }
  std::string CommandText(std::string_view row, const format::RowRun&) const override {
    auto read = ReadParasolRow(row);
    return read ? ParasolCommand(read->text) : std::string(row);
  }

 private:
  const JobId job_;
};

class Dialect final : public format::RowDialect {
 public:
  explicit Dialect(NodeTasks tasks) : tasks_(std::move(tasks)) {}
  Result<format::CompiledJob> Compile(const JobSettings&, JobId job) const override {
    return std::make_shared<Reader>(job);
  }
  format::JobAdditions Additions(const JobSettings& settings) const override {
    return {.environment = EnvironmentOf(tasks_, settings.user),
            .umask = tasks_.umask,
            .inherits = true,
            .keeps_stderr = true};
  }
  bool ArePublic() const override { return true; }

 private:
  const NodeTasks tasks_;
};

}  // namespace

std::vector<std::string> EnvironmentOf(const NodeTasks& tasks, const std::string& user) {
  std::vector<std::string> environment = {fmt::format("PARASOL={}", kVersion), "HOST=" + tasks.host,
                                          "USER=" + user};
  std::string search;
  auto add = [&](const std::string& part) {
    if (!search.empty()) search += ':';
    search += part;
  };
  if (auto account = tasks.account(user)) {
    environment.push_back("HOME=" + account->home);
    for (const std::string& part : tasks.user_path) add(os::JoinPath(account->home, part));
  }
  for (const std::string& part : tasks.sys_path) add(part);
  if (!search.empty()) {
    if (auto path = os::Environment::OfProcess().Get("PATH")) add(*path);
    environment.push_back("PATH=" + search);
  }
  for (const std::string& variable : tasks.environment) environment.push_back(variable);
  return environment;
}

std::string KeptName(JobId job, TaskIndex task) {
  return fmt::format("{}{}{}", kKeptBefore, ParasolId(job, task), kKeptAfter);
}

bool IsKeptName(std::string_view name) {
  if (!name.starts_with(kKeptBefore) || !name.ends_with(kKeptAfter)) return false;
  if (name.size() <= kKeptBefore.size() + kKeptAfter.size()) return false;
  name.remove_prefix(kKeptBefore.size());
  name.remove_suffix(kKeptAfter.size());
  return ReadNumber<uint64_t>(name).has_value();
}

void AddDialect(format::Dialects& dialects, NodeTasks tasks) {
  dialects.Add(RowKind::kParasol, std::make_shared<Dialect>(std::move(tasks)));
}

}  // namespace spate::parasol
