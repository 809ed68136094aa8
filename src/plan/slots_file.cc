#include "plan/slots_file.h"

#include <utility>

#include "cli/options/values.h"

namespace spate::run {
namespace {

constexpr size_t kMost = 4096;
constexpr Duration kSlotsLook = Duration::Millis(500);

Result<std::string> FirstWord(const std::string& path) {
  auto text = os::ReadFile(path, kMost);
  if (!text) return text;
  size_t begin = text->find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return std::string();
  return text->substr(begin, text->find_first_of(" \t\r\n", begin) - begin);
}

Result<cli::SlotRule> RuleOf(const std::string& path, const std::string& word) {
  auto rule = cli::ParseSlotRule(word);
  if (!rule) return Within("-j " + path, rule.error());
  return rule;
}

}  // namespace

Status ReadSlotsFile(cli::RunOptions& options, const std::string& cwd, uint32_t cores) {
  if (options.slots_file.empty()) return {};
  std::string path = os::JoinPath(cwd, options.slots_file);
  auto word = FirstWord(path);
  if (!word) return Within("-j", word.error());
  auto rule = TRY(RuleOf(options.slots_file, *word));
  options.slots = rule;
  options.policy.max_running = cli::SlotCount(rule, cores);
  return {};
}

SlotsFile::SlotsFile(os::RealLoop& loop, std::string path,
                     std::function<void(const Result<cli::SlotRule>&)> changed)
    : loop_(loop), path_(std::move(path)), changed_(std::move(changed)) {
  known_ = FirstWord(path_).value_or("");
  timer_ = loop_.At(loop_.Now() + kSlotsLook, [this] { Poll(); });
}

// An editor may have emptied or removed it for a moment: then what it said last holds.
void SlotsFile::Poll() {
  auto word = FirstWord(path_);
  if (word && !word->empty() && *word != known_) {
    known_ = *word;
    changed_(RuleOf(path_, known_));
  }
  timer_ = loop_.At(loop_.Now() + kSlotsLook, [this] { Poll(); });
}

}  // namespace spate::run
