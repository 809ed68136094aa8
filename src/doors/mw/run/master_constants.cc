#include "doors/mw/run/master_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "access/proof.h"
#include "base/check.h"
#include "os/fd.h"
#include "os/file.h"

namespace spate::mw {

MasterConstant::MasterConstant(uint64_t id, std::string bytes,
                               std::shared_ptr<MasterConstants> owner)
    : constant_value(id, bytes.size()), owner_(std::move(owner)), bytes_(std::move(bytes)) {}

MasterConstant::~MasterConstant() {
  if (!file_.empty()) (void)os::RemoveFile(file_);
  owner_->Dropped(id());
}

Result<std::string> MasterConstant::Read(uint64_t offset, size_t size) const {
  if (file_.empty()) return bytes_.substr(offset, size);
  auto fd = TRY(os::OpenRead(file_));
  const auto left = static_cast<size_t>(this->size() - offset);
  auto read = TRY(os::ReadAt(fd.get(), offset, std::min(size, left), file_));
  if (read.size() < std::min(size, left)) {
    return Fail(ErrorKind::kCorrupt, fmt::format("{} is shorter than it was", file_));
  }
  return read;
}

const void* MasterConstant::get(const std::type_info& type, decoder make) {
  return value_.Get(type, [&] {
    if (file_.empty()) return make(bytes_);
    auto bytes = Read(0, size());
    if (!bytes) throw error("a constant cannot be read back: " + bytes.error().message);
    return make(*bytes);
  });
}

MasterConstants::MasterConstants(const Limits& limits)
    : limits_(limits), memory_(std::make_shared<link::OutputMemory>(limits.memory)) {
  auto random = access::MakeRandom();
  CHECK(random.has_value());
  uint32_t life = 0;
  std::memcpy(&life, random->data(), sizeof life);
  life_ = uint64_t{life} << 32;
}

std::shared_ptr<MasterConstants> MasterConstants::Make(const Limits& limits) {
  return std::shared_ptr<MasterConstants>(new MasterConstants(limits));
}

Result<std::shared_ptr<MasterConstant>> MasterConstants::Add(std::string bytes) {
  if (bytes.size() > limits_.bytes) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("the constant takes {} bytes, more than {}: broadcast it in parts, or "
                            "write it to a file and pass the file's name",
                            bytes.size(), limits_.bytes));
  }
  uint64_t id = 0;
  {
    std::lock_guard lock(mutex_);
    if (all_.size() >= limits_.count) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("there are {} constants: drop some of them first", all_.size()));
    }
    if (last_ + 1 >= kConstantMark) {
      return Fail(ErrorKind::kInvalid, "this master has made too many constants");
    }
    id = life_ | kConstantMark | ++last_;
  }
  return Store(id, std::move(bytes));
}

Result<std::shared_ptr<MasterConstant>> MasterConstants::Restore(uint64_t id, std::string bytes) {
  const JobId number = NumberOf(id);
  if (!IsConstant(number) || bytes.size() > limits_.bytes || Find(number)) {
    return Fail(ErrorKind::kInvalid, "that is not a constant of this master");
  }
  {
    std::lock_guard lock(mutex_);
    last_ = std::max(last_, number.value & ~kConstantMark);
  }
  return Store(id, std::move(bytes));
}

Result<std::shared_ptr<MasterConstant>> MasterConstants::Store(uint64_t id, std::string bytes) {
  std::shared_ptr<MasterConstant> made(
      new MasterConstant(id, std::move(bytes), shared_from_this()));
  made->held_ = link::HeldMemory(memory_);
  if (!made->held_.Acquire(made->size())) {
    {
      std::lock_guard lock(mutex_);
      if (!spool_) spool_.emplace();
      made->file_ = spool_->Path(fmt::format("constant-{}", ++files_));
    }
    auto written = os::WriteFile(made->file_, made->bytes_, 0600);
    std::string().swap(made->bytes_);
    if (!written) return std::unexpected(written.error());
  }
  std::lock_guard lock(mutex_);
  all_[NumberOf(id)] = made;
  return made;
}

std::shared_ptr<MasterConstant> MasterConstants::Find(JobId number) const {
  std::lock_guard lock(mutex_);
  auto at = all_.find(number);
  return at == all_.end() ? nullptr : at->second.lock();
}

bool MasterConstants::Has(const detail::constant_value& constant) const {
  return Find(NumberOf(constant.id())).get() == &constant;
}

void MasterConstants::Dropped(uint64_t id) {
  std::lock_guard lock(mutex_);
  if (all_.erase(NumberOf(id)) == 0 || !ring_) return;
  dropped_.push_back(NumberOf(id));
  if (dropped_.size() == 1) ring_();
}

void MasterConstants::OnDropped(std::function<void()> ring) {
  std::lock_guard lock(mutex_);
  ring_ = std::move(ring);
  dropped_.clear();
}

std::vector<JobId> MasterConstants::TakeDropped() {
  std::lock_guard lock(mutex_);
  return std::exchange(dropped_, {});
}

}  // namespace spate::mw
