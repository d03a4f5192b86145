"""All tuning constants of the estimators, of Algorithm 2, of the variance profile and of the simulations of `plan`.

They decide accuracy and speed, not privacy: every release is charged for its noise, and charges over the budget raise.
Each entry states its unit in square brackets, then its meaning. All values were set by hand, except those settled by
the census (benchmarks/accuracy/census.py), which say so.

Letters: P = precision (mu²) of the branch that runs; n = released (or public) number of records; d = coordinates;
λ = friend radius; σ = SD of a coordinate; T = a public orthonormal transform; SNR = n̂·√(P/d).
"""

from fractions import Fraction

import numpy as np

from dimfree.kernel import THOUSANDTHS

# --- The pilot sample: the records read before the length histogram (choose/core.py) ----------------------------------

# [SNR] Of the sample: with less, the SDs of skewed columns are underestimated.
PILOT_SAMPLE_SNR = 400.0
MIN_PILOT_SAMPLE = 16_384  # [records] Tails and variances of the sample are then off by one per cent.
MIN_SAMPLING_GAIN = 2.0  # [samples] With fewer records all of them are read: reading less saves little.
MAX_PILOT_SAMPLE_BYTES = 2**29  # [bytes] A larger sample is not held in memory: all records are read.

# --- Known covariance: the stable core (choose/core.py, known.py) -----------------------------------------------------

HEAVY_RADIUS_FACTOR = 1.5  # [factor] tails="heavy": the friend radius over its optimum for Gaussian records.
# [share of records] tails="heavy": the largest share of friends that a record needs, as long tails leave fewer.
MAX_HEAVY_FRIEND_SHARE = 0.87
FULL_SHARES = tuple(Fraction(k, THOUSANDTHS) for k in range(560, 996, 15))  # [share of records] Candidates for b.
# [records] Candidates for the number of typical records without enough friends.
EXTRA_FRIENDLESS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# [SDs] Buffers hold the number of records plus this many SDs, so that they rarely grow.
CAPACITY_DEVIATIONS = 7.0
# [records; records per ladder step] The core's sample: enough for the test and for a good center.
MIN_CORE_SAMPLE, CORE_SAMPLE_PER_STEP = 4096, 12
# [SDs of n̂] With so many more records than n̂, none of them is refused for their number alone (P14).
POSSIBLE_DEVIATIONS = 2.65
MAX_CORE_SENSITIVITY = 0.05  # [λ] A core with a larger sensitivity is not used as a center.
MAX_FLOOR_STEPS = 40  # [ladder steps] Upper end of the search for the smallest n_0 of a core.
SCALE_SEARCH_SHARE = 0.05  # [share of P] The search for an unknown scale of a known covariance.
# [sqrt(d)/epsilon records] With fewer records, refinement steps on a block of the largest coordinates are tried (P8).
BLOCK_THRESHOLD = 30.0

# --- Groups (release_groups.py) ---------------------------------------------------------------------------------------

# [share of P] Private partition selection: a quarter of the total mu, for 4% more noise in the means.
PARTITION_SHARE = 1 / 16

# --- Known covariance: the schedule of refinement steps (choose/schedule.py) ------------------------------------------

# [share of P] Candidates for the core's mean.
SCHEDULE_CORE_SHARES = np.array([0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.12, 0.16, 0.2, 0.25, 0.32, 0.4, 0.5, 0.65])
STEP_RATIOS = (1.5, 2.5, 4.0, 8.0)  # [factor] Candidates for the precision of a step over that of the one before.
# [factor] The same after a pilot sample: steps before the last do not count in the answer, so they should cost little.
SAMPLED_STEP_RATIOS = (4.0, 8.0, 20.0, 50.0)
MAX_STEPS = 5  # [steps] Each refinement step reads the records once or twice.
# [share of the sampling variance] Noise below this (a fifth of the sampling error) may grow a little to save passes.
SMALL_NOISE_VARIANCE = 0.04
NEGLIGIBLE_VARIANCE = 2e-3  # [share of the sampling variance] How much it may grow: a thousandth of the whole error.
COUNTED_STEPS = 2  # [steps] Number of last steps that count in the answer if lengths are released.
BLOCK_SIZES = 12  # [number] Candidates for the size of the block of refined coordinates.
# [share of records; share of records; records times epsilon] Share that a step with a trusted radius may clip.
MAX_CLIPPED_SHARE, MIN_CLIPPED_SHARE, CLIPPED_COUNT = 0.25, 0.05, 120

