from .findings.figures import plot_curves as plot_curves
from .findings.pictures import plot_difference as plot_difference
from .findings.pictures import plot_model as plot_model
from .findings.pictures import plot_restarts as plot_restarts
from .findings.results import Results as Results
from .lab.session import learning_curve as learning_curve
from .learners.cov import COV as COV
from .learners.em import EM as EM
from .learners.naive_bayes import NaiveBayes as NaiveBayes
from .learners.perceptron import Perceptron as Perceptron
from .learners.winnow import Winnow as Winnow
from .world.base import Score as Score
from .world.base import Task as Task
from .world.base import World as World
from .world.family import CIAFamily as CIAFamily
from .world.held_out import HeldOut as HeldOut
from .world.model import CIAModel as CIAModel
from .world.scoring import Scorer as Scorer
from .world.spelling import SpellingPair as SpellingPair
from .world.table import Table as Table

__version__: str
__all__: list[str]
