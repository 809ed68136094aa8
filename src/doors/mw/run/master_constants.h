// MasterConstants: values that a master has broadcast, as bytes. They are in memory while there is
// room, else in files in $TMPDIR, and end with their last owner: a copy of the program's handle, a
// task that has not ended, or one that the program holds.
//
// Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <spate/mw.h>

#include "base/ids.h"
#include "base/result.h"
#include "doors/mw/formats/packet.h"
#include "doors/mw/run/value_once.h"
#include "link/output_memory.h"
#include "os/temp_dir.h"

namespace spate::mw {

// Bytes of all constants that are in memory; further ones are in files.
inline constexpr uint64_t kConstantsInMemory = 256 << 20;
// The most constants at once.
inline constexpr size_t kConstantsMost = 100'000;
// Bytes of a piece, but of the last one: as wire::PutPiece takes them.
inline constexpr uint64_t kConstantPiece = 1 << 20;

class MasterConstants;

class MasterConstant final : public detail::constant_value {
 public:
  ~MasterConstant() override;
  // `offset` is at most its size; fewer bytes only at its end.
  Result<std::string> Read(uint64_t offset, size_t size) const;
  const void* get(const std::type_info& type, decoder make) override;

 private:
  friend class MasterConstants;
  MasterConstant(uint64_t id, std::string bytes, std::shared_ptr<MasterConstants> owner);

  const std::shared_ptr<MasterConstants> owner_;
  std::string bytes_;      // empty: in the file
  std::string file_;       // empty: there is none
  link::HeldMemory held_;  // of `bytes_`
  ValueOnce value_;
};

class MasterConstants : public std::enable_shared_from_this<MasterConstants> {
 public:
  struct Limits {
    uint64_t memory = kConstantsInMemory;
    uint64_t bytes = kConstantBytes;  // of one
    size_t count = kConstantsMost;
  };
  static std::shared_ptr<MasterConstants> Make(const Limits& limits);
  static std::shared_ptr<MasterConstants> Make() { return Make(Limits()); }

  // kInvalid: it is too long, or there are too many. Other errors: its file
  // cannot be written.
  Result<std::shared_ptr<MasterConstant>> Add(std::string bytes);
  // One that an earlier life of this master has added; kInvalid: there is one of its number.
  Result<std::shared_ptr<MasterConstant>> Restore(uint64_t id, std::string bytes);
  // By its number on the way; null: there is none (any more).
  std::shared_ptr<MasterConstant> Find(JobId number) const;
  // True if it is one of these constants.
  bool Has(const detail::constant_value& constant) const;

  // From now on constants that have ended are kept for TakeDropped. `ring` is called with the first
  // of them, on any thread, and must not call back. Null: nobody asks any more.
  void OnDropped(std::function<void()> ring);
  std::vector<JobId> TakeDropped();

 private:
  friend class MasterConstant;
  explicit MasterConstants(const Limits& limits);
  Result<std::shared_ptr<MasterConstant>> Store(uint64_t id, std::string bytes);
  void Dropped(uint64_t id);

  const Limits limits_;
  const std::shared_ptr<link::OutputMemory> memory_;
  uint64_t life_ = 0;  // of this master: the high half of its ids
  mutable std::mutex mutex_;
  std::map<JobId, std::weak_ptr<MasterConstant>> all_;
  uint32_t last_ = 0;
  std::optional<os::TempDir> spool_;  // from the first file on
  uint64_t files_ = 0;
  std::function<void()> ring_;
  std::vector<JobId> dropped_;
};

}  // namespace spate::mw
