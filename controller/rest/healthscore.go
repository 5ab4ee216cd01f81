package rest

import (
	"cmp"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/store"
)

// Scores returns the present score of an object, by its kind and uuid. false: it was not graded yet.
type Scores func(kind, uuid string) (score.Report, bool)

// The metrics that a page of health scores consists of, in this order.
var scoreIDs = []string{"healthscore.health_score_value", "healthscore.performance_value",
	"healthscore.resources_penalty", "healthscore.anomaly_penalty", "healthscore.security_penalty"}

// scoreFields are the fields of these in a page.
var scoreFields = []string{"value", "performance_value", "resources_penalty", "anomaly_penalty", "security_penalty"}

const (
	// gradedEvery is the time between two scores.
	gradedEvery = 15 * time.Second
	// scoreStep is the step if a request gives none.
	scoreStep = "300"
)

// showScore answers "GET /api/analytics/healthscore/<kind>/<uuid>".
func showScore(c *call) error {
	pages, err := c.scorePages(c.path[4])
	if err != nil {
		return err
	}
	if len(pages) == 0 {
		title := "Controller"
		if of, isKind := schema.Lookup(c.path[3]); isKind {
			title = of.Title
		}
		return &admit.NotFound{Title: title}
	}
	return c.reply(http.StatusOK, pages[0])
}

// showScores answers "GET /api/analytics/healthscore/<kind>".
func showScores(c *call) error {
	pages, err := c.scorePages(c.query.Get("entity_uuid"))
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, schema.Object{"count": len(pages), "results": pages})
}

func (c *call) scorePages(uuids string) ([]schema.Object, error) {
	kind, err := metricKind(c.path[3])
	if err != nil {
		return nil, err
	}
	fields, now := requestOf(c.query), c.api.now()
	fields["metric_id"] = strings.Join(scoreIDs, ",")
	for name, otherwise := range map[string]string{
		"step": scoreStep, "stop": now.UTC().Truncate(gradedEvery).Format(time.RFC3339),
	} {
		if text, _ := fields[name].(string); text == "" {
			fields[name] = otherwise
		}
	}
	asked, err := c.metricRequest(kind, fields)
	if err != nil {
		return nil, err
	}
	answers, err := c.askMetrics(asked, uuids)
	if err != nil {
		return nil, err
	}
	pages := []schema.Object{}
	for _, record := range asked.records {
		pages = append(pages, c.scorePage(asked, record, answers, now))
	}
	return pages, nil
}

// scorePage is the answer about one object: its scores in the past, and, unless the request is about the past only, the
// present one with its reasons, as the last.
func (c *call) scorePage(asked *metricRequest, record *store.Record, answers []series.Answer,
	now time.Time) schema.Object {
	history := make([]series.Series, len(answers))
	for i, answer := range answers {
		history[i] = asked.nothing(record)
		for _, one := range answer.Series {
			if one.UUID == record.UUID {
				history[i] = one
			}
		}
	}
	header := schema.Object{
		"name": "health_score", "hs_type": "HEALTH_SCORE", "units": "METRIC_COUNT", "entity_uuid": record.UUID,
		"tenant_uuid": record.Tenant, "metrics_min_scale": 0.0, "statistics": statistics(history[0].Points),
		"performance_score_statistics": statistics(history[1].Points),
		"resources_penalty_statistics": statistics(history[2].Points),
		"anomaly_penalty_statistics":   statistics(history[3].Points),
		"security_penalty_statistics":  statistics(history[4].Points),
		"contributors":                 []any{},
	}
	if asked.server != "" {
		header["server"] = asked.server
	}
	data := asked.scoreData(history)
	if now.Sub(asked.stop) <= 2*gradedEvery {
		if report, graded := c.present(asked, record); graded {
			if len(data) > 0 && data[len(data)-1].(schema.Object)["timestamp"] == stamp(asked.stop) {
				data = data[:len(data)-1]
			}
			data = append(data, presentScore(report, asked.stop))
			header["contributors"] = contributors(report)
		}
	}
	return schema.Object{
		"entity_uuid": record.UUID, "metric_entity": metricEntities[asked.kind], "start": stamp(asked.start),
		"stop": stamp(asked.stop), "step": int64(asked.step.Seconds()), "limit": int64(asked.steps()),
		"series": []any{schema.Object{"header": header, "data": data}},
	}
}

// present is the present score of an object, or of the server that is asked for.
func (c *call) present(asked *metricRequest, record *store.Record) (score.Report, bool) {
	report, graded := c.api.scores(string(asked.kind), record.UUID)
	report = c.readable(report)
	if !graded || asked.server == "" {
		return report, graded
	}
	for _, part := range report.Parts {
		if part.Name == asked.server {
			return part, true
		}
	}
	return score.Report{}, false
}

