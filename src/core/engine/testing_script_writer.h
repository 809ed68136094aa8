// ScriptWriter: records, sends and notices of an engine as lines of scripts
// (engine_script_test.cc).
#pragma once

#include <fmt/format.h>

#include <string>
#include <variant>

#include "base/type_name.h"
#include "base/units.h"
#include "core/engine/engine.h"
#include "core/model/field_text.h"
#include "core/testing/script.h"
#include "present/why.h"

namespace spate::engine {

// Script form of the records, sends and notices of one Output.
class ScriptWriter {
 public:
  ScriptWriter(Instant now, script::Lines& lines) : now_(now), lines_(lines) {}

  void Write(const Output& out) {
    for (const Record& record : out.records) std::visit(*this, record);
    for (const Send& send : out.sends) std::visit(*this, send);
    for (const Notice& notice : out.notices) std::visit(*this, notice);
    if (out.wake_at != Instant::Never()) lines_.Add("wake " + script::Describe(out.wake_at - now_));
  }

  void operator()(const JobAccepted& record) {
    lines_.Add(fmt::format("record accepted {} tasks={}{}", script::Name(record.job),
                           record.plan.task_count, record.plan.open ? " open" : ""));
  }
  void operator()(const JobGrown& record) {
    lines_.Add(fmt::format("record grown {} tasks={}", script::Name(record.job), record.count));
  }
  void operator()(const TasksLinked& record) {
    std::string text = "record linked " + script::Name(record.job);
    for (const Edge& edge : record.edges) {
      text += fmt::format(" {}>{}", edge.parent + 1, edge.child + 1);
    }
    lines_.Add(text);
  }
  void operator()(const JobSealed& record) {
    lines_.Add("record sealed " + script::Name(record.job));
  }
  void operator()(const PolicyChanged& record) {
    lines_.Add("record policy " + script::Name(record.job));
  }
  void operator()(const TasksWithdrawn& record) {
    std::string parent = record.parent ? fmt::format(" for={}", *record.parent + 1) : "";
    lines_.Add("record withdrawn " + script::Name(record.job, record.tasks) + parent +
               (record.left_list ? " left-list" : "") + Quoted(record.reason));
  }
  void operator()(const TasksCancelled& record) {
    lines_.Add("record cancelled " + script::Name(record.job, record.tasks) +
               Quoted(record.reason));
  }
  void operator()(const TasksReopened& record) {
    std::string after;
    for (const After& each : record.after) after += " after " + script::Name(each.job);
    lines_.Add("record reopened " + script::Name(record.job, record.tasks) + after +
               (record.succeeded ? " succeeded" : ""));
  }
  void operator()(const NeedsChanged& record) {
    std::string text = "record needs " + script::Name(record.job);
    for (const TaskClass& each : record.new_requests) {
      text += fmt::format(" [{}]", script::Describe(each.needs));
    }
    for (const RequestRun& run : record.runs) {
      text += fmt::format(" {}-{}={}", run.first + 1, run.first + run.count, run.request);
    }
    lines_.Add(text);
  }
  void operator()(const JobHeld& record) {
    lines_.Add(fmt::format("record held {} {}", script::Name(record.job), Reason(record.reason)));
  }
  void operator()(const JobReleased& record) {
    lines_.Add("record released " + script::Name(record.job));
  }
  void operator()(const JobSteered& record) {
    lines_.Add(fmt::format("record {} {}{}", WordOf(record.what),
                           script::Name(record.job, record.tasks),
                           record.by.empty() ? "" : " by=" + record.by) +
               (record.excess ? ": " + TextOf(*record.excess) : ""));
  }
  void operator()(const JobParted& record) {
    lines_.Add(fmt::format("record parted {} from {} on {}", script::Name(record.job),
                           script::Name(record.from.job), script::Name(record.from.node)));
  }
  void operator()(const TasksResized& record) {
    lines_.Add(fmt::format(
        "record {} {}{}{}{}", WordOf(record.stage), script::Name(record.job, record.tasks),
        record.stage == ResizeStage::kQueued ? "" : fmt::format(" holds={}", record.request),
        record.reason.empty() ? "" : " reason=" + record.reason,
        record.to.time_limit ? " limit=" + FormatDuration(*record.to.time_limit) : ""));
  }
  void operator()(const Leased& record) {
    lines_.Add(fmt::format("record leased {} {} attempt={}", script::Name(record.node),
                           script::Name(record.job, record.tasks), record.attempt.value));
  }
  void operator()(const GangLeased& record) {
    std::string parts;
    for (const GangLeased::Part& part : record.parts) {
      parts += fmt::format(" {}x{}", script::Name(part.node), part.procs);
    }
    lines_.AddTask("record gang ", record.job, record.index,
                   fmt::format(" attempt={}{}", record.attempt.value, parts));
  }
  void operator()(const GangReserved& record) {
    lines_.AddTask(
        "record reserved ", record.job, record.index,
        fmt::format(" at={}{}{}", When(record.start),
                    record.told() == record.start ? "" : " expected=" + When(record.told()),
                    Quoted(record.reason)));
  }
  void operator()(const GangPolicyChanged& record) {
    lines_.Add(fmt::format("record policy {}", WordOf(record.policy)));
  }
  void operator()(const HalfLifeChanged& record) {
    lines_.Add(fmt::format("record half-life {}", record.half_life.seconds()));
  }
  // Once in a minute; `users` shows it.
  void operator()(const UseCounted&) {}
  void operator()(const ClockStepped& record) {
    lines_.Add(fmt::format("record clock {}", (record.to - record.from).seconds()));
  }
  void operator()(const PriorityChanged& record) {
    lines_.Add(fmt::format("record priority {} {}", script::Name(record.job), record.priority));
  }
  void operator()(const Returned& record) {
    lines_.Add(fmt::format("record returned {} {} attempt={}", script::Name(record.node),
                           script::Name(record.job, record.tasks), record.attempt.value));
  }
  void operator()(const AttemptEnded& record) {
    const AttemptRef& ref = record.end.ref;
    std::string after =
        fmt::format(" attempt={} {} {}{}", ref.attempt.value, script::Describe(record.end),
                    WordOf(record.verdict), record.counts ? "" : " no-try");
    if (!record.end.note.empty()) after += " '" + record.end.note + "'";
    lines_.AddTask(fmt::format("record ended {} ", script::Name(record.node)), ref.job, ref.index,
                   after);
  }
  void operator()(const JobFinished& record) {
    lines_.Add(
        fmt::format("record finished {}:{}", script::Name(record.job), Counts(record.counts)));
  }
  void operator()(const JobCancelled& record) {
    lines_.Add(
        fmt::format("record cancelled {}{}", script::Name(record.job), Quoted(record.reason)));
  }
  void operator()(const DependencyMet& record) {
    lines_.Add(
        fmt::format("record met {} on={}", script::Name(record.job), script::Name(record.on)));
  }
  void operator()(const UserChanged& record) {
    const UserRule& rule = record.rule;
    const std::string group = rule.group.empty() ? "" : " group=" + rule.group;
    lines_.Add(fmt::format("record user {} weight={} max-running={} max-queued={}{}", record.user,
                           rule.weight, rule.max_running, rule.max_queued, group));
  }
  void operator()(const NodeDrained& record) {
    const std::string why = record.reason.empty() ? "" : fmt::format(" '{}'", record.reason);
    lines_.Add("record drained " + script::Name(record.node) + why);
  }
  void operator()(const NodeUndrained& record) {
    lines_.Add("record undrained " + script::Name(record.node));
  }
  void operator()(const NodeRemoved& record) {
    lines_.Add("record removed " + script::Name(record.node));
  }
  void operator()(const NodeSick& record) {
    lines_.Add(fmt::format("record sick {} {}{}", script::Name(record.node), AnyName(record.job),
                           Quoted(record.text)));
  }
  void operator()(const NodeCleared& record) {
    lines_.Add(fmt::format("record cleared {} {}",
                           record.node == NodeId() ? "all" : script::Name(record.node),
                           AnyName(record.job)));
  }
  void operator()(const NodeBlamed& record) {
    std::string by;
    for (const Blame& blame : record.blames) by += " " + script::Name(blame.by);
    lines_.Add(
        fmt::format("record blamed {} by{}", script::Name(record.node), by.empty() ? " none" : by));
  }
  // Others, by their lists of fields.
  template <HasFields T>
  void operator()(const T& record) {
    lines_.Add(fmt::format("record {} {}", TypeWords<T>(), FieldText(record)));
  }
  void operator()(const SendLease& send) {
    lines_.Add(fmt::format("send {} lease {} attempt={} request={} {}", script::Name(send.node),
                           script::Name(send.job, send.tasks), send.attempt.value, send.request,
                           script::Describe(send.needs) + PartOf(send)));
  }
  void operator()(const SendRecall& send) {
    lines_.Add(fmt::format("send {} recall {}", script::Name(send.node), script::Name(send.job)));
  }
  void operator()(const SendDrop& send) {
    lines_.Add(fmt::format("send {} drop {} attempt={}", script::Name(send.node),
                           script::Name(send.job, send.tasks), send.attempt.value));
  }
  void operator()(const SendGo& send) {
    lines_.AddTask(fmt::format("send {} go ", script::Name(send.node)), send.ref.job,
                   send.ref.index, fmt::format(" attempt={}", send.ref.attempt.value));
  }
  void operator()(const SendAsk& send) {
    lines_.Add(fmt::format("send {} ask", script::Name(send.node)));
  }
  void operator()(const SendFreeze& send) {
    lines_.Add(fmt::format("send {} {} {}", script::Name(send.node),
                           send.frozen ? "freeze" : "thaw", script::Name(send.job, send.tasks)));
  }
  void operator()(const SendResize& send) {
    std::string to;
    if (send.to.milli_cpus) to += fmt::format(" cpus={:g}", *send.to.milli_cpus / 1000.0);
    if (send.to.memory) to += " memory=" + FormatSize(*send.to.memory);
    if (send.to.time_limit) to += " limit=" + FormatDuration(*send.to.time_limit);
    lines_.AddTask(fmt::format("send {} resize ", script::Name(send.node)), send.ref.job,
                   send.ref.index, to);
  }
  void operator()(const SendStop& send) {
    bool all = send.tasks.empty();
    lines_.Add(fmt::format("send {} {} {}", script::Name(send.node), send.kill ? "kill" : "stop",
                           all ? script::Name(send.job) : script::Name(send.job, send.tasks)));
  }
  void operator()(const NoticeEnded& notice) {
    const AttemptRef& ref = notice.end.ref;
    lines_.AddTask("notice ended ", ref.job, ref.index,
                   fmt::format(" attempt={} {}", ref.attempt.value, WordOf(notice.verdict)));
  }
  // There are as many as records of accepted jobs; the property test compares them.
  void operator()(const NoticeAccepted&) {}
  void operator()(const NoticeRefused& notice) {
    lines_.Add(fmt::format("notice refused {}{}", script::Name(notice.job),
                           Quoted(present::TextOf(notice.why))));
  }
  void operator()(const NoticeNodeSick& notice) {
    lines_.Add(fmt::format("notice sick {} {}", script::Name(notice.node), AnyName(notice.job)));
  }
  void operator()(const NoticeNodeRemoved& notice) {
    lines_.Add(fmt::format("notice removed {}", script::Name(notice.node)));
  }
  // One for each record.
  void operator()(const NoticeReturned&) {}
  void operator()(const NoticeHeld& notice) {
    lines_.Add(fmt::format("notice held {} {}", script::Name(notice.job), Reason(notice.reason)));
  }
  void operator()(const NoticeReleased& notice) {
    lines_.Add(fmt::format("notice released {}", script::Name(notice.job)));
  }
  void operator()(const NoticeFinished& notice) {
    lines_.Add(
        fmt::format("notice finished {}:{}", script::Name(notice.job), Counts(notice.counts)));
  }

