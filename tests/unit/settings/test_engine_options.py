from __future__ import annotations

import pytest

from skillgym_action.model.errors import UsageError
from skillgym_action.settings.engine_options import WithoutKeys, cluster_address


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("dask://scheduler.example:8786", "tls://scheduler.example:8786"),
        ("tls://10.0.0.1:8786", "tls://10.0.0.1:8786"),
        ("dask://[2001:db8::1]:8786", "tls://[2001:db8::1]:8786"),
        ("dask://127.0.0.1:8786", "tls://127.0.0.1:8786"),
        ("tcp://127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        ("tcp://[::1]:8786", "tcp://[::1]:8786"),
        ("tcp://localhost:8786", "tcp://localhost:8786"),
    ],
)
def test_an_address_is_with_tls_unless_it_is_tcp_on_loopback(written: str, address: str) -> None:
    assert cluster_address(written) == address


@pytest.mark.parametrize(
    "written",
    [
        "tcp://10.0.0.1:8786",
        "tcp://0.0.0.0:8786",
        "tcp://localhost.example:8786",
        "tcp://[2001:db8::1]:8786",
        "dask://scheduler",
        "dask://scheduler:0",
        "dask://scheduler:65536",
        "dask://user@scheduler:8786",
        "scheduler:8786",
        "",
    ],
)
def test_another_address_is_refused(written: str) -> None:
    with pytest.raises(UsageError):
        cluster_address(written)


def test_a_coordinator_has_a_placeholder_for_variables_of_workers() -> None:
    environment = WithoutKeys({"HOME": "/root", "EMPTY": ""})
    assert (environment["HOME"], environment["EMPTY"], environment.get("KEY")) == ("/root", "-", "-")
    assert dict(environment.items()) == {"HOME": "/root", "EMPTY": "-"}
