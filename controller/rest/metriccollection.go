package rest

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
)

// requestsMax bounds the requests of a collection.
const requestsMax = 2000

// collectMetrics answers "POST /api/analytics/metrics/collection". A request with an id has its series below the id.
func collectMetrics(c *call) error {
	sent, err := c.object("metrics")
	if err != nil {
		return err
	}
	requests, _ := sent["metric_requests"].([]any)
	if len(requests) == 0 {
		return &schema.FieldError{Kind: "metrics", Field: "metric_requests", Problem: "give at least one request"}
	}
	if len(requests) > requestsMax {
		return &schema.FieldError{Kind: "metrics", Field: "metric_requests",
			Problem: fmt.Sprintf("there are %d; give at most %d", len(requests), requestsMax)}
	}
	var collected []*collectedRequest
	for i, item := range requests {
		fields, is := item.(schema.Object)
		if !is {
			return &schema.FieldError{Kind: "metrics", Field: fmt.Sprintf("metric_requests[%d]", i),
				Problem: "is no object"}
		}
		one, err := c.collectedRequest(fields)
		if err != nil {
			return fmt.Errorf("metric_requests[%d]: %w", i, err)
		}
		collected = append(collected, one)
	}
	all, err := c.collect(collected)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, schema.Object{"series": all})
}

// collectedRequest is a request of a collection.
type collectedRequest struct {
	*metricRequest
	id string // what its series are below; empty: they are below their objects only
}

func (c *call) collectedRequest(fields schema.Object) (*collectedRequest, error) {
	named := fieldText(fields, "entity_uuid")
	kind, err := c.collectedKind(fieldText(fields, "metric_entity"), named, fieldText(fields, "se_uuid"))
	if err != nil {
		return nil, err
	}
	asked, err := c.metricRequest(kind, fields)
	if err != nil {
		return nil, err
	}
	if kind == series.Engine && named == "" {
		named = fieldText(fields, "se_uuid")
	}
	return &collectedRequest{asked, fieldText(fields, "id")}, c.measure(asked, named)
}

// collect returns the series of all requests. It asks the history for all at once: they share one place and one
// deadline. Those with a dimension ask records.
func (c *call) collect(requests []*collectedRequest) (schema.Object, error) {
	var bounded []*metricRequest
	for _, one := range requests {
		bounded = append(bounded, one.metricRequest)
	}
	if err := boundValues(bounded...); err != nil {
		return nil, err
	}
	var questions []series.Question
	for _, one := range requests {
		if one.split == nil {
			questions = append(questions, one.questions(c.tenant)...)
		}
	}
	var answers []series.Answer
	var err error
	if len(questions) > 0 {
		if answers, err = c.api.metrics.Ask(c.r.Context(), questions); err != nil {
			return nil, err
		}
	}
	all := schema.Object{}
	for _, one := range requests {
		into := all
		if one.id != "" {
			into = schema.Object{}
			all[one.id] = into
		}
		own := answers
		if one.split != nil {
			if own, err = c.askRecords(one.metricRequest); err != nil {
				return nil, err
			}
		} else {
			own, answers = answers[:len(one.ids)], answers[len(one.ids):]
		}
		found := byObject(own)
		for _, record := range one.records {
			before, _ := into[record.UUID].([]any)
			into[record.UUID] = append(before, one.seriesOf(c, record, found)...)
		}
	}
	return all, nil
}

func fieldText(fields schema.Object, name string) string {
	value, _ := fields[name].(string)
	return value
}

// collectedKind is the kind of object that a request is about. Requests without metric_entity name objects whose uuids
// begin with their kind.
func (c *call) collectedKind(entity, uuids, engines string) (series.Kind, error) {
	entity = strings.TrimSuffix(strings.ToUpper(entity), "_METRICS_ENTITY")
	switch entity {
	case "VSERVER":
		return series.VirtualService, nil
	case "POOL", "VM":
		return series.Pool, nil
	case "SE":
		return series.Engine, nil
	case "CONTROLLER":
		return series.Controller, nil
	case "":
		for _, kind := range series.Kinds {
			if strings.HasPrefix(uuids, string(kind)+"-") {
				return kind, nil
			}
		}
		if uuids == "" && engines != "" {
			return series.Engine, nil
		}
		return series.VirtualService, nil
	}
	return "", &badQuery{"metric_entity", entity +
		"_METRICS_ENTITY has no metrics in Weir: give VSERVER, POOL, SE or " +
		"CONTROLLER"}
}
