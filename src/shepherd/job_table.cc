#include "shepherd/job_table.h"

#include <unistd.h>

#include <utility>

#include "shepherd/as_user.h"

namespace spate::shepherd {

JobTable::JobTable(const Setup& setup) {
  if (!setup.job_folder.empty()) folder_variable_ = "SPATE_JOB_DIR=" + setup.job_folder;
  if (!setup.node_id.empty()) folder_variable_ = "SPATE_NODE_ID=" + setup.node_id;
}

void JobTable::Open(JobOpening opening) {
  auto [place, fresh] = jobs_.try_emplace(opening.job.value);
  if (!fresh) return;
  Job& job = place->second;
  job.opening = std::move(opening);
  if (job.opening.user) {
    auto begin = job.opening.inherit ? InheritedEnvironment : LoginEnvironment;
    job.login = begin(*job.opening.user, kDefaultPath);
    for (const std::string& variable : job.login) job.environment.Set(variable.c_str());
  } else {
    job.environment.Assign(environ);
  }
  if (!folder_variable_.empty()) job.environment.Set(folder_variable_.c_str());
  for (const std::string& variable : job.opening.environment) {
    job.environment.Set(variable.c_str());
  }
}

JobTable::Job* JobTable::Find(JobId job) {
  auto at = jobs_.find(job.value);
  return at == jobs_.end() ? nullptr : &at->second;
}

}  // namespace spate::shepherd
