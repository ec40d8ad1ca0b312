"""Time taken to draw a model and to score five rules, on one core: `python experiments/world_speed.py`."""

import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from ciabench import CIAFamily, Scorer
from ciabench.world import bit_model

REPEATS = 40


def milliseconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Mean CPU time of one call."""
    work()
    start = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - start) / repeats * 1e3


def rules(n: int, rng: np.random.Generator) -> list[Callable[[np.ndarray], np.ndarray]]:
    directions = rng.normal(size=(5, n))
    return [lambda X, w=w: (X @ w > w.sum() / 2).view(np.uint8) for w in directions]


def main() -> None:
    rng = np.random.default_rng(0)
    print("n,k,draw_ms,score_five_ms,draws")
    for n, k in [(10, 2), (10, 5), (75, 2), (75, 5)]:
        family = CIAFamily(n, k, 0.9)
        drawing = milliseconds(lambda family=family: family.draw(rng))
        model, five = family.draw(rng), rules(n, rng)

        def score(model=model, five=five) -> Scorer:
            scorer = Scorer(model, rng, t_target=np.inf)
            for rule in five:
                scorer.score(rule)
            return scorer

        draws = 2**n if score().exact else 20_000
        print(f"{n},{k},{drawing:.2f},{milliseconds(score):.2f},{draws}")
    print("\nn,exact_ms,sampled_ms  (a scorer and five rules, by 2**n patterns or 20,000 draws)")
    for n in range(10, 18):
        family = CIAFamily(n, 3, 0.9)
        model, five = family.draw(rng), rules(n, rng)
        times = []
        for limit in (n, 0):
            bit_model.ENUMERATION_LIMIT = limit
            times.append(
                milliseconds(
                    lambda model=model, five=five: [
                        scorer.score(rule) for scorer in [Scorer(model, rng, t_target=np.inf)] for rule in five
                    ],
                    10,
                )
            )
        print(f"{n},{times[0]:.2f},{times[1]:.2f}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
