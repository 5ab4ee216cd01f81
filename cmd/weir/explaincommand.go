package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/client/top"
	"github.com/weir-lb/weir/controller/schema/column"
)

func explainCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "explain URL|REQUEST-ID",
		Short: "Say what would happen to a request now, or what happened to one, and why",
		Args:  arguments("URL|REQUEST-ID"),
		Long: `Say what would happen to a request now: which virtual service and child it is for, what an engine answers itself,
which pool it goes to, which of its servers take requests and why others do not, and which server would get it. The
engines are asked; nothing is sent to a server, and nothing changes. With consistent hashing and persistence, the server
is the one that each such request gets. Otherwise it is the one that the next request at the first worker would get: the
first worker of each engine answers, and each counts its own requests. The request is one of HTTP/1.1: what differs for a
stream of HTTP/2 is not shown. Rules of the virtual service that never have an effect, whatever is asked, come last.

Without --address and --vs, the virtual service is the one that listens on the port and wants the host. If there are
several, the host is looked up.

With --with, the engines answer as if changed or new objects were stored, of which a FILE has each behind the name of its
kind, as in {"httppolicyset": {"name": "house", …}}; or KIND/NAME=FILE has its fields, as for "weir KIND set NAME --file
FILE". Nothing is written. What a write would refuse is refused with the same error.

With the request_id of a record ("weir logs -o json" has it), say what happened to that request.`,
		Example: `  weir explain https://shop.example/cart
  weir explain http://10.1.0.14/api -X POST -H 'Cookie: id=7' --client 198.51.100.7
  weir explain https://shop.example/ --vs shop --engine engine-2 -o json
  weir explain https://shop.example/cart --with httppolicyset/house=house.json
  weir explain se-7aaf03e8-…-1-hoj4bdy62i.5`,
	}
	var asked explainFlags
	asked.add(command)
	output := addOutput(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		isURL := strings.Contains(args[0], "://")
		if !isURL && !requestID.MatchString(args[0]) {
			return fmt.Errorf("%s is no URL, and no request_id: give a URL that begins with http:// or https://",
				top.Clean(args[0]))
		}
		session, err := openSession()
		if err != nil {
			return err
		}
		if !isURL {
			return explainRecord(command.Context(), session, args[0], *output, os.Stdout)
		}
		answer, err := asked.ask(command.Context(), session, args[0])
		if err != nil {
			return err
		}
		if *output == asJSON {
			return printJSON(os.Stdout, answer)
		}
		return printExplanation(os.Stdout, answer)
	}
	return command
}

// explainFlags are what a user says of a request beside its URL.
type explainFlags struct {
	method, client, address, service, engine string
	headers, with                            []string
}

func (f *explainFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&f.method, "method", "X", "GET", "method of the request")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "a header, as 'Name: value'; may be repeated")
	flags.StringVar(&f.client, "client", "",
		"IP address of the client, with or without a port (default 192.0.2.1:50000)")
	flags.StringVar(&f.address, "address", "", "IP address that the client connects to")
	flags.StringVar(&f.service, "vs", "", "name of the virtual service")
	flags.StringVar(&f.engine, "engine", "", "name of the only engine to ask")
	flags.StringArrayVar(&f.with, "with", nil,
		"FILE or KIND/NAME=FILE with objects as they would be written; may be repeated")
}

// lookupMax is how long the look-up of a host may take.
const lookupMax = 3 * time.Second

func (f *explainFlags) ask(ctx context.Context, session *client.Session, target string) (map[string]any, error) {
	fields := map[string]any{"url": target, "method": f.method}
	if len(f.headers) > 0 {
		fields["header"] = f.headers
	}
	var draft []any
	for _, with := range f.with {
		objects, err := draftOf(ctx, session, with)
		if err != nil {
			return nil, err
		}
		draft = append(draft, objects...)
	}
	if len(draft) > 0 {
		fields["with"] = draft
	}
	for field, given := range map[string]string{"client": f.client, "address": f.address} {
		if given != "" {
			fields[field] = given
		}
	}
	for _, named := range []struct{ kind, field, name string }{
		{"virtualservice", "virtualservice", f.service}, {"serviceengine", "engine", f.engine},
	} {
		if named.name == "" {
			continue
		}
		object, err := session.ByName(ctx, named.kind, named.name)
		if err != nil {
			return nil, err
		}
		fields[named.field] = object["uuid"]
	}
	var answer map[string]any
	err := session.Post(ctx, "weir/explain", fields, &answer)
	var problem *client.Problem
	if f.address != "" || f.service != "" || !errors.As(err, &problem) || problem.Status != http.StatusBadRequest {
		return answer, err
	}
	// The URL leads to several virtual services, or to none by its name.
	address := resolve(ctx, target)
	if address == "" {
		return nil, err
	}
	fields["address"] = address
	return answer, session.Post(ctx, "weir/explain", fields, &answer)
}

