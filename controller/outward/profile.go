package outward

import (
	"context"
	"net"
	"net/url"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// Profile is where the records of some virtual services go, as their analytics profile says.
type Profile struct {
	Name      string // in events
	Server    string // name or address
	Port      uint32
	Carrier   string // udp, tcp or tls
	PerSecond uint32 // records; 0: no limit
	// Classes that are sent. Records for which a filter holds are of the filtered ones, too.
	Significant, Filtered, Others bool
	Form                          Form
}

// Limits of the streams of profiles. They are smaller than those of the file, because there may be more.
const (
	// ProfilesMost is how many profiles may have streams.
	ProfilesMost        = 64
	profileRowsWaiting  = 1000
	profileBytesWaiting = 2 << 20
)

// Profiles are the streams of analytics profiles, which come and go. It is safe for concurrent use.
type Profiles struct {
	outside Outside
	told    func(target, id, message string)

	mu      sync.Mutex
	streams map[string]*profileStream // by uuid of the profile
	busy    sync.WaitGroup
}

type profileStream struct {
	*stream
	profile Profile
	second  int64 // of the clock
	taken   uint32
	cancel  context.CancelFunc
}

// NewProfiles returns streams that do not exist yet: see Follow.
func NewProfiles(outside Outside, told func(target, id, message string)) *Profiles {
	return &Profiles{outside: outside, told: told, streams: map[string]*profileStream{}}
}

// Follow begins the streams of profiles that are new or have changed, and ends those of the others. wanted is by uuid.
func (p *Profiles) Follow(wanted map[string]Profile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for uuid, stream := range p.streams {
		if profile, still := wanted[uuid]; !still || !reflect.DeepEqual(profile, stream.profile) {
			stream.cancel()
			delete(p.streams, uuid)
		}
	}
	for uuid, profile := range wanted {
		if p.streams[uuid] == nil && len(p.streams) < ProfilesMost {
			p.streams[uuid] = p.begin(profile)
		}
	}
}

func (p *Profiles) begin(profile Profile) *profileStream {
	scheme := "json+" + profile.Carrier
	if profile.Form.Syslog != nil {
		scheme = "syslog+" + profile.Carrier
	}
	target := Target{Name: profile.Name, Rows: []string{query.Requests, query.Connections}, form: &profile.Form,
		at: &url.URL{Scheme: scheme, Host: net.JoinHostPort(profile.Server, strconv.Itoa(int(profile.Port)))}}
	ctx, cancel := context.WithCancel(context.Background())
	begun := &profileStream{profile: profile, cancel: cancel,
		stream: newStream(target, p.outside, profileRowsWaiting, profileBytesWaiting)}
	begun.told = func(id, message string) { p.told(profile.Name, id, message) }
	p.busy.Go(func() { begun.run(ctx) })
	return begun
}

// Stop ends all streams, after what waits has had a short time.
func (p *Profiles) Stop() {
	p.Follow(nil)
	p.busy.Wait()
}

// Add sends a record to the stream of a profile, if it has one. It never waits. The row must not change later.
func (p *Profiles) Add(profile string, row wire.Row) {
	p.mu.Lock()
	stream := p.streams[profile]
	admits := stream != nil && stream.wants(row) && stream.admits(time.Now().Unix())
	p.mu.Unlock()
	if admits {
		stream.add(row)
	}
}

func (s *profileStream) wants(row wire.Row) bool {
	class := field(row, "class")
	return class == query.Significant && s.profile.Significant ||
		(class == query.Filtered || field(row, "udf") == query.True) && s.profile.Filtered ||
		class == query.Every && s.profile.Others
}

// admits counts the records of a second. Those beyond the limit are dropped, and counted.
func (s *profileStream) admits(second int64) bool {
	if s.profile.PerSecond == 0 {
		return true
	}
	if s.second != second {
		s.second, s.taken = second, 0
	}
	if s.taken >= s.profile.PerSecond {
		s.dropped.Add(1)
		return false
	}
	s.taken++
	return true
}
