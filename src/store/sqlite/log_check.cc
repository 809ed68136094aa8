#include "store/sqlite/log_check.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "os/fd.h"
#include "os/file.h"
#include "store/sqlite/journal_writer.h"

namespace spate::store {
namespace {

constexpr size_t kHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;
constexpr uint32_t kMagicLittle = 0x377f0682;  // checksums over little endian words
constexpr uint32_t kMagicBig = 0x377f0683;

uint32_t BigAt(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

uint32_t LittleAt(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

struct LogSum {
  uint32_t first = 0, second = 0;

  void Add(std::string_view bytes, bool big) {
    for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first += (big ? BigAt(bytes, at) : LittleAt(bytes, at)) + second;
      second += (big ? BigAt(bytes, at + 4) : LittleAt(bytes, at + 4)) + first;
    }
  }
  bool IsAt(std::string_view bytes, size_t at) const {
    return first == BigAt(bytes, at) && second == BigAt(bytes, at + 4);
  }
};

std::unexpected<Error> Damaged(const std::string& path, std::string_view what) {
  return Fail(
      ErrorKind::kCorrupt,
      fmt::format("{}: {}; later records would be lost silently\n"
                  "Restore a backup, or move this file away to continue without its contents",
                  EscapeForScreen(path), what),
      Remedy(" (a hub's backup: {})", Advice("hub restore", "FILE")));
}

class LogChecker {
 public:
  LogChecker(os::Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Status Check() {
    auto header = TRY(Read(kHeaderBytes));
    if (header.size() < kHeaderBytes || LittleAt(header, 0) == 0) return {};  // nothing in it
    uint32_t magic = BigAt(header, 0);
    big_ = magic == kMagicBig;
    page_bytes_ = BigAt(header, 8);
    LogSum sum;
    sum.Add(header.substr(0, 24), big_);
    bool known = magic == kMagicLittle || magic == kMagicBig;
    if (!known || !sum.IsAt(header, 24)) return Damaged(path_, "its header is damaged");
    salts_ = header.substr(16, 8);
    return CheckFrames(sum);
  }

 private:
  // A frame is of this log when it has its salts; older ones behind the end have others.
  Status CheckFrames(LogSum sum) {
    bool sound = true;
    int commits_behind = 0;  // a damaged frame
    for (uint64_t number = 1;; ++number) {
      auto frame = TRY(Read(kFrameHeaderBytes + page_bytes_));
      if (frame.size() < kFrameHeaderBytes + page_bytes_) return {};
      bool ours = frame.substr(8, 8) == salts_;
      // All that follows a whole commit was written after that was synced.
      if (!sound && ours && commits_behind > 0) {
        return Damaged(path_, fmt::format("frame {} is damaged", first_bad_));
      }
      if (sound) {
        sum.Add(frame.substr(0, 8), big_);
        sum.Add(frame.substr(kFrameHeaderBytes), big_);
        sound = ours && sum.IsAt(frame, 16);
        if (!sound) first_bad_ = number;
      }
      if (!sound && ours && BigAt(frame, 4) != 0) ++commits_behind;
    }
  }

  // Fewer at the end of the file. Valid until the next call.
  Result<std::string_view> Read(size_t bytes) {
    buffer_.clear();
    while (buffer_.size() < bytes) {
      auto piece = TRY(os::ReadAt(fd_.get(), at_, bytes - buffer_.size(), path_));
      if (piece.empty()) break;
      at_ += piece.size();
      buffer_ += piece;
    }
    return buffer_;
  }

  const os::Fd fd_;
  const std::string path_;
  std::string buffer_;
  std::string salts_;
  uint64_t at_ = 0;
  uint64_t first_bad_ = 0;
  uint32_t page_bytes_ = 0;
  bool big_ = false;
};

}  // namespace

Status CheckLog(const std::string& db_path) {
  std::string path = db_path + "-wal";
  if (!os::Exists(path)) return {};
  auto fd = TRY(os::OpenRead(path));
  return LogChecker(std::move(fd), std::move(path)).Check();
}

Status CheckMark(Database& db, const JournalPlace& place) {
  const std::string mark = os::ReadFile(place.BeganPath(), 64).value_or("");
  uint64_t marked = 0;
  std::from_chars(mark.data(), mark.data() + mark.size(), marked);
  const uint64_t last = TRY(LastSeqOf(db));
  if (last >= marked) return {};
  Remedy remedy;
  if (place.is_hub) remedy = Remedy("; or restore a backup ({})", Advice("hub restore", "FILE"));
  return Fail(ErrorKind::kCorrupt,
              fmt::format("{} ends at record {}, but record {} was durable: its end is lost; to "
                          "continue with the remaining records, remove {}",
                          EscapeForScreen(place.DbPath()), last, marked,
                          EscapeForScreen(place.BeganPath())),
              std::move(remedy));
}

}  // namespace spate::store
