"""What an engine's steps cost, learned from what a router can see of them."""

from steelyard_router.scheduling.predictor.coefficients import PRIOR, Coefficients, attended
from steelyard_router.scheduling.predictor.online import OnlinePredictor
from steelyard_router.scheduling.predictor.protocol import Observation, Predictor

__all__ = [
    "PRIOR",
    "Coefficients",
    "Observation",
    "OnlinePredictor",
    "Predictor",
    "attended",
]
