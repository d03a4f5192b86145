"""All tuning constants of the estimators, of Algorithm 2, of the variance profile and of the simulations of `plan`.

They decide accuracy and speed. Privacy rests on none of them: every release is charged for what it draws, whatever its
share, and a ledger over its budget raises. Each entry says its unit in square brackets, then the reason. "Settled by"
names the command whose figures decided a value. No such command is on record for any value here: all were set by
hand. Write the command down when a value is settled by one.

Letters: P = precision (mu²) of the branch that runs; n = released (or public) number of records; d = coordinates;
λ = friend radius; σ = standard deviation of a coordinate; T = a public orthonormal transform.
"""

from fractions import Fraction

import numpy as np

from dimfree.kernel import THOUSANDTHS

# --- The sample that everything before the last look sees (choose/core.py) --------------------------------------------

# [n̂·√(P/d)] Of the sample: with less, skewed columns seem narrower than they are. Early shares of P need 80.
EARLY_STRENGTH = 400.0
EARLY_LEAST = 16_384  # [records] At least: what a sample says of tails and variances is then off by one per cent.
EARLY_WORTH = 2.0  # [samples] With fewer records all of them are looked at all the way: reading less saves little.
EARLY_BYTES = 2**29  # [bytes] A larger sample is not held in memory: all records are looked at all the way.

# --- Known shape: the core (choose/core.py, known.py) -----------------------------------------------------------------

HEAVY_FACTOR = 1.5  # [factor] tails="heavy": the friend radius over its optimum for Gaussian records.
# [share of records] tails="heavy": at most this share of friends is asked of a record, as long tails leave fewer.
HEAVY_SHARE = 0.87
FULL_SHARES = tuple(Fraction(k, THOUSANDTHS) for k in range(560, 996, 15))  # [share of records] Candidates for b.
EXTRA_LOSERS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)  # [records] Candidates: honest ones without friends.
# [standard deviations] Buffers hold the number of records plus this many deviations, so that they rarely grow.
CAPACITY_DEVIATIONS = 7.0
# [records; records per ladder step] The core's sample: enough for the test, and for a good centre (bench core_sample).
CORE_SAMPLE_LEAST, CORE_SAMPLE_PER_STEP = 4096, 12
# [standard deviations of n̂] With so many more records than n̂ none of them is refused by the number alone (P14).
POSSIBLE = 2.65
MOST_SENSITIVE_CORE = 0.05  # [λ] A core whose mean one record may move farther is no centre for what follows.
LARGEST_FLOOR = 40  # [ladder steps] The smallest n_0 of a core is looked for up to here.
SCALE_SEARCH_SHARE = 0.05  # [share of P] The search for an unknown scale of a known shape.
# [sqrt(d)/epsilon records] Below this many records, stages on a block of the largest coordinates are tried too (P8).
BLOCK_RULE = 30.0

# --- Groups (release_groups.py) ---------------------------------------------------------------------------------------

# [share of P] Which groups exist, if nobody listed them: a quarter of the whole's mu, for 4 % more noise in means.
KEYS_SHARE = 1 / 16

# --- Known shape: the schedule of stages (choose/stages.py) -----------------------------------------------------------

# [share of P] Candidates for the core's mean.
SCHEDULE_CORE_SHARES = np.array([0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.12, 0.16, 0.2, 0.25, 0.32, 0.4, 0.5, 0.65])
STAGE_RATIOS = (1.5, 2.5, 4.0, 8.0)  # [factor] Candidates for the precision of a stage over that of the one before.
# [factor] The same after a sample: stages before the last do not count in the answer, so that they should cost little.
EARLY_RATIOS = (4.0, 8.0, 20.0, 50.0)
MOST_STAGES = 5  # [stages] Each stage is a pass or two over the records.
# [share of the sampling variance] Noise below this (a fifth of the sampling error) may grow a little to save passes.
SMALL_NOISE_VARIANCE = 0.04
UNSEEN_VARIANCE = 2e-3  # [share of the sampling variance] How much it may grow: a thousandth of the whole error.
COUNTED_STAGES = 2  # [stages] So many of the last stages count in the answer, where the records' lengths are looked at.
BLOCK_SIZES = 12  # [number] Candidates for the size of the block of recentred coordinates.
# [share of records: most and least; records times epsilon] How many records a stage with a trusted radius may clip.
CLIPPED_MOST, CLIPPED_LEAST, CLIPPED_COUNT = 0.25, 0.05, 120

