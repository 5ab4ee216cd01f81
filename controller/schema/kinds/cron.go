package kinds

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Cron are moments that come again and again, as crontab(5) writes them: "30 8 * * MON-FRI". They are in UTC.
type Cron struct {
	minutes, hours, days, months, weekdays uint64 // a bit for each value
	anyDay, anyWeekday                     bool
}

// cronField is one of the five fields.
type cronField struct {
	what        string
	least, most int
	names       []string // of the values from least on
}

var cronFields = []cronField{
	{"minute", 0, 59, nil}, {"hour", 0, 23, nil}, {"day of the month", 1, 31, nil},
	{"month", 1, 12, strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC")},
	{"day of the week", 0, 7, strings.Fields("SUN MON TUE WED THU FRI SAT SUN")},
}

// ParseCron reads five fields: minute, hour, day of the month, month, day of the week.
func ParseCron(text string) (*Cron, error) {
	fields := strings.Fields(text)
	if len(fields) != len(cronFields) {
		return nil, fmt.Errorf("has %d fields, and not five: minute, hour, day of the month, month, day of the week",
			len(fields))
	}
	var sets [5]uint64
	for i, field := range cronFields {
		for part := range strings.SplitSeq(fields[i], ",") {
			set, err := field.parse(part)
			if err != nil {
				return nil, err
			}
			sets[i] |= set
		}
	}
	const sunday, alsoSunday = 1 << 0, 1 << 7
	if sets[4]&alsoSunday != 0 {
		sets[4] |= sunday
	}
	return &Cron{sets[0], sets[1], sets[2], sets[3], sets[4], strings.HasPrefix(fields[2], "*"),
		strings.HasPrefix(fields[4], "*")}, nil
}

// parse reads "*", "8", "8-17", "*/15" or "8-17/2".
func (f cronField) parse(part string) (set uint64, err error) {
	span, stepText, hasStep := strings.Cut(part, "/")
	step := 1
	if hasStep {
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
			return 0, f.refuse(part)
		}
	}
	from, to := f.least, f.most
	if span != "*" {
		first, last, isRange := strings.Cut(span, "-")
		known := true
		if from, known = f.value(first); !known {
			return 0, f.refuse(part)
		}
		if to = from; isRange {
			to, known = f.value(last)
		} else if hasStep {
			to = f.most
		}
		if !known || to < from {
			return 0, f.refuse(part)
		}
	}
	for value := from; value <= to; value += step {
		set |= 1 << value
	}
	return set, nil
}

func (f cronField) value(text string) (value int, known bool) {
	if at := slices.Index(f.names, strings.ToUpper(text)); at >= 0 {
		return f.least + at, true
	}
	value, err := strconv.Atoi(text)
	return value, err == nil && value >= f.least && value <= f.most
}

func (f cronField) refuse(part string) error {
	return fmt.Errorf("%q is no %s: give values from %d to %d, such as %d, %d-%d, */2 or *", part,
		f.what, f.least, f.most,
		f.least, f.least, f.most)
}

// Fits tells whether a minute is one of the moments. If both days are given, one of them is enough, as in crontab(5).
func (c *Cron) Fits(at time.Time) bool {
	at = at.UTC()
	has := func(set uint64, value int) bool { return set&(1<<value) != 0 }
	day, weekday := has(c.days, at.Day()), has(c.weekdays, int(at.Weekday()))
	if !c.anyDay && !c.anyWeekday {
		day = day || weekday
	} else {
		day = day && weekday
	}
	return day && has(c.minutes, at.Minute()) && has(c.hours, at.Hour()) && has(c.months, int(at.Month()))
}

// Last is the last moment after a time and not after another; false: there is none.
func (c *Cron) Last(after, until time.Time) (time.Time, bool) {
	for at := until.UTC().Truncate(time.Minute); at.After(after); at = at.Add(-time.Minute) {
		if c.Fits(at) {
			return at, true
		}
	}
	return time.Time{}, false
}
