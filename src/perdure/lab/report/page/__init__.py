"""The page of a replay: one file for a browser, with everything in it."""

from perdure.lab.report.page.document import page

__all__ = ["page"]