# --- Known shape: the simulated friend radius (choose/friend_radius.py) -----------------------------------------------

FRIEND_PROBES, FRIEND_OTHERS = 2048, 1024  # [records] Simulated records that look, and that are looked at.
# [directions; groups] Leading directions are simulated one by one, the others in groups of like eigenvalue.
EXACT_DIRECTIONS, TAIL_GROUPS = 96, 24
LOSERS_USED = 0.7  # [share] Of the tolerated losers that is used: covers the error of the simulation.
FITTED_TAIL = 0.05  # [share of probes] From these the exponential tail of the squared radii is fitted.

# --- Unknown shape: the core (unknown.py) -----------------------------------------------------------------------------

RADIUS_SEARCH_SHARE = 0.07  # [share of P] The searches for λ.
# [power] How strongly the core's sensitivity counts in the final error: all stages begin at the core's centre.
CORE_POWER = 0.3
# [share of P: least and most; where nothing follows but error bars] The core's mean.
CORE_SHARES, CORE_ALONE_SHARE = (0.03, 0.20), 0.97
CORE_ALONE = 2.5  # [n·mu/√d] With fewer records the core's mean is the answer: stages about a far centre are biased.
FEW = 60.0  # [n·mu] With fewer records no variances or coordinates are learned: all precision is for the centre.
# [share of P; expected length: least, most, step] With few records their median length is searched.
FEW_LOOK, FEW_LENGTHS = 0.04, (0.25, 32.0, 1.2)
FEW_RADIUS = 1.1  # [median length] Clipping radius with few records: most of them are left as they are.
RECOUNT_SHARE = 0.3  # [share of the searches] A second count, which lets n_0 be closer to the number of records.
# [share of records; records] b is this share less outliers and ladder; B is the ladder, the outliers and so many more.
FULL_SHARE_RULE, BUDGET_MARGIN = 0.89, 5

# --- Distances between records (learn/scale.py) -----------------------------------------------------------------------

FACTOR_WINDOW = 1e6  # [factor] An unknown factor is searched between 1/FACTOR_WINDOW and FACTOR_WINDOW.
FACTOR_STEP, RADIUS_STEP = 1.03, 1.07  # [factor] Steps of the grids for the factor and for λ.
MEDIAN_SHARE, WIDE_SHARE = Fraction(1, 2), Fraction(4, 5)  # [share of records] The median and the wide distance.
MEDIAN_LOOK = 0.6  # [share of the search's precision] The median distance; the wide distance has the rest.
SEARCH_LIKELY, SEARCH_POSSIBLE = 9.0, 2.85  # [squared deviations per ln(cells)] Of a search, to be likely; worth a try.
# [factor: least, most; power] λ over the wide distance, by the ratio of the wide distance to the median.
LEAST_WIDENING, MOST_WIDENING, WIDENING_POWER = 1.2, 3.6, 2.5
# [factor] The grid of the wide distance over the median one: dense where most tables lie, so that doubt favours these.
WIDE_RATIOS = (1.0, 1.07, 1.15, 1.25, 1.38, 1.55, 1.8, 2.2, 3.0)
# [factor] The wide distance over the root of the mean square one, at most: 1.28 for one normal column, less for more.
WIDE_OVER_TYPICAL = 1.25
UNSURE_WIDENING = 1.5  # [factor] λ is widened by so many times the noise of its search, in shares of the records.

# --- Unknown shape: variances and stages (learn/coordinates.py, stages.py) ------------------------------

