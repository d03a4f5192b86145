"""A mean image: every picture is turned into a cosine basis first, where few directions carry most of the variation.

Neighbouring pixels are alike, so a picture varies little in its fine waves. The cosine transform is a public rotation
of each record by itself: it costs nothing, changes no distance, and noise that follows the shape becomes small where
pictures hardly differ. Turning the released mean back is post-processing. The pictures are scikit-learn's 1797
handwritten digits, enlarged from 8 × 8 to 24 × 24 pixels; they are public, so that the error may be printed.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn
from scipy.ndimage import zoom
from sklearn.datasets import load_digits

import dimfree

EPSILON, DELTA = 1.0, 1e-6
SIDE = 24
SHADES = " .:-=+*#%@"

Floats = NDArray[np.float64]


def to_waves(images: Floats) -> Floats:
    """Coefficients of each picture in the orthonormal cosine basis, as rows."""
    return np.asarray(dctn(images, axes=(1, 2), norm="ortho")).reshape(len(images), -1)


def to_pixels(coefficients: Floats) -> Floats:
    """The way back, for one picture."""
    return np.asarray(idctn(coefficients.reshape(SIDE, SIDE), norm="ortho"))


def draw(image: Floats) -> None:
    shade = np.clip(image / 16 * len(SHADES), 0, len(SHADES) - 1).astype(int)
    for row in shade[::2]:  # letters are twice as high as wide
        print("".join(SHADES[pixel] for pixel in row))


def main() -> None:
    images = zoom(load_digits().images, (1, SIDE / 8, SIDE / 8), order=3)

    release = dimfree.release_mean(to_waves(images), epsilon=EPSILON, delta=DELTA)
    print(release.guarantee.statement())
    if release.refused:
        print(release.refusal)
        return
    draw(to_pixels(release.mean))

    # The pictures are public: the truth may be looked at, and a second release costs nobody anything.
    truth = images.mean(axis=0)
    plain = dimfree.release_mean(images.reshape(len(images), -1), epsilon=EPSILON, delta=DELTA)
    if not plain.refused:
        print(f"without the basis: error {np.linalg.norm(plain.mean - truth.ravel()):.2f}")
    error = float(np.linalg.norm(to_pixels(release.mean) - truth))
    print(f"error {error:.2f}, predicted {release.error_radius(0.95):.2f} (95 %), Euclidean over {SIDE * SIDE} pixels")


if __name__ == "__main__":
    main()
