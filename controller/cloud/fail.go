package cloud

import "time"

// failure is how often a place failed in a row, and until when it is left alone.
type failure struct {
	count int
	until time.Time
}

// fail notes that a place failed; it is left alone for twice as long as after the failure before.
func (m *memory) fail(name string, now time.Time) {
	count := m.failures[name].count
	m.failures[name] = failure{count + 1, now.Add(min(firstRetry<<min(count, 10), lastRetry))}
}

// reported forgets what was wrong with the place of an engine before it came up.
func (m *memory) reported(instance Instance) {
	delete(m.failures, instance.Name)
	delete(m.started, instance.Engine)
	delete(m.awaySince, instance.Engine)
}

// mayTry tells whether a place has been left alone for long enough.
func (m *memory) mayTry(d *decision, name string, now time.Time) bool {
	until := m.failures[name].until
	d.wake(until, now)
	return !until.After(now)
}

// outcome is what became of a task.
type outcome struct {
	task
	err error
}

// hear takes an outcome: what changes, and whether the instance is gone for good.
func (w *world) hear(o outcome) (d decision, gone bool) {
	instance, name := o.instance, o.instance.Name
	delete(w.memory.working, instance.Engine)
	switch {
	case o.verb == create && o.err == nil:
		w.memory.started[instance.Engine] = w.now
	case o.verb == create && instance.State == Starting:
		w.memory.fail(name, w.now)
		instance.State, instance.Since = Retiring, w.now
		d.changed = append(d.changed, instance)
		d.news = append(d.news, news{"CREATE_SE_FAIL", instance, o.err.Error()})
	case o.verb == create:
		w.memory.fail(name, w.now)
		d.news = append(d.news, news{"CREATE_SE_FAIL", instance, "it cannot be started again: " + o.err.Error()})
	case o.err == nil:
		delete(w.memory.started, instance.Engine)
		delete(w.memory.awaySince, instance.Engine)
		return d, true
	default:
		w.memory.fail(name, w.now)
		d.news = append(d.news, news{"DELETE_SE_FAIL", instance, o.err.Error()})
	}
	return d, false
}
