"""Secrets: found, refused, redacted. `perdure.guard.library` adds a library's detectors and needs the extra `guard`."""

from perdure.guard.checkpoints import guarded, redact_document
from perdure.guard.finding import Detector, Finding
from perdure.guard.guard import OWN_DETECTORS, Guard, SecretGuard, redactor

__all__ = ["OWN_DETECTORS", "Detector", "Finding", "Guard", "SecretGuard", "guarded", "redact_document", "redactor"]
