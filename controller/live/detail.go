package live

import (
	"cmp"
	"slices"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/runtime"
)

// gone is shown in place of an object that is not in the model: it is deleted, or not read yet.
type gone struct {
	UUID string `json:"uuid"`
	Gone bool   `json:"gone"`
}

type namedJSON struct {
	UUID string `json:"uuid"`
	Name string `json:"name"`
}

type serviceJSON struct {
	namedJSON
	State   string   `json:"state"`
	Reasons []string `json:"reasons,omitempty"`
	*scoreJSON
	StepS   int         `json:"step_s"` // 1, or 5 if too many topics are watched
	Pool    *namedJSON  `json:"pool,omitempty"`
	Rules   []namedJSON `json:"rule_pools,omitempty"`   // pools that rules choose
	Group   []namedJSON `json:"group_pools,omitempty"`  // pools of the group
	Backups []namedJSON `json:"backup_pools,omitempty"` // pools that take over
	Engines []partJSON  `json:"engines"`
	Points  []pointJSON `json:"points"`
}

type partJSON struct {
	namedJSON
	Point pointJSON `json:"point"`
}

// service shows a virtual service, and what each of its engines counted in the last step.
func (l *Live) service(known *fleet.Known, topic Topic, afterMs int64) any {
	vs := known.VirtualService(topic.UUID)
	if vs == nil {
		return gone{topic.UUID, true}
	}
	status := l.statuses.now(known, vs)
	shown := serviceJSON{
		namedJSON: namedJSON{vs.UUID, vs.Name}, State: runtime.StateName(status.State), Reasons: status.Reasons,
		scoreJSON: l.score(vs.UUID), StepS: 5, Engines: []partJSON{}, Points: []pointJSON{},
	}
	if vs.Pool != nil {
		shown.Pool = &namedJSON{vs.Pool.UUID, vs.Pool.Name}
	}
	shown.Rules, shown.Backups = named(vs.RulePools()), named(vs.BackupPools())
	if vs.PoolGroup != nil {
		shown.Group = named(vs.OwnPools())
	}
	if l.ring.watched.has(topic) {
		shown.StepS = 1
	}
	service := l.ring.services[vs.UUID]
	if service == nil {
		return shown
	}
	shown.Points = shownSince(l, &service.series, afterMs, showPoint)
	clock := &l.ring.clocks[fineSize]
	for _, part := range service.parts {
		shown.Engines = append(shown.Engines, partJSON{
			namedJSON{part.engine, known.Name(part.engine)},
			showPoint(moment[point]{clock.endMs(clock.step), clock.seconds[clock.step%fineSteps], part.point}),
		})
	}
	slices.SortFunc(shown.Engines, func(a, b partJSON) int { return cmp.Compare(a.Name, b.Name) })
	return shown
}

func named(pools []*model.Pool) (list []namedJSON) {
	for _, pool := range pools {
		list = append(list, namedJSON{pool.UUID, pool.Name})
	}
	return list
}

type engineLine struct {
	namedJSON
	State   string     `json:"state"`
	Reasons []string   `json:"reasons,omitempty"`
	Points  []loadJSON `json:"points"`
}

// engines shows all engines by name, with their loads or without.
func (l *Live) engines(known *fleet.Known, about string, afterMs int64) []engineLine {
	list := []engineLine{}
	for uuid, engine := range known.Engines() {
		line := engineLine{
			namedJSON: namedJSON{uuid, known.Name(uuid)}, State: runtime.StateName(health.Up), Points: []loadJSON{},
		}
		if !engine.Works() {
			line.State, line.Reasons = runtime.StateName(health.Down), []string{engine.WhyDown()}
		}
		if heard := l.ring.engines[uuid]; heard != nil && about == engineLoads {
			line.Points = shownSince(l, &heard.loads, afterMs, showLoad)
		}
		list = append(list, line)
	}
	slices.SortFunc(list, func(a, b engineLine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UUID, b.UUID))
	})
	return list
}

type poolJSON struct {
	namedJSON
	State        string       `json:"state"`
	Reasons      []string     `json:"reasons,omitempty"`
	ServersTotal int          `json:"servers_total"`
	Servers      []serverLine `json:"servers"`
}

type serverLine struct {
	ID     string `json:"id"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	*ratesJSON

	isDown bool
}

// ratesJSON is absent if no engine has reported the server, and if too many topics are watched.
type ratesJSON struct {
	Requests        float32 `json:"requests_per_s"`
	Failures        float32 `json:"failures_per_s"`
	Connections     float32 `json:"connections_per_s"`
	OpenConnections uint64  `json:"open_connections"`
}

// pool shows the servers of a pool that need attention most, and what they did in the last step.
func (l *Live) pool(known *fleet.Known, uuid string) any {
	pool := known.Pool(uuid)
	if pool == nil {
		return gone{uuid, true}
	}
	state := known.PoolHealth(pool)
	shown := poolJSON{
		namedJSON: namedJSON{uuid, pool.Name}, State: runtime.StateName(state.State), Reasons: state.Reasons,
		ServersTotal: len(pool.Members), Servers: make([]serverLine, len(pool.Members)),
	}
	for i, member := range pool.Members {
		server := state.Servers[i]
		line := serverLine{
			ID: member.ID, State: runtime.StateName(server.State), Reason: server.Reason,
			isDown: server.State == health.Down,
		}
		if watched := l.ring.pools[uuid]; watched != nil {
			line.ratesJSON = watched.rates[member.ID].show()
		}
		shown.Servers[i] = line
	}
	slices.SortStableFunc(shown.Servers, serverLine.compare)
	shown.Servers = shown.Servers[:min(len(shown.Servers), listedMost)]
	return shown
}

func (s serverLine) compare(other serverLine) int {
	if s.isDown != other.isDown {
		if s.isDown {
			return -1
		}
		return 1
	}
	return cmp.Compare(other.failures(), s.failures())
}

func (s serverLine) failures() float32 {
	if s.ratesJSON == nil {
		return 0
	}
	return s.ratesJSON.Failures
}

func (r *serverRates) show() *ratesJSON {
	if r == nil {
		return nil
	}
	return &ratesJSON{float32(r.requests), float32(r.failures), float32(r.connections), r.open}
}
