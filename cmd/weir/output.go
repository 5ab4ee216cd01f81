package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
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
	_, err := io.WriteString(out, inertJSON(text.String()))
	return err
}

// inertJSON writes characters of strings that a terminal would act on as \u202e. The value stays the same.
func inertJSON(text string) string {
	var inert bytes.Buffer
	for _, char := range text {
		switch {
		case char == '\n' || unicode.IsPrint(char):
			inert.WriteRune(char)
		case char > 0xffff:
			high, low := utf16.EncodeRune(char)
			fmt.Fprintf(&inert, "\\u%04x\\u%04x", high, low)
		default:
			fmt.Fprintf(&inert, "\\u%04x", char)
		}
	}
	return inert.String()
}
