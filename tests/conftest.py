"""Settings shared by all tests; its being here also lets tests import from ``strategies``."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# No deadline: a busy machine is not a failure.
settings.register_profile("cepheus", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("cepheus")
