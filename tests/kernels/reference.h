// Numbers wider than any element, for sums and bounds that tests work out themselves.
#ifndef WARPFOLD_TESTS_KERNELS_REFERENCE_H_
#define WARPFOLD_TESTS_KERNELS_REFERENCE_H_

namespace warpfold::reference {

__extension__ typedef __int128 Wide;
#if __LDBL_MANT_DIG__ == 113  // as on aarch64, where GCC has no other name for it
using Quad = long double;
#else
__extension__ typedef __float128 Quad;
#endif

}  // namespace warpfold::reference

#endif  // WARPFOLD_TESTS_KERNELS_REFERENCE_H_