SMALL_NOISE = 0.2  # [share of the sampling error] Below this noise passes are saved: less gains two per cent at most.
FIRST_ROUND = 0.05  # [share of P] The stages before variances are learned again: they serve the centre alone.
LOSS = 0.1  # [variance of ln σ] Variances are learned again above this uncertainty.
RECENTRE_PRECISION = 24.0  # [d/(n²·P)] Recentring: leaves the centre a twentieth of a record's squared length away.
RECENTRE_SHARES, RECENTRE_STAGES = (0.005, 0.05), 2  # [share of P: least and most; stages] Recentring.
NEAR_CENTRE = 0.1  # [share of a record's squared length] A centre nearer than this is not recentred.
VARIANCE_PRECISION, VARIANCE_SHARES = 50, (0.02, 0.10)  # [d/(n²·P); share of P: least and most] One variance release.
ERROR_BAR_SHARES = (0.01, 0.01)  # [share of P] A variance release that serves the error bars alone.
# [share of records; share of P: least and most] All counts of the search for the unit of scores, as one, are this sure.
UNIT_ERROR, UNIT_SHARES = 0.035, (0.005, 0.02)
UNCLIPPED_SCORES = 0.8  # [share of records] Scores that stay unclipped at the unit.
UNIT_GRID = (1e-3, 1e5, 1.35)  # [factor: least, most, step] The grid of units, over the mean predicted score.
SCORE_NOISE_SHARE, SCORE_LENGTH = 0.6, 1.6  # [noise; sqrt(d)] Norm of a score: of one common coordinate; typical.
VARIANCE_FLOOR = 0.15  # [share of a second moment] Least that is left when the centre's own variance is subtracted.
COUNTED_PRECISION = 0.05  # [share of P] A stage of so much after the look, and the last one, counts in the answer.
GUESSED_LOG_VARIANCE = 0.01  # [variance of ln σ] Of standard deviations that follow from those of other coordinates.

# --- The secret ring (learn/ring.py) ----------------------------------------------------------------------------------

RING_SHARE = 0.20  # [share of P] All releases on the ring, ahead of the test.
RING_RULE, RING_LEAST = 30.0, 80.0  # [n·mu/sqrt(d); n·mu] The ring is taken below the first, and from the second on.
RING_SURE, RING_SEARCH_MOST = 30.0, 0.1  # [squared deviations; share of the ring's precision] Of a search; its most.
# [share of the ring's precision; predicted distance: least, most] λ in the learned shape, and where it is searched.
RING_RADIUS_LOOK, RING_RADIUS_GRID = 0.2, (0.25, 5.0)
RING_ROUNDS = (0.55, 0.45)  # [share of what searches and λ leave] The scores of each round; they sum to 1.
RING_LENGTH_STEP, RING_UNIT_STEP = 1.1, 1.5  # [factor] Steps of the grids of distances and of units.
RING_UNIT_REACH = 10.0  # [factor] Units are searched from so far below the average variance to as far above the sum.
RING_UNIT_OVER = 1.6  # [factor] The unit at which half of the pairs are clipped, over the one taken.
RING_STANDS_OUT = 2.0  # [τ] A variance that scores more is named.
RING_REST_GRID = (1e-9, 1.5)  # [typical distance: least, most] Where the rest is searched.
RING_SMALL_REST = 0.2  # [share of the named Σσ] A smaller rest is not looked at again.
# [variance of ln σ] After the ring variances are learned again above this uncertainty; equal ones seem to have 0.15.
RING_LOSS = 0.25
RING_FARTHEST = 6.0  # [typical distance] Honest records lie no farther apart.
RING_CORE_SHARES = (0.02, 0.04, 0.08, 0.12, 0.2, 0.3, 0.4, 0.55, 0.7)  # [share of P] Candidates for the core's mean.
RING_FIRST_ROUND = 0.10  # [share of P] The stages before variances are learned again.
RING_WORTH = 1.25  # [factor] Other axes have to promise so much more than the ring's variances on the records' own.
RING_BINS = 24  # [number] Groups of coordinates of like σ, for the choice of the core's share and of the block.

# --- Which coordinates (learn/coordinates.py, principal_directions.py) ------------------------------------------------

