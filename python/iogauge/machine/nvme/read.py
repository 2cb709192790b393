"""Reads all that an NVMe drive says of itself, as far as the drive and the kernel allow.

A drive may add an entry to its error log for every command that it refuses. So only features are read that Identify
Controller says it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from iogauge.errors import IogaugeError
from iogauge.machine.nvme import features, identify, logs
from iogauge.machine.nvme.admin import Admin
from iogauge.machine.nvme.features import Feature, Features
from iogauge.machine.nvme.identify import Controller, Namespace
from iogauge.machine.nvme.logs import ErrorEntry, FirmwareSlots, Smart
from iogauge.machine.unread import Unread

T = TypeVar("T")

_MOST_ENTRIES = 64
"""Entries of the error log that are read: the newest. Every drive can transfer as many at once."""


@dataclass(frozen=True)
class Nvme:
    """All that an NVMe drive says of itself. What could not be read is None."""

    controller: Controller | None
    namespace: Namespace | None
    features: Features
    smart: Smart | None
    errors: tuple[ErrorEntry, ...] | None
    """The newest entries of the error log, at most 64, the newest first."""
    firmware: FirmwareSlots | None


def read_nvme(admin: Admin) -> tuple[Nvme, list[Unread]]:
    """Read a drive. Return what it says, and what could not be read with the reason."""
    reader = _Reader(admin)
    controller = reader.attempt(
        "Identify Controller", lambda: identify.parse_controller(admin.identify(identify.CONTROLLER))
    )
    nvme = Nvme(
        controller=controller,
        namespace=reader.attempt(
            "Identify Namespace",
            lambda: identify.parse_namespace(admin.identify(identify.NAMESPACE, admin.namespace_id)),
        )
        if admin.namespace_id
        else None,
        smart=reader.attempt(
            "SMART", lambda: logs.parse_smart(admin.log_page(logs.SMART, logs.PAGE_BYTES), controller)
        ),
        errors=reader.attempt("the error log", lambda: _errors(admin, controller)),
        firmware=reader.attempt(
            "the firmware slots", lambda: logs.parse_firmware(admin.log_page(logs.FIRMWARE, logs.PAGE_BYTES))
        ),
        features=reader.features(controller),
    )
    return nvme, reader.unread


class _Reader:
    """Reads one thing after the other, and notes what could not be read."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self.unread: list[Unread] = []

    def attempt(self, name: str, read: Callable[[], T]) -> T | None:
        """Return what ``read`` returns; None if it fails, with a note of the reason."""
        try:
            return read()
        except IogaugeError as error:
            self.unread.append(Unread(name, str(error), error.hint))
            return None

    def features(self, controller: Controller | None) -> Features:
        """Return the features that the controller says it has. Those that every drive has are read in any case."""
        admin = self._admin

        def value(feature: Feature, selector: int = 0) -> int:
            return admin.feature(feature, selector=selector)[0]

        def optional(exists: bool, name: str, read: Callable[[], T]) -> T | None:
            return self.attempt(name, read) if exists else None

        return Features(
            power=self.attempt(
                "the power state", lambda: features.parse_power(value(Feature.POWER_MANAGEMENT))
            ),
            thresholds=self.attempt(
                "the temperature thresholds",
                lambda: features.parse_thresholds(
                    value(Feature.TEMPERATURE_THRESHOLD),
                    value(Feature.TEMPERATURE_THRESHOLD, features.UNDER_THRESHOLD),
                ),
            ),
            queues=self.attempt("the number of queues", lambda: features.parse_queues(value(Feature.QUEUES))),
            coalescing=self.attempt(
                "interrupt coalescing", lambda: features.parse_coalescing(value(Feature.COALESCING))
            ),
            write_cache=optional(
                controller is not None and controller.write_cache,
                "the write cache",
                lambda: bool(value(Feature.WRITE_CACHE) & 1),
            ),
            apst=optional(
                controller is not None and controller.apst,
                "APST",
                lambda: features.parse_apst(*admin.feature(Feature.APST, data_bytes=features.APST_BYTES)),
            ),
            host_memory=optional(
                controller is not None and controller.host_memory_bytes is not None,
                "the host memory buffer",
                lambda: features.parse_host_memory(
                    *admin.feature(Feature.HOST_MEMORY, data_bytes=features.HOST_MEMORY_BYTES)
                ),
            ),
            thermal=optional(
                controller is not None and controller.thermal_management,
                "thermal management",
                lambda: features.parse_thermal(value(Feature.THERMAL_MANAGEMENT)),
            ),
            permissive=optional(
                controller is not None and controller.permissive,
                "the power of non-operational states",
                lambda: bool(value(Feature.NON_OPERATIONAL) & 1),
            ),
        )


def _errors(admin: Admin, controller: Controller | None) -> tuple[ErrorEntry, ...]:
    entries = min(controller.error_entries if controller else 1, _MOST_ENTRIES)
    return logs.parse_errors(admin.log_page(logs.ERRORS, entries * logs.ENTRY_BYTES))
