package runner

// isolationOf is how every call on a computer is kept apart, as the runner process makes computers: what a call changes of it is added with
// each call.
func (s *sandboxes) isolationOf(spec Spec, report Report) *Isolation {
	i := &Isolation{Gvisor: report.Gvisor, Platform: report.Platform, Network: NetworkNone, ImageDigest: report.Digest, MemoryLimit: report.MemoryLimit,
		Limits: IsolationLimits{
			MemoryBytes: spec.MemoryBytes, AddressSpaceBytes: spec.MemoryBytes, FileSizeBytes: max(spec.WorkspaceBytes, spec.HomeBytes, spec.TmpBytes, spec.ScriptsBytes),
			OpenFiles: DefaultOpenFiles, Processes: spec.Processes,
			WorkspaceBytes: spec.WorkspaceBytes, HomeBytes: spec.HomeBytes, TmpBytes: spec.TmpBytes, ScriptsBytes: spec.ScriptsBytes,
		},
	}
	rootType := "erofs"
	if s.root.Image == "" {
		rootType = "bind"
	}
	// /dev is gVisor's own doing, as the standard for containers has it.
	i.Mounts = []Mount{{Path: "/", Type: rootType, ReadOnly: true}, {Path: "/dev", Type: "dev"}, {Path: "/dev/pts", Type: "devpts"}}
	for _, m := range ociConfig(spec, s.root, "/").Mounts {
		i.Mounts = append(i.Mounts, Mount{Path: m.Destination, Type: m.Type, ReadOnly: len(m.Options) > 0 && m.Options[0] == "ro"})
	}
	return i
}

// ofCall is the isolation of one call; remaining is what its end told.
func (i *Isolation) ofCall(c Call, remaining int) *Isolation {
	if i == nil {
		return nil
	}
	own := *i
	own.Remaining = remaining
	l := &own.Limits
	l.Timeout = c.Timeout
	lower(&l.AddressSpaceBytes, c.Limits.AddressSpaceBytes)
	lower(&l.FileSizeBytes, c.Limits.FileSizeBytes)
	lower(&l.OpenFiles, c.Limits.OpenFiles)
	lower(&l.Processes, c.Limits.Processes)
	return &own
}

// lower takes a call's own limit where there is one and it is lower.
func lower[T int | int64](to *T, v T) {
	if v > 0 {
		*to = min(*to, v)
	}
}
