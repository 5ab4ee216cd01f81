package alert

import (
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/logs/query"
)

// adminTenant is the tenant whose rules are about the objects of all tenants.
const adminTenant = "admin"

// The kinds of object that this package reads.
const (
	ruleKind   = "alertconfig"
	alertKind  = "alert"
	groupKind  = "actiongroupconfig"
	hookKind   = "webhook"
	mailKind   = "alertemailconfig"
	syslogKind = "alertsyslogconfig"
)

// Rule is an alert config with its action group.
type Rule struct {
	*kinds.AlertConfig
	Tenant  string
	Level   string
	Targets []Target
	where   *query.Expr // of a rule on records; nil: it is about something else
}

// sees tells whether a rule is about objects of a tenant.
func (r *Rule) sees(tenant string, forAll bool) bool {
	return r.Tenant == adminTenant || r.Tenant == tenant || forAll
}

// Target is a place that alerts are sent to.
type Target struct{ Action, UUID, Name string }

// Object is an object that a rule can be about.
type Object struct{ Kind, UUID, Name, Tenant string }

// Content is what operators have configured, and the alerts as they are stored.
type Content struct {
	Rules   []*Rule                 // those that are enabled
	Stored  map[string]*kinds.Alert // by uuid
	Tenants map[string]string       // of stored alerts
	Objects func(kind string) []Object
	view    *store.View
	records map[string]*store.Record // of stored alerts, by uuid
}

// Read reads a view. Objects that cannot be read are left out. earlier is what was read of an earlier view, or nil:
// what has not changed since is not read again.
func Read(view *store.View, earlier *Content) *Content {
	if earlier == nil {
		earlier = &Content{view: &store.View{}}
	}
	c := &Content{view: view}
	c.Objects = func(kind string) (all []Object) {
		for _, record := range view.List(kind) {
			all = append(all, Object{strings.ToUpper(kind), record.UUID, record.Name, record.Tenant})
		}
		return all
	}
	if c.Rules = earlier.Rules; view.Differs(earlier.view, ruleKind, groupKind, hookKind, mailKind, syslogKind) {
		c.readRules()
	}
	c.Stored, c.Tenants, c.records = earlier.Stored, earlier.Tenants, earlier.records
	if c.Stored == nil || view.Differs(earlier.view, alertKind) {
		c.readAlerts(earlier)
	}
	return c
}

func (c *Content) readRules() {
	c.Rules = nil
	for _, record := range c.view.List(ruleKind) {
		config, err := schema.Into[kinds.AlertConfig](record.Object)
		if err != nil || !config.Enabled {
			continue
		}
		rule := &Rule{AlertConfig: config, Tenant: record.Tenant, Level: "ALERT_LOW"}
		if config.Rule != nil && config.Rule.Logs != nil {
			if rule.where, err = LogCondition(config.Source, config.Rule.Logs.Filter); err != nil {
				continue
			}
		}
		c.addActions(rule)
		c.Rules = append(c.Rules, rule)
	}
}

func (c *Content) readAlerts(earlier *Content) {
	all := c.view.List(alertKind)
	c.Stored, c.Tenants = make(map[string]*kinds.Alert, len(all)), make(map[string]string, len(all))
	c.records = make(map[string]*store.Record, len(all))
	for _, record := range all {
		stored := earlier.Stored[record.UUID]
		if stored == nil || earlier.records[record.UUID] != record {
			var err error
			if stored, err = schema.Into[kinds.Alert](record.Object); err != nil {
				continue
			}
		}
		c.Stored[record.UUID], c.Tenants[record.UUID], c.records[record.UUID] = stored, record.Tenant, record
	}
}

func (c *Content) addActions(rule *Rule) {
	group := object[kinds.ActionGroupConfig](c.view, groupKind, uuidIn(rule.ActionGroupRef))
	if group == nil {
		return
	}
	rule.Level, rule.Targets = group.Level, c.targetsOf(group)
}

func (c *Content) targetsOf(group *kinds.ActionGroupConfig) (targets []Target) {
	add := func(action, kind, ref string) {
		if record, ok := c.view.Get(kind, uuidIn(ref)); ok {
			targets = append(targets, Target{action, record.UUID, record.Name})
		}
	}
	for _, ref := range group.WebhookRefs {
		add("webhook", hookKind, ref)
	}
	add("email", mailKind, group.EmailConfigRef)
	add("syslog", syslogKind, group.SyslogRef)
	return targets
}

// objects are those that a rule for metrics is about.
func (c *Content) objects(rule *Rule) (found []Object) {
	for _, object := range c.Objects(strings.ToLower(rule.ObjectType)) {
		if rule.sees(object.Tenant, false) && (rule.ObjectUUID == "" || rule.ObjectUUID == object.UUID) {
			found = append(found, object)
		}
	}
	return found
}

func uuidsOf(objects []Object) (uuids []string) {
	for _, object := range objects {
		uuids = append(uuids, object.UUID)
	}
	return uuids
}

// object reads an object; nil: there is none that can be read.
func object[T any](view *store.View, kind, uuid string) *T {
	record, ok := view.Get(kind, uuid)
	if !ok {
		return nil
	}
	value, err := schema.Into[T](record.Object)
	if err != nil {
		return nil
	}
	return value
}

func uuidIn(reference string) string { return reference[strings.LastIndexByte(reference, '/')+1:] }
