// Options: what may be typed behind the name of a command. An option is an object, and is known by
// its address: `words.Has(opt::kState)`. The parser, --help, the man pages and the shells'
// completions are all made from it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/enum_list.h"

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

// Command lines whose words describe the tasks of a job, by what happens with them.
SPATE_ENUM(Way,
    kResume, "run --resume",
    kRetry, "job retry (run)",     // of a run on this machine
    kHubRetry, "job retry (hub)",  // of a hub's job
    kSubmit, "submit",             // with or without --like
    kHub, "run --hub",
    kPool, "run --pool",
    kAdd, "job add");

// Fate of an option there. None is passed over.
SPATE_ENUM(Use,
    kNone, "-",  // the command has no such option, and says so
    kObeyed, "obeyed",
    kKept, "kept",  // a resumed run keeps what its first run was given; another value is refused
    kRefused, "refused");

struct JobUse {
  std::array<Use, kCountOf<Way>> by_way{};
  std::string_view why = {};  // it is refused, or kept; the same everywhere
  constexpr Use operator[](Way way) const { return by_way[static_cast<size_t>(way)]; }
};

// An option of a command line, and the options of a job that its value goes to (job_rows.h).
struct Filler;

// The part of an option that is for jobs alone.
struct JobOption {
  // Stores the values that were typed, or that none was. Null: who needs them asks Words.
  void (*fill)(Filler& filler) = nullptr;
  JobUse use;
  // The reason why a hub cannot use a value that a run on this machine understands; empty: it can.
  std::string_view (*why_only_here)(std::string_view value) = nullptr;
  // Its values add up on one command line only: given to a job that runs again, they replace those
  // of before.
  bool replaces = false;
};

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
  // The option of the same command that this one stands for; a switch, with this value: -q is
  // "output" and "quiet".
  std::string_view short_for;
  std::string_view short_for_value;
  JobOption job;  // for options of jobs
  [[no_unique_address]] OnlyOne only_one = {};

  constexpr std::string_view name() const { return names.substr(0, names.find(',')); }
};

struct OptionGroup;
// Options of jobs, in the order in which help shows them; a command takes those that have a use in
// it.
using OptionRows = std::span<const Option>;
// An option of a command's list, or several that commands take together.
struct OptionRef {
  constexpr OptionRef() = default;
  constexpr OptionRef(const Option& one) : option(&one) {}  // NOLINT: lists name options
  constexpr OptionRef(const OptionGroup& several) : group(&several) {}  // NOLINT: and groups
  constexpr OptionRef(const OptionRows& several) : rows(several) {}     // NOLINT: and rows
  const Option* option = nullptr;
  const OptionGroup* group = nullptr;
  OptionRows rows;
};
// Help shows the options of one heading in the order of the list.
using OptionList = std::span<const OptionRef>;
struct OptionGroup {
  OptionList options;
};

// "--jobs", the way messages name it.
std::string DashedName(const Option& option);

}  // namespace spate::cli