func (m *metricRequest) scoreData(history []series.Series) []any {
	data := []any{}
	for i, point := range history[0].Points {
		at := schema.Object{"timestamp": stamp(point.At)}
		if point.Null {
			if m.padded {
				at["value"], at["is_null"], at["num_samples"] = nil, true, int64(0)
				data = append(data, at)
			}
			continue
		}
		at["value"], at["num_samples"] = math.Round(10*point.Value)/10, int64(1)
		for part, name := range scoreFields[1:] {
			if of := history[part+1].Points; i < len(of) && !of[i].Null {
				at[name] = int64(math.Round(of[i].Value)) // Avi's clients decode whole numbers
			}
		}
		data = append(data, at)
	}
	return data
}

// presentScore is the last item of the data, with the reasons.
func presentScore(report score.Report, at time.Time) schema.Object {
	item := nestedScore(report)
	item["timestamp"], item["num_samples"] = stamp(at), int64(1)
	of := report.Score
	if of.Band == score.Grey {
		item["is_null"] = true
	}
	for part, name := range map[score.Part]string{
		score.Performance: "performance_score", score.Resources: "resources_score", score.Anomaly: "anomaly_score",
		score.Security: "security_threat_level",
	} {
		item[name] = partOf(of, part)
	}
	if of.SSL != nil {
		item["ssl_score"] = of.SSL.Score
	}
	item["dos_attack_level"] = of.DoS
	return item
}

// readable is a report without the parts that the user may not read: a score of a service is made of those of pools,
// servers and engines.
func (c *call) readable(report score.Report) score.Report {
	var parts []score.Report
	for _, part := range report.Parts {
		kind := part.Kind
		if kind == "server" {
			kind = "pool"
		}
		of, known := schema.Lookup(kind)
		if !known || c.who.Access(of.Permission, c.tenant) < admit.ReadAccess {
			continue
		}
		if record, is := c.view.Get(kind, part.UUID); is && !c.owns(record) {
			continue // an engine: it works for all tenants
		}
		parts = append(parts, c.readable(part))
	}
	report.Parts = parts
	return report
}

// nestedScore is a score with those of the objects that it is made of.
func nestedScore(report score.Report) schema.Object {
	of, item := report.Score, schema.Object{"entity_uuid": report.UUID, "entity_type": report.Kind, "name": report.Name}
	for name, value := range of.Shown() {
		item[name] = value
	}
	item["value"], item["performance_value"] = item["health_score"], item["performance_score"]
	delete(item, "health_score")
	delete(item, "performance_score")
	reasons, nested := []any{}, []any{}
	for _, reason := range of.Reasons {
		reasons = append(reasons, schema.Object{"part": reason.Part.String(), "reason": reason.Text,
			"points": math.Round(10*reason.Points) / 10, "reason_attr": reason.Attr})
	}
	for _, part := range report.Parts {
		nested = append(nested, nestedScore(part))
	}
	item["weir_reasons"], item["weir_formula"], item["nested"] = reasons, of.Formula, nested
	return item
}

// partOf is a part of a score with the reason that costs most in it.
func partOf(of score.Score, part score.Part) schema.Object {
	values := map[score.Part]int{score.Performance: of.Performance, score.Resources: of.Resources,
		score.Anomaly: of.Anomaly, score.Security: of.Security}
	shown := schema.Object{"value": int64(values[part]), "reason": "", "reason_attr": ""}
	for _, reason := range of.Reasons {
		if reason.Part == part {
			shown["reason"], shown["reason_attr"] = reason.Text, reason.Attr
			break
		}
	}
	return shown
}

var scoreTypes = map[score.Part]string{score.Performance: "HEALTH_PERFORMANCE_SCORE",
	score.Resources: "HEALTH_RESOURCES_SCORE", score.Anomaly: "HEALTH_ANOMALY_SCORE",
	score.Security: "HEALTH_SECURITY_THREAT_LEVEL"}

// contributors are the parts that cost points, each with the metrics and the objects that they come from.
func contributors(report score.Report) []any {
	list := []any{}
	for _, part := range []score.Part{score.Performance, score.Resources, score.Anomaly, score.Security} {
		var ids []string
		for _, reason := range report.Score.Reasons {
			if reason.Part == part {
				ids = append(ids, reason.Attr)
			}
		}
		if len(ids) == 0 {
			continue
		}
		entities := []any{schema.Object{"entity_uuid": report.UUID,
			"metrics_entity": metricEntities[series.Kind(report.Kind)]}}
		for _, under := range report.Parts {
			if under.Score.Band != score.Grey && under.Score.Value < 100 {
				entities = append(entities, schema.Object{"entity_uuid": under.UUID,
					"metrics_entity": cmp.Or(metricEntities[series.Kind(under.Kind)], "VM_METRICS_ENTITY")})
			}
		}
		list = append(list, schema.Object{"hs_type": scoreTypes[part], "metric_ids": strings.Join(ids, ","),
			"entities": entities})
	}
	return list
}
