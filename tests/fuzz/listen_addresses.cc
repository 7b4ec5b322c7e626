// --listen-address: what is taken has names that are taken for the same.
#include "absl/strings/str_join.h"
#include "server/system/listen_address.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warpfold;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto addresses = ParseListenAddresses(text);
  if (!addresses.ok()) {
    fuzz::Require(!addresses.status().message().empty(), "a refusal has a reason");
    return 0;
  }
  const std::vector<std::string> names = NamesOf(*addresses);
  const auto again = ParseListenAddresses(absl::StrJoin(names, ","));
  fuzz::Require(again.ok() && NamesOf(*again) == names, "names are addresses");
  return 0;
}
