#include "server/observe/trace/otlp.h"

namespace warpfold {

bool HasOtlp() { return false; }

std::unique_ptr<SpanSink> MakeOtlpSink(const OtlpOptions& /*options*/) { return nullptr; }

}  // namespace warpfold
