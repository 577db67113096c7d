"""A small project with real work in it, and a model that does the work by reading its requests and nothing else.

Together with a provider double they are a whole agent without a key: for demonstrations, and for tests of long
sessions.
"""

from perdure.testing.freight.sample import NAMES, Sample, write_sample
from perdure.testing.freight.task import CORRECTION, RULES, TASKS, Task
from perdure.testing.freight.worker import LostFact, Worker

__all__ = ["CORRECTION", "NAMES", "RULES", "TASKS", "LostFact", "Sample", "Task", "Worker", "write_sample"]
