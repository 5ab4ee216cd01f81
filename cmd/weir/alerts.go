package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// testCommands send a test to a receiver of alerts.
func testCommands(kind *schema.Kind) []*cobra.Command {
	return []*cobra.Command{{
		Use: "test NAME", Short: "Send a test now, and show what the receiver says",
		Args: arguments("NAME"), ValidArgsFunction: completeNames(kind, 1),
		RunE: func(command *cobra.Command, args []string) error {
			session, object, err := open(command.Context(), kind, args)
			if err != nil {
				return err
			}
			var answer struct {
				OK      bool
				Results []client.Object
			}
			path := fmt.Sprintf("%s/%v/test", kind.Name, object["uuid"])
			if err := session.Post(command.Context(), path, client.Object{}, &answer); err != nil {
				return err
			}
			rows := table{{"ACTION", "TO", "RESULT", "TOOK", "ANSWER"}}
			for _, result := range answer.Results {
				said := "failed"
				if result["ok"] == true {
					said = "delivered"
				}
				rows = append(rows, []string{column.Text(result["action"]), harmless(column.Text(result["name"])), said,
					column.Text(result["took_ms"]) + " ms", harmless(column.Text(result["answer"]))})
			}
			if err := rows.print(os.Stdout); err != nil || answer.OK {
				return err
			}
			return errors.New("the test did not reach all receivers")
		},
	}}
}

// silenceCommands keep alerts of a rule from being sent.
func silenceCommands(kind *schema.Kind) []*cobra.Command {
	var last time.Duration
	var why, object string
	command := &cobra.Command{
		Use: "silence NAME", Short: "Send no alerts of the rule for a time; they are listed all the same",
		Example: `  weir alertconfig silence slow --for 1h --why "new servers"`,
		Args:    arguments("NAME"), ValidArgsFunction: completeNames(kind, 1),
		RunE: func(command *cobra.Command, args []string) error {
			session, rule, err := open(command.Context(), kind, args)
			if err != nil {
				return err
			}
			until := time.Now().Add(last).UTC().Format(time.RFC3339)
			asked := client.Object{"until": until, "why": why}
			if object != "" {
				asked["obj_uuid"] = object
			}
			path := fmt.Sprintf("%s/%v/silence", kind.Name, rule["uuid"])
			if err := session.Post(command.Context(), path, asked, &client.Object{}); err != nil {
				return err
			}
			fmt.Printf("Alerts of %v are not sent until %s.\n", harmless(fmt.Sprint(rule["name"])), until)
			return nil
		},
	}
	command.Flags().DurationVar(&last, "for", time.Hour, "how long")
	command.Flags().StringVar(&why, "why", "", "the reason, for others")
	command.Flags().StringVar(&object, "object", "", "only about the object with this uuid")
	return []*cobra.Command{command}
}
