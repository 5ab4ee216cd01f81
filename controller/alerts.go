package controller

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/alert"
	"github.com/weir-lb/weir/controller/alert/notify"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/grading"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/live"
	"github.com/weir-lb/weir/controller/metrics"
	"github.com/weir-lb/weir/controller/rest"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/slowness"
	"github.com/weir-lb/weir/controller/store"
)

// alertKind is the kind of the objects in which the store keeps alerts.
const alertKind = "alert"

func alertsOf(config Config, data *data, l *leader) *alert.Alerts {
	host, _ := os.Hostname() // empty: receivers hear of "localhost"
	watching := alert.New(alert.Config{
		Content: contentOf(data.objects), Save: saverOf(data.gate),
		Sender:  &notify.Sender{Host: host, AllowLocal: config.AllowLocalReceivers, Now: time.Now},
		Numbers: numbers{l.live, l.grades, l.history}, IsUp: upIn(l.fleet), IsSlow: slowIn(l.slow.Of),
		IsOver: l.attacks.IsOver,
		Events: l.events, NoRecords: config.Records.Program == "", Log: config.Log, Now: time.Now,
	})
	l.events.Hear = watching.Hear
	return watching
}

// contentOf reads the newest view, and remembers what it read.
func contentOf(objects *store.Store) func() *alert.Content {
	var mu sync.Mutex
	var view *store.View
	var content *alert.Content
	return func() *alert.Content {
		mu.Lock()
		defer mu.Unlock()
		if newest := objects.View(); newest != view {
			view, content = newest, alert.Read(newest, content)
		}
		return content
	}
}

// saverOf stores alerts. One that an operator has deleted meanwhile stays deleted.
func saverOf(gate *admit.Gate) func(context.Context, []alert.Change) error {
	return func(ctx context.Context, changes []alert.Change) error {
		return gate.Update(ctx, admit.System("alert"), func(tx *admit.Tx) error {
			for _, change := range changes {
				if err := saveAlert(tx, change); err != nil {
					return &alert.Refused{Reason: err}
				}
			}
			return nil
		})
	}
}

func saveAlert(tx *admit.Tx, change alert.Change) error {
	uuid := change.Alert.UUID
	if _, stored := tx.View().Get(alertKind, uuid); !stored {
		if change.Gone || !change.Fresh {
			return nil
		}
		object, err := alertObject(change)
		if err != nil {
			return err
		}
		_, err = tx.Create(alertKind, object, uuid)
		return err
	}
	if change.Gone {
		return tx.Delete(alertKind, uuid)
	}
	object, err := alertObject(change)
	if err != nil {
		return err
	}
	return tx.Change(alertKind, uuid, func(stored schema.Object) {
		if stored["state"] == alert.Dismissed { // an operator did, and this change does not know of it yet
			object["state"] = alert.Dismissed
		}
		for name := range stored {
			if _, still := object[name]; !still && name != "_last_modified" && name != "url" {
				delete(stored, name)
			}
		}
		for name, value := range object {
			stored[name] = value
		}
	})
}

// alertObject is an alert as an object. It has no empty texts and lists.
func alertObject(change alert.Change) (schema.Object, error) {
	record, err := store.RecordOf(alertKind, change.Alert.UUID, change.Alert)
	if err != nil {
		return nil, err
	}
	withoutEmpty(record.Object)
	if _, there := record.Object["configpb_attributes"]; there {
		delete(record.Object, "configpb_attributes")
	}
	record.Object["tenant_ref"] = schema.RefPath("tenant", change.Tenant)
	return record.Object, nil
}

func withoutEmpty(o schema.Object) {
	for name, value := range o {
		switch v := value.(type) {
		case nil:
			delete(o, name)
		case string:
			if v == "" {
				delete(o, name)
			}
		case []any:
			for _, item := range v {
				if inner, is := item.(schema.Object); is {
					withoutEmpty(inner)
				}
			}
			if len(v) == 0 {
				delete(o, name)
			}
		}
	}
}

// numbers are what rules compare: what is counted now, health scores, and the history.
type numbers struct {
	live    *live.Live
	grades  *grading.Grades
	history *metrics.History
}

func (n numbers) Newest(kind series.Kind, metric string) (map[string]float64, bool) {
	of, is := scoreParts[metric]
	if !is {
		return n.live.Newest(kind, metric)
	}
	values := map[string]float64{}
	for uuid, graded := range n.grades.All(kind) {
		if graded.Band != score.Grey {
			values[uuid] = float64(of(&graded))
		}
	}
	return values, true
}

// scoreParts are the parts of a health score by their metric ids.
var scoreParts = map[string]func(*score.Score) int{
	"healthscore.health_score_value": func(s *score.Score) int { return s.Value },
	"healthscore.performance_value":  func(s *score.Score) int { return s.Performance },
	"healthscore.resources_penalty":  func(s *score.Score) int { return s.Resources },
	"healthscore.anomaly_penalty":    func(s *score.Score) int { return s.Anomaly },
	"healthscore.security_penalty":   func(s *score.Score) int { return s.Security },
}

func (n numbers) Step() int { return n.live.Step() }

func (n numbers) Ask(ctx context.Context, questions []series.Question) ([]series.Answer, error) {
	return n.history.Ask(ctx, questions)
}

// upIn tells whether an object of an event is up.
func upIn(known *fleet.Fleet) func(kind, uuid, part string) bool {
	return func(kind, uuid, part string) (up bool) {
		known.Read(func(known *fleet.Known) { up = isUp(known, kind, uuid, part) })
		return up
	}
}

func isUp(known *fleet.Known, kind, uuid, part string) bool {
	switch kind {
	case "VIRTUALSERVICE":
		vs := known.VirtualService(uuid)
		return vs != nil && known.ServiceHealth(vs).State == health.Up
	case "SERVICEENGINE":
		return known.Engine(uuid).Works()
	}
	pool := known.Pool(uuid)
	if pool == nil {
		return false
	}
	state := known.PoolHealth(pool)
	if part == "" {
		return state.State == health.Up
	}
	for i, member := range pool.Members {
		if member.ID == part {
			return state.Servers[i].State == health.Up
		}
	}
	return false
}

// slowIn tells whether a server of a pool is slow.
func slowIn(of func(poolUUID string) []slowness.Server) func(poolUUID, server string) bool {
	return func(poolUUID, server string) bool {
		return slices.ContainsFunc(of(poolUUID), func(one slowness.Server) bool { return one.ID == server })
	}
}

// testerOf sends test notices for REST.
func testerOf(watching *alert.Alerts) rest.Tester {
	return func(ctx context.Context, kind, uuid, by string) (results []rest.Tested) {
		for _, tried := range watching.Test(ctx, kind, uuid, by) {
			results = append(results, rest.Tested{Action: tried.Action, UUID: tried.UUID,
				Name: tried.Name, OK: tried.OK,
				Answer: tried.Answer, Took: tried.Took})
		}
		return results
	}
}
