package linux

import (
	"errors"
	"fmt"
	"net"
	"path"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

// host is one machine.
type host struct {
	engine  string // name of the engine that it has or will have
	zone    string
	address string        // host:port of its SSH server
	key     ssh.PublicKey // host key of the machine; nil: the operator has not given it
	dir     string        // where the engine is installed
	workers string        // of its data plane; 0: one for each core
}

const (
	defaultPort = "22"
	defaultDir  = "/opt/weir"
)

// plainDir is a path that needs no quotes and has at least two parts, so that it cannot be a system directory like
// /usr.
var plainDir = regexp.MustCompile(`^(/[A-Za-z0-9._-]+){2,}$`)

// readHost reads the attributes that Weir uses. It ignores Avi's others.
func readHost(given kinds.LinuxHost) (host, error) {
	h := host{zone: given.AvailabilityZone, dir: defaultDir, workers: "0"}
	port := defaultPort
	for i, attribute := range given.Attributes {
		err := error(nil)
		switch attribute.Key {
		case "SSH_PORT":
			port = attribute.Value
			_, err = strconv.ParseUint(port, 10, 16)
		case "SSH_HOST_KEY":
			h.key, _, _, _, err = ssh.ParseAuthorizedKey([]byte(attribute.Value))
		case "INSTALL_DIR":
			if h.dir = attribute.Value; !plainDir.MatchString(h.dir) || path.Clean(h.dir) != h.dir {
				err = errors.New("give the path of a directory of its own, two levels deep at least")
			}
		case "CPU":
			h.workers, err = workersOf(attribute.Value)
		}
		if err != nil {
			return h, fmt.Errorf("host_attr[%d]: %s: %w", i, attribute.Key, err)
		}
	}
	if !given.HostIP.Address().IsValid() {
		return h, errors.New("host_ip: give an address")
	}
	address := given.HostIP.Address().String()
	h.address = net.JoinHostPort(address, port)
	h.engine = strings.ReplaceAll(address, ":", "-") + "--se"
	return h, nil
}

func workersOf(cpu string) (string, error) {
	if strings.EqualFold(cpu, "All") {
		return "0", nil
	}
	_, err := strconv.ParseUint(cpu, 10, 8)
	return cpu, err
}
