"""What the environment says about the way to services."""

from __future__ import annotations

import pytest

from skillgym_action.system.network.proxies import DIRECT, network_from

PROXY = {"http": "http://p:1", "https": "http://p:2"}
VARIABLES = {"HTTP_PROXY": "http://p:1", "https_proxy": "http://p:2"}


@pytest.mark.parametrize(
    ("variables", "proxies"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param(VARIABLES, PROXY, id="names in upper and in lower case"),
        pytest.param({"http_proxy": "low", "HTTP_PROXY": "high"}, {"http": "low"}, id="lower case comes first"),
        pytest.param({"http_proxy": "", "HTTP_PROXY": "high"}, {}, id="and as an empty one takes the other away"),
        pytest.param({"ALL_PROXY": "every"}, {"all": "every"}, id="one for all"),
        pytest.param({"PROXY": "p", "NPM_PROXY_HOST": "h"}, {}, id="other names"),
    ],
)
def test_the_proxies_of_an_environment(variables, proxies):
    assert network_from(variables).proxies_to("https://api.example.com/x") == proxies


@pytest.mark.parametrize(
    ("none_for", "url", "direct"),
    [
        pytest.param("*", "https://a.example", True, id="all hosts"),
        pytest.param("a.example", "https://a.example/x", True, id="the host"),
        pytest.param("A.Example", "https://a.example/x", True, id="in capitals"),
        pytest.param("example", "https://a.example", True, id="what it ends with"),
        pytest.param(".example", "https://a.example", True, id="with a dot"),
        pytest.param("other, a.example", "https://a.example", True, id="one of several"),
        pytest.param("a.example:8443", "https://a.example:8443", True, id="with its port"),
        pytest.param("a.example:8443", "https://a.example", False, id="with another port"),
        pytest.param("ample", "https://a.example", False, id="half a label"),
        pytest.param("127.0.0.1", "http://127.0.0.1:80", True, id="an address"),
        pytest.param("10.0.0.0/8", "http://10.1.2.3", True, id="addresses"),
        pytest.param("10.0.0.0/8", "http://11.1.2.3", False, id="other addresses"),
        pytest.param("10.0.0.0/99", "http://10.1.2.3", False, id="no addresses"),
        pytest.param("", "https://a.example", False, id="nothing"),
    ],
)
def test_hosts_that_are_reached_without_a_proxy(none_for, url, direct):
    for name in ("NO_PROXY", "no_proxy"):
        assert (network_from(VARIABLES | {name: none_for}).proxies_to(url) == {}) is direct


def test_the_file_of_certificates(tmp_path):
    (tmp_path / "ca.pem").touch()
    there, gone = str(tmp_path / "ca.pem"), str(tmp_path / "gone.pem")
    assert network_from({"SSL_CERT_FILE": there}).certificates == there
    assert network_from({"SSL_CERT_FILE": gone}).certificates is None
    assert network_from({"SSL_CERT_FILE": there, "CURL_CA_BUNDLE": "curl"}).certificates == "curl"
    assert network_from({"CURL_CA_BUNDLE": "curl", "REQUESTS_CA_BUNDLE": gone}).certificates == gone
    assert DIRECT.certificates is None


def test_passwords_of_proxies_are_not_shown():
    assert "hunter22" not in repr(network_from({"HTTPS_PROXY": "http://someone:hunter22@proxy:1"}))
