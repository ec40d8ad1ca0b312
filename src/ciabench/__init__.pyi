from .encoder import BitEncoder as BitEncoder
from .findings.departure_figure import plot_departures as plot_departures
from .findings.graphs import plot_network as plot_network
from .findings.looks import learner_colors as learner_colors
from .findings.pairs import plot_pairs as plot_pairs
from .findings.panels import plot_curves as plot_curves
from .findings.pictures import plot_difference as plot_difference
from .findings.pictures import plot_model as plot_model
from .findings.pictures import plot_profiles as plot_profiles
from .findings.pictures import plot_restarts as plot_restarts
from .findings.results import Results as Results
from .lab.session import learning_curve as learning_curve
from .lab.shipped import reference as reference
from .learners.adaptive import Adaptive as Adaptive
from .learners.belief_network import BeliefNetwork as BeliefNetwork
from .learners.cov import COV as COV
from .learners.em import EM as EM
from .learners.latent_class import LatentClass as LatentClass
from .learners.naive_bayes import NaiveBayes as NaiveBayes
from .learners.network_classifier import NetworkClassifier as NetworkClassifier
from .learners.perceptron import Perceptron as Perceptron
from .learners.winnow import Winnow as Winnow
from .world.base import Score as Score
from .world.base import Task as Task
from .world.base import World as World
from .world.departure import departure as departure
from .world.family import CIAFamily as CIAFamily
from .world.held_out import HeldOut as HeldOut
from .world.model import CIAModel as CIAModel
from .world.scoring import Scorer as Scorer
from .world.spelling import SpellingPair as SpellingPair
from .world.table import Table as Table
from .world.threshold import ThresholdFamily as ThresholdFamily
from .world.tree import TreeFamily as TreeFamily
from .world.two_hidden import TwoHiddenFamily as TwoHiddenFamily

__version__: str
__all__: list[str]
