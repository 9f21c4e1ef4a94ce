"""scikit-learn's own checks of one estimator, all in one call."""

from sklearn.utils.estimator_checks import check_estimator


def assert_passes_all_checks(estimator, expected=None):
    """Run every check; `expected` names those that fail, {check: reason}.

    Raises the errors of all checks that fail without being expected to, together.
    """
    results = check_estimator(
        estimator, expected_failed_checks=expected or {}, on_skip=None, on_fail=None
    )
    failed = []
    for result in results:
        if result["status"] == "failed":
            result["exception"].add_note(result["check_name"])
            failed.append(result["exception"])
    if failed:
        raise ExceptionGroup(f"checks of {estimator!r}", failed)
    passed = {r["check_name"] for r in results if r["status"] == "passed"}
    assert not passed & set(expected or {}), "a check expected to fail passes"
