package wire

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var some = []Row{
	{Time: time.Unix(0, 1).UTC(), Type: "events", Scope: Everyone,
		Fields: []Field{{"event_id", "VS_UP"}, {"message", "\xff\x00\n"}}},
	{Time: time.Unix(-5, 7).UTC(), Type: "audit", Scope: "tenant-1", Fields: []Field{}},
}

func TestReadsWhatWasWritten(t *testing.T) {
	got, err := Read(Append(nil, some))
	if err != nil || !reflect.DeepEqual(got, some) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestRefusesWhatIsBeyondItsLimits(t *testing.T) {
	for want, row := range map[string]Row{
		"97 fields":   {Fields: make([]Field, MaxFields+1)},
		"65537 bytes": {Fields: []Field{{"f", strings.Repeat("x", MaxValueBytes+1)}}},
		"65 bytes":    {Fields: []Field{{strings.Repeat("x", MaxNameBytes+1), ""}}},
		"its type":    {Type: strings.Repeat("x", MaxNameBytes+1)},
		"its scope":   {Scope: strings.Repeat("x", MaxScopeBytes+1)},
	} {
		if err := row.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if _, err := Read(Append(nil, []Row{row})); err == nil {
			t.Errorf("a row with %s was read", want)
		}
	}
	if _, err := Read(make([]byte, MaxBatchBytes+1)); err == nil {
		t.Error("a batch that is too large was read")
	}
}

func TestShortensValuesToItsLimits(t *testing.T) {
	long := strings.Repeat("é", MaxValueBytes)
	row := Row{Type: "events", Scope: strings.Repeat("s", MaxScopeBytes), Fields: []Field{{"a", long}, {"b", "x"}}}
	for range 2 {
		short := row.Shortened()
		for i, field := range short.Fields {
			if row.Fields[i].Value == long && (!strings.HasSuffix(field.Value, "é…") ||
				!utf8.ValidString(field.Value)) ||
				row.Fields[i].Value == "x" && field.Value != "x" {
				t.Errorf("field %s has %d bytes and ends with %q", field.Name, len(field.Value),
					field.Value[len(field.Value)-1:])
			}
		}
		if read, err := Read(Append(nil, []Row{short})); err != nil || read[0].Scope != row.Scope {
			t.Errorf("a row of %d fields: %v", len(row.Fields), err)
		}
		for range 60 { // each within its limit, and too many together
			row.Fields = append(row.Fields, Field{"c", long})
		}
	}
	if row.Fields[0].Value != long {
		t.Error("the row of the caller was changed")
	}
}

func TestRefusesABatchThatIsCutOffOrTooLong(t *testing.T) {
	whole := Append(nil, some)
	for size := range whole {
		if _, err := Read(whole[:size]); err == nil {
			t.Errorf("the first %d of %d bytes were read as a whole batch", size, len(whole))
		}
	}
	if _, err := Read(append(whole, 0)); err == nil {
		t.Error("a byte behind the last row was ignored")
	}
}

func FuzzReadsAnyBytes(f *testing.F) {
	f.Add(Append(nil, some))
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, batch []byte) {
		rows, err := Read(batch)
		if err != nil {
			return
		}
		again, err := Read(Append(nil, rows))
		if err != nil || !reflect.DeepEqual(again, rows) {
			t.Errorf("%v was written, %v came back, %v", rows, again, err)
		}
	})
}
