#include "pool/prologue.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace spate::pool {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

bool IsOfScript(std::string_view name) {
  return name.empty() || name == "_" || name == "PWD" || name == "OLDPWD" || name == "SHLVL" ||
         name.starts_with("SPATE_PILOT") || name.find(' ') != std::string_view::npos;
}

void Add(Variables& variables, std::string_view entry) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos || IsOfScript(entry.substr(0, equals))) return;
  variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
}

}  // namespace

std::vector<std::string> ChangedNames(std::string_view before, const os::Environment& now) {
  Variables then, have;
  while (!before.empty()) {
    const size_t end = std::min(before.find('\0'), before.size());
    Add(then, before.substr(0, end));
    before.remove_prefix(std::min(end + 1, before.size()));
  }
  for (const std::string& entry : now.entries()) Add(have, entry);
  std::set<std::string> names;
  for (const auto& [name, value] : have) {
    auto at = then.find(name);
    if (at == then.end() || at->second != value) names.insert(name);
  }
  for (const auto& [name, value] : then) {
    if (!have.contains(name)) names.insert(name);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> ChangedVariables(const os::Environment& now) {
  std::vector<std::string> changes;
  std::istringstream names(now.GetOr("SPATE_PILOT_CHANGED", ""));
  for (std::string name; names >> name;) {
    auto value = now.Get(name);
    changes.push_back(value ? name + "=" + std::string(*value) : name);
  }
  return changes;
}

}  // namespace spate::pool
