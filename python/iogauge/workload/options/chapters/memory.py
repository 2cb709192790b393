"""Defines the options of memory and NUMA nodes.

iogauge's buffers are one private mapping for each worker, touched before the job, and aligned to pages. The kinds of
memory of fio that differ only in the call that provides them are therefore read as this one; huge pages are real.

Source: fio 3.33's options.c (str_mem_cb, str_numa_cpunodes_cb, str_numa_mpol_cb), memory.c; libnuma's
numa_parse_nodestring.
"""

from __future__ import annotations

from pathlib import Path

from iogauge.schema import NumaPolicy
from iogauge.workload.numbers import LARGEST
from iogauge.workload.options.entries import entry, never
from iogauge.workload.options.kinds import CPU_LIST, Kind, count
from iogauge.workload.options.option import Category, Option
from iogauge.workload.problem import BadValue

PAGE_BYTES = 4096
"""Alignment of the buffers."""

_NODES = Path("/sys/devices/system/node")
_WITHOUT_NODES = ("default", "local")
_WITH_NODES = ("prefer", "bind", "interleave")
_KINDS = ("malloc", "mmap", "mmapshared", "shm", "mmaphuge", "shmhuge")


def _read_mem(text: str, _: int) -> str:
    word, colon, path = text.partition(":")
    if word not in _KINDS:
        raise BadValue("is not a kind of memory", hint=f"one of: {', '.join(_KINDS)}")
    if colon and path:
        raise BadValue("names a file for the buffers, which is not supported", hint=f"write {word}")
    return word


def _read_align(text: str, kb_base: int) -> int:
    value = count(0, LARGEST).read(text, kb_base)
    if value and PAGE_BYTES % value:
        raise BadValue(
            f"does not divide {PAGE_BYTES}, the alignment of iogauge's buffers", hint="remove the option"
        )
    return value


def _read_huge(text: str, kb_base: int) -> int:
    value = count(1, LARGEST).read(text, kb_base)
    if value & (value - 1) or value <= PAGE_BYTES:
        raise BadValue("is not the size of a huge page", hint="write 2m or 1g")
    return value


def _nodes(text: str, kb_base: int) -> tuple[int, ...]:
    if text == "all":
        return online_nodes()
    if text[:1] in ("!", "+"):
        raise BadValue("has '!' or '+', which are not supported", hint="list the nodes, such as 0-1,3")
    return CPU_LIST.read(text, kb_base)


def online_nodes() -> tuple[int, ...]:
    """Return the nodes of this machine; one, if it does not say."""
    try:
        return CPU_LIST.read((_NODES / "online").read_text().strip(), 1024)
    except OSError:
        return (0,)


def cpus_of(node: int) -> tuple[int, ...]:
    """Return the CPUs of a node of this machine. Raises BadValue if there is no such node."""
    try:
        text = (_NODES / f"node{node}" / "cpulist").read_text().strip()
    except OSError:
        raise BadValue(f"this machine has no NUMA node {node}", hint="lscpu shows its nodes") from None
    return CPU_LIST.read(text, 1024) if text else ()


def _read_policy(text: str, kb_base: int) -> NumaPolicy:
    word, colon, nodes = text.partition(":")
    if word == "interleave" and not colon:
        nodes = "all"
    if word in _WITHOUT_NODES:
        if colon:
            raise BadValue(f"has nodes, which '{word}' does not take", hint=f"write {word}")
        return NumaPolicy.model_validate({"mode": word})
    if word not in _WITH_NODES:
        raise BadValue(
            "is not a policy of memory", hint="one of: default, local, prefer:N, bind:N, interleave:N"
        )
    if not nodes:
        raise BadValue(f"has no node after '{word}:'", hint=f"write {word}:0")
    chosen = _nodes(nodes, kb_base)
    if word == "prefer" and len(chosen) != 1:
        raise BadValue("prefers more than one node", hint="write prefer:0, or interleave:0-1")
    return NumaPolicy.model_validate({"mode": word, "nodes": chosen})


def _write_policy(value: NumaPolicy) -> str:
    return value.mode + (f":{CPU_LIST.write(value.nodes)}" if value.nodes else "")


MEMORY = (
    entry(
        "mem",
        Category.BUFFERS,
        Kind(syntax="|".join(_KINDS), read=_read_mem, write=str),
        "malloc",
        "Memory of the buffers. mmaphuge and shmhuge use huge pages that are reserved in the kernel. The others are "
        "the same to iogauge: a mapping, from 2 MiB on of transparent huge pages.",
        aliases=("iomem",),
    ),
    entry(
        "hugepage-size",
        Category.BUFFERS,
        Kind(syntax="number (bytes)", read=_read_huge, write=count(1, LARGEST).write),
        "2m",
        "Size of the huge pages of mmaphuge and shmhuge.",
        field="hugepage_bytes",
    ),
    Option(
        name="iomem_align",
        category=Category.BUFFERS,
        kind=Kind(syntax="number (bytes)", read=_read_align, write=str),
        default="0",
        help=f"Accepted if it divides {PAGE_BYTES}: all buffers are aligned to that.",
        store=lambda _partial, _value: None,
        text=never,
        aliases=("mem_align",),
    ),
    entry(
        "lockmem",
        Category.BUFFERS,
        count(0, LARGEST, unit="bytes"),
        "0",
        "Memory that each clone locks beside its buffers, so that the machine has less for the page cache.",
        field="lockmem_bytes",
    ),
)
"""All options of buffers' memory, in the order of the reference."""

NUMA = (
    entry(
        "numa_cpu_nodes",
        Category.CPU,
        Kind(syntax="node[-node][,…]|all", read=_nodes, write=CPU_LIST.write),
        "all",
        "NUMA nodes on whose CPUs the job may run. Cannot be combined with cpus_allowed.",
    ),
    entry(
        "numa_mem_policy",
        Category.CPU,
        Kind(
            syntax="default|local|prefer:node|bind:nodes|interleave:nodes",
            read=_read_policy,
            write=_write_policy,
        ),
        "unchanged",
        "NUMA nodes that the job's memory comes from: as the kernel chooses, the node of the CPU that touches it, one "
        "node if it has room, these nodes alone, or these in turn.",
    ),
)
"""All options of NUMA nodes."""
