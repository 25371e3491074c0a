package run

// Ref is a run with those whose it is: they decide its turn where it waits for a computer.
type Ref struct {
	OrganizationID string
	AgentID        string // empty: none
	RunID          string
}

// refOf is the Ref of a run; agentID may be nil.
func refOf(organizationID string, agentID *string, runID string) Ref {
	r := Ref{OrganizationID: organizationID, RunID: runID}
	if agentID != nil {
		r.AgentID = *agentID
	}
	return r
}

// rememberedTurns bounds what turns remembers: whoever was given nothing among so many computers counts as one who never was.
const rememberedTurns = 4096

// turns is the rule by which computers are handed out: the organization that was given one longest ago is next, of its agents again the
// one that was given one longest ago, and of that agent's runs the one that has waited for longest. So an organization with hundreds of
// runs that wait has every second computer where one other waits, too, and never keeps it waiting for longer than that.
type turns struct {
	count uint64
	last  map[turnKey]uint64 // the count when one was given, by organization, and by agent
}

// turnKey is an organization, or one of its agents.
type turnKey struct {
	organizationID, agentID string
	isAgent                 bool
}

func organizationKey(r Ref) turnKey { return turnKey{organizationID: r.OrganizationID} }
func agentKey(r Ref) turnKey        { return turnKey{r.OrganizationID, r.AgentID, true} }

// took notes that a run was given a computer.
func (t *turns) took(r Ref) {
	if t.last == nil {
		t.last = map[turnKey]uint64{}
	}
	t.count++
	t.last[organizationKey(r)], t.last[agentKey(r)] = t.count, t.count
	if len(t.last) > 4*rememberedTurns {
		for k, n := range t.last {
			if n+rememberedTurns <= t.count {
				delete(t.last, k)
			}
		}
	}
}

// line are runs of one organization or agent that wait, with what decides its turn.
type line struct {
	last   uint64
	agents []*line // an organization's
	runs   []int   // an agent's: indexes, the one that has waited for longest first
}

// head is the run of the line that has waited for longest; false where none is left.
func (l *line) head() (int, bool) {
	if l.agents == nil {
		if len(l.runs) == 0 {
			return 0, false
		}
		return l.runs[0], true
	}
	first, found := 0, false
	for _, a := range l.agents {
		if i, ok := a.head(); ok && (!found || i < first) {
			first, found = i, true
		}
	}
	return first, found
}

// next is the line whose turn it is; nil where none has a run left. Of lines that were never given anything it is the one with the run that
// has waited for longest.
func next(lines []*line) *line {
	var best *line
	var head int
	for _, l := range lines {
		if i, ok := l.head(); ok && (best == nil || l.last < best.last || l.last == best.last && i < head) {
			best, head = l, i
		}
	}
	return best
}

// order answers the indexes of the first n of runs that wait, in the order in which they are given computers if nothing changes. The runs
// come in the order in which they began to wait.
func (t *turns) order(waiting []Ref, n int) []int {
	organizations, agents := map[turnKey]*line{}, map[turnKey]*line{}
	var lines []*line
	for i, r := range waiting {
		o := organizations[organizationKey(r)]
		if o == nil {
			o = &line{last: t.last[organizationKey(r)]}
			organizations[organizationKey(r)] = o
			lines = append(lines, o)
		}
		a := agents[agentKey(r)]
		if a == nil {
			a = &line{last: t.last[agentKey(r)]}
			agents[agentKey(r)] = a
			o.agents = append(o.agents, a)
		}
		a.runs = append(a.runs, i)
	}
	order := make([]int, 0, min(n, len(waiting)))
	for count := t.count + 1; len(order) < cap(order); count++ {
		o := next(lines)
		a := next(o.agents)
		order = append(order, a.runs[0])
		a.runs = a.runs[1:]
		o.last, a.last = count, count
	}
	return order
}