# --- Known covariance: the simulated friend radius (choose/friend_radius.py) ------------------------------------------

FRIEND_PROBES, FRIEND_OTHERS = 2048, 1024  # [records] Simulated records, and their potential friends.
# [directions; groups] Leading directions are simulated one by one, the others in groups of similar eigenvalues.
EXACT_DIRECTIONS, TAIL_GROUPS = 96, 24
FRIENDLESS_USED = 0.7  # [share] Of the tolerated friendless records that is used: covers the simulation error.
FITTED_TAIL_SHARE = 0.05  # [share of probes] The exponential tail of the squared radii is fitted to these.

# --- No prior knowledge: the stable core (unknown.py) -----------------------------------------------------------------

RADIUS_SEARCH_SHARE = 0.07  # [share of P] The searches for λ.
# [power] Weight of the core's sensitivity in the final error: all refinement steps begin at the core's center.
CORE_POWER = 0.3
# [share of P: min and max; if only intervals follow] The core's mean.
CORE_SHARES, CORE_ALONE_SHARE = (0.03, 0.20), 0.97
# [n·mu/√d] Below it the core's mean is the answer: refinement steps about a far center are biased.
CORE_ALONE_SNR = 2.5
# [n·mu] Below it neither variances nor coordinates are estimated: all precision is for the center.
MIN_LEARNING_RECORDS = 60.0
# [share of P; expected length: min, max, step] With few records their median length is searched.
FEW_LENGTH_SHARE, FEW_LENGTH_GRID = 0.04, (0.25, 32.0, 1.2)
FEW_RADIUS = 1.1  # [median length] Clipping radius with few records: most of them are not clipped.
RECOUNT_SHARE = 0.3  # [share of the searches] A second count, so that n_0 can be closer to the number of records.
# [share of records; records] b is this share less outliers and ladder; B is the ladder, the outliers and this margin.
FULL_SHARE_RULE, BUDGET_MARGIN = 0.89, 5

# --- Distances between records (learn/scale.py) -----------------------------------------------------------------------

FACTOR_WINDOW = 1e6  # [factor] An unknown factor is searched between 1/FACTOR_WINDOW and FACTOR_WINDOW.
FACTOR_STEP, RADIUS_STEP = 1.03, 1.07  # [factor] Steps of the grids for the factor and for λ.
MEDIAN_SHARE, WIDE_SHARE = Fraction(1, 2), Fraction(4, 5)  # [share of records] The median and the wide distance.
MEDIAN_SEARCH_SHARE = 0.6  # [share of the search's precision] The median distance; the wide distance has the rest.
# [squared deviations per ln(cells)] Of a search that likely succeeds; of one that is worth a try.
LIKELY_CLEARANCE, POSSIBLE_CLEARANCE = 9.0, 2.85
# [factor: min, max; power] λ over the wide distance, by the ratio of the wide distance to the median.
MIN_WIDENING, MAX_WIDENING, WIDENING_POWER = 1.2, 3.6, 2.5
# [factor] Grid of the wide distance over the median one: dense at the ratios of most tables.
WIDE_RATIOS = (1.0, 1.07, 1.15, 1.25, 1.38, 1.55, 1.8, 2.2, 3.0)
# [factor] The wide distance over the root mean square one: 1.28 for one normal column, less for more.
MAX_WIDE_TO_TYPICAL = 1.25
NOISE_WIDENING = 1.5  # [factor] λ is widened by this times the noise of its search, in shares of the records.

# --- No prior knowledge: variances and refinement steps (learn/coordinates.py, learn/steps.py) ------------------------

