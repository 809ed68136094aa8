// Rare: a container that most owners leave empty, at the price of a pointer.
#pragma once

#include <memory>
#include <type_traits>

namespace spate::engine {

template <typename Container>
class Rare {
 public:
  const Container& operator*() const { return held_ ? *held_ : kNone; }
  const Container* operator->() const { return &**this; }
  // To put something in.
  Container& Edit() {
    if (!held_) held_ = std::make_unique<Container>();
    return *held_;
  }
  void Clear() { held_.reset(); }
  template <typename Self, typename Archive>
  static void Image(Self& self, Archive& archive) {
    bool some = self.held_ != nullptr;
    archive(some);
    if constexpr (std::is_const_v<Self>) {
      if (some) archive(*self.held_);
    } else {
      self.Clear();
      if (some) archive(self.Edit());
    }
  }

 private:
  inline static const Container kNone{};
  std::unique_ptr<Container> held_;
};

}  // namespace spate::engine
