"""A mean image: anisotropic noise along cosine waves, because pictures hardly differ in most directions.

Neighboring pixels are similar, so a picture varies little in its fine waves. A basis of waves is a public rotation of
each record: it changes no distance, and `release_mean` rotates the released mean back. By default it chooses
a basis within the budget, and finds waves along the rows of pixels. That a record is a picture, with waves across and
down, is public knowledge, passed as `basis`. The pictures are scikit-learn's 1797 handwritten digits, enlarged
from 8 × 8 to 24 × 24 pixels; they are public, so the error may be printed.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.ndimage import zoom
from sklearn.datasets import load_digits

import dimfree

EPSILON, DELTA = 1.0, 1e-6
SIDE = 24
SHADES = " .:-=+*#%@"

Floats = NDArray[np.float64]


def waves() -> Floats:
    """Return the orthonormal cosine basis of pictures, one wave per row: products of a wave down and a wave across."""
    along_a_side = dct(np.eye(SIDE), axis=0, norm="ortho")
    return np.kron(along_a_side, along_a_side)


def draw(image: Floats) -> None:
    """Print an image as text."""
    shade = np.clip(image / 16 * len(SHADES), 0, len(SHADES) - 1).astype(int)
    for row in shade[::2]:  # letters are twice as high as wide
        print("".join(SHADES[pixel] for pixel in row))


def main() -> None:
    images = zoom(load_digits().images, (1, SIDE / 8, SIDE / 8), order=3).reshape(-1, SIDE * SIDE)

    release = dimfree.release_mean(images, epsilon=EPSILON, delta=DELTA, basis=waves())
    print(release.guarantee.statement())
    if release.refused:
        print(release.refusal)
        return
    draw(release.mean.reshape(SIDE, SIDE))

    # The pictures are public: the truth may be printed, and further releases harm nobody.
    truth = images.mean(axis=0)
    for basis, label in (("auto", "by default"), (None, "without the basis")):
        other = dimfree.release_mean(images, epsilon=EPSILON, delta=DELTA, basis=basis)
        if not other.refused:
            print(f"{label}: error {np.linalg.norm(other.mean - truth):.2f}, basis: {other.parameters['basis']}")
    error = float(np.linalg.norm(release.mean - truth))
    predicted = release.error_radius(0.95, target="sample")
    print(f"error {error:.2f}, predicted {predicted:.2f} (95%), Euclidean over {SIDE * SIDE} pixels")


if __name__ == "__main__":
    main()
