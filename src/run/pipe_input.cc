// Reading and cutting happen on the loop; files are written and synced aside, a group at a time.
// A group is what came while the last one was being written.
//
// Invariant: a task is added only when its block, and the name of it, are on disk.
#include "run/pipe_input.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/number.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/report.h"
#include "os/copy_part.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/signals.h"

namespace spate::run {
namespace {

constexpr const char* kInput = "standard input";
constexpr uint64_t kReadMost = 1u << 20;
constexpr uint64_t kGroupBytes = 4u << 20;
constexpr uint64_t kBlocksAhead = 2048;

std::string EndFile(const std::string& folder) { return folder + "/end"; }

std::string BlockFile(const std::string& folder, uint64_t number) {
  return folder + "/" + format::BlockName(number);
}

Status WriteBlock(const std::string& path, std::string_view bytes, os::OpenHow how, bool sync) {
  auto file = TRY(os::OpenWrite(path, how, 0600));
  TRY(os::WriteAll(file.get(), bytes, path));
  return sync ? os::Fsync(file.get(), path) : Status();
}

uint64_t HashOf(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

struct WholeInput {
  uint64_t tasks = 0;
  uint64_t bytes = 0;
  uint64_t hash = 0;
};

std::string EncodeEnd(const WholeInput& whole) {
  return fmt::format("{} {} {}\n", whole.tasks, whole.bytes, whole.hash);
}

std::optional<WholeInput> ReadEnd(const std::string& folder) {
  auto text = os::ReadFile(EndFile(folder), 128);
  WholeInput whole;
  if (!text || std::sscanf(text->c_str(), "%" SCNu64 " %" SCNu64 " %" SCNu64, &whole.tasks,
                           &whole.bytes, &whole.hash) != 3) {
    return std::nullopt;
  }
  return whole;
}

constexpr int kOut = 1;

// A task that has read enough is none that failed.
Status WritePart(uint64_t header, uint64_t offset, uint64_t length, const char* name) {
  auto file = TRY(os::OpenRead(name));
  auto copied = os::CopyPart(file.get(), 0, header, kOut, name);
  if (copied && *copied == os::Copied::kAll) {
    copied = os::CopyPart(file.get(), offset, length, kOut, name);
  }
  return copied ? Status() : std::unexpected(copied.error());
}

}  // namespace

// Bytes and hash of what was read so far.
class InputSum {
 public:
  InputSum() : state_(XXH3_createState()) {
    CHECK(state_ != nullptr);
    XXH3_64bits_reset(state_);
  }
  ~InputSum() { XXH3_freeState(state_); }
  InputSum(const InputSum&) = delete;
  InputSum& operator=(const InputSum&) = delete;

  void Add(std::string_view bytes) {
    XXH3_64bits_update(state_, bytes.data(), bytes.size());
    bytes_ += bytes.size();
  }
  uint64_t bytes() const { return bytes_; }
  uint64_t hash() const { return XXH3_64bits_digest(state_); }

