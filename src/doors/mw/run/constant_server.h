// ConstantServer: the master's side of constants on their way. A slave asks for the pieces of a
// constant that a task of its needs, a few at a time (wire::WantPiece), and hears when the constant
// has ended (wire::CloseJob).
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "base/ids.h"
#include "doors/mw/run/master_constants.h"
#include "hub/nodes.h"
#include "os/loop.h"
#include "wire/messages.h"

namespace spate::mw {

// Pieces that a slave has asked for and not got, at most. The master passes over further ones.
inline constexpr uint32_t kPiecesAhead = 4;

class ConstantServer {
 public:
  ConstantServer(os::Loop& loop, std::shared_ptr<MasterConstants> all);
  ~ConstantServer();
  ConstantServer(const ConstantServer&) = delete;
  ConstantServer& operator=(const ConstantServer&) = delete;

  // The line to one slave; the server and `to` outlive it.
  class Line {
   public:
    // `begins`: a constant of this many bytes leaves.
    Line(ConstantServer& of, hub::NodePort& to, std::function<void(uint64_t)> begins)
        : of_(of), to_(to), begins_(std::move(begins)) {}
    ~Line();
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    void RequestPiece(const wire::WantPiece& want);

   private:
    friend class ConstantServer;
    void Send();

    ConstantServer& of_;
    hub::NodePort& to_;
    const std::function<void(uint64_t)> begins_;
    std::deque<wire::WantPiece> wants_;
    std::set<JobId> has_;  // or a part of it
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  };

 private:
  void Drop();

  os::Loop& loop_;
  const std::shared_ptr<MasterConstants> all_;
  std::map<JobId, std::set<Line*>> have_;  // Line::has_, by constants
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::mw