SMALL_NOISE = 0.2  # [share of the sampling error] Below it passes are saved: better noise gains at most 2%.
FIRST_ROUND_SHARE = 0.05  # [share of P] The steps before variances are estimated again: they serve the center alone.
MAX_LOG_VARIANCE = 0.1  # [variance of ln σ] Variances are estimated again above this uncertainty.
# [d/(n²·P)] Recentering: leaves the center's squared error at a twentieth of a record's squared length.
RECENTER_PRECISION = 24.0
RECENTER_SHARES, RECENTER_STEPS = (0.005, 0.05), 2  # [share of P: min and max; steps] Recentering.
NEAR_CENTER = 0.1  # [share of a record's squared length] A center nearer than this is not recentered.
VARIANCE_PRECISION, VARIANCE_SHARES = 50, (0.02, 0.10)  # [d/(n²·P); share of P: min and max] One variance release.
INTERVAL_SHARES = (0.01, 0.01)  # [share of P] A variance release that serves the intervals alone.
# [share of records; share of P: min and max] Error of all counts of the search for the unit of scores, as one count.
UNIT_ERROR, UNIT_SHARES = 0.035, (0.005, 0.02)
UNCLIPPED_SCORES = 0.8  # [share of records] Scores that stay unclipped at the unit.
UNIT_GRID = (1e-3, 1e5, 1.35)  # [factor: min, max, step] The grid of units, over the mean predicted score.
SCORE_NOISE_SHARE, SCORE_LENGTH = 0.6, 1.6  # [noise; sqrt(d)] Norm of a score: of one common coordinate; typical.
# [share of a second moment] Minimum that is left after the center's own variance is subtracted.
MIN_VARIANCE_SHARE = 0.15
# [share of P] A step after the length histogram with this precision counts in the answer, as does the last one.
MIN_COUNTED_PRECISION = 0.05
GUESSED_LOG_VARIANCE = 0.01  # [variance of ln σ] Of SDs that follow from those of other coordinates.

# --- The secret ring (learn/ring.py) ----------------------------------------------------------------------------------

RING_SHARE = 0.20  # [share of P] All releases on the ring, before the test.
MAX_RING_SNR, MIN_RING_RECORDS = 30.0, 80.0  # [n·mu/sqrt(d); n·mu] The ring is used between the two.
# [squared deviations; share of the ring's precision] Of a search.
RING_CLEARANCE, MAX_RING_SEARCH_SHARE = 30.0, 0.1
# [share of the ring's precision; predicted distance: min, max] λ in the estimated covariance, and its search range.
RING_RADIUS_SHARE, RING_RADIUS_GRID = 0.2, (0.25, 5.0)
RING_ROUNDS = (0.55, 0.45)  # [share of what searches and λ leave] The scores of each round; they sum to 1.
RING_LENGTH_STEP, RING_UNIT_STEP = 1.1, 1.5  # [factor] Steps of the grids of distances and of units.
RING_UNIT_RANGE = 10.0  # [factor] Units are searched from the average variance over this to their sum times this.
RING_UNIT_FACTOR = 1.6  # [factor] The unit at which half of the pairs are clipped, over the one used.
RING_DETECTION = 2.0  # [τ] A coordinate with a larger score is resolved.
RING_REST_GRID = (1e-9, 1.5)  # [typical distance: min, max] Search range of the rest.
MAX_RING_REST = 0.2  # [share of the resolved Σσ] A smaller rest is not measured again.
# [variance of ln σ] After the ring variances are estimated again above this uncertainty; equal ones have about 0.15.
MAX_RING_LOG_VARIANCE = 0.25
MAX_RING_DISTANCE = 6.0  # [typical distance] Largest distance between typical records.
RING_CORE_SHARES = (0.02, 0.04, 0.08, 0.12, 0.2, 0.3, 0.4, 0.55, 0.7)  # [share of P] Candidates for the core's mean.
RING_FIRST_ROUND_SHARE = 0.10  # [share of P] The steps before variances are estimated again.
MIN_RING_GAIN = 1.25  # [factor] Gain over the ring's variances that other coordinates need.
RING_BINS = 24  # [number] Groups of coordinates of similar σ, to choose the core's share and the block.

# --- Choice of coordinates (learn/coordinates.py, learn/principal_directions.py) --------------------------------------

