package call

import "context"

// QueuePositions answers the places in this server's queue of runs that wait for a computer, by run; nil of others. Runs of another organization
// count, and are not told.
func (s *Service) QueuePositions(ctx context.Context, _ string, runIDs []string) (map[string]*int, error) {
	if len(runIDs) == 0 {
		return nil, nil
	}
	positions, err := s.host.Positions(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*int, len(runIDs))
	for _, id := range runIDs {
		if n, ok := positions[id]; ok {
			found[id] = &n
		}
	}
	return found, nil
}

// QueuedRun is the run of a call that waits, empty of others.
func (c *Call) QueuedRun() string {
	if c.Status != Queued || c.RunID == nil {
		return ""
	}
	return *c.RunID
}
