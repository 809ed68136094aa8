// ValueOnce: the value of a constant, which the first that asks makes of its bytes.
//
// Thread: any.
#pragma once

#include <memory>
#include <mutex>
#include <typeinfo>
#include <utility>

#include <spate/mw.h>

namespace spate::mw {

class ValueOnce {
 public:
  // `make` returns the value, or throws `error`; others wait meanwhile. Throws `error` when the
  // value is of another type.
  template <typename Make>
  const void* Get(const std::type_info& type, Make make) {
    std::lock_guard lock(mutex_);
    if (!value_) {
      value_ = make();
      type_ = &type;
    }
    if (*type_ != type) throw error("a constant was read as a value of another type");
    return value_.get();
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const void> value_;
  const std::type_info* type_ = nullptr;
};

}  // namespace spate::mw
