package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	logtext "github.com/weir-lb/weir/logs/text"
)

// format is how a command prints what it found.
type format string

const (
	asTable format = "table"
	asJSON  format = "json"
	asCSV   format = "csv" // of lists that say so
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

// allowCSV lets a command print CSV, too, and gives the flag a second name.
func (f *format) allowCSV(command *cobra.Command) {
	flag := command.Flags().Lookup("output")
	flag.Usage = "table, json or csv"
	flag.Value = (*wideFormat)(f)
	command.Flags().Var((*wideFormat)(f), "format", "the same as --output")
}

// wideFormat is a format that can be CSV.
type wideFormat format

func (f *wideFormat) Set(text string) error {
	if format(text) == asCSV {
		*f = wideFormat(asCSV)
		return nil
	}
	if (*format)(f).Set(text) != nil {
		return errors.New("give table, json or csv")
	}
	return nil
}

func (f *wideFormat) String() string { return string(*f) }
func (f *wideFormat) Type() string   { return "format" }

func (f *format) String() string { return string(*f) }
func (f *format) Type() string   { return "format" }

func printJSON(out io.Writer, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := io.WriteString(out, logtext.InertJSON(text.String()))
	return err
}
