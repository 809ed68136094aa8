#include "os/environment.h"

#include <unistd.h>

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

}  // namespace spate::os
