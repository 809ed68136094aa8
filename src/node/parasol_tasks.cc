#include "node/parasol_tasks.h"

#include <fmt/format.h>

#include "base/units.h"
#include "format/parasol_id.h"
#include "node/scratch.h"
#include "os/environment.h"
#include "os/file.h"

namespace spate::node {
namespace {

// What the last release of Parasol sets, whatever its version.
constexpr const char* kParasolVersion = "7";

}  // namespace

std::vector<std::string> ParasolEnvironment(const ParasolTasks& tasks, const std::string& user) {
  std::vector<std::string> environment = {fmt::format("PARASOL={}", kParasolVersion),
                                          "HOST=" + tasks.host, "USER=" + user};
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

Status MakeTempDir(const ParasolTasks& tasks) {
  if (!tasks.makes_temp_dir) return {};
  bool root = os::EffectiveUser() == 0;
  if (!os::Exists(tasks.temp_dir)) {
    if (auto made = os::MakeDirs(tasks.temp_dir, 0700); !made) return made;
    if (auto marked = MarkScratch(tasks.temp_dir); !marked) return marked;
    return root ? os::SetPermissions(tasks.temp_dir, 01777) : Status();
  }
  auto info = os::Stat(tasks.temp_dir);
  if (!info) return std::unexpected(std::move(info.error()));
  if (info->user == os::EffectiveUser()) return {};
  return Fail(ErrorKind::kPermission,
              fmt::format("the folder of stderr, '{}', belongs to another user (uid {})",
                          EscapeForScreen(tasks.temp_dir), info->user));
}

std::string ParasolStderr(const ParasolTasks& tasks, JobId job, TaskIndex task) {
  return os::JoinPath(tasks.temp_dir, fmt::format("para{}.err", format::ParasolId(job, task)));
}

void MakeRoomForStderr(const ParasolTasks& tasks, const std::string& user, JobId job,
                       TaskIndex task) {
  if (os::EffectiveUser() != 0) return;
  std::string path = ParasolStderr(tasks, job, task);
  auto info = os::StatLink(path);
  if (!info) return;
  auto account = tasks.account(user);
  if (account && account->user != info->user) (void)os::RemoveFile(path);
}

Result<std::string> ReadParasolStderr(const ParasolTasks& tasks, const std::string& user, JobId job,
                                      TaskIndex task, size_t limit) {
  auto account = tasks.account(user);
  if (!account) return std::unexpected(account.error());
  auto bytes = os::ReadFileOf(account->user, ParasolStderr(tasks, job, task), limit);
  if (!bytes && bytes.error().kind == ErrorKind::kNotFound) return std::string();
  return bytes;
}

}  // namespace spate::node
