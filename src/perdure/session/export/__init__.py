"""A branch of a session for people and programs that have no Perdure: Markdown, JSON, or one HTML page."""

from perdure.session.export.exported import FORMS, Exported, Form, export, exported_of

__all__ = ["FORMS", "Exported", "Form", "export", "exported_of"]
