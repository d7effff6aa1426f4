package sched

// A Dispatcher carries out the actions of a Step: one function for each kind of action that an engine can do. It is the
// only place that knows what the fields of an Action mean for each kind. Launch must not be nil; actions of other kinds
// are ignored where their function is nil. Reserve is always ignored, because it is not for the engine.
type Dispatcher struct {
	Launch  func(*Action)                     // start attempt Attempt, of task Task or of the engine's choice; lent
	Kill    func(id AttemptID, grace Time)    // warn the attempt, end it after grace, then report AttemptDone
	Suspend func(id AttemptID)                // stop the attempt, then report AttemptSuspended
	Resume  func(id AttemptID)                // let the attempt run again, with what it was last resized to
	Resize  func(id AttemptID, shape ShapeID) // change what the attempt holds, then report AttemptResized
	Probe   func(job JobID)                   // submit a job that is a probe of this one
	Wake    func(at Time)                     // call Step at an instant; it replaces the one before; zero: none
}

// Powers returns what the engine can do beyond launching, as told by the functions that are not nil. CanNameTasks has
// no function: an engine that can name tasks adds it.
func (d *Dispatcher) Powers() (can Powers) {
	if d.Kill != nil {
		can |= CanKill
	}
	if d.Suspend != nil && d.Resume != nil {
		can |= CanSuspend
	}
	if d.Resize != nil {
		can |= CanResize
	}
	if d.Probe != nil {
		can |= CanProbe
	}
	return can
}

// Do carries out actions in their order.
func (d *Dispatcher) Do(actions []Action) {
	for i := range actions {
		d.do(&actions[i])
	}
}

func (d *Dispatcher) do(a *Action) {
	switch {
	case a.Kind == Launch:
		d.Launch(a)
	case a.Kind == Kill && d.Kill != nil:
		d.Kill(a.Attempt, a.At)
	case a.Kind == Suspend && d.Suspend != nil:
		d.Suspend(a.Attempt)
	case a.Kind == Resume && d.Resume != nil:
		d.Resume(a.Attempt)
	case a.Kind == Resize && d.Resize != nil:
		d.Resize(a.Attempt, a.Shape)
	case a.Kind == Probe && d.Probe != nil:
		d.Probe(a.Stage.Job)
	case a.Kind == Wake && d.Wake != nil:
		d.Wake(a.At)
	}
}
