package kinds

import (
	"strings"
	"testing"
	"time"
)

func TestCronFitsMoments(t *testing.T) {
	for text, want := range map[string]string{ // 2026-11-29 is a Sunday
		"30 8 * * *":        "2026-11-29 08:30",
		"*/20 8-9 * * 7":    "2026-11-29 09:40",
		"0 0 29 11 MON":     "2026-11-29 00:00",
		"0 12 1 * SUN":      "2026-11-29 12:00",
		"5/20 10 * NOV *":   "2026-11-29 10:45",
		"1,2,3 6 * * 0,6":   "2026-11-29 06:03",
		"0 7 */2 * *":       "2026-11-29 07:00",
		"15 9-17/4 * * */7": "2026-11-29 17:15",
	} {
		cron, err := ParseCron(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		day := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
		last, found := cron.Last(day.Add(-time.Minute), day.Add(24*time.Hour-time.Second))
		if got := last.Format("2006-01-02 15:04"); !found || got != want {
			t.Errorf("%s: %s (%t), want %s", text, got, found, want)
		}
	}
	for _, text := range []string{"0 8 * * MON", "0 8 30 * *", "0 8 * DEC *"} {
		cron, err := ParseCron(text)
		day := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		if last, found := cron.Last(day, day.Add(24*time.Hour)); found {
			t.Errorf("%s fits %v", text, last)
		}
	}
}

func TestCronRefusesWhatNeverFits(t *testing.T) {
	for text, want := range map[string]string{
		"": "0 fields", "* * * *": "4 fields", "60 * * * *": `"60" is no minute`, "* 24 * * *": `"24" is no hour`,
		"* * 0 * *": `"0" is no day of the month`, "* * * 13 *": "month", "* * * * 8": "day of the week",
		"5-3 * * * *": `"5-3"`, "*/0 * * * *": `"*/0"`, "a * * * *": `"a"`, "1-b * * * *": `"1-b"`,
		"*/x * * * *": `"*/x"`,
	} {
		if _, err := ParseCron(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