 private:
  XXH3_state_t* state_;
  uint64_t bytes_ = 0;
};

// The end may be on disk before the last tasks are; then it names more than there are.
bool InputIsWhole(const std::string& folder, uint64_t tasks) {
  auto whole = ReadEnd(folder);
  return whole && whole->tasks == tasks;
}

Status CheckSameInput(int fd, const std::string& folder) {
  auto whole = ReadEnd(folder);
  (void)os::SetNonBlocking(fd, false);
  InputSum sum;
  std::string piece(kReadMost, '\0');
  while (whole && sum.bytes() <= whole->bytes) {
    auto size = TRY(os::ReadSome(fd, piece.data(), piece.size(), kInput));
    if (size == 0) break;
    sum.Add(std::string_view(piece).substr(0, size));
  }
  if (!whole || sum.bytes() == 0) return {};
  if (sum.bytes() == whole->bytes && sum.hash() == whole->hash) return {};
  return spate::Fail(
      ErrorKind::kInvalid,
      fmt::format(
          "the input differs from that of the earlier run, which had read all of its {} bytes",
          FormatCount(whole->bytes)));
}

PipeInput::PipeInput(os::RealLoop& loop, Plan plan, Sink sink)
    : loop_(loop),
      plan_(std::move(plan)),
      sink_(std::move(sink)),
      cutter_(plan_.rules),
      sum_(std::make_unique<InputSum>()),
      dealt_(plan_.deal),
      first_added_(plan_.taken.size()) {
  Watch();
}

PipeInput::~PipeInput() { Stop(); }

void PipeInput::Stop() {
  if (std::exchange(watching_, false)) loop_.Unwatch(plan_.fd);
}

void PipeInput::Fail(const Error& error) {
  if (std::exchange(broken_, true)) return;
  Stop();
  sink_.wrong(error);
}

bool PipeInput::Full() const {
  if (group_bytes_ >= kGroupBytes) return true;
  return waiting_blocks_ > kBlocksAhead || waiting_bytes_ > plan_.bytes_ahead;
}

void PipeInput::Watch() {
  if (watching_ || at_end_ || broken_ || Full()) return;
  watching_ = true;
  loop_.WatchRead(plan_.fd, [this] { Read(); });
}

void PipeInput::Read() {
  std::string piece(std::min<uint64_t>(cutter_.Room(), kReadMost), '\0');
  auto size = os::ReadSome(plan_.fd, piece.data(), piece.size(), kInput);
  if (!size) {
    if (size.error().kind == ErrorKind::kBusy) return;
    return Fail(size.error());
  }
  sum_->Add(std::string_view(piece).substr(0, *size));
  cutter_.Feed(std::string_view(piece).substr(0, *size));
  if (*size == 0) {
    cutter_.Finish();
    at_end_ = true;
    Stop();
  }
  AcceptBlocks();
  if (Full()) Stop();
}

void PipeInput::AcceptBlocks() {
  while (!broken_) {
    auto block = cutter_.Next();
    if (!block) return Fail(block.error());
    if (!*block) break;
    if (auto taken = AcceptBlock(std::move(**block)); !taken) return Fail(taken.error());
  }
  if (at_end_ && next_ < plan_.taken.size()) {
    return Fail(EndsBefore().error());
  }
  Write();
}

std::unexpected<Error> PipeInput::EndsBefore() const {
  return spate::Fail(ErrorKind::kInvalid,
                     fmt::format("the input ends after {} bytes, but the earlier run had read "
                                 "more; provide the same input again",
                                 FormatCount(offset_)));
}

Status PipeInput::AcceptBlock(std::string bytes) {
  Block block{.row = {.offset = offset_, .length = bytes.size()}};
  offset_ += bytes.size();
  block.bytes = cutter_.header().empty() ? std::move(bytes) : cutter_.header() + bytes;
  uint64_t number = next_++;
  if (plan_.deal > 0) {
    block.number = number % plan_.deal + 1;
  } else {
    block.number = number + 1;
    block.row.hash = HashOf(block.bytes);
    if (number < plan_.taken.size()) {
      const Taken& known = plan_.taken[number];
      if (known.length == block.row.length && known.hash == block.row.hash) return {};
      if (at_end_ && block.row.length < known.length) return EndsBefore();
      return spate::Fail(
          ErrorKind::kInvalid,
          fmt::format("the input is not that of the earlier run: they differ in block {}, from "
                      "byte {} on; give the same input and the same --block, or begin anew "
                      "without --resume",
                      FormatCount(number + 1), FormatCount(block.row.offset)));
    }
    ++waiting_blocks_;
    waiting_bytes_ += block.bytes.size();
    lengths_.push_back(block.bytes.size());
  }
  group_bytes_ += block.bytes.size();
  group_.push_back(std::move(block));
  return {};
}

// One write at a time.
void PipeInput::Write() {
  if (broken_ || ended_ || writer_ || (group_.empty() && !at_end_)) return;
  auto group = std::make_shared<std::vector<Block>>(std::exchange(group_, {}));
  group_bytes_ = 0;
  bool last = at_end_;
  ended_ = last;
  for (const Block& block : *group) {
    writing_.push_back({.row = block.row, .number = block.number, .bytes = {}});
    if (plan_.deal == 0) continue;
    // The header is in front of what each task gets, once.
    std::string_view bytes = block.bytes;
    bool first = dealt_[block.number - 1] == 0;
    dealt_[block.number - 1] += bytes.size() - (first ? 0 : cutter_.header().size());
  }
  size_t header = cutter_.header().size();
  uint64_t tasks = plan_.deal == 0 ? next_
                                   : static_cast<uint64_t>(std::ranges::count_if(
                                         dealt_, [](uint64_t length) { return length > 0; }));
  std::string end = EncodeEnd({tasks, sum_->bytes(), sum_->hash()});
  auto work = [group, last, header, end, folder = plan_.folder, deal = plan_.deal,
               dealt = dealt_]() -> Result<bool> {
    Status ok;
    for (const Block& block : *group) {
      std::string path = BlockFile(folder, block.number);
      bool append = deal > 0;
      std::string_view bytes = block.bytes;
      if (append && header > 0 && os::Exists(path)) bytes.remove_prefix(header);
      ok = WriteBlock(path, bytes, append ? os::OpenHow::kAppend : os::OpenHow::kTruncate, !append);
      if (!ok) return std::unexpected(ok.error());
    }
    for (uint32_t i = 0; last && i < deal; ++i) {
      if (dealt[i] > 0) ok = WriteBlock(BlockFile(folder, i + 1), "", os::OpenHow::kAppend, true);
      if (!ok) return std::unexpected(ok.error());
    }
    if (ok = os::FsyncDir(folder); !ok) return std::unexpected(ok.error());
    if (last) ok = os::WriteFileAtomically(EndFile(folder), end, 0600);
    if (!ok) return std::unexpected(ok.error());
    return last;
  };
  writer_ = std::make_unique<os::Aside<bool>>(loop_, std::move(work),
                                              [this](Result<bool> written) { OnWritten(written); });
}

void PipeInput::OnWritten(const Result<bool>& written) {
  writer_.reset();
  if (!written) {
    return Fail({written.error().kind, written.error().message +
                                           "\nthe input read so far is safe; free some space, and "
                                           "continue with --resume and the same input"});
  }
  AddTasks(std::exchange(writing_, {}));
  if (*written) return sink_.end();
  Write();
  Watch();
}

void PipeInput::AddTasks(std::vector<Block> blocks) {
  std::vector<std::string> rows;
  if (plan_.deal == 0) {
    for (const Block& block : blocks) rows.push_back(format::EncodeInputRow(block.row));
  } else if (ended_) {
    for (uint64_t length : dealt_) {
      if (length > 0) rows.push_back(format::EncodeInputRow({.length = length}));
    }
  }
  if (!rows.empty()) sink_.add(std::move(rows));
}

void PipeInput::OnEnded(TaskIndex index) {
  uint64_t at = index - std::min<uint64_t>(index, first_added_);
  if (index < first_added_ || at >= lengths_.size() || plan_.deal > 0) return;
  --waiting_blocks_;
  waiting_bytes_ -= lengths_[at];
  Watch();
}

void BlockView::OnEnded(const cli::TaskEnded& ended) {
  inner_->OnEnded(ended);
  if (!EndsTask(ended.verdict)) return;
  TaskIndex index = ended.end.ref.index;
  if (ended.verdict == engine::Verdict::kSucceeded) {
    (void)os::RemoveFile(BlockFile(folder_, uint64_t{index} + 1));  // a leftover costs only space
  }
  on_ended_(index);
}

std::optional<int> PartEntry(int argc, char** argv) {
  if (argc != 6 || std::strcmp(argv[1], format::kPartArgument) != 0) return std::nullopt;
  os::IgnoreSignal(os::kSignalPipe);
  auto header = ReadNumber<uint64_t>(argv[2]);
  auto offset = ReadNumber<uint64_t>(argv[3]);
  auto length = ReadNumber<uint64_t>(argv[4]);
  if (!header || !offset || !length) return cli::kExitUsage;
  auto written = WritePart(*header, *offset, *length, argv[5]);
  return written ? cli::kExitSuccess : cli::ReportError(written.error());
}

}  // namespace spate::run
