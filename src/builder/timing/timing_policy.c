/* SPDX-License-Identifier: Apache-2.0 */
/* The values of the policy of timing, with their units and reasons; see timing_policy.h. */
#include "builder/timing/timing_policy.h"

const struct tn_timing_policy tn_timing_policy = {
    /* ------------------------------------------------------------------------------------------
     * what is measured, in which order */

    /* Kernels that compile wait where another one was measured that reads and writes the same. */
    .stages = {{TN_STAGE_FIRST, false},
               {TN_STAGE_TACTICS, false},
               {TN_STAGE_SHORT, false},
               {TN_STAGE_FIRST, true},
               {TN_STAGE_TACTICS, true},
               {TN_STAGE_SHORT, true},
               {TN_STAGE_REST, true}},
    /* Over the least estimate: up to there a candidate promises most. Coarser on a device. */
    .promising_factor = 2,
    .device_promising_factor = 3,
    /* Over the best time: how slow a kernel's first tactic may be for its others to come next. */
    .tactics_factor = 1.5,
    /* From there on they are left off, by both: conversions take less than the difference. */
    .pruned_factor = 3,
    .pruned_ns = 20e3,
    /* The same, for a shorter chain than the kernel could do: on the processor a step of its own
     * costs little. */
    .short_factor = 1.1,
    /* A kernel that takes so long to prepare, on average, compiles. */
    .slow_prepare_ns = 20e6,
    /* Measured beside each other, since they could be chosen: over the best that does as much, and
     * over the best with the same types and formats. Timings alone vary by less. */
    .beside_factor = 1.3,
    .beside_same_factor = 1.15,
    /* What was not measured must not win by a guess: it is thought to take so much longer than the
     * best beside it that was. */
    .unmeasured_factor = 1.1,

    /* ------------------------------------------------------------------------------------------
     * for how long */

    /* Seconds, where the caller names none; a device's libraries compile kernels. */
    .all_s = 20,
    .device_all_s = 90,
    /* Rounds beside each other may take as long as all before, or this share: they decide. */
    .rounds_share = 0.25,
    /* Kept for conversions, without which candidates with other storages cannot be compared. */
    .conversion_share = 0.08,
    /* Of the tensors of all candidates that are open at once: little of a machine's memory. */
    .open_bytes = (uint64_t)512 << 20,
    /* Of the tensors of one kernel that is measured. */
    .most_bytes = (uint64_t)1 << 30,
    /* Networks that are run whole, and what is kept of the time for them. */
    .most_trials = 32,
    .trials_share = 0.35,
    .device_trials_share = 0.05,
    /* Of one network: so many runs at least, until the two shortest agree, but no longer. A load
     * that comes and goes by tenths of a second spares some of them: on two threads that are each
     * disturbed half of the time a step has 15 of 60 alone. With so many runs at most, those of a
     * microsecond end before the time. */
    .trial_ns = 300e6,
    /* Nor longer than this of all the time: where that is short, measuring has most of it. */
    .trial_share = 0.15,
    .trial_runs = 60,
    .trial_most_runs = 400,
    .trial_tolerance = 0.01,
    /* Of the runs of a race: the mean of these is what a network takes, where they are so many at
     * least. On two threads that are each disturbed half of the time a quarter is not. */
    .trial_quickest_share = 0.125,
    .trial_least_quickest = 3,
    /* By how much a network has to be faster than the best before. */
    .trial_gain = 0.003,
    /* A device has nobody beside it: whole networks in its memory differ by 0.0005 from run to run.
     * So long is a sample of several runs, one behind the other, and so many samples there are. */
    .device_trial_gain = 0.001,
    .device_trial_sample_ns = 1e6,
    .device_trial_runs = 12,
    /* Of the cost of a candidate that did not run in a network yet, over one that did; where that
     * gives no new network, its powers by chance, for each candidate one, up to this one. */
    .trial_eagerness = 0.93,
    .trial_eagerness_powers = 8,
    /* At least, at most, tolerance, enough_ns, prune_after, pruned_factor. 10 ms are many runs of
     * all but the largest kernels. A device's clock disturbs less, and its samples vary less. */
    .alone = {2, 30, 0.03, 10e6, 2, 2, 0, 0},
    .alone_on_device = {5, 15, 0.01, 10e6, 1, 4, 0, 0},
    /* These decide between what is nearly equal. */
    .beside = {20, 100, 0.01, 0, 3, 1.1, 0, 0},
    /* Conversions are many, and vary little. */
    .conversion_enough_ns = 2e6,

    /* ------------------------------------------------------------------------------------------
     * how a sample is taken */

    /* So long at least, in nanoseconds, so that neither the clock nor the look at what disturbed it
     * counts; a device's events are coarser. But not so many runs. */
    .sample_ns = 50e3,
    .device_sample_ns = 200e3,
    .most_runs = 50,
    .device_most_runs = 100,
    /* What runs longer has cold caches in any case: no run to warm them. */
    .warmed_ns = 5e6,
    /* What runs longer is run once more after the first, and no more. */
    .long_run_ns = 200e6,
    /* Samples of one that was disturbed in all: a load that comes and goes spares some. */
    .most_disturbed = 10,
    /* Of a sample: waiting for a core that is part of any run, for a thread that slept is woken. */
    .wait_share = 0.02,
    /* From this pace on a sample is disturbed. Turbo clocks differ by less, halves of a core by
     * more. */
    .slow_pace = 1.25,
    /* In which two samples agree of what is left off. */
    .prune_tolerance = 0.03,
    /* Runs of a sample from which on a captured graph is worth it. */
    .captured_runs = 10,
    /* Of work until a device's clocks have settled, and the most samples for it. */
    .device_warm_ns = 50e6,
    .device_warm_samples = 300,
    /* A difference below which a device's candidate has all its samples. */
    .device_pruned_ns = 50e3,
    /* Elements after which made-up values repeat: a prime, so that no pattern is met. */
    .period = 65521,

    /* ------------------------------------------------------------------------------------------
     * what a difference means */

    /* The least noise that is believed, and what is assumed where too few samples tell. */
    .least_noise = 0.01,
    .most_noise = 0.10,
    /* A difference that does not matter: a network's runs vary by as much. */
    .least_difference = 0.02,
    /* How much longer a network may take without kernels that use OpenMP: with them, loading it
     * also loads their library (with oneDNN some 3 ms and 10 MB), and OpenMP's threads spin for
     * milliseconds after a run. */
    .without_openmp_factor = 1.03,
    /* With several threads, what each step has to win by it at least: where other programs use the
     * processors, too, a loop waits 60 to 90 us for OpenMP's team, and 1 or 2 for the runtime's
     * workers, which is seldom seen in the shortest of many runs of one kernel. */
    .team_ns = 3e3,
    /* Where images are of any size and nothing is measured: what it takes to make a kernel with
     * weights for a new size, and one without (oneDNN generates the code of a convolution in 0.1 to
     * 0.4 ms, of a pooling in 0.03 to 0.12), and how many runs of each size are thought to share
     * that. A batch of any size is not counted: few sizes of it come. */
    .made_ns = 400e3,
    .made_plain_ns = 40e3,
    .runs_a_size = 3,
    /* What each rank down the order of preference adds to a measured cost, up to some. */
    .rank_share = 0.005,
    .rank_limit = 4,
    /* Constants of a network that stay in the processor's caches from run to run, as those of a
     * kernel that is timed do. Of larger networks each run reads them from memory: what a kernel
     * makes them larger by costs what memory takes for it. */
    .resident_bytes = (uint64_t)16 << 20,

    /* ------------------------------------------------------------------------------------------
     * estimates of what is not measured: they need to be right about what is large and what is
     * small, and about conversions against kernels */

    /* Where nothing may be measured, as in a build without timing: of a common core, of a common
     * device, and of the bus between them. Nanoseconds of a step, and bytes a nanosecond, those
     * that are read and those that are written. */
    .rates = {.host = {150, 60},
              .device = {2000, 1000},
              .transfer = {8000, 40},
              .memory = {500, 10},
              .weights_bytes_a_ns = 10},
    /* Of the tensor by which a device's rates are measured: a common activation. */
    .rate_bytes = (uint64_t)1 << 20,
    /* Of the network's constants that are read to know how fast runs read them, and how often: a
     * tenth of a second at most where memory moves 10 bytes a nanosecond. */
    .most_weights_bytes = (uint64_t)256 << 20,
    .weights_passes = 4,
    /* By how much measurements of a kernel correct its estimates: what is further off is not a
     * matter of the machine. */
    .least_fit = 0.05,
    .most_fit = 20,
    /* Multiplications and additions in 32-bit floats in the time of a byte, with vectors of
     * wide_lanes: where a kernel with weights is limited by its work. */
    .work_a_byte = 1,
    .device_work_a_byte = 5,
    /* Each rank and each tactic down the order of preference adds. */
    .rank_factor = 0.05,
    .tactic_factor = 0.01,
    /* Of work: in a format that kernels with weights like; of a device in 16 and in 8 bits, where
     * layers are seldom large enough to tell; in its short floats. */
    .blocked_factor = 0.8,
    .narrow_device_factor = 0.1,
    .tf32_factor = 0.25,
    /* Channels that a kernel computes at once where channels lie last: floats of a vector of 256
     * bits, with AVX-512 of one of 512. Where they are blocked the block says it. Fewer channels
     * take as long as so many. With a block of half a vector kernels took 1.3 to 2.6 times as long
     * as with a whole one (convolutions), and 6 to 7 times (pools, products with a factor for each
     * channel). A library's kernels for every processor have those of 128 bits.
     */
    .baseline_lanes = 4,
    .channel_lanes = 8,
    .wide_lanes = 16,
    /* Of a convolution of each channel by itself, by vectors of pixels: their rows are short. On
     * images of 8 to 32 pixels 3.7 to 7.7 times what others take. */
    .depthwise_linear_factor = 4,
    /* What a library adds to a step of its: arguments, and its own look for the kernel. oneDNN's
     * shortest convolutions took 420 to 550 ns, own ones 110. */
    .library_ns = 400,
    /* Over blocked channels: a window's rows lie further apart. In ResNet-50's convolutions 1.00 to
     * 1.6, 1.1 on average. */
    .channels_last_factor = 1.1,
    /* Over a linear kernel's work, of a kernel that takes formats of channels as well: it copies,
     * or is not vectorised. In the same convolutions 1.1 to 17, 2.4 on average. */
    .unsuited_factor = 2,
    /* A kernel that is there for when no other one is; and of a reference an element of work, in
     * double precision, over one of a kernel. */
    .fallback_factor = 8,
    .reference_factor = 200,
    /* Of a tensor whose shape is known at a run alone. */
    .unknown_bytes = 4096,
    /* A conversion that there is not, or what is left out: never chosen while there is another one.
     */
    .impossible_ns = 1e15};
