"""Embeddings of messages: a private mean for each topic, then used to sort new messages.

Each message becomes a hashed bag of words, and a public random projection maps it to 128 numbers. Both map every
message separately, so they cost no budget. The messages are simulated, and so public: the errors may be printed.
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.random_projection import GaussianRandomProjection

import dimfree

EPSILON, DELTA = 1.0, 1e-6
TOPICS = ("billing", "delivery", "returns")
WORDS, LENGTH = 3000, 40
Floats = NDArray[np.float64]


def write_messages(count: int, seed: int) -> tuple[list[str], NDArray[np.str_]]:
    """Return texts of about 40 words, by Zipf's law with a preference per topic, and their topics."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(1, WORDS + 1)
    topics = rng.integers(len(TOPICS), size=count)
    texts = []
    for topic in topics:
        own = np.where(np.arange(WORDS) % len(TOPICS) == topic, 3.0, 1.0) * common
        chosen = rng.choice(WORDS, size=1 + rng.poisson(LENGTH), p=own / own.sum())
        texts.append(" ".join(f"word{index}" for index in chosen))
    return texts, np.array(TOPICS)[topics]


def embed(texts: list[str]) -> Floats:
    """Map each text to 128 numbers by public rules."""
    words = HashingVectorizer(n_features=2**12, alternate_sign=False, norm="l2").transform(texts)
    projection = GaussianRandomProjection(n_components=128, random_state=0).fit(np.zeros((1, 2**12)))  # of no text
    return np.asarray(projection.transform(words))


def share_right(centers: Floats, texts: list[str], topics: NDArray[np.str_]) -> float:
    """Return the share of messages whose nearest center is that of their topic."""
    distances = np.linalg.norm(embed(texts)[:, None] - centers, axis=2)
    return float(np.mean(np.array(TOPICS)[distances.argmin(axis=1)] == topics))


def main() -> None:
    texts, topics = write_messages(3000, seed=1)
    vectors = embed(texts)

    # Public knowledge: the variances of the numbers among 500 public messages.
    variances = embed(write_messages(500, seed=3)[0]).var(axis=0)

    # One guarantee for all topics together: a message has one topic.
    means = dimfree.release_group_means(
        vectors, by=topics, groups=list(TOPICS), covariance=variances, epsilon=EPSILON, delta=DELTA
    )
    print(means.guarantee.statement())
    if any(means[topic].refused for topic in TOPICS):
        print("refused:", [topic for topic in TOPICS if means[topic].refused])
        return
    private = np.array([means[topic].mean for topic in TOPICS])
    truth = np.array([vectors[topics == topic].mean(axis=0) for topic in TOPICS])  # allowed: they are simulated

    unseen = write_messages(1000, seed=2)
    print(f"new messages sorted right: {share_right(private, *unseen):.1%} by private centers,")
    print(f"{share_right(truth, *unseen):.1%} by non-private ones")
    errors = np.linalg.norm(private - truth, axis=1)
    predicted = [means[topic].error_radius(0.95, target="sample") for topic in TOPICS]
    worst = int(np.argmax(errors / predicted))
    print(f"error {errors[worst]:.3f}, predicted {predicted[worst]:.3f} (95%), of the worst center")


if __name__ == "__main__":
    main()