SCALAR_SHARE, BASIS_SHARE = 0.003, 0.05  # [share of P] Each released number; the matrix of directions.
MIN_GAIN = 1.03  # [factor] A smaller gain is not worth other coordinates.
LITTLE_GAIN = 1.1  # [factor] If the own axes surely gain less than this, their variances are not estimated.
# [share of a record's squared length] If the center's own error has a larger share, no forecast is made.
MAX_CENTER_ERROR = 0.7
PESSIMISTIC_DEVIATIONS = 1.5  # [SDs] Every released number is read this far on the unfavorable side.
# [number] E|g|, g standard normal: |T u|₁/√d of a direction u without preferred coordinates.
MEAN_ABSOLUTE_NORMAL = 0.8
# [share of records; factor] Minimum correlation for estimated directions: absolute, and over the detection limit.
MIN_CORRELATION, MIN_CORRELATION_FACTOR = 0.15, 2.0
MAX_DIRECTION_SHARE = 0.98  # [share] Largest share of the squared length that one direction is taken to have.
FORECAST_RECORDS, FORECAST_PRODUCTS = 20_000, 2e11  # [records; products of two coordinates] Enough for a forecast.
MAX_DIRECTION_COLUMNS = 6000  # [columns] Eigenvectors of a larger matrix take many minutes.
MAX_SPIKES = 256  # [directions] Number that is kept.
SPIKE_MARGIN = 1.5  # [widths of the spectrum's edge] Distance of an eigenvalue from the noise to count as a direction.
MIN_TAIL_SHARE = 0.02  # [share] Smallest share of the squared length outside the directions found.
ANGLE_DEVIATIONS = 2.0  # [SDs] For the bound of an angle: of the eigenvalue and of the noise next to it.

# --- Length histogram and clipping radius (learn/steps.py, learn/tail.py) ---------------------------------------------

# [1/√(Σσ / largest σ); share of P: min, max; share of the remaining precision] The length histogram.
LENGTH_SHARE, LENGTH_SHARES, MAX_LENGTH_SHARE = 0.25, (0.01, 0.2), 0.3
# [share of the sampling error; radius by the tail] The radius grows to the first, up to the second.
WIDE_NOISE, MAX_WIDE_FACTOR = 0.2, 1.5
# [power of the rank] After a core, of the target bias: correlated columns have become one direction.
CORE_BIAS_POWER = 0.1
MIN_LENGTH_RANGE = 2.0  # [predicted length] The histogram reaches at least this far.

FIRST_LENGTH_EDGE = 0.2  # [predicted length] First edge of the length histogram.
LAST_LENGTH_EDGE = 48.0  # [predicted length / sqrt(rank)] Last edge: how far one column alone may move a record.
# [predicted length; largest SD] Column bound, the larger of the two: a column with an underestimated SD does not widen
# the radius. Settled by the census: 48 or 20 SDs cost more.
ENTRY_LENGTHS, ENTRY_SDS = 4.0, 12.0
# [predicted length] Minimum of the last edge: SDs of columns of mostly zeros may be underestimated.
MIN_LAST_LENGTH_EDGE = 12.0
LENGTH_STEP = 0.3  # [logarithm of a length / sqrt(rank)] Width of a cell at the predicted length: part of their SD.
MIN_LENGTH_STEP = 0.025  # [logarithm of a length] Minimum width: the precision of the predicted length.
# [factor; logarithm of a length] Each cell is wider than the next nearer one, up to a width.
LENGTH_STEP_GROWTH, MAX_LENGTH_STEP = 1.3, 0.5
# [SDs] Of noise and sampling: the counts to which a tail is fitted are this far above 0.
TAIL_DEVIATIONS = 10.0
TAIL_SHARE, TAIL_SHARE_RANK = 0.5, 2.5  # [share of records; rank] A tail is fitted to up to these; fewer at low rank.
TAIL_UNSEEN_RANK = 1.5  # [rank] Below it, as in one column, the tail is unresolved if too few records are far out.
# [shape of a generalized Pareto distribution] Candidates, without 0: from equal lengths to a barely finite variance.
TAIL_SHAPES = np.append(-20.0, np.arange(-0.25, 0.5, 0.1))
# [shape: mean and SD] Prior: tails of measured quantities are near exponential.
TAIL_SHAPE_PRIOR = (0.05, 0.15)
MIN_TAIL_LOG_PRIOR = -8.0  # [log prior] Of equal lengths, as of indicators: four SDs from the middle.
TAIL_SCALES = 20  # [number] Candidates for the scale of the distribution.
TAIL_MODEL_ERROR = 0.1  # [share of a cell's count] Error of the fitted distribution.
BUMP_DEVIATIONS = 4.5  # [SDs] Counts this far above the fit are used unchanged.
OUTER_LEVEL = 0.75  # [probability] That the excess at the outer radius is below its target.
MAX_CLIPPED_LEVEL = 0.975  # [probability] Level of the stated number of clipped records.
# [SDs of the noise; power of the rank; SDs of the noise] Target bias of clipping at the outer radius.
OUTER_BIAS, OUTER_BIAS_POWER, MAX_OUTER_BIAS = 0.15, 0.35, 0.5
# [share of the excess] Per-column estimator: how far clipped records change the mean; they point in several directions.
COHERENCE = 0.8
# [last edge; number] Radii among which the one of the least expected loss is chosen.
MIN_RADIUS, RADIUS_CANDIDATES = 0.003, 300
# [predicted length; log loss of a squared logarithm, over the noise of a cell as a share of the records] The usual
# radius of the per-column estimator, and the pull towards it. Census: 10 to 30 cost alike, 0 varies more.
USUAL_LENGTH, RADIUS_DOUBT = 2.2, 17.0
UNSEEN_BIAS = 2 * MAX_OUTER_BIAS  # [SDs of the noise] Clipping bias in intervals if the tail is unresolved.

