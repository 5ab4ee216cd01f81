package main

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"
)

// format is how a command prints what it found.
type format string

const (
	asTable format = "table"
	asJSON  format = "json"
)

func addOutput(command *cobra.Command) *format {
	output := asTable
	command.Flags().VarP(&output, "output", "o", "table or json")
	names := cobra.FixedCompletions([]string{string(asTable), string(asJSON)}, cobra.ShellCompDirectiveNoFileComp)
	if err := command.RegisterFlagCompletionFunc("output", names); err != nil {
		panic(err) // the flag has just been defined
	}
	return &output
}

func (f *format) Set(text string) error {
	switch given := format(text); given {
	case asTable, asJSON:
		*f = given
		return nil
	}
	return errors.New("give table or json")
}

func (f *format) String() string { return string(*f) }
func (f *format) Type() string   { return "format" }

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
