#include "shepherd/environment.h"

#include <cstring>

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

}  // namespace spate::shepherd
