#include "shepherd/job_table.h"

#include <unistd.h>

#include <cstring>
#include <utility>

#include "shepherd/as_user.h"

namespace spate::shepherd {

void EnvironmentBlock::Assign(char** variables) {
  fixed_.clear();
  hashes_.clear();
  fixed_path_ = nullptr;
  for (; *variables != nullptr; ++variables) Set(*variables);
}

// FNV-1a; `length` is the name's with its "=".
uint32_t EnvironmentBlock::HashOfName(const char* variable, uint32_t* length) {
  uint32_t hash = 2166136261u;
  uint32_t i = 0;
  for (; variable[i] != '\0'; ++i) {
    hash = (hash ^ static_cast<unsigned char>(variable[i])) * 16777619u;
    if (variable[i] == '=') {
      ++i;
      break;
    }
  }
  *length = i;
  return hash;
}

size_t EnvironmentBlock::Find(const char* variable) const {
  uint32_t length = 0;
  uint32_t hash = HashOfName(variable, &length);
  for (size_t i = 0; i < hashes_.size(); ++i) {
    if (hashes_[i] == hash && std::strncmp(fixed_[i], variable, length) == 0) return i;
  }
  return kNone;
}

bool EnvironmentBlock::Has(const char* variable) const { return Find(variable) != kNone; }

void EnvironmentBlock::Set(const char* variable) {
  if (size_t same = Find(variable); same != kNone) {
    fixed_[same] = variable;
  } else {
    uint32_t length = 0;
    fixed_.push_back(variable);
    hashes_.push_back(HashOfName(variable, &length));
  }
  if (std::strncmp(variable, "PATH=", 5) == 0) fixed_path_ = variable + 5;
}

const char* const* EnvironmentBlock::With(const std::vector<const char*>& variables) {
  block_.assign(fixed_.begin(), fixed_.end());
  path_ = fixed_path_;
  for (const char* variable : variables) {
    if (size_t same = Find(variable); same != kNone) {
      block_[same] = variable;
    } else {
      block_.push_back(variable);
    }
    if (std::strncmp(variable, "PATH=", 5) == 0) path_ = variable + 5;
  }
  block_.push_back(nullptr);
  return block_.data();
}

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
