// Options: what may be typed behind the name of a command. An option is an object, and is known by
// its address: `words.Has(opt::kState)`. The parser, --help, the man pages and the shells'
// completions are all made from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace spate::cli {

// Under which heading help shows an option; headings come in this order.
enum class Heading : uint8_t {
  kSources,
  kNeeds,
  kSlots,
  kFailures,
  kTask,
  kOutput,
  kState,
  kSelect,
  kHub,
  kPilots,
  kPoolNodes,
  kSystem,
  kGeneral,
};
std::string_view TitleOf(Heading heading);
inline constexpr int kHeadingCount = 13;

// Values that shells offer for an option.
enum class Complete : uint8_t { kNothing, kFile, kFolder, kWords };

// There is one of it.
struct OnlyOne {
  OnlyOne() = default;
  OnlyOne(const OnlyOne&) = delete;
  OnlyOne& operator=(const OnlyOne&) = delete;
};

struct Option {
  std::string_view names;     // "time-limit,timeout": the first is ours, the others are accepted
  std::string_view letters;   // "jP", likewise
  std::string_view argument;  // "N", empty for a switch
  Heading heading = Heading::kGeneral;
  std::string_view help;  // one line for --help
  std::string_view more;  // further sentences for --help-all and the man page
  bool repeat = false;    // every value counts, not only the last one
  Complete complete = Complete::kNothing;
  std::string_view words;  // for kWords: "human json quiet"
  // The option that it stands for: a switch for one with this value ("-q": "--output quiet"), an
  // option with a value for another one that is typed differently elsewhere.
  const Option* short_for = nullptr;
  std::string_view short_for_value;
  [[no_unique_address]] OnlyOne only_one = {};

  std::string_view name() const { return names.substr(0, names.find(',')); }
};

struct OptionGroup;
// An option of a command's list, or several that commands take together.
struct OptionRef {
  constexpr OptionRef() = default;
  constexpr OptionRef(const Option& one) : option(&one) {}  // NOLINT: lists name options
  constexpr OptionRef(const OptionGroup& several) : group(&several) {}  // NOLINT: and groups
  const Option* option = nullptr;
  const OptionGroup* group = nullptr;
};
// Help shows the options of one heading in the order of the list.
using OptionList = std::span<const OptionRef>;
struct OptionGroup {
  OptionList options;
};

// "--jobs", the way messages name it.
std::string DashedName(const Option& option);

}  // namespace spate::cli