# --- The shell between the median length and the radius (learn/steps.py) ----------------------------------------------

# [share of the answer's precision at Σw/√Σw² of 1; the same at any] The released shell.
SHELL_SHARE, MAX_SHELL_SHARE = 1.0, 0.1
MIN_SHELL_GAIN = 0.1  # [share of the squared error] Minimum that clipping half of the records must be able to save.
SHELL_DEVIATIONS = 1.64  # [SDs] Of the noise of a squared bias, on the unfavorable side.
# [radius: min and max] Inner radius of the shell: many records may lie at the center, or all of them at one length.
SHELL_INNER_RANGE = (0.05, 0.98)
SHELL_CANDIDATES = 25  # [number] Candidates for the radius.

# --- Intervals for the population mean (learn/restore.py) -------------------------------------------------------------

# [probability] That the numbers of far records, and their excess, are below what the intervals allow for.
POPULATION_LEVEL = 0.75
FAR_LENGTH = 3.0  # [predicted length] Correlation is read from the lengths up to here, or to the clipping radius.
# [clipping radius: nearest, farthest; number] Radii at which records are counted.
POPULATION_RADIUS_GRID = (1e-3, 1e2, 300)

# --- Empirical Bayes (learn/shrinkage.py) -----------------------------------------------------------------------------

MEAN_STEPS, SCORE_STEPS, PRIOR_ATOMS = 40, 60, 64  # [EM steps] For centers, for variances; [number] atoms of a prior.
SHAPE_MODEL_ERROR, STATED_MODEL_ERROR = 0.1, 0.3  # [ln σ] Of Gaussian scores: for the noise; as stated.
UNRESOLVED_ERROR = 1.0  # [ln σ] A less certain column is stated as unresolved.
SD_TAIL = 0.0228  # [probability] On each side of a stated SD: two SDs of a normal distribution.
RESOLVED_SHARE = 0.5  # [share of the noise] Below it a variance cannot be distinguished from 0.
# [likelihood ratio] Scores that contradict earlier releases of an SD by this factor overrule them.
CONTRADICTION_RATIO = 0.01
FLAT_PRIOR_COLUMNS = 2.0  # [columns] Weight of a prior that allows any SD, next to the fitted columns.
SD_STEPS, SD_NODES, SD_BLOCK = 60, 5, 2048  # [EM steps; nodes; columns at a time] Work of one posterior.

# --- The per-column estimator (columns/) ------------------------------------------------------------------------------

