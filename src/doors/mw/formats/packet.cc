#include "doors/mw/formats/packet.h"

#include <spate/bytes.h>

namespace spate::mw {
namespace {

std::unexpected<Error> Broken(const error& why) {
  return Fail(ErrorKind::kInvalid, std::string("not a packet of tasks: ") + why.what());
}

std::string_view Bytes(reader& from) { return from.raw(from.length()); }

void AddBytes(writer& to, std::string_view bytes) {
  to.length(bytes.size());
  to.raw(bytes.data(), bytes.size());
}

}  // namespace

std::string WriteCalls(std::span<const Call> calls) {
  size_t size = 0;
  for (const Call& call : calls) {
    size += 48 + call.algorithm.size() + call.arguments.size() + 16 * call.constants.size();
  }
  writer to;
  to.reserve(size);
  for (const Call& call : calls) {
    to(call.task, call.tries, call.limit.ns, call.counts_losses);
    AddBytes(to, call.algorithm);
    AddBytes(to, call.arguments);
    to.length(call.constants.size());
    for (const NamedConstant& each : call.constants) to(each.id, each.size);
  }
  return to.take();
}

Result<std::vector<Call>> ReadCalls(std::string_view bytes) {
  std::vector<Call> calls;
  try {
    reader from(bytes);
    while (!from.empty()) {
      Call& call = calls.emplace_back();
      from(call.task, call.tries, call.limit.ns, call.counts_losses);
      call.algorithm = Bytes(from);
      call.arguments = Bytes(from);
      const uint64_t constants = from.length();
      if (constants > kConstantsOfTask) throw error("a task names too many constants");
      for (uint64_t i = 0; i < constants; ++i) {
        NamedConstant& named = call.constants.emplace_back();
        from(named.id, named.size);
        if (!IsConstant(NumberOf(named.id))) throw error("that is not the number of a constant");
        if (named.size > kConstantBytes) throw error("a constant is too long");
      }
    }
  } catch (const error& why) {
    return Broken(why);
  }
  return calls;
}

void AddAnswer(std::string& packet, const Answer& answer) {
  writer to(std::move(packet));
  to(answer.task, answer.end, answer.time.ns);
  AddBytes(to, answer.bytes);
  packet = to.take();
}

Result<std::vector<Answer>> ReadAnswers(std::string_view packet) {
  std::vector<Answer> answers;
  try {
    reader from(packet);
    while (!from.empty()) {
      Answer& answer = answers.emplace_back();
      from(answer.task, answer.end, answer.time.ns);
      if (!FromNumber<CallEnd>(std::to_underlying(answer.end))) {
        throw error("an answer ends in a way that we do not know");
      }
      answer.bytes = Bytes(from);
    }
  } catch (const error& why) {
    return Broken(why);
  }
  return answers;
}

}  // namespace spate::mw
