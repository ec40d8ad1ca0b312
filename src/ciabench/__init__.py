"""When to fit a probabilistic model with a hidden variable, and when to learn a classifier directly.

The public names are listed in `__init__.pyi`; each is imported from its home when it is first used.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__", *__all__]
