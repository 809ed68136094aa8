#include "doors/parasol/programs/para_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/number.h"
#include "doors/parasol/formats/job_list.h"
#include "doors/parasol/programs/parasol_options.h"
#include "os/file.h"

namespace spate::parasol {
namespace {

constexpr std::array<ParasolOptionDef, 16> kOptions = {{
    {"retries", ParasolType::kInt},
    {"maxQueue", ParasolType::kInt},
    {"minPush", ParasolType::kInt},
    {"maxPush", ParasolType::kInt},
    {"warnTime", ParasolType::kInt},
    {"killTime", ParasolType::kInt},
    {"delayTime", ParasolType::kInt},
    {"priority", ParasolType::kText},
    {"pri", ParasolType::kText},
    {"maxJob", ParasolType::kText},
    {"maxNode", ParasolType::kText},  // its older name
    {"cpu", ParasolType::kText},
    {"ram", ParasolType::kText},
    {"batch", ParasolType::kText},
    {"jobCwd", ParasolType::kText},
    {"eta", ParasolType::kSwitch},
}};

// Either name counts of -priority and -pri, and the like.
std::optional<std::string_view> Either(const ParasolOptions& options, std::string_view name,
                                       std::string_view other) {
  auto text = options.Text(name);
  return text ? text : options.Text(other);
}

// `to` keeps what it has when the option is not there.
template <typename T>
Status Take(std::optional<std::string_view> text, Result<T> (*read)(std::string_view), auto* to) {
  if (!text) return {};
  auto value = TRY(read(*text));
  *to = value;
  return {};
}

// A negative number counts as 0: Parasol accepts it, and so do scripts that compute it.
template <typename T>
Status TakeCount(const ParasolOptions& options, std::string_view name, T* to) {
  auto number = TRY(options.Int(name, static_cast<int64_t>(*to)));
  *to = static_cast<T>(std::max<int64_t>(number, 0));
  return {};
}

Result<std::string> Folder(const ParasolOptions& options, std::string_view name) {
  return os::AbsolutePath(options.Text(name).value_or("."));
}

Status TakeNumbers(const ParasolOptions& options, ParaOptions* para) {
  Status taken = TakeCount(options, "retries", &para->tries);
  if (taken) taken = TakeCount(options, "maxQueue", &para->max_queue);
  if (taken) taken = TakeCount(options, "minPush", &para->min_push);
  if (taken) taken = TakeCount(options, "maxPush", &para->max_push);
  if (taken) taken = TakeCount(options, "killTime", &para->kill_minutes);
  if (taken) taken = TakeCount(options, "delayTime", &para->delay_seconds);
  if (taken) taken = TakeCount(options, "verbose", &para->verbose);
  if (taken) {
    taken = Take(Either(options, "priority", "pri"), ReadParaPriority, &para->priority);
  }
  if (taken) taken = Take(Either(options, "maxJob", "maxNode"), ReadParaMaxJob, &para->max_job);
  if (taken) taken = Take(options.Text("cpu"), ReadParaCpus, &para->cpus);
  if (taken) taken = Take(options.Text("ram"), ParseParasolSize, &para->ram);
  return taken;
}

}  // namespace

bool SameWord(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

Result<ParaOptions> ReadParaOptions(std::span<const std::string> args) {
  auto options = TRY(ParasolOptions::Parse(args, kOptions));
  ParaOptions para;
  para.words = options.words();
  para.eta = options.Has("eta");
  TRY(TakeNumbers(options, &para));
  auto warn_minutes = TRY(options.Int("warnTime", para.warn_minutes));
  para.warn_minutes = warn_minutes;
  auto dir = TRY(Folder(options, "batch"));
  para.dir = std::move(dir);
  auto job_dir = TRY(Folder(options, "jobCwd"));
  para.job_dir = std::move(job_dir);
  return para;
}

Result<int64_t> ReadParaPriority(std::string_view text) {
  if (SameWord(text, "high")) return 1;
  if (SameWord(text, "medium")) return 10;
  if (SameWord(text, "low")) return 100;
  auto number = ReadNumber<int64_t>(text);
  if (number && *number >= 1 && *number <= 10000) return *number;
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("'{}' is not a priority; write high, medium, low or 1 (the most urgent) to 10000",
                  text));
}

Result<int64_t> ReadParaMaxJob(std::string_view text) {
  if (text == "unlimited") return -1;
  auto number = ReadNumber<int64_t>(text);
  if (number && *number >= -1) return *number;
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a number of jobs; write 0 or more, or unlimited", text));
}

Result<double> ReadParaCpus(std::string_view text) {
  auto number = ReadNumber<double>(text);
  if (number && std::isfinite(*number) && *number >= 0) return *number;
  return Fail(ErrorKind::kInvalid, fmt::format("'{}' is not a number of CPUs", text));
}

}  // namespace spate::parasol
