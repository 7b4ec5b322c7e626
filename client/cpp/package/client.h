// The way into the installed package: #include <warpfold/client.h>. Where it is installed, the
// folder of the headers is on the include path (package.cmake).
#ifndef WARPFOLD_CLIENT_CPP_PACKAGE_CLIENT_H_
#define WARPFOLD_CLIENT_CPP_PACKAGE_CLIENT_H_

#include "client/cpp/client.h"       // IWYU pragma: export
#include "client/cpp/many_stream.h"  // IWYU pragma: export
#include "client/cpp/token.h"        // IWYU pragma: export

#endif  // WARPFOLD_CLIENT_CPP_PACKAGE_CLIENT_H_
