package cloud

import (
	"errors"
	"fmt"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// Instance is an engine that a cloud runs for a group. It is in the store before the engine is started, until after the
// engine is gone. So a controller that restarts knows every engine that its predecessor started, and starts no engine
// twice.
type Instance struct {
	Engine string    `json:"uuid"` // uuid of the engine, chosen before the engine joins
	Name   string    `json:"name"` // name of the engine and of its place
	Cloud  string    `json:"cloud"`
	Group  string    `json:"group"`
	Zone   string    `json:"zone"`
	State  State     `json:"state"`
	Since  time.Time `json:"since"` // when State last changed
}

// State is a step in the life of an instance.
type State string

const (
	Starting State = "STARTING" // until its first report
	Joined   State = "JOINED"
	Retiring State = "RETIRING"
)

// instanceKind is the kind under which the store keeps instances; operators see no such kind.
const instanceKind = "instance"

// ErrUnwanted says that the engine cannot join, because its cloud is about to end it.
var ErrUnwanted = errors.New("its cloud is about to end this engine")

// Expected returns the instance of an engine that is about to join; nil: no cloud started an engine of this name.
// Errors: ErrUnwanted, or that the instance cannot be read.
func Expected(view *store.View, name string) (*Instance, error) {
	record, found := view.ByName(instanceKind, "", name)
	if !found {
		return nil, nil
	}
	instance, err := instanceOf(record)
	if err == nil && instance.State != Starting {
		err = ErrUnwanted
	}
	return &instance, err
}

func instancesIn(view *store.View) ([]Instance, error) {
	var all []Instance
	for _, record := range view.List(instanceKind) {
		instance, err := instanceOf(record)
		if err != nil {
			return nil, err
		}
		all = append(all, instance)
	}
	return all, nil
}

func instanceOf(record *store.Record) (Instance, error) {
	read, err := store.Read[Instance](record)
	if err != nil {
		return Instance{}, fmt.Errorf("instance %s cannot be read: %w", record.Name, err)
	}
	return *read, nil
}

func recordOf(instance Instance) *store.Record {
	return &store.Record{Kind: instanceKind, UUID: instance.Engine, Name: instance.Name, Object: schema.Object{
		"uuid": instance.Engine, "name": instance.Name, "cloud": instance.Cloud, "group": instance.Group,
		"zone":  instance.Zone,
		"state": string(instance.State), "since": instance.Since.Format(time.RFC3339Nano),
	}}
}
