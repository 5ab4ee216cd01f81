package alert

import "time"

// counts notes an occurrence, and tells whether there are enough in the window.
func (b *book) counts(rule *Rule, key string, now time.Time) bool {
	window := b.windowOf(rule, key, now)
	if most := int(rule.Threshold); len(window) >= most { // more: the threshold was lowered
		window = window[len(window)-most+1:]
	}
	b.windows[key] = append(window, now)
	return len(b.windows[key]) >= int(rule.Threshold)
}

// windowOf are the occurrences that are still in the window.
func (b *book) windowOf(rule *Rule, key string, now time.Time) []time.Time {
	window, from := b.windows[key], now.Add(-time.Duration(rule.RollingWindowS)*time.Second)
	for len(window) > 0 && !window[0].After(from) {
		window = window[1:]
	}
	return window
}
