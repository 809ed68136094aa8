#include "pool/own_options.h"

#include <fmt/format.h>

#include "base/units.h"
#include "pool/parts.h"

namespace spate::pool {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

// "1:00:00", which all of them understand.
std::string ClockText(Duration time) {
  int64_t seconds = (time.ns + kNanosPerSecond - 1) / kNanosPerSecond;
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

class Reader {
 public:
  // A number alone is so many `unit`s.
  Reader(Duration unit, OwnOptions& own) : unit_(unit), own_(own) {}

  // The value as the batch system understands it; `option` is what stands before it.
  std::string Limit(std::string_view option, std::string_view value) {
    std::string theirs(value);
    auto limit = ParseLimit(value, unit_);
    if (!limit) {
      auto ours = ParseDuration(value);
      if (!ours) return theirs;  // UNLIMITED, or wrong: it will say
      theirs = ClockText(*ours);
      limit = ParseLimit(theirs, unit_);  // whole seconds
    }
    if (limit && limit->ns > 0) {
      own_.limit = limit;
      own_.limit_word = fmt::format("{}{}", option, theirs);
    } else {
      own_.limit.reset();  // none
    }
    return theirs;
  }

 private:
  Duration unit_;
  OwnOptions& own_;
};

void ReadSlurm(OwnOptions& own) {
  Reader reader(Duration::Seconds(60), own);
  constexpr std::string_view kLong = "--time=";
  for (size_t i = 0; i < own.words.size(); ++i) {
    std::string& word = own.words[i];
    if (word == "-t" || word == "--time") {
      if (i + 1 == own.words.size()) return;
      own.words[i + 1] = reader.Limit(word + " ", own.words[i + 1]);
      ++i;
    } else if (word.starts_with(kLong)) {
      word = std::string(kLong) + reader.Limit(kLong, word.substr(kLong.size()));
    } else if (word.starts_with("-t")) {
      word = "-t" + reader.Limit("-t ", word.substr(2));
    }
  }
}

// NAME=VALUE among the resources of -l.
void ReadResources(std::string_view name, OwnOptions& own) {
  Reader reader(Duration::Seconds(1), own);
  auto read = [&](std::string_view list) {
    std::string theirs;
    for (bool more = true; more;) {
      more = list.contains(',');
      std::string_view field = NextField(list, ',');
      size_t equals = field.find('=');
      if (equals != std::string_view::npos && Trimmed(field.substr(0, equals)) == name) {
        std::string option = fmt::format("-l {}=", name);
        theirs += fmt::format("{}={}", name, reader.Limit(option, field.substr(equals + 1)));
      } else {
        theirs += field;
      }
      if (more) theirs += ',';
    }
    return theirs;
  };
  for (size_t i = 0; i < own.words.size(); ++i) {
    std::string& word = own.words[i];
    if (word == "-l") {
      if (++i < own.words.size()) own.words[i] = read(own.words[i]);
    } else if (word.starts_with("-l")) {
      word = "-l" + read(word.substr(2));
    }
  }
}

}  // namespace

OwnOptions ReadOwnOptions(std::string_view system, std::span<const std::string> words) {
  OwnOptions own{.words = {words.begin(), words.end()}, .limit = {}, .limit_word = {}};
  if (system == "slurm") ReadSlurm(own);
  if (system == "gridengine") ReadResources("h_rt", own);
  if (system == "pbs") ReadResources("walltime", own);
  return own;
}

}  // namespace spate::pool
