package cloud

import (
	"slices"
	"time"
)

// failures are by name of what failed. Each further failure doubles the pause before the next try.
type failures map[string]failure

// failure counts how often something failed in a row. It is not tried again until the given time.
type failure struct {
	count int
	until time.Time
}

func (f failures) add(name string, now time.Time) {
	count := f[name].count
	f[name] = failure{count + 1, now.Add(min(firstRetry<<min(count, 10), lastRetry))}
}

// mayTry tells whether the pause after the last failure is over.
func (f failures) mayTry(d *decision, name string, now time.Time) bool {
	until := f[name].until
	d.wake(until, now)
	return !until.After(now)
}

// answer takes the answer to the write of an instance. After a refusal, the instance stays as it is for a pause.
func (w *world) answer(d *decision, instance Instance, refused error, problem string) {
	if refused == nil {
		delete(w.memory.refusals, instance.Engine)
		return
	}
	d.forget([]Instance{instance})
	w.memory.refusals.add(instance.Engine, w.now)
	d.wake(w.memory.refusals[instance.Engine].until, w.now)
	d.news = append(d.news, news{"DELETE_SE_FAIL", instance, problem + ": " + refused.Error()})
}

// forget drops the tasks for instances, and the events that announce them. Events about what has failed stay.
func (d *decision) forget(instances []Instance) {
	concerns := func(other Instance) bool {
		return slices.ContainsFunc(instances, func(i Instance) bool { return i.Engine == other.Engine })
	}
	d.tasks = slices.DeleteFunc(d.tasks, func(t task) bool { return concerns(t.instance) })
	d.news = slices.DeleteFunc(d.news, func(n news) bool {
		return (n.id == "CREATING_SE" || n.id == "DELETING_SE") && concerns(n.instance)
	})
}

// reported drops the failures of a place, because its engine has reported.
func (m *memory) reported(instance Instance) {
	delete(m.failures, instance.Name)
	delete(m.started, instance.Engine)
	delete(m.awaySince, instance.Engine)
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
		w.memory.failures.add(name, w.now)
		instance.State, instance.Since = Retiring, w.now
		d.changed = append(d.changed, instance)
		d.news = append(d.news, news{"CREATE_SE_FAIL", instance, o.err.Error()})
	case o.verb == create:
		w.memory.failures.add(name, w.now)
		d.news = append(d.news, news{"CREATE_SE_FAIL", instance, "it cannot be started again: " + o.err.Error()})
	case o.err == nil:
		delete(w.memory.started, instance.Engine)
		delete(w.memory.awaySince, instance.Engine)
		return d, true
	default:
		w.memory.failures.add(name, w.now)
		d.news = append(d.news, news{"DELETE_SE_FAIL", instance, o.err.Error()})
	}
	return d, false
}
