package live

import (
	"slices"

	"github.com/weir-lb/weir/controller/model"
)

// slowNamed is the number of slow servers that an overview names of one virtual service.
const slowNamed = 3

// slowJSON is a server that needs far longer for its answers than the others of its pool.
type slowJSON struct {
	ID      string  `json:"id"`
	Pool    string  `json:"pool"`  // its uuid
	Share   float32 `json:"share"` // of the answers of all servers of the pool, from 0 to 1
	MeanMs  float32 `json:"app_response_mean_ms"`
	OtherMs float32 `json:"others_mean_ms"` // of the servers that are not slow
	SinceMs int64   `json:"since_ms"`
}

func (l *Live) slowServers(of *model.VirtualService) (list []slowJSON) {
	for _, pool := range of.Pools() {
		slow := l.slow(pool.UUID)
		for _, server := range slow[:min(len(slow), slowNamed-len(list))] {
			list = append(list, slowJSON{
				ID: server.ID, Pool: pool.UUID, Share: float32(server.Share), MeanMs: ms(server.Mean),
				OtherMs: ms(server.Others), SinceMs: server.Since.UnixMilli(),
			})
		}
	}
	return list
}

func (l *Live) hasSlowServers(of *model.VirtualService) bool {
	return slices.ContainsFunc(of.Pools(), func(pool *model.Pool) bool { return len(l.slow(pool.UUID)) > 0 })
}
