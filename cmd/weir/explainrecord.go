package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/weir-lb/weir/client"
)

// requestID is what the names of records look like: an engine, its worker, and a number; or the name that a rule or a
// script has told.
var requestID = regexp.MustCompile(`^(.+-[0-9]+-[0-9a-z]+\.[0-9]+|[0-9A-Za-z]{3}-[0-9A-Za-z]{4}-[0-9A-Za-z]{4})$`)

// explainRecord tells one request or connection by its request_id: a sentence for each stage.
func explainRecord(ctx context.Context, session *client.Session, id string, output format, out io.Writer) error {
	var answer struct {
		RequestID string        `json:"request_id"`
		Type      string        `json:"type"`
		Stages    []stage       `json:"stages"`
		Record    client.Object `json:"record"`
	}
	if err := session.Get(ctx, "weir/explain/"+url.PathEscape(id), &answer); client.IsStatus(err, http.StatusNotFound) {
		return noRecord(id)
	} else if err != nil {
		return err
	}
	if output == asJSON {
		return printJSON(out, answer)
	}
	if _, err := fmt.Fprintln(out, toMillis(cellOf(answer.Record, "report_timestamp"))); err != nil {
		return err
	}
	return printStages(out, answer.Stages)
}

// noRecord says that nothing has a request_id. A text that may be a host as well is asked about by its URL.
func noRecord(id string) error {
	if strings.Contains(id, ".") {
		return fmt.Errorf("no record has the request_id %s", id)
	}
	return fmt.Errorf("no record has the request_id %s: for a host, give a URL, such as https://%s/", id, id)
}

// stage is a part of the way of a request.
type stage struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func printStages(out io.Writer, stages []stage) error {
	for _, one := range stages {
		if _, err := fmt.Fprintf(out, "%-11s %s\n", harmless(one.Name), harmless(one.Text)); err != nil {
			return err
		}
	}
	return nil
}
