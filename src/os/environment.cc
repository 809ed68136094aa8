#include "os/environment.h"

#include <unistd.h>
#include <set>

#include <algorithm>

namespace spate::os {
namespace {

bool Names(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

}  // namespace

Environment Environment::OfProcess() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return Environment(std::move(entries));
}

std::optional<std::string> Environment::Get(std::string_view name) const {
  for (const std::string& entry : entries_) {
    if (Names(entry, name)) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::string Environment::GetOr(std::string_view name, std::string_view otherwise) const {
  auto value = Get(name);
  return value && !value->empty() ? *value : std::string(otherwise);
}

void Environment::Set(std::string_view name, std::string_view value) {
  std::string text;
  text.append(name).append("=").append(value);
  for (std::string& entry : entries_) {
    if (!Names(entry, name)) continue;
    entry = std::move(text);
    return;
  }
  entries_.push_back(std::move(text));
}

void Environment::Unset(std::string_view name) {
  std::erase_if(entries_, [name](const std::string& entry) { return Names(entry, name); });
}

void SetOfProcess(const std::string& name, const std::string& value) {
  setenv(name.c_str(), value.c_str(), 1);
}

std::vector<std::string> WithChanges(const std::vector<std::string>& variables,
                                     const std::vector<std::string>& changes) {
  auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  std::set<std::string_view> changed;
  for (const std::string& change : changes) changed.insert(name_of(change));
  std::vector<std::string> all;
  for (const std::string& variable : variables) {
    if (!changed.contains(name_of(variable))) all.push_back(variable);
  }
  for (const std::string& change : changes) {
    if (change.find('=') != change.npos) all.push_back(change);
  }
  return all;
}

}  // namespace spate::os