SCALAR_SHARE, BASIS_SHARE = 0.003, 0.05  # [share of P] Each released number; the matrix of directions.
WORTH = 1.03  # [factor] A smaller gain is not worth other coordinates.
LITTLE = 1.1  # [factor] Own axes that surely gain less than this are not worth learning their variances.
BLURRED = 0.7  # [share of a record's squared length] With more of it from the centre's own error, no forecast is made.
PESSIMISM = 1.5  # [standard deviations] Every released number is read this far on the unfavourable side.
NORMAL_ABSOLUTE = 0.8  # [number] E|g|, g standard normal: |T u|₁/√d of a direction u without preferred coordinates.
# [share of records; factor] Least correlation for a learned basis: absolute, and over the weakest share to be found.
LEAST_CORRELATION, CLEARLY_CORRELATED = 0.15, 2.0
MOST_SHARE = 0.98  # [share] A single direction is never believed to hold more of the squared length.
FORECAST_RECORDS, FORECAST_PRODUCTS = 20_000, 2e11  # [records; products of two coordinates] Enough for a forecast.
MOST_COLUMNS = 6000  # [columns] Eigenvectors of a larger matrix take many minutes.
MOST_SPIKES = 256  # [directions] Kept at most.
BEYOND_EDGE = 1.5  # [widths of the spectrum's edge] An eigenvalue counts as a direction this far beyond the noise.
SMALLEST_TAIL = 0.02  # [share] Of the squared length, never believed to lie along the directions found.
ANGLE_DEVIATIONS = 2.0  # [standard deviations] For the bound of an angle: of the eigenvalue and of the noise beside it.

# --- Lengths of records and the clipping radius (learn/stages.py, learn/tail.py) --------------------------------------

# [1/√(Σσ / largest σ); share of P: least, most; share of what is left] The look at the records' lengths.
LENGTH_LOOK, LENGTH_LOOK_SHARES, LENGTH_LOOK_MOST = 0.25, (0.01, 0.2), 0.3
# [share of the sampling error; radius by the tail] The ball is widened until its noise reaches this, but no farther.
WIDE_REACH, WIDE_MOST = 0.2, 1.5
# [power of the rank] After a core, of the target bias: columns that move together have become one direction.
CORE_BIAS_POWER = 0.1
LENGTH_READ_LEAST = 2.0  # [predicted length] Lengths are read up to here at least, however near the core's records lie.

LENGTH_NEAREST = 0.2  # [predicted length] First edge of the histogram of lengths.
LENGTH_FARTHEST = 48.0  # [predicted length / sqrt(rank)] Last edge: how far out one column alone may take a record.
# [predicted length; largest spread] By columns, how far one entry counts, the larger of the two: one column whose
# spread was learned far too small does not draw the radius out. Settled by the census: 48 spreads or 20 cost more.
ENTRY_LENGTHS, ENTRY_SPREADS = 4.0, 12.0
LENGTH_FARTHEST_LEAST = 12.0  # [predicted length] Least last edge: SDs of columns of mostly zeros may be far too small.
LENGTH_STEP = 0.3  # [logarithm of a length / sqrt(rank)] Width of a cell at the predicted length: part of their spread.
LENGTH_STEP_LEAST = 0.025  # [logarithm of a length] Least width: the predicted length is not known better.
# [factor; logarithm of a length] Each cell is wider than the next nearer one, up to a width.
LENGTH_STEP_GROWTH, LENGTH_STEP_MOST = 1.3, 0.5
# [standard deviations] Of noise and sampling: the records from which a tail is fitted stand so far above 0.
TAIL_DEVIATIONS = 10.0
TAIL_SHARE, TAIL_SHARE_RANK = 0.5, 2.5  # [share of records; rank] A tail is fitted to these at most; fewer at low rank.
TAIL_UNSEEN_RANK = 1.5  # [rank] Below it, so in one column, no tail is seen if too few records are far out.
# [shape of a generalised Pareto law] Candidates, 0 left out: equal lengths; bounded ones to a barely finite variance.
TAIL_SHAPES = np.append(-20.0, np.arange(-0.25, 0.5, 0.1))
# [shape: mean and standard deviation] Before looking: tails of measured quantities are near exponential.
TAIL_SHAPE_PRIOR = (0.05, 0.15)
TAIL_EQUAL_PRIOR = -8.0  # [log prior, least] Of equal lengths, as of indicators: four deviations from the middle.
TAIL_SCALES = 20  # [number] Candidates for the scale of the law.
TAIL_MODEL_ERROR = 0.1  # [share of a cell's count] How far the law may be wrong.
BUMP_DEVIATIONS = 4.5  # [standard deviations] Counts so far above the law are taken as they are.
OUTER_LEVEL = 0.75  # [probability] With which the excess at the outer radius is below its target.
MOST_BEYOND = 0.975  # [probability] How many records may lie beyond a radius is said at this level.
# [deviations of the noise; power of the rank; most] Target bias of clipping at the outer radius.
OUTER_BIAS, OUTER_BIAS_POWER, OUTER_BIAS_MOST = 0.15, 0.35, 0.5
COHERENCE = 0.8  # [share of the excess] By columns: how far clipped records move the mean; they point several ways.
LEAST_RADIUS, RADII = 0.003, 300  # [last edge; number] Radii among which the one of the least expected loss is taken.
# [predicted length; log loss of a squared logarithm, over the noise of a cell as a share of the records] The usual
# radius by columns, and how far doubt draws others there. Settled by the census: 10 to 30 cost alike, 0 varies more.
USUAL_LENGTH, RADIUS_DOUBT = 2.2, 17.0
UNSEEN_BIAS = 2 * OUTER_BIAS_MOST  # [deviations of the noise] Clipping bias in intervals if the tail is not seen.

