"""The words that generated sessions are made of.

It knows invented projects, their things and the words around them. It must never know how a text is put together.
Nobody and nothing here exists outside of it.
"""

from __future__ import annotations

from perdure.kernel.value import value


@value
class Domain:
    """What an invented project is about."""

    project: str
    package: str
    about: str
    about_chinese: str
    entities: tuple[tuple[str, tuple[str, ...]], ...]
    """The things it deals with, each with its fields."""


DOMAINS: tuple[Domain, ...] = (
    Domain(
        project="quaymaster",
        package="quaymaster",
        about="berth planning and cargo handling for small harbours",
        about_chinese="小型港口的泊位计划和货物装卸",
        entities=(
            ("berth", ("length_m", "draught_m", "quay_side", "max_tonnage")),
            ("vessel", ("call_sign", "gross_tonnage", "flag_state", "beam_m")),
            ("manifest", ("cargo_code", "declared_weight", "seal_number", "customs_state")),
            ("tariff", ("zone_code", "rate_cents", "valid_from", "minimum_charge")),
            ("crane", ("reach_m", "lift_tonnes", "shift_plan", "service_hours")),
            ("pilotage", ("pilot_code", "boarding_point", "tide_window", "fee_cents")),
            ("container", ("iso_code", "tare_kg", "reefer_setpoint", "yard_slot")),
            ("arrival", ("eta_utc", "agent_code", "berth_ref", "delay_minutes")),
        ),
    ),
    Domain(
        project="orchardline",
        package="orchardline",
        about="harvest batches, cold storage and deliveries of fruit growers",
        about_chinese="果农的采收批次、冷库和配送",
        entities=(
            ("batch", ("variety_code", "picked_at", "crate_count", "brix_tenths")),
            ("grower", ("parcel_code", "certificate", "region_code", "quota_kg")),
            ("coldroom", ("setpoint_c", "humidity_pct", "capacity_crates", "door_state")),
            ("grading", ("caliber_mm", "defect_pct", "grade_code", "inspector_ref")),
            ("pallet", ("sscc_code", "layer_count", "gross_kg", "label_state")),
            ("delivery", ("route_code", "truck_plate", "slot_start", "pod_state")),
            ("invoice", ("net_cents", "vat_rate", "due_date", "reminder_level")),
            ("recall", ("lot_pattern", "reason_code", "opened_at", "notified_count")),
        ),
    ),
    Domain(
        project="lendwell",
        package="lendwell",
        about="loans, holds and branch transfers of a group of town libraries",
        about_chinese="市镇图书馆联盟的借阅、预约和馆际调拨",
        entities=(
            ("loan", ("due_on", "renewal_count", "branch_code", "fine_cents")),
            ("hold", ("queue_position", "pickup_branch", "expires_on", "notice_state")),
            ("patron", ("card_number", "category_code", "home_branch", "block_level")),
            ("copy", ("barcode", "shelf_mark", "condition_code", "item_state")),
            ("title", ("isbn_digits", "edition_year", "language_code", "subject_tags")),
            ("transfer", ("origin_branch", "target_branch", "crate_label", "sent_at")),
            ("notice", ("channel_code", "template_ref", "attempt_count", "bounced_at")),
            ("branch", ("opening_plan", "locker_count", "printer_queue", "ip_range")),
        ),
    ),
    Domain(
        project="gridherd",
        package="gridherd",
        about="charging points, load limits and billing for fleets of electric vans",
        about_chinese="电动货车车队的充电桩、负荷上限和计费",
        entities=(
            ("charger", ("serial_number", "max_ampere", "phase_count", "firmware_tag")),
            ("session", ("started_at", "meter_start_wh", "stop_reason", "token_ref")),
            ("depot", ("grid_limit_kw", "tariff_band", "timezone_name", "site_code")),
            ("van", ("plate_number", "battery_wh", "home_depot", "odometer_km")),
            ("schedule", ("window_start", "window_end", "target_soc", "priority_rank")),
            ("meter", ("register_wh", "pulse_factor", "sealed_until", "read_at")),
            ("outage", ("fault_code", "first_seen", "cleared_at", "retry_budget")),
            ("billing", ("period_key", "energy_cents", "standing_cents", "export_state")),
        ),
    ),
)

VERBS: tuple[str, ...] = (
    "reserve",
    "release",
    "reconcile",
    "import",
    "validate",
    "reassign",
    "settle",
    "archive",
    "merge",
    "recompute",
    "notify",
    "expire",
    "normalise",
    "enrich",
    "schedule",
    "rollback",
    "dispatch",
    "summarise",
)

QUALITIES: tuple[str, ...] = (
    "pending",
    "stale",
    "overdue",
    "partial",
    "duplicate",
    "conflicting",
    "active",
    "cancelled",
    "late",
    "orphaned",
    "provisional",
    "confirmed",
)

LAYERS: tuple[str, ...] = ("store", "service", "policy", "events", "rules", "export")

LIBRARIES: tuple[str, ...] = (
    "tidelock",
    "quillcache",
    "fernparse",
    "moorings",
    "saltgrid",
    "oakqueue",
    "brightjson",
    "plainmail",
    "stonefig",
    "reedclock",
    "hazelmap",
    "driftnet",
    "ambertrace",
    "copperline",
    "willowform",
    "slatecheck",
)

HOSTS: tuple[str, ...] = ("app-01", "app-02", "worker-01", "worker-02", "worker-03", "edge-01", "edge-02", "db-01")

WORDS: tuple[str, ...] = (
    "window",
    "batch",
    "retry",
    "ledger",
    "offset",
    "cursor",
    "snapshot",
    "lease",
    "quorum",
    "digest",
    "cutoff",
    "backlog",
    "watermark",
    "fallback",
    "handover",
    "rounding",
    "tolerance",
    "replica",
    "partition",
    "deadline",
)
"""What technical values are named after."""

UNITS: tuple[tuple[str, int, int], ...] = (
    ("SECONDS", 5, 900),
    ("LIMIT", 3, 500),
    ("BYTES", 1024, 262144),
    ("PERCENT", 1, 95),
    ("ATTEMPTS", 2, 12),
    ("MILLIS", 20, 5000),
)
"""The end of a constant's name, with the range of its values."""
