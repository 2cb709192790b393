"""Measures on a model what a published row reports: one function for each kind of figure.

A function returns the figure in the row's unit. ``observed`` returns None for a row that has no function because a
model cannot show its figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from iogauge import catalog
from iogauge.calibrate import loads
from iogauge.calibrate.trial import Seen, Trial
from iogauge.catalog.published import Point
from iogauge.schema import Direction, State

P4800X = "p4800x-375g"
_SPECIFIED = (4, 32)
"""Threads and depth for a specification that says "up to"."""
_UNITS = {"GB/s": 1e9, "MB/s": 1e6}
_QUANTILES = {"lat_p50": 0.5, "lat_p99": 0.99, "lat_p99.999": 0.99999, "lat_p99.99999": 0.9999999}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A row, the drive that it is about, and the machine in front of the drive."""

    point: Point
    drive: str
    machine: str
    trial: Trial
    most_ios: int = loads.MOST
    """The most I/Os of one load, however rare its quantile."""

    @property
    def scale(self) -> float:
        """The row's unit in bytes a second."""
        return _UNITS.get(self.point.unit, 1.0)

    def load(
        self, *, threads: int, depth: int, drive: str = "", state: State = "as-is", ios: int = 0
    ) -> Seen:
        """Run the row's pattern at a depth; by default with as many I/Os as its quantile needs."""
        point = self.point
        way = "write" if point.read_percent == 0 else "read"
        order = "" if point.workload.startswith("seq") and not self._on_windows else "rand"
        block = point.block_bytes or 4096
        alone = threads * depth == 1
        ios = ios or loads.ios_for(_QUANTILES.get(point.metric, 0.5), most=self.most_ios)
        text = loads.plain(
            order + way,
            block,
            threads=threads,
            depth=depth,
            ios=max(ios * 4096 // block, 20_000),
            polled=alone and point.workload == "rand" and not self._on_windows,
        )
        return self.trial.seen(
            text, drive or self.drive, self.machine, state=state, clat=not self._on_windows
        )

    @property
    def _on_windows(self) -> bool:
        """Whether DiskSpd measured the row.

        DiskSpd measures from before its call, fio's clat from after it. Its "sequential" rows were run with -r.
        """
        return self.point.host.startswith("windows")

    def mix(self, read_percent: int, drive: str = "") -> Seen:
        """Run MIX-1 at one share of reads."""
        text = loads.mix(read_percent, ios=loads.FEWEST)
        return self.trial.seen(text, drive or self.drive, self.machine, clat=True)


Figure = Callable[[Setting], float]


def observed(setting: Setting) -> float | None:
    """Return the model's figure for a row, in the row's unit; None where a model cannot show it."""
    point = setting.point
    figure = _FIGURES.get((point.workload, point.metric)) or _DIRECT.get(point.metric)
    return None if figure is None else figure(setting)


def is_shown(point: Point) -> bool:
    """Return whether a model can show a row's figure."""
    return (point.workload, point.metric) in _FIGURES or point.metric in _DIRECT


def threads_depth(point: Point) -> tuple[int, int]:
    """Return a row's threads, and the depth of each."""
    if point.depth is None:
        return (1, 32) if point.workload.startswith("seq") else _SPECIFIED
    return (point.threads or max(1, point.depth // 4), point.depth if point.threads else min(point.depth, 4))


def _plain(setting: Setting) -> Seen:
    point = setting.point
    threads, depth = threads_depth(point)
    if point.workload == "rand_mix" and point.read_percent is not None:
        return setting.mix(point.read_percent)
    # A maker specifies sequential writes for a drive that was written in order. For reads the state does not matter,
    # and that one is the quickest to prepare.
    ordered = point.workload == "seq" or point.read_percent == 100
    return setting.load(threads=threads, depth=depth, state="filled" if ordered else "as-is")


def _iops(setting: Setting) -> float:
    if setting.point.drive.startswith("2x "):
        return setting.trial.seen(loads.two_drives(ios=loads.FEWEST), setting.drive, setting.machine).iops
    return _plain(setting).iops


def _throughput(setting: Setting) -> float:
    return _plain(setting).rate_Bps / setting.scale


def _mean(setting: Setting) -> float:
    return _plain(setting).lat.mean / 1000


def _quantile(setting: Setting) -> float:
    return _plain(setting).lat.quantile(_QUANTILES[setting.point.metric]) / 1000


# The bathtub.


def _fraction_of_peak(setting: Setting) -> float:
    rates = _bathtub(setting)
    return rates[setting.point.read_percent or 0] / max(rates.values())


def _bathtub(setting: Setting) -> dict[int, float]:
    return {percent: setting.mix(percent).iops for percent in loads.MIXES}


def _argmax(setting: Setting) -> float:
    rates = _bathtub(setting)
    return max(rates, key=rates.__getitem__)


def _argmin(setting: Setting) -> float:
    """Return the minimum of a parabola through the least rate and its neighbours, so that a fit sees it move."""
    rates = _bathtub(setting)
    lowest = min(rates, key=rates.__getitem__)
    if lowest in (0, 100):
        return lowest
    below, at, above = (rates[lowest + step] for step in (-10, 0, 10))
    return lowest + 5 * (below - above) / (below - 2 * at + above)


def _thirty_to_forty(setting: Setting) -> float:
    return setting.mix(30).iops / setting.mix(40).iops


def _p99_flat(setting: Setting) -> float:
    """Return 1 if p99 stays within a factor of two in all mixes with writes."""
    tails = [setting.mix(percent).lat.quantile(0.99) for percent in range(90, 0, -10)]
    return float(max(tails) < 2 * min(tails))


def _declines(setting: Setting) -> float:
    rates = list(_bathtub(setting).values())
    return float(all(after <= before * 1.01 for before, after in pairwise(rates)))


def _own_writes(setting: Setting) -> float:
    return setting.mix(0).iops / setting.mix(100).iops


def _mix_ratio(other: str, of: Callable[[Seen], float]) -> Figure:
    def figure(setting: Setting) -> float:
        percent = setting.point.read_percent or 0
        return of(setting.mix(percent)) / of(setting.mix(percent, other))

    return figure


# A reader while writers run.


def _saturation(setting: Setting) -> tuple[float, int]:
    """Return the write rate in bytes a second at the most writers that the drive keeps up with, and one writer more."""

    def kept(writers: int) -> bool:
        return _written(setting, writers).rate_Bps >= loads.KEPT * writers * loads.WRITER_BPS

    low, high = 1, 2
    while kept(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if kept(middle) else (low, middle)
    return _written(setting, low).rate_Bps, high


def _written(setting: Setting, writers: int) -> Seen:
    return _under(setting, writers, "writer", Direction.WRITE)


def _under(setting: Setting, writers: int, row: str, direction: Direction) -> Seen:
    text = loads.pressed(writers, seconds=_seconds(setting))
    return setting.trial.seen(text, setting.drive, setting.machine, row=row, direction=direction, clat=True)


def _seconds(setting: Setting) -> float:
    """Return how long to measure: flash has to fill its buffer first."""
    return 0.6 if setting.trial.drives[setting.drive]["media"]["family"] == "nand" else 0.2


def _saturated(setting: Setting) -> float:
    return _saturation(setting)[0] / setting.scale


def _slower_saturated(setting: Setting) -> float:
    _, writers = _saturation(setting)
    alone = _under(setting, 0, "reader", Direction.READ).lat.mean
    return _under(setting, writers, "reader", Direction.READ).lat.mean / alone


def _reader(setting: Setting, at_MBps: int, drive: str = "") -> float:
    text = loads.staircase(at_MBps, seconds=_seconds(setting))
    return setting.trial.seen(text, drive or setting.drive, setting.machine, row="reader").lat.mean


def _against_p4800x(setting: Setting) -> float:
    return _reader(setting, 700) / _reader(setting, 700, P4800X)


def _flat(setting: Setting) -> float:
    return _reader(setting, 700) / _reader(setting, 100)


def _monotone(setting: Setting) -> float:
    means = [_reader(setting, at) for at in range(100, 800, 100)]
    return float(all(before < after for before, after in pairwise(means)))


# One thread at rising depths.


def _sweep(setting: Setting, drive: str = "") -> dict[int, Seen]:
    # The published 4 KiB sweeps used drives with free space; those of large reads followed random writes.
    state: State = "as-is" if setting.point.workload == "seq" else "filled"
    return {
        depth: setting.load(threads=1, depth=depth, drive=drive, state=state, ios=loads.SWEEP_IOS)
        for depth in loads.DEPTHS
    }


def _knee(sweep: dict[int, Seen]) -> int:
    """Return the least depth beyond which throughput hardly grows."""
    most = max(seen.rate_Bps for seen in sweep.values())
    return min(depth for depth, seen in sweep.items() if seen.rate_Bps >= loads.SATURATED * most)


def _saturation_depth(setting: Setting) -> float:
    """Return the depth at saturation: one of the sweep, or for a bound interpolated, so that a fit sees it move."""
    sweep = _sweep(setting)
    knee = _knee(sweep)
    if setting.point.use != "bound" or knee == min(sweep):
        return knee
    before = max(depth for depth in sweep if depth < knee)
    level = loads.SATURATED * max(seen.rate_Bps for seen in sweep.values())
    return float(np.interp(level, [sweep[depth].rate_Bps for depth in (before, knee)], (before, knee)))


def _most(setting: Setting) -> float:
    point = setting.point
    if point.depth is not None:
        return setting.load(threads=1, depth=point.depth, state="filled").rate_Bps / setting.scale
    return max(seen.rate_Bps for seen in _sweep(setting).values()) / setting.scale


def _lead_of_p4800x(setting: Setting) -> float:
    theirs, own = (
        max(seen.rate_Bps for seen in _sweep(setting, name).values()) for name in (P4800X, setting.drive)
    )
    return theirs / own


def _p99_saturated(setting: Setting) -> float:
    own, theirs = _sweep(setting), _sweep(setting, P4800X)
    return own[_knee(own)].lat.quantile(0.99) / theirs[_knee(theirs)].lat.quantile(0.99)


def _alone_against_p4800x(setting: Setting) -> float:
    own, theirs = (
        setting.load(threads=1, depth=1, drive=name, state="filled").lat.mean
        for name in (setting.drive, P4800X)
    )
    return own / theirs


# Specifications.


def _cache_full(setting: Setting) -> float:
    """Return the rate of sequential writes once the one-bit cells are full."""
    slc = setting.trial.drives[setting.drive]["media"]["slc"]
    jobs = loads.plain(
        "write", 131072, threads=1, depth=32, ios=40_000, more=f"ramp_time={round(slc['bytes'] / 1e6)}ms\n"
    )
    return setting.trial.seen(jobs, setting.drive, setting.machine, state="fresh").rate_Bps / setting.scale


def _watts(rw: str) -> Figure:
    def figure(setting: Setting) -> float:
        jobs = loads.plain(rw, 131072, threads=1, depth=32, ios=40_000)
        result = setting.trial.run(jobs, setting.drive, setting.machine, state="filled")
        return result.drives[0].energy_J / (max(row.end_ns for row in result.rows) / 1e9)

    return figure


def _idle_watts(setting: Setting) -> float:
    """Return the mean power over a minute of waiting."""
    jobs = loads.plain("randread", 4096, threads=1, depth=1, ios=2, more="thinktime=60s\n")
    result = setting.trial.run(jobs, setting.drive, setting.machine)
    return result.drives[0].energy_J / (max(row.end_ns for row in result.rows) / 1e9)


def _awake_watts(setting: Setting) -> float:
    """Return the mean power of waiting without low-power states."""
    parameters = setting.trial.drives[setting.drive]
    awake = {**parameters, "power": {**parameters["power"], "states": []}}
    trial = setting.trial.with_drive(setting.drive, awake)
    return _idle_watts(
        Setting(point=setting.point, drive=setting.drive, machine=setting.machine, trial=trial)
    )


def _switch(setting: Setting) -> float:
    """Return the latency that the switch on the P3608's board adds to this drive."""
    parameters = setting.trial.drives[setting.drive]
    switch_ns = setting.trial.drives["p3608-1600g"]["link"]["switch_ns"]
    behind = {**parameters, "link": {**parameters["link"], "switch_ns": switch_ns}}
    trial = setting.trial.with_drive(setting.drive, behind)
    switched = replace(setting, trial=trial)
    return (switched.load(threads=1, depth=1).lat.mean - setting.load(threads=1, depth=1).lat.mean) / 1000


def _unaligned(setting: Setting) -> float:
    jobs = loads.plain("randwrite", 1 << 20, threads=1, depth=1, ios=2000, more="offset=2k\n")
    return setting.trial.seen(jobs, setting.drive, setting.machine).rate_Bps / setting.scale


def _largest_command(setting: Setting) -> float:
    return float(setting.trial.drives[setting.drive]["max_transfer_bytes"]) / 1024


def _refresh_hours(setting: Setting) -> float:
    return float(setting.trial.drives[setting.drive]["media"]["refresh"]["lasts_h"])


def _p50(seen: Seen) -> float:
    return seen.lat.quantile(0.5)


def _p99(seen: Seen) -> float:
    return seen.lat.quantile(0.99)


def _rate(seen: Seen) -> float:
    return seen.iops


_EVO, _OPTANE_MEMORY = "960evo-500g", "optane-memory-32g"

_DIRECT: dict[str, Figure] = {
    "iops": _iops,
    "throughput": _throughput,
    "lat_mean": _mean,
    "lat_typical": _mean,
    **dict.fromkeys(_QUANTILES, _quantile),
}
"""By metric alone."""

_FIGURES: dict[tuple[str, str], Figure] = {
    ("rand_mix", "iops_fraction_of_peak"): _fraction_of_peak,
    ("rand_mix", "argmax_read_pct"): _argmax,
    ("rand_mix", "argmin_read_pct"): _argmin,
    ("rand_mix", "throughput_ratio_30R_vs_40R"): _thirty_to_forty,
    ("rand_mix", "lat_p99_flat_over_mix"): _p99_flat,
    ("rand_mix", "lat_p99_ratio_vs_P4800X"): _mix_ratio(P4800X, _p99),
    ("rand_mix", "iops_ratio_vs_P4800X"): _mix_ratio(P4800X, _rate),
    ("rand_mix", "iops_ratio_vs_960EVO"): _mix_ratio(_EVO, _rate),
    ("rand_mix", "iops_monotone_decline_100R_to_0R"): _declines,
    ("rand_mix", "iops_ratio_vs_own_100R"): _own_writes,
    ("rand_mix", "lat_p99_ratio_vs_OptaneMemory"): _mix_ratio(_OPTANE_MEMORY, _p99),
    ("rand_mix", "lat_p50_ratio_vs_OptaneMemory"): _mix_ratio(_OPTANE_MEMORY, _p50),
    ("write_pressure", "write_throughput_saturation"): _saturated,
    ("write_pressure", "read_lat_ratio_vs_unloaded"): _slower_saturated,
    ("write_pressure", "read_lat_ratio_vs_P4800X"): _against_p4800x,
    ("write_pressure", "read_lat_ratio_700_vs_100MBps"): _flat,
    ("write_pressure", "read_lat_monotone_in_pressure"): _monotone,
    ("rand_single_thread", "throughput_saturation"): _most,
    ("rand_single_thread", "saturation_qd"): _saturation_depth,
    ("rand_single_thread", "lat_mean_ratio_vs_P4800X"): _alone_against_p4800x,
    ("rand_single_thread", "throughput_ratio_P4800X_over_drive_at_saturation"): _lead_of_p4800x,
    ("seq", "saturation_qd"): _saturation_depth,
    ("seq", "throughput_saturation"): _most,
    ("seq", "lat_p99_ratio_vs_P4800X_at_own_saturation"): _p99_saturated,
    ("seq", "power_peak"): _watts("write"),
    ("seq_cache_full", "throughput"): _cache_full,
    ("rand", "throughput_saturation"): _most,
    ("rand", "pcie_switch_latency_adder"): _switch,
    ("rand_unaligned", "throughput_cap"): _unaligned,
    ("any", "max_transfer_size"): _largest_command,
    ("precondition", "min_power_on_time"): _refresh_hours,
    ("power", "power_active"): _watts("write"),
    ("power", "power_active_avg_to_max"): _watts("write"),
    ("power", "power_idle_apst"): _idle_watts,
    ("idle", "power_idle"): _idle_watts,
    ("idle", "power_idle_lpm"): _idle_watts,
    ("idle", "power_active_idle"): _awake_watts,
}
"""By workload and metric."""


def setting_of(
    point: Point, name: str, drive: catalog.ModelFile, trial: Trial, *, most_ios: int = loads.MOST
) -> Setting:
    """Return a row's setting: its host's machine model, or the drive's usual machine if there is no such model."""
    machine = point.host if point.host in trial.machines else drive.machine or "ideal"
    return Setting(point=point, drive=name, machine=machine, trial=trial, most_ios=most_ios)


def drive_of(point: Point, drives: Mapping[str, catalog.ModelFile]) -> str | None:
    """Return the name of the drive that a row is about, if any."""
    return next((name for name, drive in drives.items() if point.drive in drive.published_as), None)


def is_stated(point: Point, drive: catalog.ModelFile) -> bool:
    """Return whether a parameter that is not fitted states the row's figure."""
    if point.metric.startswith("power"):
        return not any(entry.range for place, entry in drive.entries() if place.startswith("power."))
    return point.metric in ("max_transfer_size", "pcie_switch_latency_adder")