# --- The shell between the median length and the radius (learn/stages.py) ---------------------------------------------

SHELL_SHARE, SHELL_MOST = 1.0, 0.1  # [share of the answer's precision at Σw/√Σw² of 1; most] For the measured shell.
SHELL_GAIN = 0.1  # [share of the squared error] The least that clipping half of the records could save.
SHELL_DEVIATIONS = 1.64  # [deviations] Of the noise of a squared bias, on the unfavorable side.
# [radius: least and most] Where the shell begins: many records may lie at the center, or all of them at one length.
SHELL_PLACES = (0.05, 0.98)
SHELL_RADII = 25  # [number] Candidates for the radius.

# --- Error bars about the population (learn/restore.py) ---------------------------------------------------------------

# [probability] With which numbers of records far out, and their excess, stay below what the error bars count.
POPULATION_LEVEL = 0.75
FAR_LENGTH = 3.0  # [predicted length] Correlation shows in the spread of lengths up to here, or to the clipping radius.
POPULATION_RADII = (1e-3, 1e2, 300)  # [clipping radius: nearest, farthest; number] Where records beyond are counted.

# --- Empirical Bayes (learn/shrinkage.py) -----------------------------------------------------------------------------

MEAN_STEPS, SCORE_STEPS, PRIOR_ATOMS = 40, 60, 64  # [EM steps] For centres, for variances; [number] atoms of a prior.
SHAPE_MODEL_ERROR, STATED_MODEL_ERROR = 0.1, 0.3  # [ln σ] Of Gaussian scores: in the noise's shape; as stated.
VAGUE = 1.0  # [ln σ] A column less certain than this is stated as not learned.
SPREAD_TAIL = 0.0228  # [probability] Left on each side of a stated spread: two standard deviations of a normal law.
RESOLVED = 0.5  # [share of the noise] Below it a variance cannot be told from 0.
MISLED = 0.01  # [likelihood ratio] Scores that contradict earlier releases of a spread by this factor overrule them.
ANY_SPREAD_COLUMNS = 2.0  # [columns] Weight of a prior that allows any spread, beside the fitted columns.
SPREAD_STEPS, SPREAD_NODES, SPREAD_BLOCK = 60, 5, 2048  # [EM steps; nodes; columns at a time] Work of one posterior.

# --- Every column by itself (columns/) --------------------------------------------------------------------------------

