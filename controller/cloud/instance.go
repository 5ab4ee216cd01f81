package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// Instance is an engine that a cloud runs for a group. It is in the store before the engine is started and until after it
// is gone, so that a controller that restarts finds every engine that the last one started, and starts none twice.
type Instance struct {
	Engine string    `json:"uuid"` // of the engine, from before it joins
	Name   string    `json:"name"` // of the engine and of its place
	Cloud  string    `json:"cloud"`
	Group  string    `json:"group"`
	Zone   string    `json:"zone"`
	State  State     `json:"state"`
	Since  time.Time `json:"since"` // of State
}

// State says how far an instance has come.
type State string

const (
	Starting State = "STARTING" // until it has reported
	Joined   State = "JOINED"
	Retiring State = "RETIRING"
)

// instanceKind is the kind under which the store keeps instances; operators see no such kind.
const instanceKind = "instance"

// ErrUnwanted says that an engine comes too late: it is to be ended.
var ErrUnwanted = errors.New("its cloud is about to end this engine")

// Expected is the instance that an engine of this name is, which is about to join; nil: no cloud started such a one.
// Errors: ErrUnwanted, or that it cannot be read.
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

func instanceOf(record *store.Record) (instance Instance, err error) {
	body, err := json.Marshal(record.Object)
	if err == nil {
		err = json.Unmarshal(body, &instance)
	}
	if err != nil {
		err = fmt.Errorf("instance %s cannot be read: %w", record.Name, err)
	}
	return instance, err
}

func recordOf(instance Instance) *store.Record {
	return &store.Record{Kind: instanceKind, UUID: instance.Engine, Name: instance.Name, Object: schema.Object{
		"uuid": instance.Engine, "name": instance.Name, "cloud": instance.Cloud, "group": instance.Group, "zone": instance.Zone,
		"state": string(instance.State), "since": instance.Since.Format(time.RFC3339Nano),
	}}
}
