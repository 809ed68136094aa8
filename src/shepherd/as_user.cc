#include "shepherd/as_user.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>

#include "base/check.h"
#include "os/error.h"

namespace spate::shepherd {

AsUser::AsUser(const JobOpening& job) {
  if (job.user) status_ = Become(*job.user);
  if (job.settings.umask >= 0)
    umask_ = static_cast<int>(umask(static_cast<mode_t>(job.settings.umask)));
}

// Groups first: the right to change them goes with the user.
Status AsUser::Become(const TaskUser& user) {
  user_ = geteuid();
  group_ = getegid();
  groups_.resize(static_cast<size_t>(std::max(getgroups(0, nullptr), 0)));
  groups_.resize(static_cast<size_t>(
      std::max(getgroups(static_cast<int>(groups_.size()), groups_.data()), 0)));
  if (setgroups(user.groups.size(), user.groups.data()) != 0) {
    return os::FailErrno("become the user", user.name);
  }
  became_ = true;
  if (setresgid(static_cast<gid_t>(-1), user.group, static_cast<gid_t>(-1)) != 0 ||
      setresuid(static_cast<uid_t>(-1), user.user, static_cast<uid_t>(-1)) != 0) {
    return os::FailErrno("become the user", user.name);
  }
  // A child shares our memory until it is the program, and is the user's by then.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return {};
}

// A change that cannot be undone must not go on: the next task may be of somebody else.
AsUser::~AsUser() {
  int error = errno;
  if (umask_ >= 0) umask(static_cast<mode_t>(umask_));
  if (became_) {
    CHECK(setresuid(static_cast<uid_t>(-1), user_, static_cast<uid_t>(-1)) == 0);
    CHECK(setresgid(static_cast<gid_t>(-1), group_, static_cast<gid_t>(-1)) == 0);
    CHECK(setgroups(groups_.size(), groups_.data()) == 0);
  }
  errno = error;
}

AsOurselves::AsOurselves() : user_(geteuid()) {
  CHECK(setresuid(static_cast<uid_t>(-1), getuid(), static_cast<uid_t>(-1)) == 0);
}

AsOurselves::~AsOurselves() {
  int error = errno;
  CHECK(setresuid(static_cast<uid_t>(-1), user_, static_cast<uid_t>(-1)) == 0);
  errno = error;
}

std::vector<std::string> LoginEnvironment(const TaskUser& user, const char* path) {
  std::vector<std::string> variables = {std::string("PATH=") + path, "HOME=" + user.home,
                                        "USER=" + user.name, "LOGNAME=" + user.name,
                                        "SHELL=" + user.shell};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    std::string_view text(*variable);
    if (text.starts_with("LANG=") || text.starts_with("LC_") || text.starts_with("TZ=")) {
      variables.emplace_back(text);
    }
  }
  return variables;
}

bool IsInherited(std::string_view name) {
  // Language, where programs and modules are, and where a batch system is. Nothing else: there is
  // no telling what a secret is called.
  constexpr std::string_view kPassed[] = {"PATH",
                                          "LANG",
                                          "LANGUAGE",
                                          "TZ",
                                          "TERM",
                                          "LD_LIBRARY_PATH",
                                          "MANPATH",
                                          "INFOPATH",
                                          "MODULEPATH",
                                          "MODULESHOME",
                                          "LOADEDMODULES",
                                          "_LMFILES_",
                                          "PERL5LIB",
                                          "PERLLIB",
                                          "PYTHONPATH",
                                          "R_LIBS",
                                          "R_LIBS_SITE",
                                          "JAVA_HOME",
                                          "CLASSPATH",
                                          "SLURM_CONF",
                                          "SLURM_CLUSTERS",
                                          "SLURM_SACK_SOCKET",
                                          "SGE_ROOT",
                                          "SGE_CELL",
                                          "SGE_CLUSTER_NAME",
                                          "SGE_QMASTER_PORT",
                                          "SGE_EXECD_PORT",
                                          "PBS_CONF_FILE",
                                          "PBS_DEFAULT",
                                          "PBS_EXEC",
                                          "PBS_HOME",
                                          "PBS_SERVER",
                                          "CONDOR_CONFIG"};
  if (name.starts_with("LC_") || name.starts_with("LMOD_")) return true;
  if (std::ranges::find(kPassed, name) != std::end(kPassed)) return true;
  const char* more = getenv("SPATE_PASS_ENV");  // NAME,NAME...
  for (std::string_view left = more == nullptr ? "" : more; !left.empty();) {
    const size_t end = std::min(left.find(','), left.size());
    if (left.substr(0, end) == name) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

std::vector<std::string> InheritedEnvironment(const TaskUser& user, const char* path) {
  std::vector<std::string> variables = {std::string("PATH=") + path, "HOME=" + user.home,
                                        "USER=" + user.name, "LOGNAME=" + user.name,
                                        "SHELL=" + user.shell};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    std::string_view text(*variable);
    if (IsInherited(text.substr(0, text.find('=')))) variables.emplace_back(text);
  }
  return variables;
}

}  // namespace spate::shepherd
