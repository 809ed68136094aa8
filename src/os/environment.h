// Environment: NAME=value strings, those of this process or made up by a test.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spate::os {

class Environment {
 public:
  Environment() = default;
  // Entries "NAME=value"; of equal names the first counts.
  explicit Environment(std::vector<std::string> entries) : entries_(std::move(entries)) {}
  // A copy of this process's, as it is now.
  static Environment OfProcess();

  std::optional<std::string> Get(std::string_view name) const;
  // The value, or `otherwise` when it is missing or empty.
  std::string GetOr(std::string_view name, std::string_view otherwise) const;
  void Set(std::string_view name, std::string_view value);
  void Unset(std::string_view name);
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::vector<std::string> entries_;
};

// Changes this process, and those that it starts. While it has one thread.
void SetOfProcess(const std::string& name, const std::string& value);

// `variables` (NAME=VALUE) with `changes` in the place of those of the same names: NAME=VALUE, or
// NAME alone, which is then left out.
std::vector<std::string> WithChanges(const std::vector<std::string>& variables,
                                     const std::vector<std::string>& changes);

}  // namespace spate::os