# [SNR] Above it, the pilot estimates cost less: their share of P falls with its inverse.
EASY_SNR = 100.0
# [SNR] Below it the per-column estimator refuses.
MIN_SNR = 20.0
# [factor; typical length] Minimum gain in noise of clipping inside declared bounds of all columns: the pilot estimates
# cost a third of P, and a bias; the radius that is expected then.
MIN_CLIPPING_GAIN, USUAL_RADIUS = 1.2, 1.6
# [half-range] Minimum SD that shapes a ball of declared bounds.
MIN_BOUNDED_SD = 0.05
# [half-range] Distance of a mean from the middle of its bounds if it was not estimated.
USUAL_OFFSET = 0.4
# [SDs of n̂] Fewer records cannot be distinguished from none: they are refused.
MIN_COUNT_DEVIATIONS = 4.0
# [SNR per column: factor; min, max] Above it the per-column estimator has less total error than a core.
TOTAL_SNR, TOTAL_SNR_RANGE = 5.0, (40.0, 300.0)
# [share of P] The number of valid records, if some may be invalid.
VALID_COUNT_SHARE = 1 / 64
# [share of entries; share of P: min and max] Error of the share of missing values of all columns together.
MISSING_ERROR, MISSING_SHARES = 0.05, (1 / 128, 1 / 32)
# [share of P] Missing values of each column: an error matters only times the offset of the mean from its center.
MISSING_COUNTS_SHARE = 1 / 32
# [share of records] Noise of the share of each column up to which more missing values of a record count in full.
MISSING_COUNTS_ERROR = 0.01
# [SNR; share of P: min and max] One pilot query of all columns: a ninth of the records is one SD of the noise.
PILOT_SNR, PILOT_SHARES = 9.0, (0.005, 0.08)
# [share of P] All closer histograms after the first one, together.
CLOSER_PILOT_SHARE = 0.20
# [queries] Of the pilot, however little they cost: each reads all records; usual tables need 20.
MAX_PILOT_QUERIES = 60
# [cells of a histogram over the number of records] Error of the templates: distributions without a template.
TEMPLATE_ERROR = 0.03
# [points] Of a distribution, in a template.
TEMPLATE_POINTS = 200
# [ln σ] Of the lognormal template of a magnitude.
MAGNITUDE_LOG_SD = 0.6
# [share of records] Templates of columns with zeros: the share that is not zero.
NONZERO_SHARES = (1.0, 0.4, 0.15)
# [noise of a cell] A smaller share of entries cannot be distinguished from none.
DETECTION_DEVIATIONS = 3.0
# [magnitude] Entries of the bulk lie within this factor above its magnitude, except for few of them.
BULK_FACTOR = 4.0
# [log odds] A far group is accepted at the first (4.2 SDs of its share), measured again at the second (2.4).
FAR_ODDS, DOUBTFUL_ODDS = 9.0, 3.0
# [log prior] A column with some zeros, and one of zeros alone.
SOME_ZEROS_PRIOR, ALL_ZEROS_PRIOR = -3.0, 3.0
# [factor; probability] A magnitude is doubtful if it lies within this factor with less than this probability.
NEAR_MAGNITUDE, SURE_MAGNITUDE = 8.0, 0.999
# [queries; share of P] Of the magnitude of a column, and all of them together: four of all columns.
MAX_MAGNITUDE_QUERIES, MAGNITUDE_SHARE = 6, 0.321
# [cells; factor] A narrower column is measured again; the next cells over the SD about the center.
NARROW_WIDTH, CLOSER_FACTOR = 0.6, 0.8
# [cells] A column nearer to zero is not measured more closely: its cells hold zero and the size of its entries.
AWAY_DISTANCE = 1.5
# [variance of ln σ] A less certain column is measured again.
UNCERTAIN_LOG_VARIANCE = 0.25
# [odds] A column that is constant with at least these odds, after a closer histogram, is measured again.
DOUBTFUL_ONE_VALUE = 0.2
# [|center|] Minimum width of a cell: the resolution of floating-point numbers.
FLOAT_RESOLUTION = 1e-13
# [noise of a cell; share of records] Minimum for outlying records: 1 false alarm in 30 000 cells; odd tails.
OUTLYING_DEVIATIONS, MIN_OUTLYING_SHARE = 4.0, 0.025
# [units of the column] Columns as large as the first may lie beyond the cells; they are taken to be as large as the
# second.
MAX_MAGNITUDE, FAR_MAGNITUDE = 2.0**86, 1e150
# [σ] Of a column that shows only zeros: other entries may be rare.
RARE_STDDEV = 0.2
# [squared length of the other columns] What all constant columns together may add to it: 5% more noise.
MAX_ONE_VALUE_SHARE = 0.1
# [expected length; share of P; σ] The clipped mean that improves the center: its radius, share and bias.
CENTER_RADIUS, CENTER_SHARE, CENTER_BIAS = 1.5, 0.05, 0.1
# [1/SNR²; share of P: min and max] The scores of the columns.
COLUMN_SCORE_SNR, COLUMN_SCORE_SHARES = 60.0, (0.01, 0.10)
# [1/noise] The unit of these scores: a typical score, one over the unit, is eight SDs above its noise.
TYPICAL_SCORE = 0.12
# [share of P; SDs] The votes for far entries, and their levels.
VOTES_SHARE, VOTE_LEVELS = 0.05, np.array([4, 6, 9, 14, 22, 40, 80, 200, 600, 2e3, 1e4, 1e5])
# [share of the clipped excess by the length histogram] That the interval of a column allows for. Settled by the census:
# .25 to .35 cover alike; quantiles of a posterior by votes cover no more and are twice as wide at 400 records.
HIDDEN_BIAS_SHARE = 0.35
# [share of the records; prior probability] Groups at one level, next to the stored distributions.
GROUP_SHARES, GROUP_PRIOR = (0.01, 0.02, 0.045, 0.09, 0.2, 0.3), 0.02
# [share of a cell] Error of a stored distribution.
LAW_ERROR = 0.3
# [log loss] A smaller gain is not worth a separate scale.
MIN_TAIL_GAIN = 0.7
# [rounds of votes] A further round only if the last one has widened a column.
MAX_WIDENINGS = 2
# [√d SDs; factor] Candidates for the radius of usual columns, and for a column's separate scale.
USUAL_RADII = 1.1 * 1.2 ** np.arange(10)
TAIL_FACTORS = np.exp(np.append(np.arange(0, 2.5, 0.15), np.arange(2.5, 11, 0.3)))
# [share of the records; probability] A column with at least this probability of more entries beyond its column bound is
# unresolved if records lie beyond the last edge of the length histogram.
CUT_SHARE, CUT_PROBABILITY = 0.003, 0.05
# [last edge] A clipping radius beyond this part of it shows that records lie beyond the length histogram.
MEASURED_SHARE = 0.9
# [earlier σ] A release of scores lowers an SD to this at least: rare large entries score little.
MIN_STDDEV_FACTOR = 0.5

