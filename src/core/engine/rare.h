// Rare: a container that most owners leave empty, at the price of a pointer.
#pragma once

#include <memory>

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

 private:
  inline static const Container kNone{};
  std::unique_ptr<Container> held_;
};

}  // namespace spate::engine
