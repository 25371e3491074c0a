package runner

// PID is the runner process's.
func PID(p *Process) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link.cmd.Process.Pid
}
