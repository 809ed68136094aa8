// Options as all programs of Parasol take them: -x=v and x=v are the same, -x is a switch, `--`
// ends them, and they may stand anywhere between the words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace spate::parasol {

enum class ParasolType : uint8_t {
  kSwitch,  // without a value
  kText,    // with one, which may be empty
  kInt,
  kFloat,
};
struct ParasolOptionDef {
  std::string_view name;
  ParasolType type = ParasolType::kSwitch;
};

class ParasolOptions {
 public:
  // For programs that take only the options they know; -verbose=N is known to all.
  static Result<ParasolOptions> Parse(std::span<const std::string> args,
                                      std::span<const ParasolOptionDef> known);
  // For the others.
  static ParasolOptions ParseAny(std::span<const std::string> args);
  // For a program whose words may be a command with options of its own: none are looked for after
  // the first word.
  static ParasolOptions ParseBeforeWords(std::span<const std::string> args);

  const std::vector<std::string>& words() const { return words_; }
  bool Has(std::string_view name) const { return Text(name).has_value(); }
  // The last one of several counts. A switch has an empty value.
  std::optional<std::string_view> Text(std::string_view name) const;
  std::vector<std::string_view> All(std::string_view name) const;
  // Errors name the option. With a ParasolType of kInt or kFloat they were reported by Parse.
  Result<int64_t> Int(std::string_view name, int64_t otherwise) const;
  Result<double> Float(std::string_view name, double otherwise) const;

 private:
  struct Typed {
    std::string name, value;
    bool has_value = false;
  };
  void Read(std::span<const std::string> args, bool until_word);
  Status CheckTyped(const Typed& typed, std::span<const ParasolOptionDef> known) const;

  std::vector<Typed> typed_;
  std::vector<std::string> words_;
};

}  // namespace spate::parasol
