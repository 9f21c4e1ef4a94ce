"""Which types a model file may hold: a short list, and those of the registry.

skops calls or fills in whatever carries a trusted name. So a name is trusted only if
that is harmless whatever the file holds: classes that keep what they are given, and
functions of arrays. skops itself trusts NumPy's arrays and scikit-learn's public
estimators; what is added here are the parts these are made of.
"""

from __future__ import annotations

from collections.abc import Iterable

from committee.persistence.registry import trusted_names

_KERNELS = (
    "CompoundKernel ConstantKernel DotProduct Exponentiation ExpSineSquared Matern "
    "Product RBF RationalQuadratic Sum WhiteKernel"
)
#: Parts of fitted estimators, one by one. `soundness` checks the content of those that
#: compiled code reads without looking.
_PARTS = frozenset(
    {
        "collections.OrderedDict",
        "numpy.dtype",
        "scipy.sparse._csc.csc_array",
        "scipy.sparse._csc.csc_matrix",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
        "sklearn._loss.loss.HalfTweedieLoss",
        "sklearn._loss.loss.HalfTweedieLossIdentity",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.feature_selection._mutual_info.mutual_info_classif",
        "sklearn.feature_selection._mutual_info.mutual_info_regression",
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.feature_selection._univariate_selection.f_regression",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        *(f"sklearn.gaussian_process.kernels.{name}" for name in _KERNELS.split()),
        "sklearn.metrics._dist_metrics.ChebyshevDistance64",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.metrics._dist_metrics.ManhattanDistance64",
        "sklearn.multiclass._ConstantPredictor",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
    }
)


def is_trusted(name: str) -> bool:
    """Whether a file may hold this type, by module and name, without consent."""
    return name in _PARTS or name in trusted_names()


def type_names(trusted: Iterable[str | type]) -> set[str]:
    """Return the names of what the user trusts, given by name or as it is."""
    if isinstance(trusted, (str, bytes, bool)) or not isinstance(trusted, Iterable):
        raise TypeError(
            "trusted must be a list of types or of their names, such as "
            f"['package.module.Class']. Got {trusted!r}."
        )
    return {
        name if isinstance(name, str) else f"{name.__module__}.{name.__name__}"
        for name in trusted
    }
