// One line of a script, and the text of model values.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/units.h"
#include "core/testing/script.h"

namespace spate::script {
namespace {

// Names of resources that a script may use beside cpus and memory.
constexpr const char* kNamed[] = {"disks", "gpus", "licences"};

std::optional<uint32_t> ParseNumber(std::string_view text) {
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "j1" for letter 'j'; 0 when it is something else.
uint32_t ParseId(std::string_view text, char letter) {
  if (text.empty() || text.front() != letter) return 0;
  return ParseNumber(text.substr(1)).value_or(0);
}

}  // namespace

Line::Line(std::string_view text) {
  size_t at = 0;
  bool first = true;
  while ((at = text.find_first_not_of(' ', at)) != std::string_view::npos) {
    size_t end = std::min(text.find(' ', at), text.size());
    std::string word(text.substr(at, end - at));
    at = end;
    size_t equals = word.find('=');
    if (first) {
      verb_ = std::move(word);
      first = false;
    } else if (equals != std::string::npos && word.find(':') > equals) {
      options_.push_back({word.substr(0, equals), word.substr(equals + 1)});
    } else {
      words_.push_back(std::move(word));
    }
  }
}

void Line::Fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
}

Status Line::Finish() const {
  std::string error = error_;
  if (error.empty() && !words_.empty()) error = "does not understand '" + words_.front() + "'";
  if (error.empty() && !options_.empty()) {
    error = "does not understand '" + options_.front().name + "='";
  }
  if (error.empty()) return {};
  return spate::Fail(ErrorKind::kInvalid, verb_ + ": " + error);
}

std::string Line::Word(std::string_view what) {
  if (words_.empty()) {
    Fail(fmt::format("{} is missing", what));
    return "";
  }
  std::string word = std::move(words_.front());
  words_.erase(words_.begin());
  return word;
}

bool Line::Flag(std::string_view name) {
  auto it = std::find(words_.begin(), words_.end(), name);
  if (it == words_.end()) return false;
  words_.erase(it);
  return true;
}

bool Line::Has(std::string_view option) const {
  return std::any_of(options_.begin(), options_.end(),
                     [&](const Pair& pair) { return pair.name == option; });
}

std::optional<std::string> Line::Take(std::string_view name) {
  auto it = std::find_if(options_.begin(), options_.end(),
                         [&](const Pair& pair) { return pair.name == name; });
  if (it == options_.end()) return std::nullopt;
  std::string value = std::move(it->value);
  options_.erase(it);
  return value;
}

std::string Line::Option(std::string_view name, std::string_view otherwise) {
  return Take(name).value_or(std::string(otherwise));
}

uint64_t Line::Number(std::string_view name, uint64_t otherwise) {
  auto text = Take(name);
  if (!text) return otherwise;
  auto number = ParseCount(*text);
  if (!number) Fail(fmt::format("{}={} is no number", name, *text));
  return number.value_or(0);
}

Duration Line::Time(std::string_view name, Duration otherwise) {
  auto text = Take(name);
  if (!text) return otherwise;
  auto duration = ParseDuration(*text);
  if (!duration) Fail(fmt::format("{}={} is no duration", name, *text));
  return duration.value_or(Duration{});
}

std::vector<std::string> Line::List(std::string_view name) {
  std::vector<std::string> items;
  std::string text = Take(name).value_or("");
  for (size_t at = 0; at < text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    items.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return items;
}

uint64_t Line::Size(std::string_view name, uint64_t otherwise) {
  auto text = Take(name);
  if (!text) return otherwise;
  auto size = ParseSize(*text);
  if (!size) Fail(fmt::format("{}={} is no size", name, *text));
  return size.value_or(0);
}

JobId Line::Job() {
  std::string word = Word("a job (j1)");
  JobId job(ParseId(word, 'j'));
  if (job.value == 0) Fail("'" + word + "' is no job; write j1");
  return job;
}

NodeId Line::Node() {
  std::string word = Word("a node (n1)");
  NodeId node(ParseId(word, 'n'));
  if (node.value == 0) Fail("'" + word + "' is no node; write n1");
  return node;
}

std::optional<std::vector<TaskRange>> ParseRanges(std::string_view text) {
  std::vector<TaskRange> ranges;
  for (size_t at = 0; at <= text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    std::string_view part = text.substr(at, comma - at);
    size_t dash = part.find('-');
    auto first = ParseNumber(part.substr(0, dash));
    auto last = dash == std::string_view::npos ? first : ParseNumber(part.substr(dash + 1));
    if (!first || !last || *first == 0 || *last < *first) return std::nullopt;
    ranges.push_back({*first - 1, *last - *first + 1});
    at = comma + 1;
  }
  return ranges;
}

Line::Tasks Line::TaskList() {
  std::string word = Word("tasks (j1.2-4)");
  size_t dot = word.find('.');
  JobId job(ParseId(std::string_view(word).substr(0, dot), 'j'));
  std::optional<std::vector<TaskRange>> ranges;
  if (dot != std::string::npos) ranges = ParseRanges(std::string_view(word).substr(dot + 1));
  if (job.value == 0 || !ranges) {
    Fail("'" + word + "' names no tasks; write j1.2-4,7");
    return {};
  }
  return {job, std::move(*ranges)};
}

Line::Tasks Line::JobOrTasks() {
  bool tasks = !words_.empty() && words_.front().find('.') != std::string::npos;
  return tasks ? TaskList() : Tasks{Job(), {}};
}

AttemptRef Line::Ref() {
  Tasks tasks = TaskList();
  Attempt attempt(static_cast<uint16_t>(Number("attempt", 1)));
  if (tasks.ranges.size() != 1 || tasks.ranges.front().count != 1) {
    Fail("one task is wanted here");
    return {};
  }
  return {tasks.job, tasks.ranges.front().first, attempt};
}

Needs Line::TaskNeeds() {
  Needs needs;
  if (auto cpus = Take("cpus")) {
    char* end = nullptr;
    double value = std::strtod(cpus->c_str(), &end);
    if (*end != 0 || value < 0) Fail("cpus=" + *cpus + " is no number");
    needs.milli_cpus = static_cast<uint32_t>(std::lround(value * kMilliCpu));
  }
  needs.memory = Size("memory");
  for (const char* name : kNamed) {
    auto count = static_cast<uint32_t>(Number(name, 0));
    if (count > 0) needs.named.push_back({name, count});
  }
  needs.time = Time("time");
  needs.labels = List("labels");
  needs.on_node = Option("on");
  needs.not_on = List("not-on");
  return needs;
}

Offer Line::NodeOffer(std::string_view name) {
  Offer offer;
  offer.node_name = name;
  offer.slots = static_cast<uint32_t>(Number("slots", 1));
  offer.milli_cpus = static_cast<uint32_t>(Number("cpus", offer.slots)) * kMilliCpu;
  offer.memory = Size("memory");
  for (const char* resource : kNamed) {
    uint64_t count = Number(resource, 0);
    if (count == 0) continue;
    NamedOffer& named = offer.named.emplace_back(NamedOffer{resource, {}});
    for (uint64_t i = 0; i < count; ++i) named.indices.push_back(fmt::format("{}", i));
  }
  offer.user = Option("user");
  offer.labels = List("labels");
  offer.features = List("features");
  return offer;
}

AttemptEnd Line::End(const AttemptRef& ref) {
  AttemptEnd end;
  end.ref = ref;
  bool found = false;
  for (int i = 0; i < kCauseCount && !found; ++i) {
    end.cause = static_cast<Cause>(i);
    const char* name = WordOf(end.cause);
    if (Has(name)) {
      end.status = static_cast<int32_t>(Number(name, 0));
      found = true;
    } else {
      found = Flag(name);
    }
  }
  if (!found) Fail("the cause is missing (success, exit=3, signal=9, time, ...)");
  end.wall = Time("wall");
  end.slot = static_cast<uint16_t>(Number("slot", 0));
  end.note = Option("note");
  return end;
}

// ---- Text --------------------------------------------------------------------------------------

std::string Name(JobId job) { return fmt::format("j{}", job.value); }
std::string Name(NodeId node) { return fmt::format("n{}", node.value); }

std::string Name(JobId job, const std::vector<TaskRange>& tasks) {
  std::string text = Name(job) + ".";
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (i > 0) text += ',';
    text += fmt::format("{}", tasks[i].first + 1);
    if (tasks[i].count != 1) text += fmt::format("-{}", tasks[i].first + tasks[i].count);
  }
  return text;
}

std::string Name(const AttemptRef& ref) {
  return fmt::format("j{}.{} attempt={}", ref.job.value, ref.index + 1, ref.attempt.value);
}

std::string Describe(const AttemptEnd& end) {
  std::string text = WordOf(end.cause);
  if (end.status != 0) text += fmt::format("={}", end.status);
  return text;
}

std::string Describe(const Needs& needs) {
  std::string text = fmt::format("cpus={:g}", needs.milli_cpus / double{kMilliCpu});
  if (needs.memory > 0) {
    std::string size = FormatSize(needs.memory);
    std::erase(size, ' ');
    text += " memory=" + size;
  }
  for (const NamedNeed& named : needs.named) {
    text += fmt::format(" {}={}", named.name, named.count);
  }
  if (needs.time.ns > 0) text += " time=" + Describe(needs.time).substr(1);
  auto list = [&](const char* name, const std::vector<std::string>& items) {
    for (size_t i = 0; i < items.size(); ++i) {
      text += i == 0 ? fmt::format(" {}={}", name, items[i]) : "," + items[i];
    }
  };
  list("labels", needs.labels);
  if (!needs.on_node.empty()) text += " on=" + needs.on_node;
  list("not-on", needs.not_on);
  return text;
}

std::string Describe(Duration duration) {
  const char* sign = duration.ns < 0 ? "-" : "+";
  int64_t ns = std::abs(duration.ns);
  if (ns % 1'000'000'000 == 0) return fmt::format("{}{}s", sign, ns / 1'000'000'000);
  if (ns % 1'000'000 == 0) return fmt::format("{}{}ms", sign, ns / 1'000'000);
  return fmt::format("{}{}us", sign, ns / 1000);
}

void Lines::Add(std::string line) {
  Flush();
  lines_.push_back(std::move(line));
}

void Lines::AddTask(std::string before, JobId job, TaskIndex index, std::string after) {
  if (run_ && run_->job == job && run_->before == before && run_->after == after) {
    bool rising = run_->last + 1 == index && run_->last >= run_->first;
    bool falling = run_->last == index + 1 && run_->last <= run_->first;
    if (rising || falling) {
      run_->last = index;
      return;
    }
  }
  Flush();
  run_ = Run{std::move(before), std::move(after), job, index, index};
}

void Lines::Flush() {
  if (!run_) return;
  std::string tasks = fmt::format("j{}.{}", run_->job.value, run_->first + 1);
  if (run_->last != run_->first) tasks += fmt::format("-{}", run_->last + 1);
  lines_.push_back(run_->before + tasks + run_->after);
  run_.reset();
}

std::vector<std::string> Lines::Take() {
  Flush();
  return std::exchange(lines_, {});
}

}  // namespace spate::script
