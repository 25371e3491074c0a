package deployment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/runner"
)

// Deployment is what a server tells of itself.
type Deployment struct {
	// Version is the program's.
	Version string
	// Limits is a JSON object: the name of each limit in force with its value, and its unit in the name.
	Limits json.RawMessage
	// Image is nil where there are no computers.
	Image *ComputerImage
}

// ComputerImage is what computers are made of.
type ComputerImage struct {
	// Digest names the computers' root: "sha256:" and 64 hexadecimal digits.
	Digest string
	// Fallback is true where the root is the host's own /usr, read-only, and not an image.
	Fallback bool
	// Runtimes are interpreters and libraries with their versions.
	Runtimes []string
	// Libraries are those that programs find, as "pypi openpyxl 3.0.9", sorted.
	Libraries []string
	// MemoryLimit says in words how memory is bounded.
	MemoryLimit string
	// Gvisor is its version, Platform how it runs programs.
	Gvisor, Platform string
}

// Limits are the limits in force, as clients read them.
type Limits map[string]int64

// Computers knows whether there are computers here, and what they are made of.
type Computers interface {
	// Report waits until that is known. An error that wraps runner.ErrNotConfigured means that there are none.
	Report(ctx context.Context) (*runner.Report, error)
}

// Service answers the deployment.
type Service struct {
	version   string
	limits    json.RawMessage
	computers Computers
}

// NewService makes the service.
func NewService(version string, limits Limits, computers Computers) (*Service, error) {
	raw, err := json.Marshal(limits)
	if err != nil {
		return nil, fmt.Errorf("the limits as JSON: %w", err)
	}
	return &Service{version: version, limits: raw, computers: computers}, nil
}

// Get answers the deployment. Any key may read it.
func (s *Service) Get(ctx context.Context) (*Deployment, error) {
	if _, err := key.From(ctx); err != nil {
		return nil, err
	}
	d := &Deployment{Version: s.version, Limits: s.limits}
	report, err := s.computers.Report(ctx)
	switch {
	case errors.Is(err, runner.ErrNotConfigured):
		return d, nil
	case err != nil:
		return nil, err
	}
	d.Image = &ComputerImage{
		Digest: report.Digest, Fallback: report.Fallback, Runtimes: report.Runtimes, Libraries: report.Libraries,
		MemoryLimit: report.MemoryLimit, Gvisor: report.Gvisor, Platform: report.Platform,
	}
	return d, nil
}
