#include "doors/parasol/programs/parasol_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/near.h"
#include "base/number.h"

namespace spate::parasol {
namespace {

// Word processors, and the manual, write it for a dash.
constexpr std::string_view kEnDash = "\xE2\x80\x93";

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// A lone - is a word, and so is =x.
bool IsOption(std::string_view arg) {
  if (arg.starts_with(kEnDash)) return arg.size() > kEnDash.size();
  if (arg.starts_with('-')) return arg.size() > 1;
  size_t equals = arg.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::ranges::all_of(arg.substr(0, equals), IsNameByte);
}

template <typename T>
Result<T> Number(std::string_view name, std::string_view value, std::string_view wanted) {
  auto number = ReadNumber<T>(value);
  if (!number || !std::isfinite(*number)) {
    return Fail(ErrorKind::kInvalid, fmt::format("-{}={} is not {}; write for example -{}=4", name,
                                                 value, wanted, name));
  }
  return *number;
}

}  // namespace

void ParasolOptions::Read(std::span<const std::string> args, bool until_word) {
  bool options = true;
  for (const std::string& arg : args) {
    if (options && arg == "--") {
      options = false;
    } else if (!options || !IsOption(arg)) {
      words_.push_back(arg);
      options = options && !until_word;
    } else {
      size_t start = arg.front() == '-' ? 1 : arg.starts_with(kEnDash) ? kEnDash.size() : 0;
      size_t equals = std::min(arg.find('='), arg.size());
      bool has_value = equals < arg.size();
      typed_.push_back(
          {arg.substr(start, equals - start), has_value ? arg.substr(equals + 1) : "", has_value});
    }
  }
}

Status ParasolOptions::CheckTyped(const Typed& typed,
                                  std::span<const ParasolOptionDef> known) const {
  static constexpr ParasolOptionDef kVerbose{"verbose", ParasolType::kInt};
  auto found = std::ranges::find(known, typed.name, &ParasolOptionDef::name);
  const ParasolOptionDef* def = found == known.end() ? nullptr : &*found;
  if (typed.name == kVerbose.name) def = &kVerbose;
  if (def == nullptr) {
    std::vector<std::string_view> names;
    for (const ParasolOptionDef& other : known) names.push_back(other.name);
    return Fail(ErrorKind::kInvalid, fmt::format("-{} is not a valid option{}", typed.name,
                                                 DidYouMean(typed.name, names)));
  }
  if (typed.has_value && def->type == ParasolType::kSwitch) {
    return Fail(ErrorKind::kInvalid, fmt::format("-{0} takes no value; write -{0}", typed.name));
  }
  if (!typed.has_value && def->type != ParasolType::kSwitch) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("-{0} needs a value; write -{0}=VALUE", typed.name));
  }
  if (def->type == ParasolType::kInt) {
    (void)TRY(Int(typed.name, 0));
  }
  if (def->type == ParasolType::kFloat) {
    (void)TRY(Float(typed.name, 0));
  }
  return {};
}

Result<ParasolOptions> ParasolOptions::Parse(std::span<const std::string> args,
                                             std::span<const ParasolOptionDef> known) {
  ParasolOptions options = ParseAny(args);
  for (const Typed& typed : options.typed_) {
    TRY(options.CheckTyped(typed, known));
  }
  return options;
}

ParasolOptions ParasolOptions::ParseAny(std::span<const std::string> args) {
  ParasolOptions options;
  options.Read(args, false);
  return options;
}

ParasolOptions ParasolOptions::ParseBeforeWords(std::span<const std::string> args) {
  ParasolOptions options;
  options.Read(args, true);
  return options;
}

std::optional<std::string_view> ParasolOptions::Text(std::string_view name) const {
  auto all = All(name);
  if (all.empty()) return std::nullopt;
  return all.back();
}

std::vector<std::string_view> ParasolOptions::All(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const Typed& typed : typed_) {
    if (typed.name == name) values.push_back(typed.value);
  }
  return values;
}

Result<int64_t> ParasolOptions::Int(std::string_view name, int64_t otherwise) const {
  auto text = Text(name);
  if (!text) return otherwise;
  auto number = TRY(Number<int64_t>(name, *text, "a whole number"));
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  if (number >= -kLargest && number <= kLargest) return number;
  return Fail(ErrorKind::kInvalid,
              fmt::format("-{0}={1}: must be from -{2} to {2}", name, *text, kLargest));
}

Result<double> ParasolOptions::Float(std::string_view name, double otherwise) const {
  auto text = Text(name);
  return text ? Number<double>(name, *text, "a number") : otherwise;
}

}  // namespace spate::parasol
