"""The block that tests/conftest.py lays on the network holds, and leaves loopback open."""

import socket

import pytest

DOCUMENTATION_ADDRESS = "192.0.2.1"  # RFC 5737: routed nowhere


def test_a_connection_to_another_host_fails_the_test() -> None:
    with pytest.raises(pytest.fail.Exception, match=DOCUMENTATION_ADDRESS):
        socket.create_connection((DOCUMENTATION_ADDRESS, 80), timeout=1)


def test_the_name_of_another_host_is_not_resolved() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"host\.invalid"):
        socket.getaddrinfo("host.invalid", 443)


def test_a_datagram_to_another_host_fails_the_test() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        pytest.raises(pytest.fail.Exception, match=DOCUMENTATION_ADDRESS),
    ):
        sender.sendto(b"", (DOCUMENTATION_ADDRESS, 53))


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        peer = server.accept()[0]
        peer.sendall(b"here")
        peer.close()

        assert client.recv(4) == b"here"
