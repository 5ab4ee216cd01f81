package alert

// load takes the alerts that are stored: this leader goes on where the last one ended.
func (b *book) load(content *Content) {
	for id, stored := range content.Stored {
		e := &entry{alert: stored, tenant: content.Tenants[id]}
		b.entries[id] = e
		if last := b.newest[stored.ObjectKey]; last == nil || last.alert.Timestamp < stored.Timestamp {
			b.newest[stored.ObjectKey] = e
		}
		if stored.Condition == firing { // a window begins with what is known of it
			last := moment(max(stored.Timestamp, stored.LastThrottle))
			b.windows[stored.ObjectKey] = window{{last, uint64(stored.Threshold)}}
		}
		for _, delivery := range stored.Deliveries {
			if delivery.State == waiting {
				e.sends = append(e.sends, delivery)
			}
		}
	}
}

// fires tells whether there is an alert about an event that lasts.
func (b *book) fires(event string) bool {
	for _, e := range b.entries {
		if e.alert.EventID == event && e.alert.Condition == firing {
			return true
		}
	}
	return false
}

// heed takes what operators did to alerts: they dismiss and delete them.
func (b *book) heed(content *Content) {
	for id, e := range b.entries {
		stored := content.Stored[id]
		switch {
		case e.fresh || e.gone:
		case stored == nil:
			if e.alert.Condition == firing {
				b.muted[e.alert.ObjectKey] = true
			}
			b.forget(id)
		case stored.State == isDismissed && e.alert.State != isDismissed:
			e.alert.State = isDismissed
		}
	}
}

func (b *book) forget(id string) {
	e := b.entries[id]
	delete(b.entries, id)
	if b.newest[e.alert.ObjectKey] == e {
		delete(b.newest, e.alert.ObjectKey)
	}
}