# --- Algorithm 2 (paper/unknown_covariance.py, averaging.py) ----------------------------------------------------------

PAPER_COUNT_SHARE = 0.04  # [share of epsilon] The number of records.
PAPER_BOUND_SHARE = 0.3  # [share of P] The number kept, in each average.
MIN_PAIRS, ENOUGH_PAIRS = 0.5, 10.0  # [log(16 d); log(3 d)] Pairs in a group: the printed Θ(log d) from both sides.
VALID_VOTES = 2.5  # [factor] Valid estimates fall into two buckets, so one of them has 2/5 of the votes.
TOP_MARGIN = 0.3  # [share of groups] Between the valid 4/5 and the threshold 1/2.
VARIANCE_FACTOR = 8.0  # [factor] The variance is below this times its estimate 4^b (errata).
ZERO_VARIANCE = 4.0**-10  # [share of the largest estimate] Stands for a variance of zero, which has no fourth root.

# --- The variance profile (paper/profiling.py) ------------------------------------------------------------------------

GROUP_SIZE = 8  # [records] Of a group: four pairs scatter an estimate by about half a bucket.
PROFILE_COUNT_SHARE, PROFILE_SEARCH_SHARE = 0.02, 0.25  # [share of P] The number of records; the total variance.
MIN_COMPLETE_GROUPS = 0.5  # [share of groups] With fewer complete groups the profile is refused.
MAX_PROFILE_NOISE = 1.0  # [log2 of coordinates] With more noise in log2(1 + N_j) the profile is refused.
EASY_FACTOR = 2.0  # [factor] An instance is easy if learning a few variances comes within this factor of knowing all.

# --- Records in a known ball (ball.py) --------------------------------------------------------------------------------

BALL_SHARES = (0.002, 0.01)  # [share of P: min and max] The first mean, which only serves as a center.
BALL_LENGTH_SHARE = 0.003  # [share of P] The median distance from the first mean.
BALL_LENGTHS = (1e-3, 2.0, 1.05)  # [radius: min, max, step] Its search range.
# [factor] Refine if the radius is this many times the typical distance from the first mean. Refinement costs up to a
# third of P; nearer to 1, the clipping bias on one side of a sphere can exceed the noise that it saves.
MIN_BALL_GAIN = 3.0