# [n̂·√(P/d)] Beyond it, the looks at the columns cost less: their share of P falls with its inverse.
EASY_STRENGTH = 100.0
# [n̂·√(P/d)] Below it the route is refused.
LEAST_STRENGTH = 20.0
# [half-range over spread, root mean square] Where every column has declared ends, less is not worth learning more.
WIDE_BOUNDS = 2.0
# [half-range] How far the mean of a column lies from the middle of its declared ends, where it was not looked at.
USUAL_PLACE = 0.4
# [standard deviations of n̂] Fewer records cannot be told from none: they are refused.
SURE_COUNT = 4.0
# [n̂·√(P/d) per column: factor, least, most] From here on that pays for the total error, too, beside the core.
TOTAL_STRENGTH, TOTAL_STRENGTHS = 5.0, (40.0, 300.0)
# [share of P] The number of valid records, where some may be invalid.
VALID_COUNT_SHARE = 1 / 64
# [share of entries; share of P: least and most] Missing entries of all columns together: their share is this sure.
MISSING_ERROR, MISSING_SHARES = 0.05, (1 / 128, 1 / 32)
# [share of P] Missing entries of each column: an error counts times the offset of the mean from its centre only.
MISSING_COUNTS_SHARE = 1 / 32
# [share of records] Noise of the share of each column up to which more of a record's missing entries count in full.
MISSING_COUNTS_ERROR = 0.01
# [n̂·√(P/d); share of P: least and most] One look at all columns: a ninth of the records stands one deviation out.
LOOK_STRENGTH, LOOK_SHARES = 9.0, (0.005, 0.08)
# [share of P] All looks closer than the first one, together.
CLOSER_SHARE = 0.20
# [looks] At the columns, at most, however little they cost: each is a pass over the records; usual tables need 20.
MOST_LOOKS = 60
# [cells of a histogram over the number of records] Error of the templates: laws that no template has.
TEMPLATE_ERROR = 0.03
# [points] Of a law, in a template.
TEMPLATE_POINTS = 200
# [ln σ] Of the lognormal template of a magnitude.
MAGNITUDE_SPREAD = 0.6
# [share of records] Templates of columns with zeros: the share that is not zero.
NONZERO_SHARES = (1.0, 0.4, 0.15)
# [noise of a cell] A share of entries that stands out less cannot be told from none.
STANDS_OUT = 3.0
# [magnitude] Entries of the bulk lie within this factor above its magnitude, but for few of them.
BULK_REACH = 4.0
# [log odds] A far group is believed at the first (4.2 deviations of its share), looked for again at the second (2.4).
FAR_ODDS, DOUBTFUL_ODDS = 9.0, 3.0
# [log prior] A column with some zeros, and one of zeros alone.
SOME_ZEROS_PRIOR, ALL_ZEROS_PRIOR = -3.0, 3.0
# [factor; probability] A magnitude is doubtful if it lies within this factor with less than this probability.
NEAR_MAGNITUDE, SURE_MAGNITUDE = 8.0, 0.999
# [looks; share of P] At the magnitude of a column, and all of them together, at most: four at all columns.
MOST_MAGNITUDE_LOOKS, MAGNITUDE_SHARE = 6, 0.321
# [cells] A narrower column is looked at again; [factor] the next cells over the spread about the centre.
NARROW, CLOSER = 0.6, 0.8
# [cells] A column nearer to zero is not looked at more closely: its cells hold zero and the size of its entries.
AWAY = 1.5
# [variance of ln σ] A column less certain than this is looked at again.
UNCERTAIN_LOG_VARIANCE = 0.25
# [odds] A column that is one value with at least these odds, after a closer look, is looked at again.
DOUBTFUL_ONE_VALUE = 0.2
# [|centre|] Cells are never narrower: there the numbers of a column end.
FLOAT_RESOLUTION = 1e-13
# [noise of a cell; share of records] Far records are believed from here on: 1 false alarm in 30 000 cells; odd tails.
STAYED_BEHIND, LEAST_BEHIND = 4.0, 0.025
# [units of the column] Columns as large as this may lie beyond the cells; they are taken for as large as the second.
LARGEST_MAGNITUDE, FAR_MAGNITUDE = 2.0**86, 1e150
# [σ] Of a column in which only zeros were seen: other entries may be rare ones.
RARE_STDDEV = 0.2
# [squared length of the other columns] What all columns of one value add to it, at most: 5 % more noise.
ONE_VALUE_PART = 0.1
# [expected length; share of P; σ] The clipped mean that improves the centre: its radius, its share, its bias.
MIDDLE_RADIUS, MIDDLE_SHARE, MIDDLE_BIAS = 1.5, 0.05, 0.1
# [1/strength²; share of P: least and most] The scores of the columns.
COLUMN_SCORE_STRENGTH, COLUMN_SCORE_SHARES = 60.0, (0.01, 0.10)
# [1/noise] The unit of these scores: a typical score, one over the unit, stands eight deviations above its noise.
SCORED_TYPICAL = 0.12
# [share of P; spreads] The votes for far entries, and their levels.
VOTES_SHARE, VOTE_LEVELS = 0.05, np.array([4, 6, 9, 14, 22, 40, 80, 200, 600, 2e3, 1e4, 1e5])
# [share of the most that the lengths say is cut off] That an interval of a column allows for. Settled by the census:
# .25 to .35 cover alike; quantiles of a posterior by votes cover no more and are twice as wide at 400 records.
HIDDEN_PART = 0.35
# [share of the records; prior probability] Groups at one level, beside the bank.
GROUP_SHARES, GROUP_PRIOR = (0.01, 0.02, 0.045, 0.09, 0.2, 0.3), 0.02
# [share of a cell] How far a law of the bank may be wrong.
LAW_ERROR = 0.3
# [log loss] A smaller gain is not worth a scale of its own.
TAIL_WORTH = 0.7
# [rounds of votes] At most: another one only if the last has widened a column.
MOST_WIDENINGS = 2
# [√d spreads; factor] Candidates for the radius of usual columns, and for a column's own scale.
USUAL_RADII = 1.1 * 1.2 ** np.arange(10)
TAIL_FACTORS = np.exp(np.append(np.arange(0, 2.5, 0.15), np.arange(2.5, 11, 0.3)))
# [share of the records; probability] A column of which more may lie beyond its cap, with at least this probability, is
# not resolved where records stand out beyond all lengths that were looked at.
CUT_SHARE, CUT_DOUBT = 0.003, 0.05
# [last edge] A clipping radius beyond this part of it shows that records lie farther out than lengths were looked at.
MEASURED = 0.9
# [σ known before] A release of scores lowers no spread below this: rare large entries score little.
HELD_STDDEV = 0.5