  // Only what is not zero.
  static std::string Counts(const JobCounts& counts) {
    std::string text = fmt::format(" total={}", counts.total);
    auto add = [&](const char* name, uint32_t count) {
      if (count > 0) text += fmt::format(" {}={}", name, count);
    };
    add("queued", counts.queued);
    add("leased", counts.leased);
    add("succeeded", counts.succeeded);
    add("failed", counts.failed);
    add("cancelled", counts.cancelled);
    add("unknown", counts.unknown);
    return text;
  }

 private:
  static std::string Quoted(const std::string& text) {
    return text.empty() ? "" : " '" + text + "'";
  }
  static std::string AnyName(JobId job) { return job == JobId() ? "all" : script::Name(job); }
  static const char* Reason(HoldReason reason) {
    constexpr const char* kNames[] = {"none", "user", "halt", "max-failures", "all-fail"};
    return kNames[static_cast<size_t>(reason)];
  }

  static std::string PartOf(const SendLease& send) {
    if (!send.part) return "";
    std::string text = fmt::format(" part={} of", send.part->index);
    for (const GangHost& host : send.part->hosts)
      text += fmt::format(" {}:{}", host.node, host.procs);
    return text;
  }
  std::string When(Instant at) const {
    return at == Instant::Never() ? "never" : script::Describe(at - now_);
  }

  Instant now_;
  script::Lines& lines_;
};

}  // namespace spate::engine
