# serve: far more connections at once than the server holds: each is told so, and those inside are served as before.
import errno
import os
import resource
import select
import signal
import socket

from server import Server, tap

CROWD = int(os.environ.get("TRILHA_CROWD", "10000"))
INSIDE = 256  # serve.limits.connections
ROOM = CROWD + 500  # descriptors
AT_ONCE = 200  # connects under way: fewer than the listener's queue holds


def room_for_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < ROOM:
        if hard != resource.RLIM_INFINITY and hard < ROOM:
            tap.skip(f"only {hard} descriptors are allowed here, {ROOM} are needed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (ROOM, hard))
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as ports:
        first, last = map(int, ports.read().split())
    if last - first < CROWD + 2000:
        tap.skip(f"only {last - first} ports for outgoing connections, {CROWD} are needed")


def connected(address, count, kept):
    """`count` more connections, all open at once."""
    for _ in range(count):
        connection = socket.socket()
        connection.setblocking(False)
        kept.append(connection)
        code = connection.connect_ex(address)
        assert code in (0, errno.EINPROGRESS), os.strerror(code)
    waiting = {connection.fileno(): connection for connection in kept[-count:]}
    poll = select.poll()
    for number in waiting:
        poll.register(number, select.POLLOUT)
    while waiting:
        ready = poll.poll(60000)
        assert ready, f"{len(waiting)} connections are not taken"
        for number, _ in ready:
            code = waiting.pop(number).getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            assert code == 0, os.strerror(code)
            poll.unregister(number)


def answers(connections, expected):
    """What is read of `expected` of the connections, each up to its end."""
    poll, said, ended = select.poll(), {}, []
    by_number = {connection.fileno(): connection for connection in connections}
    for number in by_number:
        poll.register(number, select.POLLIN)
    while len(ended) < expected:
        ready = poll.poll(60000)
        assert ready, f"{len(ended)} of {expected} were answered to the end"
        for number, _ in ready:
            try:
                piece = by_number[number].recv(65536)
            except ConnectionResetError:
                piece = b""
            said[number] = said.get(number, b"") + piece
            if not piece:
                ended.append(number)
                poll.unregister(number)
    return [said[number] for number in ended]


def test_requests_that_arrive_all_at_once_are_all_answered():
    # As many as a library may take from the system at once, and twice as many, and not: while the server stands still.
    for count in (128, INSIDE, 100):
        with Server(limits=f", connections: {INSIDE}, request_ms: 600000") as server:  # no time-out wakes it
            inside = []
            try:
                connected(("127.0.0.1", server.api_port), count, inside)
                server.until(lambda open_=count: server.metric('trilha_http_connections{listener="api"}') == open_)
                server.process.send_signal(signal.SIGSTOP)
                request = f"GET /api/v1/error-codes HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {server.token}\r\nConnection: close\r\n\r\n"
                for connection in inside:
                    connection.setblocking(True)
                    connection.sendall(request.encode())
                server.process.send_signal(signal.SIGCONT)
                assert len(answers(inside, count)) == count
            finally:
                server.process.send_signal(signal.SIGCONT)
                for connection in inside:
                    connection.close()


def test_ten_thousand_connections_are_refused_politely_and_those_inside_are_served():
    room_for_descriptors()
    # Nobody inside is sent away for being silent while the crowd comes.
    with Server(limits=f", connections: {INSIDE}, request_ms: 600000") as server:
        address, inside, crowd = ("127.0.0.1", server.api_port), [], []
        try:
            connected(address, INSIDE, inside)
            server.until(lambda: server.metric('trilha_http_connections{listener="api"}') == INSIDE)
            while len(crowd) < CROWD:
                connected(address, min(AT_ONCE, CROWD - len(crowd)), crowd)
            said = answers(crowd, CROWD)
            polite = [text for text in said if text.startswith(b"HTTP/1.1 503 ") and b"Retry-After: 1\r\n" in text and text.endswith(b"}\n")]
            assert len(polite) == CROWD, (len(polite), sorted(set(said) - set(polite))[:3])
            refused = server.metric('trilha_http_connections_refused_total{listener="api"}')
            assert refused == CROWD and server.metric('trilha_http_connections{listener="api"}') == INSIDE, refused
            request = f"GET /api/events HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {server.token}\r\nConnection: close\r\n\r\n".encode()
            for connection in inside:
                connection.setblocking(True)
                connection.settimeout(60)
                connection.sendall(request)
            served = answers(inside, INSIDE)
            assert all(text.startswith(b"HTTP/1.1 200 ") for text in served), served[0]
        finally:
            for connection in inside + crowd:
                connection.close()
        server.until(lambda: server.metric('trilha_http_connections{listener="api"}') == 0)
        assert server.get("/api/events").status == 200 and server.stop() == 0


if __name__ == "__main__":
    tap.run(globals())
