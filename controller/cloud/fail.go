package cloud

import "time"

// failure counts how often a place failed in a row. Nothing is tried there until the given time.
type failure struct {
	count int
	until time.Time
}

// fail notes that a place failed. The pause is twice as long as after the failure before.
func (m *memory) fail(name string, now time.Time) {
	count := m.failures[name].count
	m.failures[name] = failure{count + 1, now.Add(min(firstRetry<<min(count, 10), lastRetry))}
}

// reported drops the failures of a place, because its engine has reported.
func (m *memory) reported(instance Instance) {
	delete(m.failures, instance.Name)
	delete(m.started, instance.Engine)
	delete(m.awaySince, instance.Engine)
}

// mayTry tells whether the pause of a place is over.
func (m *memory) mayTry(d *decision, name string, now time.Time) bool {
	until := m.failures[name].until
	d.wake(until, now)
	return !until.After(now)
}

// outcome is the result of a task.
type outcome struct {
	task
	err error
}

// hear turns an outcome into changes. gone tells whether the engine and its instance are gone.
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
