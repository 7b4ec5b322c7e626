// Where a call comes from, as far as it tells callers without a name apart.
#ifndef WARPFOLD_SERVER_CORE_ADMISSION_PEER_ADDRESS_H_
#define WARPFOLD_SERVER_CORE_ADMISSION_PEER_ADDRESS_H_

#include <sys/socket.h>

#include <string>

#include "absl/strings/string_view.h"

namespace warpfold {

// Of a peer as gRPC writes it ("ipv4:10.0.0.1:5000", "ipv6:%5B2001:db8::1%5D:5000", "unix:"): an
// address of IPv4, also one within IPv6; the first 64 bits of one of IPv6, which a host or a
// network has to itself; all UNIX sockets together; all that is none of these together.
std::string AddressOf(absl::string_view peer);

// The same of one as the system has it.
std::string AddressOf(const sockaddr& peer);

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_CORE_ADMISSION_PEER_ADDRESS_H_
