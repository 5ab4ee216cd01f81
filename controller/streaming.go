package controller

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/outward"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

const (
	profileKind = "analyticsprofile"
	serviceKind = "virtualservice"
	// followEvery is how soon a change of a profile is in force.
	followEvery = time.Second
)

// profileStreams sends records where the analytics profiles of their virtual services say.
type profileStreams struct {
	objects  *store.Store
	streams  *outward.Profiles
	profiles atomic.Pointer[map[string]string] // by virtual service: the profile, if it has a stream
}

func newProfileStreams(objects *store.Store, dialer *net.Dialer, config Config,
	told func(target, id, message string)) *profileStreams {
	outside := outward.Outside{Dialer: dialer, Host: outward.HostName(), Log: config.Log}
	return &profileStreams{objects: objects, streams: outward.NewProfiles(outside, told)}
}

// add sends a record. It never waits.
func (p *profileStreams) add(row wire.Row) {
	profiles := p.profiles.Load()
	if profiles == nil || len(*profiles) == 0 {
		return
	}
	for _, field := range row.Fields {
		if field.Name == serviceKind {
			if profile := (*profiles)[field.Value]; profile != "" {
				p.streams.Add(profile, row)
			}
			return
		}
	}
}

// run follows the profiles until ctx ends.
func (p *profileStreams) run(ctx context.Context) {
	defer p.streams.Stop()
	ticks := time.NewTicker(followEvery)
	defer ticks.Stop()
	seen := &store.View{}
	for {
		if view := p.objects.View(); view.Differs(seen, profileKind, serviceKind) {
			p.follow(view)
			seen = view
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

func (p *profileStreams) follow(view *store.View) {
	wanted := map[string]outward.Profile{}
	for _, record := range view.List(profileKind) {
		profile, err := schema.Into[kinds.AnalyticsProfile](record.Object)
		if err == nil && profile.Streaming != nil {
			wanted[record.UUID] = profileOf(record.Name, profile.Streaming)
		}
	}
	p.streams.Follow(wanted)
	profiles := map[string]string{}
	if len(wanted) > 0 {
		for _, record := range view.List(serviceKind) {
			ref, _ := record.Object["analytics_profile_ref"].(string)
			if profile := ref[strings.LastIndexByte(ref, '/')+1:]; wanted[profile].Server != "" {
				profiles[record.UUID] = profile
			}
		}
	}
	p.profiles.Store(&profiles)
}

func profileOf(name string, from *kinds.ClientLogStreamingConfig) outward.Profile {
	to := outward.Profile{Name: name, Server: from.Server, Port: from.Port, PerSecond: from.MaxPerSecond,
		Form: outward.Form{Fields: from.Selected()}}
	carriers := map[string]string{"LOG_STREAMING_PROTOCOL_TCP": "tcp", "LOG_STREAMING_PROTOCOL_SYSLOG_OVER_TCP": "tcp",
		"LOG_STREAMING_PROTOCOL_TLS": "tls", "LOG_STREAMING_PROTOCOL_SYSLOG_OVER_TLS": "tls"}
	if to.Carrier = carriers[from.Protocol]; to.Carrier == "" {
		to.Carrier = "udp"
	}
	switch from.Protocol {
	case "LOG_STREAMING_PROTOCOL_SYSLOG_OVER_UDP", "LOG_STREAMING_PROTOCOL_SYSLOG_OVER_TCP",
		"LOG_STREAMING_PROTOCOL_SYSLOG_OVER_TLS":
		to.Form.Syslog = syslogOf(from.Syslog)
	}
	to.Significant = from.LogTypes != "LOGS_UDF_ONLY"
	to.Filtered = from.LogTypes != "LOGS_SIGNIFICANT_ONLY"
	to.Others = from.LogTypes == "LOGS_ALL"
	return to
}

func syslogOf(from *kinds.StreamingSyslogConfig) *outward.SyslogForm {
	if from == nil {
		from = schema.Defaults[kinds.StreamingSyslogConfig]()
	}
	named := func(text string) string {
		if text == "NILVALUE" {
			return ""
		}
		return text
	}
	return &outward.SyslogForm{Facility: int(from.Facility), Significant: int(from.SignificantSeverity),
		Filtered: int(from.FilteredSeverity), Others: int(from.NonSignificantSeverity), Host: from.Hostname,
		Process: named(from.ProcID), Kind: named(from.MsgID)}
}

// checkStreaming refuses fields that records do not have, and more streams than there may be.
func checkStreaming(config Config) admit.Check {
	return func(view *store.View, o schema.Object) *schema.FieldError {
		const at = "client_log_streaming_config"
		streaming, _ := o[at].(schema.Object)
		if streaming == nil {
			return nil
		}
		if config.Records.Program == "" {
			return &schema.FieldError{Field: at, Problem: "this controller has no records: it runs with --logs memory"}
		}
		format, _ := streaming["format_config"].(schema.Object)
		included, _ := format["included_fields"].([]any)
		for i, name := range included {
			name, _ := name.(string)
			_, ofRequests := query.Types[query.Requests][name]
			_, ofConnections := query.Types[query.Connections][name]
			if !ofRequests && !ofConnections && name != "report_timestamp" && name != "adf" {
				return &schema.FieldError{Field: fmt.Sprintf("%s.format_config.included_fields[%d]", at, i),
					Problem: schema.Show(name) + " is no field of a record: see the manual of logs"}
			}
		}
		others := 0
		for _, record := range view.List(profileKind) {
			if record.UUID != o["uuid"] && record.Object[at] != nil {
				others++
			}
		}
		if others >= outward.ProfilesMost {
			return &schema.FieldError{Field: at, Problem: fmt.Sprintf(
				"there are %d profiles with streams already", others)}
		}
		return nil
	}
}
