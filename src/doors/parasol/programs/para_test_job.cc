#include "doors/parasol/programs/para_test_job.h"

#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "doors/parasol/programs/parasol_options.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "os/terminal.h"

namespace spate::parasol {
namespace {

constexpr size_t kPiece = 64 << 10;

// About a hundredth of a second of work; what rounding leaves of it.
double Compute(uint64_t round) {
  constexpr uint64_t kSteps = 5'000'000;
  double error = 0;
  for (uint64_t i = 1; i <= kSteps; ++i) {
    double number = static_cast<double>(round * kSteps + i);
    double root = std::sqrt(number);
    error += std::fabs(root * root - number);
  }
  return error;
}

Status ReadInput(const std::string& path) {
  auto file = TRY(os::OpenRead(path));
  std::string piece(kPiece, '\0');
  while (true) {
    auto read = TRY(os::ReadSome(file.get(), piece.data(), piece.size(), path));
    if (read == 0) return {};
  }
}

Status Wait(int64_t seconds) {
  auto loop = TRY(os::RealLoop::Create());
  loop->At(loop->Now() + Duration::Seconds(seconds), [&] { loop->Stop(); });
  loop->Run();
  return {};
}

// A file for the lines, or nothing when there is no path.
class Output {
 public:
  static Result<Output> Open(std::string path) {
    Output output;
    if (path.empty()) return output;
    auto file = TRY(os::OpenWrite(path, os::OpenHow::kTruncate));
    output.path_ = std::move(path);
    output.file_ = std::move(file);
    return output;
  }
  Status Write(std::string_view text) {
    return file_ ? os::WriteAll(file_.get(), text, path_) : Status();
  }
  Status Close() { return file_ ? file_.Close() : Status(); }

 private:
  std::string path_;
  os::Fd file_;
};

struct Numbers {
  uint64_t count = 0;
  int64_t heavy = 0, sleep = 0;
};
Result<Numbers> ReadNumbers(const ParasolOptions& options) {
  auto count = TRY(ParseCount(options.words()[0]));
  auto heavy = TRY(options.Int("heavy", 0));
  auto sleep = TRY(options.Int("sleep", 0));
  if (heavy < 0 || sleep < 0) {
    return Fail(ErrorKind::kInvalid, "-heavy and -sleep must be at least 0");
  }
  return Numbers{count, heavy, sleep};
}

Status Work(const Numbers& numbers, Output output) {
  double error = 0;
  for (uint64_t i = 0; i < numbers.count; ++i) {
    error += Compute(i);
    std::string lines = fmt::format("{}: {:f}\n", i, error);
    for (int64_t line = 0; line < numbers.heavy; ++line) {
      lines += fmt::format("{}.{}\n", i, line);
      if (lines.size() < kPiece) continue;
      TRY(output.Write(lines));
      lines.clear();
    }
    TRY(output.Write(lines));
  }
  std::string result = fmt::format("Cumulative error {:f}\n", error);
  TRY(output.Write(result));
  TRY(output.Close());
  return os::WriteAll(os::kStdout, result, "standard output");
}

}  // namespace

Result<int> RunParaTestJob(std::span<const std::string> args) {
  ParasolOptions options = ParasolOptions::ParseAny(args);
  if (options.words().size() != 1)
    return Fail(ErrorKind::kInvalid, std::string(kParaTestJob.usage));
  auto numbers = TRY(ReadNumbers(options));
  auto output = TRY(Output::Open(std::string(options.Text("output").value_or(""))));
  Status done;
  if (auto input = options.Text("input")) done = ReadInput(std::string(*input));
  if (done && numbers.sleep > 0) done = Wait(numbers.sleep);
  if (done) done = Work(numbers, std::move(output));
  if (!done) return std::unexpected(std::move(done.error()));
  if (options.Has("crash")) os::DieOfSignal(os::kSignalSegv);
  if (options.Has("err")) return Fail(ErrorKind::kInvalid, "An error, as requested by -err");
  return 0;
}

}  // namespace spate::parasol
