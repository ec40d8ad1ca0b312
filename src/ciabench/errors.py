"""The few exceptions that users can meet; each carries one clear sentence."""


class CIABenchError(ValueError):
    """Base of every error this package raises on purpose.

    Examples
    --------
    >>> from ciabench import CIAFamily
    >>> try:
    ...     CIAFamily(n=0, k=2, b=0.9)
    ... except CIABenchError as error:
    ...     print(error)
    n, the number of attributes, must be an integer of at least 1; got 0.
    """


class ParameterError(CIABenchError):
    """A parameter lies outside what its meaning allows."""


class ModelError(CIABenchError):
    """Weights and probabilities that do not make a model."""


class FamilyError(CIABenchError):
    """A family of models that does not exist, or is too rare to draw from."""


class RuleError(CIABenchError):
    """A prediction rule that does not return one class for every row."""


class ExperimentError(CIABenchError):
    """An experiment file that can not be run; says which key, its value, and what was expected."""


class StoreError(CIABenchError):
    """A result file that can not be read, written or continued."""


class RunError(CIABenchError):
    """A run that can not start or go on, such as a cluster that does not answer."""
