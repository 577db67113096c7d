"""OpenTelemetry spans and metrics of a run. Needs the extra `telemetry`; without a configured SDK it does nothing."""

from perdure.telemetry.listener import Telemetry

__all__ = ["Telemetry"]
