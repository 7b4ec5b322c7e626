"""A tensor's methods by NumPy's names. Made by tools/catalogue/generate.py; not to be edited."""

from __future__ import annotations

from ._functions import Functions
from ._methods import OfClient, method_of
from ._words import DescribedT, FloatT, IndexT, NumberT, ReductionT, TruthT, ValueT

__all__ = ["TensorMethods"]


class TensorMethods(OfClient[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT]):
    """NumPy's functions of a tensor on the server, as its own methods."""

    sum = method_of(Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].sum)
    min = method_of(Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].min)
    max = method_of(Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].max)
    mean = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].mean
    )
    prod = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].prod
    )
    var = method_of(Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].var)
    std = method_of(Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].std)
    count_nonzero = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].count_nonzero
    )
    any = method_of(Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].any)
    all = method_of(Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].all)
    argmin = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].argmin
    )
    argmax = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].argmax
    )
    ptp = method_of(Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].ptp)
    nansum = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].nansum
    )
    nanmin = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].nanmin
    )
    nanmax = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].nanmax
    )
    nanmean = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].nanmean
    )
    nanprod = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].nanprod
    )
    nanvar = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].nanvar
    )
    nanstd = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].nanstd
    )
    nanargmin = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].nanargmin
    )
    nanargmax = method_of(
        Functions[NumberT, FloatT, IndexT, TruthT, ValueT, ReductionT, DescribedT].nanargmax
    )
