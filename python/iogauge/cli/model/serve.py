"""``iogauge model serve``: a drive model as a network block device, for fio, qemu, nbdcopy or a kernel.

Serve a drive model by NBD until Ctrl-C (or SIGTERM). The data is real; the time is the model's. NAME is a shipped
model or the path of a TOML file. Data is kept in memory, or in the file that --store names. That file is created; an
existing one is used only if an earlier --store created it.

Programs need tens of microseconds to sleep and wake, which is longer than a request of a fast drive. So --dilate slows
the model down: divide the times that a program measures by it. iogauge first measures how much longer programs wait.
If that is over 20 %, it refuses to serve, and names the dilation that would do.

--fault KIND:KEY=VALUE,... makes the drive break its promises, by --seed: lost-flush, torn-write, reordering,
misdirected-write, misdirected-read, bit-rot, stale-read, short-write, dropped-write, duplicated, late. It happens to
every Nth request (every=N), to those with given numbers (at=N/N), or by chance (p=0.01); most=N limits it, and offset=
and size= name a region. With --write-cache, what was not flushed is lost when --power-cut or SIGUSR1 cuts the power.
Clients can then connect again, and see what is left. --fault-log notes what happened.

Exit status: 0 served until it was ended; 1 error; 2 wrong usage.

    iogauge model serve p4800x --size=1g --socket=served --dilate=1000

    iogauge model serve p4800x --socket=served --fault=torn-write:every=100
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import process, streams

if TYPE_CHECKING:
    from iogauge.execution.serve import Served, ServePlan, Serving
    from iogauge.library.models.served import ServeRequest

_MOST_DILATION = (1 << 32) - 1


def serve(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A shipped model, or a TOML file's path.")],
    socket: Annotated[
        Path | None,
        typer.Option("--socket", metavar="PATH", help="Create this Unix socket and listen on it."),
    ] = None,
    tcp: Annotated[
        str | None,
        typer.Option("--tcp", metavar="HOST:PORT", help="Listen on a TCP port instead; 0 takes a free one."),
    ] = None,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote", help="Let other machines reach the port and all data, without a password."
        ),
    ] = False,
    dilate: Annotated[
        int,
        typer.Option(
            metavar="FACTOR", help="Serve this many times slower than the model.", min=1, max=_MOST_DILATION
        ),
    ] = 100,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES", help="How much of the drive to serve, such as 32g.  [default: all of it]"
        ),
    ] = None,
    store: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the data in this sparse file.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="BYTES", help="Most data to keep in memory, without --store.  [default: 1g]"),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse writes.")] = False,
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", help="Seed of the random choices of model and faults.", min=0)
    ] = 1,
    faults: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="KIND:...", help="Break a promise, as above. Repeat it for more."),
    ] = None,
    write_cache: Annotated[
        str | None,
        typer.Option(
            "--write-cache",
            metavar="BYTES",
            help="Keep writes in a volatile cache of this size until they are flushed.  "
            "[default: 64m if a fault or a power cut needs one]",
        ),
    ] = None,
    power_cut: Annotated[
        str | None,
        typer.Option(
            "--power-cut",
            metavar="WHEN",
            help="Cut the power right before request number WHEN, after a time (2.5s), or on SIGUSR1 only (signal); "
            ":keep=none, all or random, unit=BYTES, end.",
        ),
    ] = None,
    fault_log: Annotated[
        Path | None, typer.Option("--fault-log", metavar="FILE", help="Note each fault here, as JSON.")
    ] = None,
) -> None:
    """Serve until interrupted."""
    from iogauge.execution.serve import serve
    from iogauge.library.models.served import prepared

    process.begin()
    request = prepared(
        name,
        socket=socket,
        tcp=tcp,
        allow_remote=allow_remote,
        dilate=dilate,
        size=size,
        store=store,
        memory=memory,
        read_only=read_only,
        seed=seed,
        faults=faults or (),
        write_cache=write_cache,
        power_cut=power_cut,
        fault_log=fault_log,
        say=streams.say,
    )
    served = serve(
        request.target,
        request.plan,
        seed=seed,
        store=request.kept,
        fault_log=request.fault_log,
        on_start=lambda serving: streams.show(_opening(request, serving)),
    )
    with process.results_first():
        streams.show(_closing(served))


def _opening(request: ServeRequest, serving: Serving) -> str:
    """Return what is served and where, how to reach it, and how far it can be believed."""
    from iogauge.library.models.served import uri
    from iogauge.text.numbers import duration, percent, size

    plan, store, facts, bias = request.plan, request.store, request.target.facts, serving.bias
    modelled = facts.modelled
    version = f"{modelled.drive} version {modelled.drive_version}, " if modelled else ""
    kept = f"in {store}" if store else f"in memory, at most {size(plan.memory_bytes)}"
    if store is None and plan.read_only:
        kept = "nothing but zeroes"
    address = uri(plan, serving)
    slower = f"{plan.dilate} times slower than the model: divide times by {plan.dilate}, multiply rates"
    dilated = duration(bias.drive_ns * plan.dilate)
    rows = {
        "serving": f"{facts.model} ({version}seed {request.seed})",
        "export": f"{plan.name}, {size(serving.size_bytes)}{', read-only' if plan.read_only else ''}; "
        f"data {kept}",
        "at": address,
        "time": slower if plan.dilate > 1 else "the model's own",
        "bias": f"{percent(bias.fraction)}: a 4 KiB read takes {duration(bias.drive_ns)}, "
        f"dilated {dilated}, and a program waits {duration(bias.overhead_ns)} more",
        **_faulty_rows(plan),
        "fio": f"fio --name=x --ioengine=nbd --uri={shlex.quote(address)} --rw=randread --bs=4k",
        "look": f"nbdinfo {shlex.quote(address)}",
        "end": "Ctrl-C",
    }
    return "".join(f"{label:<8} {text}\n" for label, text in rows.items())


def _faulty_rows(plan: ServePlan) -> dict[str, str]:
    """Return what goes wrong."""
    from iogauge.text.numbers import duration, size

    if plan.faults is None:
        return {}
    kinds = ", ".join(dict.fromkeys(fault.kind for fault in plan.faults.faults)) or "none"
    cut, cache = plan.faults.power_cut, plan.faults.write_cache_bytes
    when = ["on SIGUSR1"]
    if cut.at_request is not None:
        when.insert(0, f"before request {cut.at_request:,}")
    if cut.after_ns is not None:
        when.insert(0, f"after {duration(cut.after_ns)}")
    volatile = (
        f"{size(cache)} of writes are volatile until a flush" if cache else "writes are durable at once"
    )
    return {"faults": f"{kinds}; {volatile}", "cut": f"the power fails {' or '.join(when)}"}


def _closing(served: Served) -> str:
    """Return what was served, and how late replies were."""
    from iogauge.text.numbers import counted, duration, percent, size

    moved = f"{size(served.read_bytes)} read, {size(served.written_bytes)} written"
    who = counted(served.connections, "connection")
    away = f", {served.turned_away:,} turned away" if served.turned_away else ""
    text = f"served   {counted(served.requests, 'request')} ({moved}) of {who}{away}\n"
    if served.faults or served.power_cuts:
        text += f"faults   {served.faults:,}, and {counted(served.power_cuts, 'power cut')}\n"
    if served.requests:
        text += (
            f"late     median {duration(served.late_p50_ns)} ({percent(served.late_p50)} of what the request "
            f"takes), p99 {duration(served.late_p99_ns)} ({percent(served.late_p99)}), "
            f"at most {duration(served.late_most_ns)}\n"
        )
    return text
