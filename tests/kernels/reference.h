// Numbers wider than any element, for sums and bounds that tests work out themselves.
#ifndef WARPFOLD_TESTS_KERNELS_REFERENCE_H_
#define WARPFOLD_TESTS_KERNELS_REFERENCE_H_

namespace warpfold::reference {

__extension__ typedef __int128 Wide;
__extension__ typedef __float128 Quad;

}  // namespace warpfold::reference

#endif  // WARPFOLD_TESTS_KERNELS_REFERENCE_H_
