package runner_test

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/runner"
	"github.com/scriptorium-dev/scriptorium/runner/runnertest"
)

// The network is a loopback of the computer's own, and nothing else.
func TestContainNetwork(t *testing.T) {
	t.Parallel()
	contain(t, 1, runner.Spec{}, []attempt{
		{name: "interfaces and routes", program: `
print([n for _, n in socket.if_nameindex()], len(open("/proc/net/route").read().splitlines()))
`, says: "['lo'] 1\n"},
		{name: "a service on the host's loopback", program: `
for a in "127.0.0.1", "127.0.0.2", "0.0.0.0": tries(a, socket.create_connection, (a, HOST["tcp"]), 3)
for a in "::1", "::ffff:127.0.0.1": tries(a, socket.create_connection, (a, HOST["tcp"]), 3)
`, says: "127.0.0.1 ECONNREFUSED\n127.0.0.2 ECONNREFUSED\n0.0.0.0 ECONNREFUSED\n::1 ECONNREFUSED\n::ffff:127.0.0.1 ECONNREFUSED\n"},
		{name: "a datagram to the host's loopback", program: `
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(0.2)
tries("sent", s.sendto, b"x", ("127.0.0.1", HOST["udp"]))
tries("answer", s.recv, 1)
`, says: "sent 1\nanswer timed out\n"},
		{name: "the outside", program: `
for a in "1.1.1.1", "10.0.0.1", "172.17.0.1", "192.168.0.1", "169.254.169.254": tries(a, socket.create_connection, (a, 80), 3)
tries("IPv6", socket.create_connection, ("2606:4700:4700::1111", 53), 3)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
for a in "1.1.1.1", "255.255.255.255", "224.0.0.251": tries(a, s.sendto, b"x", (a, 53))
`, says: "1.1.1.1 ENETUNREACH\n10.0.0.1 ENETUNREACH\n172.17.0.1 ENETUNREACH\n192.168.0.1 ENETUNREACH\n169.254.169.254 ENETUNREACH\n" +
			"IPv6 ENETUNREACH\n1.1.1.1 ENETUNREACH\n255.255.255.255 ENETUNREACH\n224.0.0.251 ENETUNREACH\n"},
		{name: "DNS", program: `
for n in "example.com", "dns.google", "_gateway", "host.docker.internal":
    try: print(n, socket.getaddrinfo(n, 80))
    except socket.gaierror: pass
print([l for p in ("/etc/resolv.conf", "/run/systemd/resolve/resolv.conf") if os.path.exists(p) for l in open(p)])
`, says: "[]\n"},
		{name: "raw and packet sockets", program: `
for n, f, k, p in (("icmp", 2, 3, 1), ("any", 2, 3, 255), ("icmp6", 10, 3, 58), ("packet", 17, 3, 0x300), ("cooked packet", 17, 2, 0x300)):
    tries(n, socket.socket, f, k, p)
`, says: "icmp EPERM\nany EPERM\nicmp6 EPERM\npacket EPERM\ncooked packet EPERM\n"},
		{name: "families that reach a hypervisor or a driver", program: `
for n, f in (("vsock", 40), ("alg", 38), ("bluetooth", 31), ("can", 29), ("tipc", 30), ("xdp", 44)): tries(n, socket.socket, f, 2)
`, says: "vsock EAFNOSUPPORT\nalg EAFNOSUPPORT\nbluetooth EAFNOSUPPORT\ncan EAFNOSUPPORT\ntipc EAFNOSUPPORT\nxdp EAFNOSUPPORT\n"},
		{name: "unix sockets of the host", program: `
s = socket.socket(socket.AF_UNIX)
tries("abstract", s.connect, "\0" + HOST["abstract"])
tries("path", s.connect, HOST["socket"])
tries("by the init's root", s.connect, "/proc/1/root" + HOST["socket"])
tries("sockets", lambda: [l for l in open("/proc/net/unix") if "@" in l or "/" in l])
`, says: "abstract ECONNREFUSED\npath ENOENT\nby the init's root EACCES\nsockets []\n"},
		{name: "a raw socket in a network of its own", program: `
print(as_root_of_its_own('''
tries("lo", lambda: [n for _, n in socket.if_nameindex()])
tries("icmp", lambda: socket.socket(2, 3, 1).sendto(b"x" * 64, ("127.0.0.1", 0)))
tries("host", socket.create_connection, ("127.0.0.1", HOST["tcp"]), 3)
tries("out", socket.create_connection, ("1.1.1.1", 53), 3)
s = socket.socket(socket.AF_UNIX)
tries("abstract", s.connect, "\\0" + HOST["abstract"])
'''))
`, says: "lo ['lo']\nicmp 64\nhost ECONNREFUSED\nout ENETUNREACH\nabstract ECONNREFUSED\n0\n"},
	})
}

// A socket on which a script listens is nowhere on the host.
func TestContainListeners(t *testing.T) {
	t.Parallel()
	s := newScene(t, runner.Spec{})
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := probe.Addr().(*net.TCPAddr).Port // free on the host from here on, as likely as can be
	probe.Close()
	var dialled sync.Once
	call := s.call(fmt.Sprintf(`
a, b = socket.create_server(("0.0.0.0", %d)), socket.socket(socket.AF_UNIX)
b.bind("\0" + HOST["mark"] + "-script")
b.listen()
print("listening")
a.settimeout(1)
tries("came", a.accept)
`, port))
	sink := &runnertest.Output{Each: func(runner.Stream, []byte) error {
		dialled.Do(func() {
			for network, address := range map[string]string{"tcp": fmt.Sprintf("127.0.0.1:%d", port), "unix": "@" + s.host.known["mark"].(string) + "-script"} {
				if c, err := net.DialTimeout(network, address, time.Second); err == nil {
					c.Close()
					t.Errorf("the host reaches %s %s, where a script listens", network, address)
				}
			}
		})
		return nil
	}}
	res, err := s.computer.Call(t.Context(), call, sink)
	if err != nil || res.ExitCode != 0 || sink.Stdout.String() != "listening\ncame timed out\n" {
		t.Errorf("%+v %v %q %s", res, err, sink.Stdout.String(), sink.Stderr.String())
	}
	s.host.unchanged(t)
	s.neighbour.goesOn(t)
	s.next(t)
	s.neighbour.stop(t)
}