# --- Algorithm 2 (paper/unknown_covariance.py, averaging.py) -----------------------------------------------

PAPER_COUNT_SHARE = 0.04  # [share of epsilon] The number of records.
PAPER_BOUND_SHARE = 0.3  # [share of P] The number kept, in each average.
FEWEST_PAIRS, ENOUGH_PAIRS = 0.5, 10.0  # [log(16 d); log(3 d)] Pairs in a group: the printed Θ(log d) from both sides.
VALID_VOTES = 2.5  # [factor] Valid estimates fall into two buckets, so one of them has 2/5 of the votes.
TOP_MARGIN = 0.3  # [share of groups] Between the valid 4/5 and the threshold 1/2.
COVERED = 8.0  # [factor] The variance is below this times its estimate 4^b (errata).
ZERO_VARIANCE = 4.0**-10  # [share of the largest estimate] Stands for a variance of zero, which has no fourth root.

# --- The variance profile (paper/profiling.py) ------------------------------------------------------------------------

GROUP = 8  # [records] Of a group: four pairs scatter an estimate by about half a bucket.
PROFILE_COUNT_SHARE, PROFILE_SEARCH_SHARE = 0.02, 0.25  # [share of P] The number of records; the total variance.
COMPLETE_GROUPS = 0.5  # [share of groups] With fewer complete groups the profile is refused.
COARSEST_PROFILE = 1.0  # [log2 of coordinates] With more noise in log2(1 + N_j) the profile is refused.
EASY = 2.0  # [factor] An instance is easy if learning a few variances comes within this factor of knowing all.

# --- Records in a known ball (ball.py) --------------------------------------------------------------------------------

BALL_SHARES = (0.002, 0.01)  # [share of P: least and most] The first mean, which only serves as a center.
BALL_LENGTH_SHARE = 0.003  # [share of P] The median distance from the first mean.
BALL_LENGTHS = (1e-3, 2.0, 1.05)  # [radius: least, most, step] Where it is searched.
# [factor] Refine if records are typically so many times nearer to the first mean than the ball is wide. It costs up to
# a third of P; nearer to 1, what clipping takes on one side of a sphere can exceed the noise that it saves.
BALL_GAIN = 3.0