// resolve is the first address of the host of a URL; empty: there is none, or it is an address itself.
func resolve(ctx context.Context, target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" || net.ParseIP(u.Hostname()) != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, lookupMax)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0].Unmap().String()
}

// printExplanation prints what the engines say, all texts safe for a terminal.
func printExplanation(out io.Writer, answer map[string]any) error {
	say := func(path ...string) string { return top.Clean(column.Text(column.At(answer, path...))) }
	scheme := "http"
	if answer["tls"] == true {
		scheme = "https"
	}
	fmt.Fprintf(out, "%s %s://%s%s\nfrom %s to %s:%s, virtual service %s\n", say("method"), scheme, say("host"),
		say("target"), say("client"), bracketed(say("address")), say("port"), say("virtualservice", "name"))
	if err := printDraft(out, answer); err != nil {
		return err
	}
	engines, _ := answer["engines"].([]any)
	if len(engines) == 0 {
		fmt.Fprintln(out, "\nNo engine serves it: `weir vs show` says why.")
	}
	for _, item := range engines {
		engine, _ := item.(map[string]any)
		fmt.Fprintln(out)
		if err := printEngine(out, engine); err != nil {
			return err
		}
	}
	return printIdleRules(out, column.List(answer, "rules_without_effect"))
}

// printIdleRules prints the rules of the virtual service, and of its child, that no request ever comes to.
func printIdleRules(out io.Writer, rules []any) error {
	if len(rules) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(out, "\nRULES WITHOUT EFFECT"); err != nil {
		return err
	}
	for _, item := range rules {
		say := func(field string) string { return top.Clean(column.Text(column.At(item, field))) }
		if _, err := fmt.Fprintf(out, "%s %s, %s: %s\n", say("kind"), say("name"), say("field"),
			say("why")); err != nil {
			return err
		}
	}
	return nil
}

// printEngine prints what one engine says: a sentence for each stage, and the servers of the pool.
func printEngine(out io.Writer, engine map[string]any) error {
	fmt.Fprintf(out, "ENGINE %s\n", top.Clean(column.Text(engine["name"])))
	var stages []stage
	list, _ := engine["stages"].([]any)
	for _, item := range list {
		one, _ := item.(map[string]any)
		stages = append(stages, stage{column.Text(one["name"]), column.Text(one["text"])})
	}
	if err := printStages(out, stages); err != nil {
		return err
	}
	if servers := explainedServers(engine); servers != nil {
		fmt.Fprintln(out)
		return servers.print(out)
	}
	return nil
}

func bracketed(address string) string {
	if strings.Contains(address, ":") {
		return "[" + address + "]"
	}
	return address
}

// explainedServers has a row for each server of the pool. It is empty if the request comes to no pool.
func explainedServers(engine map[string]any) table {
	servers, _ := engine["servers"].([]any)
	if len(servers) == 0 {
		return nil
	}
	rows := table{{"SERVER", "STATE", "REQUESTS", "RATIO", "WHY"}}
	for _, item := range servers {
		server, _ := item.(map[string]any)
		say := func(field string) string { return top.Clean(column.Text(server[field])) }
		requests := say("connections")
		if most := say("max_connections"); most != "" {
			requests += " of " + most
		}
		rows = append(rows, []string{say("id"), say("state"), requests, say("ratio"), say("reason")})
	}
	total, _ := engine["servers_total"].(float64)
	if more := int(total) - len(servers); more > 0 {
		rows = append(rows, []string{"and " + strconv.Itoa(more) + " more"})
	}
	return rows
}
