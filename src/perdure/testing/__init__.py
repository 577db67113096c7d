"""Support for tests, as product code: doubles of the provider APIs and whatever else a test of an agent needs."""
